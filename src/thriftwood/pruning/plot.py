"""The frontier as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thriftwood.errors import InputError, MissingLibraryError
from thriftwood.formulation import RECORDED_GAIN
from thriftwood.pruning.evaluation import Evaluation
from thriftwood.pruning.methods import points_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from thriftwood.pruning.sequence import PruningSequence

# Okabe and Ito's, which colour-blind readers tell apart: one for each path in the same axes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def plot_path(path: PruningSequence, ax: Axes | None, measured: Evaluation | None) -> Axes:
    """Draw cost against loss, or against measured errors; see `PruningSequence.plot`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingLibraryError(
            "Drawing needs matplotlib: pip install 'thriftwood[plot]'"
        ) from None
    if measured is not None and not isinstance(measured, Evaluation):
        raise InputError("`measured` must be what `path.evaluate` returned.")
    if ax is not None and not hasattr(ax, "fill_between"):
        raise InputError(f"`ax` is {ax!r}: pass axes of matplotlib, or None for new ones.")
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
        ax.set_prop_cycle(color=COLOURS)
    if measured is None:
        _draw_losses(path, ax)
    else:
        _draw_errors(path, ax, measured)
    ax.set_axisbelow(True)
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


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
    ax.set_xlabel("mean bill" + _unit(path))
    ax.set_ylabel(_loss_in_words(path))


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
    ax.set_xlabel(f"mean bill of {measured.n_rows} rows" + _unit(path))
    ax.set_ylabel("error" if path.forest.is_classifier else "mean squared error")


def _style(path: PruningSequence) -> str:
    return ".-" if path.is_nested else "."  # no line where costs go up and down


def _unit(path: PruningSequence) -> str:
    return f" ({path.prices.unit})" if path.prices.unit else ""


def _loss_in_words(path: PruningSequence) -> str:
    if path.loss_name == RECORDED_GAIN:
        return "share of the recorded gain given up"
    return f"{path.loss_name.replace('_', ' ')} per tree"
