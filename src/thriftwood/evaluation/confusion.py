"""Scores that follow from a confusion matrix: a table of formulas.

A formula takes the shares of samples, of each class: `hit` (rightly predicted), `true` and `named`
(predicted), with the classes on the last axis. What a sample adds to a score is the derivative of
its formula, by the complex step (Squire and Trapp 1998), which is exact but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.text import shown

if TYPE_CHECKING:
    from thriftwood.evaluation.scores import Judged, Predicted, ScoredSamples

# Shares, with imaginary parts where they are differentiated.
Shares = NDArray[Any]
STEP = 1e-30
# A product of variances below this is rounding.
NO_VARIANCE = 1e-12


def judge(
    formula: Callable[..., Shares],
    samples: ScoredSamples,
    predicted: Predicted,
    own_class: int | None = None,
) -> Judged:
    """Return a score, and what each sample adds to its deviation."""
    target, labels, n_classes = samples.target, predicted.labels, samples.n_classes
    is_hit = labels == target
    shares = [
        np.bincount(of_class, weights, n_classes)
        for of_class, weights in (
            (target, samples.shares * is_hit),
            (target, samples.shares),
            (labels, samples.shares),
        )
    ]
    of_class = formula if own_class is None else partial(formula, own_class=own_class)
    by_hit, by_true, by_named = _derivatives(of_class, np.array(shares))
    slope = by_hit[target] * is_hit + by_true[target] + by_named[labels]
    return float(of_class(*shares)), samples.shares * (slope - samples.shares @ slope)


def _derivatives(formula: Callable[..., Shares], shares: FloatArray) -> FloatArray:
    """Return the derivative by each share, shape (3, n_classes)."""
    steps = STEP * 1j * np.eye(shares.size).reshape(shares.size, *shares.shape)
    slopes: FloatArray = formula(*np.moveaxis(shares + steps, 1, 0)).imag / STEP
    return slopes.reshape(shares.shape)


def _accuracy(hit: Shares, _true: Shares, _named: Shares) -> Shares:
    return hit.sum(axis=-1)


def _balanced_accuracy(hit: Shares, true: Shares, _named: Shares) -> Shares:
    occurs = true.real > 0
    return _ratio(hit, true).sum(axis=-1) / occurs.sum(axis=-1)


def _matthews_corrcoef(hit: Shares, true: Shares, named: Shares) -> Shares:
    covariance = hit.sum(axis=-1) - (true * named).sum(axis=-1)
    variances = (1 - (true**2).sum(axis=-1)) * (1 - (named**2).sum(axis=-1))
    is_zero = variances.real <= NO_VARIANCE
    return np.where(is_zero, 0, covariance / np.sqrt(np.where(is_zero, 1, variances)))


def _of_one(parts: Callable[..., Any], *shares: Shares, own_class: int) -> Shares:
    return _ratio(*parts(*(one[..., own_class] for one in shares)))


def _macro(parts: Callable[..., Any], hit: Shares, true: Shares, named: Shares) -> Shares:
    """Return the mean over the classes that are true or predicted."""
    occurs = (true + named).real > 0
    return _ratio(*parts(hit, true, named)).sum(axis=-1) / occurs.sum(axis=-1)


def _micro(parts: Callable[..., Any], *shares: Shares) -> Shares:
    return _ratio(*(part.sum(axis=-1) for part in parts(*shares)))


def _weighted(parts: Callable[..., Any], hit: Shares, true: Shares, named: Shares) -> Shares:
    """Return the mean over classes, each as much as it is true."""
    weighed = true * _ratio(*parts(hit, true, named))
    return weighed.sum(axis=-1) / true.sum(axis=-1)


def _ratio(part: Shares, whole: Shares) -> Shares:
    """Return quotients, 0 where nothing is divided by nothing."""
    is_zero = whole.real == 0
    return np.where(is_zero, 0, part / np.where(is_zero, 1, whole))


# What is divided by what, of one class.
_PARTS: dict[str, Callable[..., tuple[Shares, Shares]]] = {
    "precision": lambda hit, _true, named: (hit, named),
    "recall": lambda hit, true, _named: (hit, true),
    "f1": lambda hit, true, named: (2 * hit, true + named),
    "jaccard": lambda hit, true, named: (hit, true + named - hit),
}
_MEANS: dict[str, Callable[..., Shares]] = {
    "": _of_one,
    "_macro": _macro,
    "_micro": _micro,
    "_weighted": _weighted,
}
# By the names that scikit-learn gives these scores.
FORMULAS: dict[str, Callable[..., Shares]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "matthews_corrcoef": _matthews_corrcoef,
} | {
    name + mean: partial(average, parts)
    for name, parts in _PARTS.items()
    for mean, average in _MEANS.items()
}


def counted_answers(
    target: NDArray[Any], answers: IntArray, weights: FloatArray, n_classes: int
) -> FloatArray:
    """Confusion matrix: weights of samples by class (rows) and answer (columns)."""
    pairs = target.astype(np.int64) * n_classes + answers
    counted = np.bincount(pairs, weights, n_classes**2)
    return counted.astype(np.float64).reshape(n_classes, n_classes)


def errors_in_words(
    before: FloatArray, now: FloatArray, classes: Sequence[Any], positive: int | None = None
) -> str:
    """Return how many of one of two classes are missed, and false alarms, per 1,000 samples.

    It is the class of that number, or the rarer one. Of more classes nothing is said.
    """
    if len(classes) != 2 or not now.sum() > 0:
        return ""
    of_class = now.sum(axis=1)
    found = int(of_class[1] <= of_class[0]) if positive is None else positive
    other = 1 - found

    def per_thousand(counted: FloatArray, true: int, answer: int) -> str:
        return f"{1000 * counted[true, answer] / counted.sum():.0f}"

    return (
        f"Of 1,000 samples it misses {per_thousand(now, found, other)} of class "
        f"{shown(classes[found])} instead of {per_thousand(before, found, other)}, with "
        f"{per_thousand(now, other, found)} "
        f"false alarms instead of {per_thousand(before, other, found)}."
    )
