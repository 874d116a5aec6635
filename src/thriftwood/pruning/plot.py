"""The frontier as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thriftwood.errors import InputError
from thriftwood.evaluation.evaluation import Evaluation
from thriftwood.pruning.loss_words import loss_in_words
from thriftwood.pruning.methods import points_in_words
from thriftwood.support.axes import (
    BLUE,
    GREEN,
    VERMILION,
    axes_or_new,
    tidy,
    with_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from thriftwood.pruning.sequence import PruningSequence

# One for each path in the same axes: Okabe and Ito's, too.
COLOURS = (BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00", "#56B4E9")


def plot_path(path: PruningSequence, ax: Axes | None, measured: Evaluation | None) -> Axes:
    """Draw cost against loss, or against measured errors; see `PruningSequence.plot`."""
    if measured is not None and not isinstance(measured, Evaluation):
        raise InputError("`measured` must be what `path.evaluate` returned.")
    drawn = axes_or_new(ax)
    if ax is None:
        drawn.set_prop_cycle(color=COLOURS)
    if measured is None:
        _draw_losses(path, drawn)
    else:
        _draw_errors(path, drawn, measured)
    tidy(drawn)
    drawn.legend(frameon=False)
    return drawn


def _draw_losses(path: PruningSequence, ax: Axes) -> None:
    points = points_in_words(path.method, len(path))
    ax.plot(path.costs, path.losses, _style(path), markersize=6, label=points)
    if "before pruning" not in ax.get_legend_handles_labels()[1]:
        from matplotlib import rcParams

        ax.plot(
            path.original.cost,
            path.original.loss,
            "s",
            color=rcParams["text.color"],  # seen on dark style sheets, too
            label="before pruning",
        )
    ax.set_xlabel(with_unit("mean bill", path.prices.unit), parse_math=False)
    ax.set_ylabel(loss_in_words(path))


def _draw_errors(path: PruningSequence, ax: Axes, measured: Evaluation) -> None:
    (line,) = ax.plot(measured.cost, measured.error, _style(path), markersize=6, label="error")
    by_cost = np.argsort(measured.cost, kind="stable")
    cost, error = measured.cost[by_cost], measured.error[by_cost]
    ax.fill_between(
        cost,
        error - measured.standard_error[by_cost],
        error + measured.standard_error[by_cost],
        color=line.get_color(),
        alpha=0.2,
        linewidth=0,
        label="one standard error",
    )
    label = with_unit(f"mean bill of {measured.n_samples} rows", path.prices.unit)
    ax.set_xlabel(label, parse_math=False)
    ax.set_ylabel("error" if path.forest.is_classifier else "mean squared error")


def _style(path: PruningSequence) -> str:
    return ".-" if path.is_nested else "."  # no line where costs go up and down
