"""Choose how strongly refitted values are held to the old ones, by rows that are held out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thriftwood.arguments import numbers, whole_number
from thriftwood.arrays import FloatArray, frozen
from thriftwood.errors import InputError
from thriftwood.refitting.fit import LeafFit, check_strength, fit_leaf_values
from thriftwood.refitting.held_out import Trial

# From no refit to weak. Losses are least near 0.3 and errors near 0.05, for 2,000 rows and for
# 36,603, for forests of 200 leaves and of 140,000.
STRENGTHS = (math.inf, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
# Fits that are only judged need not be exact.
TOLERANCE = 1e-3
PATIENCE = 3


@dataclass(frozen=True, eq=False)
class StrengthChoice:
    """The chosen strength, and what was seen at all that were tried.

    Parameters
    ----------
    strength : float
        Infinity if no refit was better.
    strengths : shape (n_tried,)
        From strong to weak.
    losses, errors : shape (n_tried,)
        Weighted means over all held-out rows: the loss of the problem, and the share of wrong
        labels or the squared error.
    """

    strength: float
    strengths: FloatArray
    losses: FloatArray
    errors: FloatArray

    def __post_init__(self) -> None:
        for name in ("strengths", "losses", "errors"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.float64))


def choose_strength(
    trials: Sequence[Trial],
    strengths: Sequence[float] = STRENGTHS,
    fit_bias: bool = True,
    tolerance: float = TOLERANCE,
    patience: int = PATIENCE,
    n_jobs: int | None = None,
) -> StrengthChoice:
    """Fit every trial at every strength, from strong to weak, and return the best strength.

    The best has the least error on the held-out rows; among equals the least loss. "No refit",
    infinity, is always among them.

    Parameters
    ----------
    trials : sequence of Trial
        One of `validation_trial`, or all of `out_of_bag_trials`.
    strengths : sequence of float
    fit_bias, tolerance, n_jobs
        As in `fit_leaf_values`.
    patience : int
        Stop when neither loss nor error has come to a new least in so many steps.
    """
    if not trials:
        raise InputError("There are no trials: pass at least one.")
    patience = whole_number(patience, "patience", 1)
    tried, losses, errors = [], [], []
    fits: list[LeafFit | None] = [None] * len(trials)
    total = sum(float(trial.held_out.weights.sum()) for trial in trials)
    for strength in _from_strong_to_weak(strengths):
        loss = error = 0.0
        for number, trial in enumerate(trials):
            fit = fit_leaf_values(
                trial.problem,
                strength,
                start=fits[number],
                fit_bias=fit_bias,
                tolerance=tolerance,
                n_jobs=n_jobs,
            )
            fits[number] = fit
            scores = trial.held_out.scores(fit.values, fit.bias)
            one_loss, one_error = trial.held_out.judge(scores, trial.problem.loss)
            loss += one_loss
            error += one_error
        tried.append(strength)
        losses.append(loss / total)
        errors.append(error / total)
        if len(tried) > patience and _is_hopeless(losses, errors, patience):
            break
    best = min(range(len(tried)), key=lambda number: (errors[number], losses[number]))
    return StrengthChoice(tried[best], np.array(tried), np.array(losses), np.array(errors))


def _from_strong_to_weak(strengths: Sequence[float]) -> list[float]:
    given = numbers(strengths, "strengths")
    if given.ndim != 1:
        raise InputError("`strengths` is not a list of numbers.")
    return sorted({check_strength(one) for one in given} | {math.inf}, reverse=True)


def _is_hopeless(losses: list[float], errors: list[float], patience: int) -> bool:
    """Say whether the last steps have brought nothing."""
    return all(min(seen[-patience:]) >= min(seen[:-patience]) for seen in (losses, errors))
