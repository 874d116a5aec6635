"""The regularised objective: its value, its gradient and products with its Hessian, on threads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from thriftwood.problem import apply_pair_hessian
from thriftwood.refitting import kernels
from thriftwood.refitting.problem import LOSSES, LeafProblem
from thriftwood.support.arrays import FloatArray

# Blocks are the same for any number of threads, so that sums are, to the last digit.
SAMPLES_IN_BLOCK = 2048
ENTRIES_IN_BLOCK = 1 << 16
# Where scores are far out, losses are straight lines to the last digit. A little curvature, as part
# of all weights, then keeps Newton's steps below the inverse of it; elsewhere it is not felt.
DAMPING = 1e-12

Block = tuple[int, int]


class RefitObjective:
    """The losses of all samples plus `ridge / 2` times the squared distance to the prior mean.

    Where it was evaluated last, `params` has the values of the leaves, and the bias in the last
    row; `scores` those of the samples, `loss` and `value` the sum without and with the penalty.
    `run` is `map`, or that of a pool of threads.
    """

    def __init__(
        self, problem: LeafProblem, ridge: float, fit_bias: bool, run: Callable[..., Any] = map
    ) -> None:
        self.problem = problem
        self.ridge = ridge
        self._run = run
        # The sparse matrix of leaf indicators: the samples of each leaf.
        self._start, self._samples = kernels.sort_by_leaf(problem.leaves, problem.n_leaves)
        ends = np.arange(problem.n_samples + 1) if problem.pairs is None else problem.pairs.start
        self._sample_blocks = [
            (int(ends[a]), int(ends[b])) for a, b in _blocks(ends, SAMPLES_IN_BLOCK)
        ]
        # An empty leaf has to be looked at, too.
        work = self._start + np.arange(problem.n_leaves + 1)
        self._leaf_blocks = _blocks(work, ENTRIES_IN_BLOCK)
        self._damping = DAMPING * float(problem.weights.sum())
        self._loss = LOSSES[problem.loss][0]
        self._prior = np.vstack([problem.prior, problem.bias])
        self._free = _free_biases(problem) * fit_bias
        shape = (problem.n_samples, problem.n_outputs)
        self._gradient, self._probability, self._changes = (np.empty(shape) for _ in range(3))
        self._work = np.empty(shape if problem.pairs is not None else (0, 0))

    def evaluate(self, params: FloatArray, scores: FloatArray) -> float:
        """Return the objective at parameters whose scores are known."""
        losses = self.over_samples(
            lambda block: self.problem.fill(scores, block, self._gradient, self._probability)
        )
        moved = params[:-1] - self._prior[:-1]
        self.params, self.scores, self.loss = params, scores, float(sum(losses))
        self.value = self.loss + 0.5 * self.ridge * float(np.square(moved, out=moved).sum())
        return self.value

    def gradient(self) -> FloatArray:
        """Return the derivatives by all parameters."""
        gradient = np.empty_like(self.params)
        self._sum_in_leaves(self._gradient, gradient)
        self._mask(gradient)
        gradient[:-1] += self.ridge * (self.params[:-1] - self._prior[:-1])
        gradient[-1] = self._of_bias(self._gradient)
        return gradient

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the Hessian; for biases its mean."""
        per_sample, weights = self._changes, self.problem.weights
        if self.problem.pairs is not None:
            per_sample = self._probability
        else:
            self.over_samples(
                lambda block: kernels.hessian_diagonal(
                    self._loss, weights, self._probability, block, per_sample
                )
            )
        diagonal = np.empty_like(self._prior)
        self._sum_in_leaves(per_sample, diagonal)
        diagonal[-1] = per_sample.sum(axis=0).mean()
        diagonal[:-1] += self.ridge
        diagonal += self._damping
        return diagonal

    def product(self, direction: FloatArray, product: FloatArray) -> float:
        """Fill the Hessian times `direction`; return `direction @ product`."""
        changes, ridge = self._changes, self.ridge + self._damping
        weights, leaves = self.problem.weights, self.problem.leaves

        def forward(block: Block) -> None:
            kernels.add_leaves(leaves, direction, direction[-1], block, changes)
            if self.problem.pairs is not None:
                apply_pair_hessian(self.problem.pairs, self.scores, block, changes, self._work)
            else:
                kernels.apply_hessian(self._loss, weights, self._probability, block, changes)

        def back(block: Block) -> float:
            self._sum_in_block(changes, block, product)
            return kernels.add_ridge(ridge, direction, block, product)

        self.over_samples(forward)
        squares = self.over_leaves(back)
        self._mask(product)
        product[-1] = self._of_bias(changes) + self._damping * direction[-1]
        return float(sum(squares) + direction[-1] @ product[-1])

    def gap(self, square: float, of_bias: FloatArray, diagonal: FloatArray) -> float:
        """Return how far the objective can be above its least value.

        Strong convexity: a function whose curvature is at least `ridge` falls by at most
        |gradient|^2 / (2 ridge). The bias has no such bound: its present curvature is taken, and
        to its gradient comes what it would be at the best values. `square` is that of the gradient
        by all values, `of_bias` the gradient by the bias.
        """
        of_values = square / self.ridge
        moved = np.abs(of_bias) + (self._free > 0) * np.sqrt(diagonal[-1] * of_values) / 2
        return float(of_values + (moved**2 / diagonal[-1]).sum()) / 2

    def over_samples(self, work: Callable[[Block], Any]) -> list[Any]:
        """Call `work` on blocks of all samples; return the answers in their order."""
        return list(self._run(work, self._sample_blocks))

    def over_leaves(self, work: Callable[[Block], Any]) -> list[Any]:
        """Call `work` on blocks of all leaves; return the answers in their order."""
        return list(self._run(work, self._leaf_blocks))

    def scores_of(self, params: FloatArray) -> FloatArray:
        """Return the matrix times the values, plus the bias in the last row."""
        leaves = self.problem.leaves
        scores = np.empty((len(leaves), params.shape[1]))
        self.over_samples(
            lambda block: kernels.add_leaves(leaves, params, params[-1], block, scores)
        )
        return scores

    def _sum_in_leaves(self, per_sample: FloatArray, sums: FloatArray) -> None:
        """Fill the transposed matrix times `per_sample`."""
        self.over_leaves(lambda block: self._sum_in_block(per_sample, block, sums))

    def _sum_in_block(self, per_sample: FloatArray, block: Block, sums: FloatArray) -> None:
        kernels.sum_in_leaves(self._start, self._samples, per_sample, block, sums)

    def _mask(self, params: FloatArray) -> None:
        """Put 0 where values are not trainable, so that they stay."""
        if self.problem.trainable is not None:
            params[:-1] *= self.problem.trainable

    def _of_bias(self, per_sample: FloatArray) -> FloatArray:
        """Return the sum over all samples, without what would move biases that are not free."""
        sums: FloatArray = per_sample.sum(axis=0) * self._free
        if self.problem.loss == "softmax" and self._free.any():
            # Adding the same to all free biases moves them against the others only.
            sums -= self._free * (sums.sum() / self._free.sum())
        return sums


def _blocks(work: Any, size: int) -> list[Block]:
    """Cut things, whose work is the differences of `work`, into blocks of about equal work."""
    n_blocks = max(int(work[-1]) // size, 1)
    cuts = np.searchsorted(work, np.linspace(0, work[-1], n_blocks + 1))
    cuts[0], cuts[-1] = 0, len(work) - 1
    return [(int(a), int(b)) for a, b in pairwise(cuts) if a < b]


def _free_biases(problem: LeafProblem) -> FloatArray:
    """Return 1 for each bias with an optimum, 0 for that of a class without samples."""
    if problem.pairs is not None:  # adding the same to all scores changes no ranking
        return np.zeros(1)
    if problem.loss == "squared":
        return np.ones(1)
    n_classes = max(problem.n_outputs, 2)
    has_samples = np.bincount(problem.target, minlength=n_classes) > 0
    if problem.loss == "logistic":
        return np.full(1, float(has_samples.all()))
    return has_samples.astype(np.float64)
