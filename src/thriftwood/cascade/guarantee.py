"""Rules to stop whose errors are, with a stated confidence, hardly more than the whole model's.

Learn then test (Angelopoulos, Bates, Candes, Jordan and Lei, 2021): rules that were fixed before
are tested on fresh samples, from the whole model on, until one fails. Tests in a fixed sequence
need no correction for their number: a rule that is worse than allowed is chosen only if the first
of those that are has passed its test.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from thriftwood.cascade.rules import StoppingRules
from thriftwood.cascade.tuning import at_stop
from thriftwood.errors import InputError
from thriftwood.forest import LEAST_SHARE, Stages, predictions, scores, value_ranges
from thriftwood.problem import least_cost_answers
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.validation import one_number

# How far thresholds are raised towards the greatest margin that there can be, from dear to cheap.
RAISED = np.append(np.geomspace(1.0, 1e-4, 80), 0.0)
# Bets to average over, as parts of the largest bet.
BETS = (np.arange(200) + 0.5) / 200
ROUNDING = 1e-12
# With fewer different errors samples may be like others by chance.
ENOUGH_ERRORS = 5


def cheapest_guaranteed(
    stages: Stages,
    rules: StoppingRules,
    samples: tuple[NDArray[Any], IntArray],
    error_costs: FloatArray,
    limits: tuple[float, float],
    n_jobs: int | None = None,
) -> FloatArray | None:
    """Return the thresholds of the last rule that passes its test; None if not even the first does.

    `limits` are the largest increase and the confidence: the cost of its errors exceeds that of the
    last stage by at most so much, with this probability over the samples, whatever they are drawn
    from.
    """
    max_increase, confidence = limits
    margins, lost = _results(stages, *samples, error_costs, n_jobs)
    _refuse_samples_of_tuning(rules, margins, lost)
    dearest, chosen = float(error_costs.max()), None
    for rule in rules_from_dear_to_cheap(stages, rules):
        more = (at_stop(margins, lost, rule) - lost[:, -1]) / dearest
        different = np.unique(more, return_counts=True)
        if p_value(*different, max_increase / dearest) > 1 - confidence:
            break
        chosen = rule
    return chosen


def rules_from_dear_to_cheap(stages: Stages, rules: StoppingRules) -> FloatArray:
    """Return thresholds from those that hardly any sample reaches, by the present ones, to cheap.

    First all thresholds fall together, from the greatest margins that there can be to the present
    ones, so that ever more samples stop ever earlier; then come the cheaper rules that were tuned.
    """
    now = stages.thresholds
    greatest = np.array([_greatest_margin(stages, number) for number in range(len(stages))])
    raised = now + RAISED[:, None] * np.maximum(greatest - now, 0.0)
    raised[:, -1] = 0.0
    is_own = (rules.thresholds == now).all(axis=1)
    cheaper = rules.thresholds[: int(is_own.argmax())] if is_own.any() else rules.thresholds[:0]
    return np.vstack([raised, cheaper[::-1]])


def p_value(differences: FloatArray, counts: IntArray, max_increase: float) -> float:
    """Return how well differences, from -1 to 1 and each so often, fit a mean above a limit.

    If their mean is at least m, a gambler who bets a part of her money on each being less, and has
    ``1 + bet * (m - difference)`` times as much afterwards, does not win on average: she has t
    times her money with probability 1 / t at most (Waudby-Smith and Ramdas, Journal of the Royal
    Statistical Society B, 2024). Here the money is spread over many bets, so that nobody needs to
    know how often stages disagree.
    """
    bets = BETS / (1 - max_increase)
    logs = np.log1p(bets[:, None] * (max_increase - differences)) @ counts
    return float(np.exp(min(0.0, np.log(len(bets)) - logsumexp(logs))))


def fewest_samples(max_increase: float, confidence: float) -> int:
    """Return how many samples a test needs where no stage ever disagrees with the last."""

    def is_shown(n_samples: int) -> bool:
        return p_value(np.zeros(1), np.array([n_samples]), max_increase) <= 1 - confidence

    enough = 1
    while not is_shown(enough):
        enough *= 2
    return 1 + bisect_left(range(1, enough), True, key=is_shown)


def read_part(value: object, name: str, most: float = 1.0) -> float:
    """Return the argument as a number between 0 and the most there can be, or refuse it."""
    try:
        number = one_number(value, name)
    except InputError:
        number = np.nan
    if not 0 < number < most:
        raise InputError(f"`{name}` is {value!r}: pass a number between 0 and {most:g}.", name)
    return number


def _results(
    stages: Stages,
    X: NDArray[Any],
    target: IntArray,
    error_costs: FloatArray,
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray]:
    """Return the margins of samples at every stage, and what its answers cost."""
    margins, lost = np.empty((2, len(X), len(stages)))
    for number, forest in enumerate(stages.forests):
        found = scores(forest, X, n_jobs)
        margins[:, number] = stages.margins(number, X, found)
        answers = least_cost_answers(predictions(forest.link, found), error_costs)
        lost[:, number] = error_costs[target, answers]
    return margins, lost


def _greatest_margin(stages: Stages, number: int) -> float:
    """Return what no margin exceeds, whatever the sample, but for the draw that breaks ties."""
    if len(stages.error_costs):
        return float(np.log1p(1 / LEAST_SHARE))
    forest = stages.forests[number]
    roots = forest.tree_start[:-1]
    divisor = forest.n_trees if forest.combine == "mean" else 1
    low, high = (
        ends[roots].sum(axis=0) / divisor + forest.bias for ends in value_ranges(forest, True)
    )
    return float(np.abs([low, high]).max() if len(low) == 1 else np.ptp([low, high]))


def _refuse_samples_of_tuning(rules: StoppingRules, margins: FloatArray, lost: FloatArray) -> None:
    """Refuse samples on which all rules err exactly as on those that tuned them."""
    errors = np.array([at_stop(margins, lost, rule).mean() for rule in rules.thresholds])
    are_alike = np.allclose(errors, rules.errors, rtol=0, atol=ROUNDING)
    if are_alike and len(set(errors.tolist())) >= ENOUGH_ERRORS:
        raise InputError(
            "These are the samples that the cascade was tuned on, on which its rules look better "
            "than they are: pass samples that nothing of it has seen.",
            "X",
        )
