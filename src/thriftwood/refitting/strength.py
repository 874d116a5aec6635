"""Choose the regularisation strength on validation sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thriftwood.errors import InputError
from thriftwood.refitting.newton import LeafFit, check_strength, fit_leaf_values
from thriftwood.refitting.validation import Fold
from thriftwood.support.arrays import FloatArray, read_only_copy
from thriftwood.support.validation import numbers

# From no refit to weak. On data with little noise (MiniBooNE, Covertype) 0.1 is good for 2,000
# samples and for 36,603, for 200 leaves and for 140,000; on noisy data (diabetes) it does harm.
STRENGTHS = (math.inf, 3.0, 1.0, 0.3, 0.1, 0.03)
# Errors go on falling a little after the log loss has begun to rise, so a loss that is higher by
# this part is good enough. Squared errors are the loss itself.
SLACK = {"squared": 0.0, "logistic": 0.03, "softmax": 0.03}
# Fits that are only validated need not be exact.
TOLERANCE = 1e-3
# Stop after so many strengths that are not good enough, once there was a better one.
MAX_WORSE = 2


@dataclass(frozen=True, eq=False)
class StrengthChoice:
    """The chosen regularisation strength, and the losses of all that were tried.

    Parameters
    ----------
    strength : float
        Infinity if no refit was better.
    start : LeafFit
        A fit of the chosen strength, to start from with all samples.
    strengths : shape (n_tried,)
        From strong to weak.
    losses, errors : shape (n_tried,)
        Weighted means over all validation samples, as in `ValidationLeaves.evaluate`.
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
    strengths: Sequence[float] = STRENGTHS,
    fit_bias: bool = True,
    tolerance: float = TOLERANCE,
    n_jobs: int | None = None,
) -> StrengthChoice:
    """Fit every fold at every strength, from strong to weak, and choose on the validation sets.

    The choice is the weakest strength whose loss is at most 3 % above the least (if squared, the
    least). "No refit", infinity, is always tried, and chosen if its loss is the least.

    Parameters
    ----------
    folds : sequence of Fold
        One of `validation_fold`, or all of `out_of_bag_folds`.
    strengths : sequence of float
        They are tried from strong to weak, until two in a row are too weak.
    fit_bias, tolerance, n_jobs
        As in `fit_leaf_values`.
    """
    if not folds:
        raise InputError("There are no folds: pass at least one.")
    loss = folds[0][0].loss
    total = sum(float(validation.weights.sum()) for _, validation in folds)
    fits: list[LeafFit | None] = [None] * len(folds)
    first_fits: list[LeafFit] = []
    tried: list[float] = []
    measured: list[FloatArray] = []  # loss and error at each strength
    for strength in _from_strong_to_weak(strengths):
        sums = np.zeros(2)
        for number, (problem, validation) in enumerate(folds):
            fits[number] = fit = fit_leaf_values(
                problem, strength, fits[number], fit_bias, tolerance, n_jobs=n_jobs
            )
            sums += validation.evaluate(fit.values, fit.bias, loss)
            if number == 0:
                first_fits.append(fit)
        tried.append(strength)
        measured.append(sums / total)
        losses, errors = np.transpose(measured)
        good = losses <= losses.min() + SLACK[loss] * abs(losses.min())
        if not good[-MAX_WORSE:].any():
            break
    best = 0 if losses[0] == losses.min() else int(np.flatnonzero(good)[-1])
    return StrengthChoice(tried[best], first_fits[best], np.array(tried), losses, errors)


def _from_strong_to_weak(strengths: Sequence[float]) -> list[float]:
    given = numbers(strengths, "strengths")
    if given.ndim != 1:
        raise InputError("`strengths` is not a list of numbers.", "strengths")
    return sorted({check_strength(one) for one in given} | {math.inf}, reverse=True)
