"""Errors and bills along a path by cross-validation, as CART measures the points of its path.

The path of a fold has points of its own. What they have in common with those of the final path is
the tradeoff: a point of the final path is measured by what is optimal in each fold at a tradeoff
from the middle of the point's interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from thriftwood.adapters import Scoring
from thriftwood.costs import AnyCosts, Costs
from thriftwood.evaluation import Evaluation, Measures, default_scoring
from thriftwood.problem import ErrorCosts
from thriftwood.pruning.path import PruningPath
from thriftwood.support.arrays import FloatArray, IntArray, read_only

# Numbers of the samples to train on, and of those held out.
Fold = tuple[IntArray, IntArray]


class Samples(NamedTuple):
    """Samples to train or to measure on; no weights mean equal ones."""

    X: Any
    y: NDArray[Any]
    weights: FloatArray | None
    costs: AnyCosts = None

    def take(self, where: IntArray) -> Samples:
        weights = None if self.weights is None else self.weights[where]
        costs = self.costs.take(where) if isinstance(self.costs, Costs) else self.costs
        return Samples(_safe_indexing(self.X, where), self.y[where], weights, costs)

    @property
    def total_weight(self) -> float:
        return float(len(self.y) if self.weights is None else self.weights.sum())


def make_folds(cv: Any, samples: Samples, is_classifier: bool) -> list[Fold]:
    """Split samples as scikit-learn does, and leave out what tells nothing.

    An int as `cv` is lowered to the number of samples, for classifiers to that of the rarest class.
    There is no fold where that is less than 2.
    """
    if isinstance(cv, Integral):
        groups = np.unique(samples.y, return_counts=True)[1] if is_classifier else [len(samples.y)]
        wanted, most = int(cv), int(min(groups))
        if wanted >= 2 > most:
            return []
        cv = min(wanted, most)
    splits = check_cv(cv, samples.y, classifier=is_classifier).split(samples.X, samples.y)
    folds = [_that_count(samples, train, held_out, is_classifier) for train, held_out in splits]
    return [fold for fold in folds if len(fold[0]) and len(fold[1])]


def cross_validate(
    path: PruningPath,
    grow: Callable[[Samples], PruningPath],
    samples: Samples,
    folds: list[Fold],
    scoring: Scoring | ErrorCosts = None,
) -> Evaluation:
    """Measure the points of a path on samples held out from paths that `grow` makes like it.

    Deviations of the score are those of samples within folds.
    """
    tradeoffs = _middles(path.tradeoffs)
    scoring = _default_scoring(path, samples.y, folds) if scoring is None else scoring
    measured = [
        _measure(grow(samples.take(train)), samples.take(held_out), tradeoffs, scoring)
        for train, held_out in folds
    ]
    # Of the models before pruning first, then of the points.
    errors = np.array([[one.original.error, *one.error] for one in measured])
    costs = np.array([[one.original.cost, *one.cost] for one in measured])
    sizes = np.array([samples.take(held_out).total_weight for _, held_out in folds])
    shares = sizes / sizes.sum()
    error, cost, spread = shares @ errors, shares @ costs, _standard_error(measured, errors)
    score = shares @ [[one.original.score, *one.score] for one in measured]
    is_constant = np.all([[one.original.is_constant, *one.is_constant] for one in measured], axis=0)
    one_class = np.all([[one.original.one_class, *one.one_class] for one in measured], axis=0)
    return Evaluation(
        points=read_only(np.arange(len(path))),
        tradeoffs=path.tradeoffs,
        error=read_only(error[1:]),
        standard_error=read_only(spread[1:]),
        vote_error=None,
        log_loss=None,
        brier=None,
        cost=read_only(cost[1:]),
        quantiles=(),
        cost_quantiles=read_only(np.empty((len(path), 0))),
        n_samples=sum(one.n_samples for one in measured),
        original=Measures(
            error=float(error[0]),
            standard_error=float(spread[0]),
            cost=float(cost[0]),
            score=float(score[0]),
            is_constant=bool(is_constant[0]),
            one_class=bool(one_class[0]),
        ),
        scoring=measured[0].scoring,
        score=read_only(score[1:]),
        is_constant=read_only(is_constant[1:]),
        one_class=read_only(one_class[1:]),
        deviations=read_only(
            np.hstack([share * one.deviations for share, one in zip(shares, measured, strict=True)])
        ),
    )


def _default_scoring(path: PruningPath, y: NDArray[Any], folds: list[Fold]) -> str:
    """Return the usual score, or the one for samples that lack a class, if those of a fold do."""
    held_out = min((y[held_out] for _, held_out in folds), key=lambda part: len(np.unique(part)))
    return default_scoring(path.forest, held_out)


def _that_count(samples: Samples, train: Any, held_out: Any, is_classifier: bool) -> Fold:
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
    path: PruningPath, held_out: Samples, tradeoffs: FloatArray, scoring: Scoring | ErrorCosts
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
        progress=False,
    )


def _standard_error(measured: list[Evaluation], errors: FloatArray) -> FloatArray:
    """Return the standard error of the mean over folds; a fold alone can only give its own."""
    if len(measured) == 1:
        (alone,) = measured
        return np.array([alone.original.standard_error, *alone.standard_error])
    spread: FloatArray = errors.std(axis=0, ddof=1)
    return spread / math.sqrt(len(measured))
