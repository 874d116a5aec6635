"""The curve of the page: cost, loss and errors of every point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.evaluation import Evaluation
from thriftwood.pruning.path import PruningPath
from thriftwood.report.page.given import GivenPage
from thriftwood.report.page.wording import error_kind
from thriftwood.support.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Measured:
    """Errors on some rows, of the model before pruning first and then of points.

    Attributes
    ----------
    error, spread : float arrays
        Error of the ensemble, and the standard error of that.
    cost : float array, optional
        Mean bill; None on the rows given, where it is that of the curve.
    """

    error: FloatArray
    spread: FloatArray
    cost: FloatArray | None = None

    def only(self, places: IntArray) -> Measured:
        """Return what was measured at some places."""
        cost = None if self.cost is None else self.cost[places]
        return Measured(self.error[places], self.spread[places], cost)


@dataclass(frozen=True, eq=False)
class Curve:
    """The figures of the model before pruning and of points, in this order.

    Attributes
    ----------
    cost, loss : float arrays
        What pruning weighs against each other, on the rows given.
    rows, validation : Measured, optional
        None where errors of the ensemble do not judge the model, or without validation rows.
    """

    cost: FloatArray
    loss: FloatArray
    rows: Measured | None = None
    validation: Measured | None = None

    def only(self, points: IntArray) -> Curve:
        """Return the curve of some points; the model before pruning stays in front."""
        places = np.concatenate([[0], points + 1])
        rows, validation = (
            None if one is None else one.only(places) for one in (self.rows, self.validation)
        )
        return Curve(self.cost[places], self.loss[places], rows, validation)


def measured_curve(
    given: GivenPage, n_jobs: int | None, progress: bool | None
) -> tuple[Curve, Evaluation | None]:
    """Measure every point on the rows given, and on validation rows where there are any.

    Also returned is the evaluation to choose by: on validation rows, or else on the rows given.
    """
    path = given.path
    cost = np.concatenate([[path.original.cost], path.costs])
    loss = np.concatenate([[path.original.loss], path.losses])
    if error_kind(path.forest) == "none":
        return Curve(cost, loss), None
    options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "quantiles": ()}
    on_rows, rows = _measure(
        path,
        given.X,
        given.y,
        sample_weight=given.sample_weight,
        costs=given.costs,
        **options,
    )
    rows = replace(rows, cost=None)
    if given.validation is None:
        return Curve(cost, loss, rows), on_rows
    X, y, weights = given.validation
    on_others, others = _measure(path, X, y, sample_weight=weights, **options)
    return Curve(cost, loss, rows, others), on_others


def _measure(
    path: PruningPath, X: Any, y: ArrayLike, **options: Any
) -> tuple[Evaluation, Measured]:
    points = path.evaluate(X, y, **options)
    before = points.original
    return points, Measured(
        cost=np.concatenate([[before.cost], points.cost]),
        error=np.concatenate([[before.error], points.error]),
        spread=np.concatenate([[before.standard_error], points.standard_error]),
    )
