"""Mean cost of answers, as counted and as expected, by probabilities that are recalibrated.

Averaged trees draw probabilities to the middle, and trees with pure leaves to the ends. The more
the costs of errors differ, the more that matters. And where one missed patient costs as much as a
thousand tests, a few samples decide what is counted; the cost that the model before pruning expects
is less noisy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from thriftwood.problem import least_cost_answers
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray

# Probabilities count as at least this: a few trees cannot be surer.
LEAST = 1e-3
# How strongly the slope is held to 1 and biases to 0, in samples.
PRIOR = 1.0
# A slope and a few biases need no more samples.
MOST_SAMPLES = 10_000
MOST_STEPS = 30
CLOSE = 1e-6


class Recalibration(NamedTuple):
    """Recalibrated probabilities: softmax(slope * log(probability) + bias).

    This is vector scaling (Guo, Pleiss, Sun and Weinberger, ICML 2017) with one slope. Of two
    classes it is Platt's scaling (1999) of the logarithm of the odds.
    """

    slope: float
    bias: FloatArray

    @classmethod
    def of(cls, numbers: FloatArray) -> Recalibration:
        """Unpack the slope and the biases from one array."""
        return cls(float(numbers[0]), numbers[1:])

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        """Return recalibrated probabilities; the last axis has the classes."""
        scores = self.slope * _logarithms(probabilities) + self.bias
        return softmax(scores, axis=-1)


def recalibrate(
    probabilities: FloatArray, target: IndexArray, weights: FloatArray
) -> Recalibration:
    """Return the recalibration of least log loss on samples, by Newton's method.

    The first class has no bias. Slope and biases are held to what changes nothing.
    """
    logarithms, n_classes = _logarithms(probabilities), probabilities.shape[1]
    true = np.eye(n_classes)[target]
    start = np.eye(n_classes)[0]  # the slope, then biases of all classes but the first

    def predicted(own: FloatArray) -> FloatArray:
        return softmax(own[0] * logarithms + np.append(0.0, own[1:]), axis=-1)

    def loss(own: FloatArray) -> float:
        found = np.maximum((predicted(own) * true).sum(axis=1), np.finfo(float).tiny)
        return float(PRIOR / 2 * ((own - start) ** 2).sum() - weights @ np.log(found))

    own = start
    for _ in range(MOST_STEPS):
        found = predicted(own)
        apart, weighed = weights[:, None] * (found - true), weights[:, None] * found
        gradient = np.append((apart * logarithms).sum(), apart.sum(axis=0)[1:])
        gradient += PRIOR * (own - start)
        centred = logarithms - (found * logarithms).sum(axis=1, keepdims=True)
        curvature = np.diag(weighed.sum(axis=0)) - weighed.T @ found
        curvature[0] = curvature[:, 0] = (weighed * centred).sum(axis=0)
        curvature[0, 0] = (weighed * centred**2).sum()
        step = np.linalg.solve(curvature + PRIOR * np.eye(n_classes), gradient)
        before = loss(own)
        while loss(own - step) > before and np.abs(step).max() > CLOSE:
            step = step / 2
        own = own - step
        if np.abs(step).max() <= CLOSE:
            break
    return Recalibration(float(own[0]), np.append(0.0, own[1:]))


class Money:
    """Answers of least expected cost to samples.

    Parameters
    ----------
    matrix : shape (n_classes, n_classes)
        What answers (columns) cost where rows are true.
    target : shape (n_samples,)
    weights : shape (n_samples,)
    reference : shape (n_samples, n_classes), optional
        What the model before pruning predicts. With it, answers are those of recalibrated
        probabilities, and what they should cost is what the recalibrated reference says.
    """

    def __init__(
        self,
        matrix: FloatArray,
        target: IndexArray,
        weights: FloatArray,
        reference: FloatArray | None = None,
    ) -> None:
        self.matrix, self._target, self._weights = matrix, target, weights
        self._judged = np.flatnonzero(weights > 0)
        self._shares = weights[self._judged] / weights.sum()
        self._expected: FloatArray | None = None
        if reference is not None:
            self._expected = self._fitted(reference)(reference[self._judged]) @ matrix

    def answer(self, probabilities: FloatArray) -> tuple[IntArray, dict[str, Any]]:
        """Return the answers to all samples, whatever they weigh, and measures of recalibration.

        These are the expected cost and how the probabilities were recalibrated, if they were.
        """
        if self._expected is None:
            return least_cost_answers(probabilities, self.matrix), {}
        own = self._fitted(probabilities)
        labels = least_cost_answers(own(probabilities), self.matrix)
        expected = np.take_along_axis(self._expected, labels[self._judged, None], axis=1)[:, 0]
        cost, numbers = float(self._shares @ expected), np.append(own.slope, own.bias)
        return labels, {"expected_cost": cost, "recalibration": numbers}

    def _fitted(self, probabilities: FloatArray) -> Recalibration:
        some = self._judged
        if len(some) > MOST_SAMPLES:
            some = np.random.default_rng(0).choice(some, MOST_SAMPLES, replace=False)
        weights = self._weights[some] / self._weights[some].mean()
        return recalibrate(probabilities[some], self._target[some], weights)


def _logarithms(probabilities: FloatArray) -> FloatArray:
    return np.log(np.clip(probabilities, LEAST, 1.0))
