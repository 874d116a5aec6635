"""Rows that judge a fit, because neither it nor the trees they are sent through have seen them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.refitting import kernels
from thriftwood.refitting.kernels import NO_LEAF
from thriftwood.refitting.problem import LOSSES, SLOPES, LeafProblem
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only_copy,
)
from thriftwood.support.validation import whole_number

# More folds take more time and choose no better.
N_FOLDS = 2


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows in leaves. Their score is the bias plus `scale` times the values of their leaves.

    Parameters
    ----------
    leaves : shape (n_samples, n_trees)
        As in `LeafProblem`.
    target, weights : shape (n_samples,)
    scale : shape (n_samples,)
        1, or how many trees there are for each that judges: a row that only a third of the trees
        may judge gets the score that three times as many would give it.
    """

    leaves: IndexArray
    target: NDArray[Any]
    weights: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "leaves", read_only_copy(self.leaves, np.int32))
        object.__setattr__(self, "target", read_only_copy(self.target, None))
        for name in ("weights", "scale"):
            object.__setattr__(self, name, read_only_copy(getattr(self, name), np.float64))

    def scores(self, values: FloatArray, bias: FloatArray) -> FloatArray:
        """Return the scores that the values give to these rows."""
        scores = np.empty((len(self.leaves), len(bias)))
        kernels.add_leaves(self.leaves, values, np.zeros_like(bias), 0, len(self.leaves), scores)
        scores *= self.scale[:, None]
        scores += bias
        return scores

    def judge(self, values: FloatArray, bias: FloatArray, loss: str) -> tuple[float, float]:
        """Return the loss and the error that values lead to, summed with the weights of the rows.

        The loss is what it would be if all trees judged each row, as far as the few that do can
        tell; without this, weak strengths would look worse than they are, since values that were
        fitted together err less together. The error is 1 for a row whose label is wrong, by those
        who judge it; if the loss is squared, it is twice the loss.
        """
        values = np.array(values)  # kernels are compiled once more for arrays that are read-only
        scores = self.scores(values, bias)
        scratch = np.empty_like(scores), np.empty_like(scores)
        total: float = SLOPES[loss](self.target, self.weights, scores, 0, len(scores), *scratch)
        total -= kernels.excess_of_few_trees(
            LOSSES[loss], self.leaves, self.scale, self.weights, scores, values
        )
        if loss == "squared":
            return total, 2 * total
        labels = scores[:, 0] > 0 if loss == "logistic" else scores.argmax(axis=1)
        return total, float(self.weights @ (labels != self.target))


@dataclass(frozen=True, eq=False)
class Trial:
    """A problem to fit and the rows to judge the fit on."""

    problem: LeafProblem
    held_out: HeldOutRows


def validation_trial(
    problem: LeafProblem, leaves: IndexArray, target: NDArray[Any], weights: FloatArray
) -> Trial:
    """Return the trial that fits all rows and judges on others, which no tree has seen."""
    rows = problem.with_rows(leaves, target, weights).check()
    scale = np.ones(rows.n_samples)
    return Trial(problem.check(), HeldOutRows(rows.leaves, rows.target, rows.weights, scale))


def out_of_bag_trials(
    problem: LeafProblem, out_of_bag: BoolArray, n_folds: int = N_FOLDS, seed: int = 0
) -> list[Trial]:
    """Return trials that judge the rows of the problem itself.

    Rows are dealt to folds. Each trial fits the rows of all other folds, with all trees, and judges
    those of its own fold by the trees that were grown without them. So neither the trees nor the
    values have seen a row that judges them. Rows that all trees, or all but one, have seen judge
    nothing.

    Parameters
    ----------
    problem : LeafProblem
    out_of_bag : shape (n_trees, n_samples)
        Whether a tree was grown without a row.
    n_folds : int
    seed : int
        Of the order in which rows are dealt.
    """
    problem.check()
    n_folds = whole_number(n_folds, "n_folds", 2)
    judges = _judges(problem, out_of_bag)
    n_judges = judges.sum(axis=1)
    n_counting = (problem.leaves != NO_LEAF).sum(axis=1)
    # One judge of many is not heard: how far judges disagree about the row is not known.
    is_judged = (n_judges > 1) | ((n_judges == 1) & (n_counting == 1))
    is_judged &= problem.weights > 0
    fold = _folds(problem, n_folds, seed)
    trials = []
    for number in range(n_folds):
        fitted = np.flatnonzero(fold != number)
        judging = np.flatnonzero((fold == number) & is_judged)
        if not problem.weights[fitted].any() or len(judging) == 0:
            raise InputError(
                f"Too few rows are out of bag to deal them to {n_folds} folds: pass fewer folds, "
                "or rows for validation."
            )
        held_out = HeldOutRows(
            np.where(judges[judging], problem.leaves[judging], NO_LEAF),
            problem.target[judging],
            problem.weights[judging],
            n_counting[judging] / n_judges[judging],
        )
        trials.append(Trial(problem.of_rows(fitted), held_out))
    return trials


def _judges(problem: LeafProblem, out_of_bag: BoolArray) -> BoolArray:
    """Return which tree may judge which row."""
    out_of_bag = np.asarray(out_of_bag)
    if out_of_bag.dtype != np.bool_ or out_of_bag.shape != (problem.n_trees, problem.n_samples):
        raise InputError("`out_of_bag` must hold True or False for each tree and each row.")
    judges: BoolArray = out_of_bag.T & (problem.leaves != NO_LEAF)
    return judges


def _folds(problem: LeafProblem, n_folds: int, seed: int) -> IntArray:
    """Deal rows to folds at random, of each class about as many to every fold."""
    order = np.random.default_rng(seed).permutation(problem.n_samples)
    if problem.loss != "squared":
        order = order[np.argsort(problem.target[order], kind="stable")]
    fold = np.empty(problem.n_samples, dtype=np.int64)
    fold[order] = np.arange(problem.n_samples) % n_folds
    return fold
