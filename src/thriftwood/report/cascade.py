"""The error of a cascade against its mean bill, at many budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.cascade import CascadeClassifier
from thriftwood.costs import AnyCosts
from thriftwood.errors import InputError
from thriftwood.forest.table import read_rows
from thriftwood.problem import read_target
from thriftwood.pruning import PruningPath
from thriftwood.support.arrays import FloatArray
from thriftwood.support.axes import BLUE, GREEN, VERMILION, axes_or_new, tidy, with_unit
from thriftwood.support.validation import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BUDGETS = 25


def plot_cascade(
    cascade: CascadeClassifier,
    X: Any,
    y: ArrayLike,
    *,
    path: PruningPath | None = None,
    budgets: Sequence[float] | None = None,
    costs: AnyCosts = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error of a cascade against its mean bill, at many budgets.

    Parameters
    ----------
    cascade : CascadeClassifier
        What `path.cascade` returned.
    X, y
        Samples that neither trained the model nor tuned the cascade, and their labels.
    path : PruningPath, optional
        Draw its points too, measured on the same samples.
    budgets : sequence of float, optional
        None means up to 25 of the bills at which the rule of the cascade changes.
    costs : array-like, mapping or Costs, optional
        What these samples pay; None means the prices that the cascade was tuned with.
    ax : matplotlib Axes, optional
        None makes new ones.

    Returns
    -------
    ax : matplotlib Axes
    """
    if not isinstance(cascade, CascadeClassifier):
        raise InputError("`cascade` is no cascade: pass what `path.cascade(X, y)` returned.")
    if path is not None and not isinstance(path, PruningPath):
        raise InputError("`path` is no path: pass what `prune_path(model, X, y)` returned.")
    forest = cascade.stages.richest
    labels = cascade.classes_[read_target(y, forest, read_rows(X, forest).n_samples)]
    if budgets is None:
        chosen = _spread(cascade.rules.costs)
    else:
        chosen = np.sort(numbers(budgets, "budgets"), axis=None)
        if np.ndim(budgets) != 1 or not len(chosen):
            raise InputError(
                "`budgets` must be a list of numbers: what a sample may cost on average."
            )
    measured = [_measure(cascade.at(budget=budget), X, labels, costs) for budget in chosen]
    usual = _measure(cascade, X, labels, costs)
    ax = axes_or_new(ax)
    if path is not None:
        points = path.evaluate(X, y, quantiles=(), costs=costs)
        style = "--" if path.drop_step is not None else ""  # no line where costs go up and down
        ax.plot(
            points.cost,
            points.error,
            f"s{style}",
            color=VERMILION,
            markersize=4,
            linewidth=1,
            label="points of the path",
        )
    ax.plot(*zip(*measured, strict=True), "o-", color=BLUE, markersize=4, label="cascade")
    ax.plot(*usual, "*", color=GREEN, markersize=14, label="cascade as it is set")
    ax.set_xlabel(
        with_unit(f"mean bill of {len(labels)} samples", cascade.prices.unit), parse_math=False
    )
    ax.set_ylabel("error")
    tidy(ax)
    ax.legend(frameon=False)
    return ax


def _spread(bills: FloatArray) -> FloatArray:
    """Return some of many bills, at even ratios; the first and the last among them."""
    if len(bills) <= MOST_BUDGETS:
        return bills
    least = bills[bills > 0][0]
    wanted = np.geomspace(least, bills[-1], MOST_BUDGETS - 1)
    places = np.searchsorted(bills, wanted * (1 - 1e-9))
    some: FloatArray = bills[np.unique([0, *places, len(bills) - 1])]
    return some


def _measure(model: CascadeClassifier, X: Any, labels: Any, costs: AnyCosts) -> tuple[float, float]:
    """Return mean bill and error."""
    return model.bill(X, costs).mean, float((model.predict(X) != labels).mean())
