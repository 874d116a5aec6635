"""Choose how strongly refitted values are held to the old ones, by rows that are held out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thriftwood.errors import InputError
from thriftwood.refitting.fit import LeafFit, check_strength, fit_leaf_values
from thriftwood.refitting.held_out import Trial
from thriftwood.support.arrays import FloatArray, read_only_copy
from thriftwood.support.validation import numbers

# From no refit to weak. On data with little noise (MiniBooNE, Covertype) 0.1 is good for 2,000 rows
# and for 36,603, for 200 leaves and for 140,000; on noisy data (diabetes) it does harm, so choose.
STRENGTHS = (math.inf, 3.0, 1.0, 0.3, 0.1, 0.03)
# Errors go on falling a little after the log loss has begun to rise, so a loss that is higher by
# this part is good enough. Squared errors are the loss itself.
SLACK = {"squared": 0.0, "logistic": 0.03, "softmax": 0.03}
# Fits that are only judged need not be exact.
TOLERANCE = 1e-3
# Stop after so many strengths that are not good enough, once there was a better one.
PATIENCE = 2


@dataclass(frozen=True, eq=False)
class StrengthChoice:
    """The chosen strength, and what was seen at all that were tried.

    Parameters
    ----------
    strength : float
        Infinity if no refit was better.
    start : LeafFit
        A fit of the chosen strength, to start from with all rows.
    strengths : shape (n_tried,)
        From strong to weak.
    losses, errors : shape (n_tried,)
        Weighted means over all held-out rows, as in `HeldOutRows.judge`.
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
    trials: Sequence[Trial],
    strengths: Sequence[float] = STRENGTHS,
    fit_bias: bool = True,
    tolerance: float = TOLERANCE,
    n_jobs: int | None = None,
) -> StrengthChoice:
    """Fit every trial at every strength, from strong to weak, and choose by the held-out rows.

    The choice is the weakest strength whose loss is at most 3 % above the least (if squared, the
    least). "No refit", infinity, is always tried, and chosen if its loss is the least.

    Parameters
    ----------
    trials : sequence of Trial
        One of `validation_trial`, or all of `out_of_bag_trials`.
    strengths : sequence of float
        They are tried from strong to weak, until two in a row are too weak.
    fit_bias, tolerance, n_jobs
        As in `fit_leaf_values`.
    """
    if not trials:
        raise InputError("There are no trials: pass at least one.")
    slack = SLACK[trials[0].problem.loss]
    total = sum(float(trial.held_out.weights.sum()) for trial in trials)
    fits: list[LeafFit | None] = [None] * len(trials)
    tried, losses, errors = [], [], []
    first_fits: list[LeafFit] = []
    for strength in _from_strong_to_weak(strengths):
        judged = np.zeros(2)
        for number, trial in enumerate(trials):
            fit = fit_leaf_values(
                trial.problem,
                strength,
                start=fits[number],
                fit_bias=fit_bias,
                tolerance=tolerance,
                n_jobs=n_jobs,
            )
            judged += trial.held_out.judge(fit.values, fit.bias, trial.problem.loss)
            fits[number] = fit
            if number == 0:
                first_fits.append(fit)
        tried.append(strength)
        losses.append(float(judged[0] / total))
        errors.append(float(judged[1] / total))
        if not any(_good_enough(losses, slack)[-PATIENCE:]):
            break
    weakest = max(number for number, good in enumerate(_good_enough(losses, slack)) if good)
    chosen = 0 if losses[0] == min(losses) else weakest
    return StrengthChoice(
        tried[chosen], first_fits[chosen], np.array(tried), np.array(losses), np.array(errors)
    )


def _from_strong_to_weak(strengths: Sequence[float]) -> list[float]:
    given = numbers(strengths, "strengths")
    if given.ndim != 1:
        raise InputError("`strengths` is not a list of numbers.")
    return sorted({check_strength(one) for one in given} | {math.inf}, reverse=True)


def _good_enough(losses: list[float], slack: float) -> list[bool]:
    least = min(losses)
    return [loss <= least + slack * abs(least) for loss in losses]
