"""Errors and bills along a path by cross-validation, as CART measures the points of its path.

The path of a fold has points of its own. What they have in common with those of the final path is
the tradeoff: a point of the final path is measured by what is optimal in each fold at a tradeoff
from the middle of the point's interval.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils import _safe_indexing

from thriftwood.adapters import Scoring
from thriftwood.costs import AnyCosts, Costs
from thriftwood.errors import InputError
from thriftwood.evaluation import Evaluation, Measures, default_scoring
from thriftwood.forest import weights_of_queries
from thriftwood.problem import ErrorCosts
from thriftwood.pruning.path import PruningPath
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, read_only

# Numbers of the samples to train on, and of those held out.
Fold = tuple[IntArray, IntArray]


class FoldSamples(NamedTuple):
    """Samples to train or to measure on; no weights mean equal ones.

    `query` has the query of each, where they are documents of queries.
    """

    X: Any
    y: NDArray[Any]
    weights: FloatArray | None
    costs: AnyCosts = None
    query: IndexArray | None = None

    def take(self, where: IntArray) -> FoldSamples:
        weights = None if self.weights is None else self.weights[where]
        costs = self.costs.take(where) if isinstance(self.costs, Costs) else self.costs
        query = None if self.query is None else self.query[where]
        return FoldSamples(_safe_indexing(self.X, where), self.y[where], weights, costs, query)

    @property
    def total_weight(self) -> float:
        """Weight in scores: that of all samples, or of queries, as their documents on average."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        if self.query is None:
            return float(weights.sum())
        query = np.unique(self.query, return_inverse=True)[1]
        return float(weights_of_queries(query, weights).sum())

    @property
    def weight_of_bills(self) -> float:
        """Weights in mean bills; samples without weight are left out of folds."""
        is_weighed = isinstance(self.costs, Costs) and self.costs.weigh_bills
        if is_weighed and self.weights is not None:
            return float(self.weights.sum())
        return float(len(self.y))


def make_folds(cv: Any, samples: FoldSamples, is_classifier: bool) -> list[Fold]:
    """Split samples as scikit-learn does, and leave out what tells nothing.

    An int as `cv` is lowered to the number of samples, for classifiers to that of the rarest class.
    There is no fold where that is less than 2. Documents of a query are in one fold.
    """
    query = samples.query
    if isinstance(cv, Integral):
        units = samples.y if query is None else np.unique(query)
        groups = [len(units)]
        if is_classifier and query is None:
            groups = np.unique(samples.y, return_counts=True)[1].tolist()
        wanted, most = int(cv), int(min(groups))
        if wanted >= 2 > most:
            return []
        cv = min(wanted, most)
        cv = cv if query is None else GroupKFold(cv)
    splitter = check_cv(cv, samples.y, classifier=is_classifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of splitters that know no queries
        splits = list(splitter.split(samples.X, samples.y, query))
    if query is not None and any(np.isin(query[a], query[b]).any() for a, b in splits):
        raise InputError(
            "`cv` puts documents of a query into both parts of a fold: pass a number of folds, or "
            "scikit-learn's GroupKFold.",
            "cv",
        )
    folds = [_that_count(samples, train, held_out, is_classifier) for train, held_out in splits]
    return [fold for fold in folds if len(fold[0]) and len(fold[1])]


def cross_validate(
    path: PruningPath,
    grow: Callable[[FoldSamples], PruningPath],
    samples: FoldSamples,
    folds: list[Fold],
    scoring: Scoring | ErrorCosts = None,
) -> Evaluation:
    """Measure the points of a path on samples held out from paths that `grow` makes like it.

    Deviations of the score are those of samples within folds.
    """
    tradeoffs = _middles(path.tradeoffs)
    if scoring is None:  # the one for samples that lack a class, if those of a fold do
        held_out = min((samples.y[own] for _, own in folds), key=lambda y: len(np.unique(y)))
        scoring = default_scoring(path.forest, held_out, samples.query is not None)
    measured = [
        _measure(grow(samples.take(train)), samples.take(held_out), tradeoffs, scoring)
        for train, held_out in folds
    ]
    parts = [samples.take(numbers) for _, numbers in folds]
    sizes = np.array([(one.total_weight, one.weight_of_bills) for one in parts])
    shares, bill_shares = (sizes / sizes.sum(axis=0)).T

    def of_folds(name: str) -> NDArray[Any]:
        """Return a row for each fold: of the model before pruning, then of the points."""
        return np.array([[getattr(one.original, name), *getattr(one, name)] for one in measured])

    def deviations(name: str) -> FloatArray:
        of_each = (share * getattr(one, name) for share, one in zip(shares, measured, strict=True))
        return np.hstack([*of_each])

    columns: dict[str, Any] = {name: shares @ of_folds(name) for name in ("error", "score")}
    columns["cost"] = bill_shares @ of_folds("cost")
    # That of the mean over folds; a fold alone can only give its own.
    columns["standard_error"] = of_folds("standard_error")[0]
    if len(folds) > 1:
        columns["standard_error"] = of_folds("error").std(axis=0, ddof=1) / math.sqrt(len(folds))
    columns |= {name: of_folds(name).all(axis=0) for name in ("is_constant", "one_class")}
    columns["deviations"] = deviations("deviations")
    for name in ("brier", "own_brier"):
        if getattr(measured[0], name) is not None:
            columns[name] = shares @ of_folds(name)
            columns[f"{name}_deviations"] = deviations(f"{name}_deviations")
    if measured[0].expected_cost is not None:
        columns["expected_cost"] = shares @ of_folds("expected_cost")
    recalibrations = _recalibrations(path, measured)
    if recalibrations:
        columns["recalibration"] = np.mean(recalibrations, axis=0)
    rows = zip(*columns.values(), strict=True)
    about: dict[str, Any] = {"n_samples": sum(one.n_samples for one in measured)}
    if samples.query is not None:
        about["n_queries"] = sum(one.n_queries or 0 for one in measured)
        about["documents_per_query"] = about["n_samples"] / about["n_queries"]
    return Evaluation.of(
        [Measures(**dict(zip(columns, row, strict=True))) for row in rows],
        points=read_only(np.arange(len(path))),
        tradeoffs=path.tradeoffs,
        quantiles=(),
        scoring=measured[0].scoring,
        **about,
    )


def _recalibrations(path: PruningPath, measured: list[Evaluation]) -> list[FloatArray]:
    """Return those of folds that know all classes: before pruning, then of points."""
    n_numbers = 1 + len(() if path.forest.classes is None else path.forest.classes)
    found = []
    for one in measured:
        own, before = one.recalibration, one.original.recalibration
        if own is not None and before is not None and len(before) == n_numbers:
            found.append(np.concatenate([before[None], own]))
    return found


def _that_count(samples: FoldSamples, train: Any, held_out: Any, is_classifier: bool) -> Fold:
    """Leave out samples without weight, and held-out ones of a class that training does not see.

    Every point gets the latter wrong, so they do not tell points apart.
    """
    numbers = np.arange(len(samples.y))
    train, held_out = numbers[train], numbers[held_out]  # a split may be a mask
    if samples.weights is not None:
        train = train[samples.weights[train] > 0]
        held_out = held_out[samples.weights[held_out] > 0]
    if is_classifier:
        held_out = held_out[np.isin(samples.y[held_out], samples.y[train])]
    return train, held_out


def _middles(tradeoffs: FloatArray) -> FloatArray:
    """Return a tradeoff of each point's interval: the geometric mean of its ends.

    That is 0 for the first interval, which begins there, and infinity for the last, which has no
    end: leaves are measured by leaves, even where a fold would keep its splits a little longer.
    """
    roots = np.sqrt(tradeoffs)
    middles = np.concatenate([[0.0], roots[1:-1] * roots[2:], [np.inf]])
    return middles[: len(tradeoffs)]


def _measure(
    path: PruningPath, held_out: FoldSamples, tradeoffs: FloatArray, scoring: Scoring | ErrorCosts
) -> Evaluation:
    """Measure the point of a fold's path that is optimal at each tradeoff."""
    points = np.searchsorted(path.tradeoffs, tradeoffs, side="right") - 1
    return path.evaluate(
        held_out.X,
        held_out.y,
        scoring=scoring,
        points=points.tolist(),
        quantiles=(),
        sample_weight=held_out.weights,
        costs=held_out.costs,
        qid=held_out.query,
        progress=False,
    )
