"""Choose the regularisation strength on samples that neither fits nor their trees have seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.problem import LAMBDARANK, Pairs
from thriftwood.refitting.kernels import NO_LEAF
from thriftwood.refitting.newton import LeafFit, fit_leaf_values
from thriftwood.refitting.problem import LeafProblem
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only_copy

# More folds take more time and choose no better.
N_FOLDS = 2
# Powers of two that are tried, as factors of probabilities averaged over all trees.
LEAST_POWER, LARGEST_POWER = -1, 7

# From none to weak. On data with little noise (MiniBooNE, Covertype) 0.1 is good for 2,000
# samples and for 36,603, for 200 leaves and for 140,000; on noisy data (diabetes) it does harm.
STRENGTHS = (math.inf, 3.0, 1.0, 0.3, 0.1, 0.03)
# Errors go on falling a little after the log loss has begun to rise, so a loss that is higher by
# this part is good enough. Squared errors are the loss itself.
SLACK = {"squared": 0.0, "logistic": 0.03, "softmax": 0.03}
# Rankings have few documents for each relevant one. Their NDCG is what chooses, and what is noisy:
# all strengths are tried.
OF_RANKINGS = (math.inf, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
# Fits that are only validated need not be exact.
TOLERANCE = 1e-3
# Stop after so many strengths that are not good enough, once there was a better one.
MAX_WORSE = 2


# A problem to fit, and the samples to validate the fit on.
Fold = tuple[LeafProblem, LeafProblem]


def validation_fold(
    problem: LeafProblem,
    leaves: IndexArray,
    target: NDArray[Any],
    weights: FloatArray,
    pairs: Pairs | None = None,
) -> Fold:
    """Return the fold that fits all samples and validates on others, which no tree has seen."""
    others = replace(problem, leaves=leaves, target=target, weights=weights, pairs=pairs)
    return problem.check(), others.check()


def out_of_bag_folds(
    problem: LeafProblem, out_of_bag: BoolArray, n_folds: int = N_FOLDS
) -> list[Fold]:
    """Return folds for cross-validation on the samples of the problem itself.

    Each fits the samples of all other folds, with all trees, and validates on its own samples by
    the trees that were grown without them. So neither the trees nor the values have seen a sample
    that validates them. Samples that all trees, or all but one, have seen validate nothing.

    `out_of_bag`, shape (n_trees, n_samples), is True where a tree was grown without a sample.
    """
    problem.check()
    counts = problem.leaves != NO_LEAF
    scores = out_of_bag.T & counts
    n_scoring, n_trees = scores.sum(axis=1), counts.sum(axis=1)
    # One tree of many is not enough: its variance is not known.
    validates = (n_scoring > 1) | ((n_scoring == 1) & (n_trees == 1))
    validates &= problem.weights > 0
    fold = _deal(problem, n_folds)
    folds = []
    for number in range(n_folds):
        fitted = np.flatnonzero(fold != number)
        own = np.flatnonzero((fold == number) & validates)
        if not problem.weights[fitted].any() or len(own) == 0:
            raise InputError(
                f"Too few samples are out of bag to deal them to {n_folds} folds: pass fewer "
                "folds, or a validation set."
            )
        validation = replace(
            problem.take(own),
            leaves=np.where(scores[own], problem.leaves[own], NO_LEAF),
            scale=n_trees[own] / n_scoring[own],
        )
        folds.append((problem.take(fitted), validation))
    return folds


def prior_of_probabilities(
    probabilities: FloatArray, n_trees: int, validation: Sequence[LeafProblem]
) -> FloatArray:
    """Return scores of leaves that give the labels of a forest that averages probabilities.

    A forest predicts the class whose probability, averaged over its trees, is the largest. Scores
    that are a multiple of the probabilities say the same, and as log-odds they are sensible if the
    multiple is: it is the one with the least log loss on the validation sets. It is a power of
    two, so that nothing is rounded that would not have been: a tie between pure leaves stays one.

    `probabilities` has the shape (n_leaves, n_classes), and so have the scores, but for two classes
    (n_leaves, 1). They go with a bias of zero.
    """
    is_binary = probabilities.shape[1] == 2
    plain = probabilities[:, 1:] - 0.5 if is_binary else probabilities
    bias = np.zeros(plain.shape[1])
    least = round(-np.log2(n_trees)) + LEAST_POWER
    scales = [2.0**power for power in range(least, least + LARGEST_POWER - LEAST_POWER + 1)]
    losses = [sum(one.evaluate(scale * plain, bias)[0] for one in validation) for scale in scales]
    return read_only_copy(plain * scales[int(np.argmin(losses))], np.float64)


@dataclass(frozen=True, eq=False)
class StrengthChoice:
    """The chosen regularisation strength, infinity if no refit was better, and all that were tried.

    `start` is a fit of the chosen strength. `losses` and `errors` of all `strengths`, from strong
    to weak, are weighted means over all validation samples, as in `LeafProblem.evaluate`.
    """

    strength: float
    start: LeafFit
    strengths: FloatArray
    losses: FloatArray
    errors: FloatArray

    def __post_init__(self) -> None:
        for name in ("strengths", "losses", "errors"):
            object.__setattr__(self, name, read_only_copy(getattr(self, name), np.float64))


def choose_strength(
    folds: Sequence[Fold],
    fit_bias: bool = True,
    tolerance: float = TOLERANCE,
    n_jobs: int | None = None,
) -> StrengthChoice:
    """Fit every fold at every strength, from strong to weak, and choose on the validation sets.

    The choice is the weakest strength whose loss is at most 3 % above the least (if squared, the
    least); of rankings the strongest with the best NDCG. "No refit", infinity, is chosen if its
    loss is the least. Trying ends where two in a row are too weak. `folds` is that of
    `validation_fold`, or all of `out_of_bag_folds`.
    """
    loss = folds[0][0].loss
    total = sum(float(validation.weights.sum()) for _, validation in folds)
    fits: list[LeafFit | None] = [None] * len(folds)
    first_fits: list[LeafFit] = []
    tried: list[float] = []
    measured: list[FloatArray] = []  # loss and error at each strength
    is_ranking = loss == LAMBDARANK
    for strength in OF_RANKINGS if is_ranking else STRENGTHS:
        sums = np.zeros(2)
        for number, (problem, validation) in enumerate(folds):
            fits[number] = fit = fit_leaf_values(
                problem, strength, fits[number], fit_bias, tolerance, n_jobs=n_jobs
            )
            sums += validation.evaluate(fit.values, fit.bias)
            if number == 0:
                first_fits.append(fit)
        tried.append(strength)
        measured.append(sums / total)
        losses, errors = np.transpose(measured)
        if is_ranking:
            continue
        good = losses <= losses.min() + SLACK[loss] * abs(losses.min())
        if not good[-MAX_WORSE:].any():
            break
    if is_ranking:
        best = int(errors.argmin())
        return StrengthChoice(tried[best], first_fits[best], np.array(tried), losses, errors)
    best = 0 if losses[0] == losses.min() else int(np.flatnonzero(good)[-1])
    return StrengthChoice(tried[best], first_fits[best], np.array(tried), losses, errors)


def _deal(problem: LeafProblem, n_folds: int) -> IntArray:
    """Deal samples to folds at random, of each class about as many to every fold."""
    order = np.random.default_rng(0).permutation(problem.n_samples)
    if problem.loss != "squared":
        order = order[np.argsort(problem.target[order], kind="stable")]
    fold = np.empty(problem.n_samples, dtype=np.int64)
    fold[order] = np.arange(problem.n_samples) % n_folds
    return fold
