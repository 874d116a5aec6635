"""Real errors and bills along a path, by walking the rows once from its first point to its last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import BootstrapSamples, read_bootstrap
from thriftwood.costs import AnyCosts, prices_of_samples
from thriftwood.errors import InputError
from thriftwood.evaluation import kernels, walking
from thriftwood.forest.routes import Routes, route_samples
from thriftwood.forest.table import read_rows
from thriftwood.problem.counting import CountArray, times_counted
from thriftwood.problem.targets import read_target, read_weights
from thriftwood.support.arrays import (
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
)
from thriftwood.support.frames import frame_of
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import shares_of_one

if TYPE_CHECKING:
    import pandas as pd


# What `judge_classes` measures, in its order.
CLASS_LOSSES = ("error", "vote_error", "brier", "log_loss")
# Where the walk begins, before point 0: the model before pruning.
ORIGINAL = -1


class Measures(NamedTuple):
    """What was measured of one model, on the rows of an evaluation: as there."""

    error: float
    standard_error: float
    cost: float


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Errors and bills of the points of a path on some rows, one entry per point.

    Attributes
    ----------
    points : int array
        Which points of the path.
    tradeoffs : float array
        From which tradeoff on each is optimal on the samples it was computed on.
    error : float array
        Share of rows that the ensemble misclassifies; for regressors the mean squared error.
    standard_error : float array
        Of `error`.
    vote_error : float array, optional
        Share of rows that the majority of the trees misclassifies; not of boosted trees, which do
        not vote.
    log_loss, brier : float arrays, optional
        Of the ensemble's probabilities, as scikit-learn defines them.
    cost : float array
        Mean bill of a row, its part of what is paid once for the model included.
    quantiles : tuple of float
    cost_quantiles : shape (n_points, n_quantiles)
        Of the bills, without what is paid for the model.
    n_samples : int
        How many rows were predicted.
    original : Measures
        `error`, `standard_error` and `cost` of the model before pruning.
    """

    points: IntArray
    tradeoffs: FloatArray
    error: FloatArray
    standard_error: FloatArray
    vote_error: FloatArray | None
    log_loss: FloatArray | None
    brier: FloatArray | None
    cost: FloatArray
    quantiles: tuple[float, ...]
    cost_quantiles: FloatArray
    n_samples: int
    original: Measures

    def __repr__(self) -> str:
        best = int(self.error.argmin())
        return (
            f"Evaluation of {len(self.points)} points on {self.n_samples} rows: lowest error "
            f"{self.error[best]:.4g} at point {self.points[best]}, mean cost {self.cost[best]:.6g}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one line per point as a pandas data frame."""
        columns: dict[str, Any] = {"point": self.points, "tradeoff": self.tradeoffs}
        for name in ("error", "standard_error", "vote_error", "log_loss", "brier", "cost"):
            if getattr(self, name) is not None:
                columns[name] = getattr(self, name)
        for column, quantile in enumerate(self.quantiles):
            columns[f"cost_q{quantile:g}"] = self.cost_quantiles[:, column]
        return frame_of(columns)


def evaluate_path(
    path: Any,
    X: Any,
    y: ArrayLike,
    points: Sequence[int] | None,
    samples: str,
    quantiles: Sequence[float],
    sample_weight: ArrayLike | None,
    costs: AnyCosts,
    n_jobs: int | None,
    progress: bool | None,
) -> Evaluation:
    """Measure points of a path; parameters as in `PruningPath.evaluate`."""
    wanted = np.arange(len(path)) if points is None else read_points(points, len(path))
    shares = shares_of_one(quantiles, "quantiles")
    given = _read_rows(path, X, y, samples, sample_weight, n_jobs)
    prices = prices_of_samples(
        path.prices, "path", costs, path.forest.feature_names, len(given.weights)
    )
    prices.batch_weights(given.weights)  # refuses weights that differ within a batch
    walk, scale = walking.walk_of(path.forest, prices, given.routes, given.times)
    state = walking.nothing_yet(path.forest, prices, len(given.weights))
    measured = np.concatenate([[ORIGINAL], wanted])
    masks = chain([path.forest.is_split], map(path.kept_nodes, range(len(path))))
    names = CLASS_LOSSES if path.forest.is_classifier else CLASS_LOSSES[:1]
    losses = np.zeros((len(names), len(given.weights)))
    means = np.empty((len(losses), len(measured)))
    standard_error, cost = np.empty(len(measured)), np.empty(len(measured))
    cost_quantiles = np.empty((len(measured), len(shares)))
    visits = walking.visit(path.forest, masks, walk, state)
    with progress_bar("Evaluating", progress) as bar:
        for point, kept in enumerate(visits, start=ORIGINAL):
            bar((point - ORIGINAL) / (len(path) - ORIGINAL))
            places = np.flatnonzero(measured == point)
            if not len(places):
                continue
            if path.forest.is_classifier:
                kernels.judge_classes(state, given.target, scale, losses)
            else:
                kernels.judge_numbers(state, given.target, scale, losses)
            judged = np.where(state.n_trees > 0, given.weights, 0.0)
            if judged.sum() == 0:
                raise InputError(f"With samples={samples!r} no sample counts that has any weight.")
            means[:, places] = (losses @ judged / judged.sum())[:, None]
            standard_error[places] = _standard_error(losses[0], judged)
            bill = walking.bills_now(walk, state)
            cost[places] = walking.mean_cost(path.forest, prices, kept, bill, given.weights)
            cost_quantiles[places] = _quantiles(bill, given.weights, shares)
    mean = {name: read_only(row[1:].copy()) for name, row in zip(names, means, strict=True)}
    return Evaluation(
        points=read_only(wanted),
        tradeoffs=read_only(path.tradeoffs[wanted]),
        error=mean["error"],
        standard_error=read_only(standard_error[1:]),
        vote_error=mean.get("vote_error") if path.forest.is_averaged else None,
        brier=mean.get("brier"),
        log_loss=mean.get("log_loss"),
        cost=read_only(cost[1:]),
        quantiles=shares,
        cost_quantiles=read_only(cost_quantiles[1:]),
        n_samples=int(np.count_nonzero(state.n_trees)),
        original=Measures(float(means[0, 0]), float(standard_error[0]), float(cost[0])),
    )


class Given(NamedTuple):
    """The rows to measure on: where they go, what is right, and how much and in which trees."""

    routes: Routes
    target: IndexArray | FloatArray
    weights: FloatArray
    times: CountArray


def _read_rows(
    path: Any,
    X: Any,
    y: ArrayLike,
    samples: str,
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
) -> Given:
    forest = path.forest
    table = read_rows(X, forest)
    return Given(
        target=read_target(y, forest, table.n_samples),
        weights=read_weights(sample_weight, table.n_samples),
        times=times_counted(samples, samples_for(path, samples), forest.n_trees, table.n_samples),
        routes=route_samples(forest, table, n_jobs),
    )


def samples_for(path: Any, samples: str) -> BootstrapSamples | None:
    """Return the rows that each tree was grown on, where only some trees predict a row."""
    if samples == "all":
        return None
    if samples == "out_of_bag" and path.samples != "in_bag":
        raise InputError(
            f"The path was computed with samples={path.samples!r}, so its trees were pruned "
            "on samples out of their bags and look better on them than they are. Compute it with "
            "samples='in_bag'."
        )
    return read_bootstrap(path.unchanged_model())


def read_points(points: Any, n_points: int, name: str = "points") -> IntArray:
    """Return the user's argument `name` as points of a path, or refuse it."""
    wanted = np.asarray(points)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu" or not len(wanted):
        raise InputError(f"`{name}` is {points!r}: pass a list of points of the path.")
    outside = wanted[(wanted < -n_points) | (wanted >= n_points)]
    if len(outside):
        raise InputError(f"The path has {n_points} points: there is no point {outside[0]}.")
    return wanted.astype(np.int64) % n_points


def _standard_error(losses: FloatArray, weights: FloatArray) -> float:
    """Return the standard error of a weighted mean."""
    shares = weights / weights.sum()
    spread = shares @ (losses - shares @ losses) ** 2
    return math.sqrt(float(spread * (shares**2).sum()))


def _quantiles(bill: FloatArray, weights: FloatArray, shares: tuple[float, ...]) -> FloatArray:
    if not shares:
        return np.empty(0)
    if (weights == weights[0]).all():
        return np.quantile(bill, shares)
    return np.quantile(bill, shares, weights=weights, method="inverted_cdf")
