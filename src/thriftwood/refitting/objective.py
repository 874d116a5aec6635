"""What refitting minimises: its value, its slope and its curvature at a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thriftwood.refitting import kernels
from thriftwood.refitting.passes import Passes
from thriftwood.refitting.problem import LOSSES, SLOPES, LeafProblem
from thriftwood.support.arrays import FloatArray

# Where scores are far out, losses are straight lines to the last digit. A little curvature, as part
# of all weights, then keeps Newton's steps below the inverse of it; elsewhere it is not felt.
DAMPING = 1e-12


@dataclass
class Point:
    """Values of all leaves, and what follows from them.

    Parameters
    ----------
    unknowns : shape (n_leaves + 1, n_outputs)
        The values of the leaves; the last line is the bias.
    scores : shape (n_samples, n_outputs)
    loss : float
        The weighted losses of all rows.
    price : float
        What the distance to the old values costs.
    """

    unknowns: FloatArray
    scores: FloatArray
    loss: float
    price: float

    @property
    def objective(self) -> float:
        return self.loss + self.price


class Objective:
    """The losses of all rows plus `ridge / 2` times the squared distance to the old values.

    `slopes` and `chances` are those of the point that was measured last.
    """

    def __init__(self, problem: LeafProblem, passes: Passes, ridge: float, fit_bias: bool) -> None:
        self.problem = problem
        self.passes = passes
        self.ridge = ridge
        self.damping = DAMPING * float(problem.weights.sum())
        self.loss = LOSSES[problem.loss]
        self.prior = np.vstack([problem.prior, problem.bias])
        self.free = _free_biases(problem) * fit_bias
        shape = (problem.n_samples, problem.n_outputs)
        self.slopes = np.empty(shape)
        self.chances = np.empty(shape)
        self._changes = np.empty(shape)

    @property
    def is_quadratic(self) -> bool:
        return bool(self.loss == kernels.SQUARED)

    def point(self, values: FloatArray, bias: FloatArray) -> Point:
        """Return the point with these values."""
        unknowns = np.vstack([values, bias])
        scores = np.empty_like(self.slopes)
        self.passes.scores(unknowns, unknowns[-1], scores)
        return self.measured(unknowns, scores)

    def measured(self, unknowns: FloatArray, scores: FloatArray) -> Point:
        """Return the point with these values, whose scores are known."""
        problem, fill = self.problem, SLOPES[self.problem.loss]
        losses = self.passes.over_rows(
            lambda first, last: fill(
                problem.target, problem.weights, scores, first, last, self.slopes, self.chances
            )
        )
        moved = unknowns[:-1] - self.prior[:-1]
        price = 0.5 * self.ridge * float(np.square(moved, out=moved).sum())
        return Point(unknowns, scores, float(sum(losses)), price)

    def gradient(self, point: Point) -> FloatArray:
        """Return the derivatives by all unknowns."""
        gradient = np.empty_like(point.unknowns)
        self.passes.sums(self.slopes, gradient)
        self._silence(gradient)
        gradient[:-1] += self.ridge * (point.unknowns[:-1] - self.prior[:-1])
        gradient[-1] = self._of_bias(self.slopes)
        return gradient

    def diagonal(self) -> FloatArray:
        """Return the second derivative by each unknown; for biases their mean."""
        curvatures = self._changes
        self.passes.over_rows(
            lambda first, last: kernels.curvatures_of_rows(
                self.loss, self.problem.weights, self.chances, first, last, curvatures
            )
        )
        diagonal = np.empty_like(self.prior)
        self.passes.sums(curvatures, diagonal)
        diagonal[-1] = curvatures.sum(axis=0).mean()
        diagonal += self.ridge + self.damping
        return diagonal

    def product(self, direction: FloatArray, product: FloatArray) -> float:
        """Fill the Hessian times `direction`; return the square of `direction` in its norm."""
        changes, ridge = self._changes, self.ridge + self.damping

        def along(first: int, last: int) -> None:
            kernels.add_leaves(self.passes.leaves, direction, direction[-1], first, last, changes)
            kernels.bend(self.loss, self.problem.weights, self.chances, first, last, changes)

        def back(first: int, last: int) -> float:
            self.passes.sums_of(changes, first, last, product)
            square: float = kernels.curve(ridge, direction, first, last, product)
            return square

        self.passes.over_rows(along)
        squares = self.passes.over_leaves(back)
        self._silence(product)
        product[-1] = self._of_bias(changes) + self.damping * direction[-1]
        return float(sum(squares) + direction[-1] @ product[-1])

    def _silence(self, unknowns: FloatArray) -> None:
        """Put 0 where leaves have nothing to say, so that their values stay."""
        if self.problem.speaks is not None:
            unknowns[:-1] *= self.problem.speaks

    def gap(self, square: float, of_bias: FloatArray, diagonal: FloatArray) -> float:
        """Return how far the objective can be above its least value.

        Strong convexity: a function whose curvature is at least `ridge` falls by at most
        |gradient|^2 / (2 ridge). The bias has no such bound; we take its curvature here.

        Parameters
        ----------
        square : float
            Of the gradient by all values of leaves.
        of_bias : shape (n_outputs,)
            The gradient by the bias.
        diagonal
            As returned by `diagonal`.
        """
        return float(square / (2 * self.ridge) + (of_bias**2 / (2 * diagonal[-1])).sum())

    def _of_bias(self, per_row: FloatArray) -> FloatArray:
        """Return the sum over all rows, without what would move biases that are not free."""
        sums: FloatArray = per_row.sum(axis=0) * self.free
        if self.problem.loss == "softmax" and self.free.any():
            # Adding the same to all free biases moves them against the others only.
            sums -= self.free * (sums.sum() / self.free.sum())
        return sums


def _free_biases(problem: LeafProblem) -> FloatArray:
    """Return 1 for each bias with an optimum; a class without rows wants minus infinity: 0."""
    if problem.loss == "squared":
        return np.ones(1)
    n_classes = max(problem.n_outputs, 2)
    has_rows = np.bincount(problem.target, minlength=n_classes) > 0
    if problem.loss == "logistic":
        return np.full(1, float(has_rows.all()))
    return has_rows.astype(np.float64)
