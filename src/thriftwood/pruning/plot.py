"""The frontier as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thriftwood.evaluation import Evaluation
from thriftwood.support.axes import (
    BLUE,
    GREEN,
    VERMILION,
    axes_or_new,
    draw_with_band,
    tidy,
    with_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# One for each path in the same axes: Okabe and Ito's, too.
COLOURS = (BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00", "#56B4E9")


def draw_losses(path: Any, ax: Axes | None, style: str) -> Axes:
    """Draw cost against loss of a `PruningPath`."""
    drawn = _axes(ax)
    drawn.plot(path.costs, path.losses, style, markersize=6, label=path.points_in_words)
    if "before pruning" not in drawn.get_legend_handles_labels()[1]:
        from matplotlib import rcParams

        drawn.plot(
            path.original.cost,
            path.original.loss,
            "s",
            color=rcParams["text.color"],  # seen on dark style sheets, too
            label="before pruning",
        )
    return _labelled(drawn, with_unit("mean bill", path.prices.unit), path.loss_in_words)


def draw_errors(measured: Evaluation, ax: Axes | None, style: str, what: str, unit: str) -> Axes:
    """Draw mean bill against measured errors."""
    drawn = _axes(ax)
    found, spread, label = measured.error, measured.standard_error, "error"
    if measured.judges_rankings:
        found, spread, label = measured.score, measured.score_error, measured.scoring
        what = measured.scoring
    band = "one standard error"
    draw_with_band(drawn, measured.cost, found, spread, style, line=label, band=band)
    return _labelled(drawn, with_unit(f"mean bill of {measured.samples_in_words}", unit), what)


def _axes(ax: Axes | None) -> Axes:
    drawn = axes_or_new(ax)
    if ax is None:
        drawn.set_prop_cycle(color=COLOURS)
    return drawn


def _labelled(ax: Axes, along: str, up: str) -> Axes:
    ax.set_xlabel(along, parse_math=False)
    ax.set_ylabel(up)
    tidy(ax)
    ax.legend(frameon=False)
    return ax
