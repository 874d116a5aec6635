"""Rules to stop whose error is, with a stated confidence, close to that of the whole model.

Learn then test (Angelopoulos, Bates, Candes, Jordan and Lei, 2021): rules that were fixed before
are tested on fresh samples, from the whole model on, until one fails. Tests in a fixed sequence
need no correction for their number: a rule that is worse than allowed is chosen only if the first
of those that are has passed its test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from thriftwood.cascade.rules import StoppingRules
from thriftwood.cascade.tuning import at_stop
from thriftwood.errors import InputError
from thriftwood.forest import Forest, Stages, margins_of, predictions, scores, value_ranges
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray
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
    max_error_increase: float,
    confidence: float,
    n_jobs: int | None = None,
) -> FloatArray | None:
    """Return the thresholds of the last rule that passes its test; None if not even the first does.

    Its error exceeds that of the last stage by at most `max_error_increase`, with probability
    `confidence` over the samples, whatever they are drawn from.
    """
    margins, wrong = _results(stages, *samples, n_jobs)
    _refuse_samples_of_tuning(rules, margins, wrong)
    chosen = None
    for rule in rules_from_dear_to_cheap(stages, rules):
        more = at_stop(margins, wrong, rule).astype(np.int64) - wrong[:, -1]
        counts = int((more > 0).sum()), int((more < 0).sum()), len(more)
        if p_value(*counts, max_error_increase) > 1 - confidence:
            break
        chosen = rule
    return chosen


def rules_from_dear_to_cheap(stages: Stages, rules: StoppingRules) -> FloatArray:
    """Return thresholds from those that hardly any sample reaches, by the present ones, to cheap.

    First all thresholds fall together, from the greatest margins that there can be to the present
    ones, so that ever more samples stop ever earlier; then come the cheaper rules that were tuned.
    """
    now = stages.thresholds
    greatest = np.array([_greatest_margin(forest) for forest in stages.forests])
    raised = now + RAISED[:, None] * np.maximum(greatest - now, 0.0)
    raised[:, -1] = 0.0
    is_own = (rules.thresholds == now).all(axis=1)
    cheaper = rules.thresholds[: int(is_own.argmax())] if is_own.any() else rules.thresholds[:0]
    return np.vstack([raised, cheaper[::-1]])


def p_value(n_worse: int, n_better: int, n_samples: int, max_increase: float) -> float:
    """Return how well so many differences fit a mean above `max_increase`; the rest are 0.

    `n_worse` differences are 1, `n_better` are -1. If their mean is at least m, a gambler who bets
    a part of her money on each being less, and has ``1 + bet * (m - difference)`` times as much
    afterwards, does not win on average: she has t times her money with probability 1 / t at most
    (Waudby-Smith and Ramdas, Journal of the Royal Statistical Society B, 2024). Here the money is
    spread over many bets, so that nobody needs to know how often stages disagree.
    """
    m, bets = max_increase, BETS / (1 - max_increase)
    n_same = n_samples - n_worse - n_better
    logs = (
        n_worse * np.log1p(-bets * (1 - m))
        + n_same * np.log1p(bets * m)
        + n_better * np.log1p(bets * (1 + m))
    )
    return float(np.exp(min(0.0, np.log(len(bets)) - logsumexp(logs))))


def fewest_samples(max_increase: float, confidence: float) -> int:
    """Return how many samples a rule needs to pass that never differs from the whole model."""
    enough = 1
    while p_value(0, 0, enough, max_increase) > 1 - confidence:
        enough *= 2
    fewer = enough // 2
    while enough - fewer > 1:
        middle = (fewer + enough) // 2
        if p_value(0, 0, middle, max_increase) > 1 - confidence:
            fewer = middle
        else:
            enough = middle
    return enough


def read_share(value: object, name: str) -> float:
    """Return the argument as a number between 0 and 1, or refuse it."""
    try:
        number = one_number(value, name)
    except InputError:
        number = np.nan
    if not 0 < number < 1:
        raise InputError(f"`{name}` is {value!r}: pass a number between 0 and 1.", name)
    return number


def _results(
    stages: Stages, X: NDArray[Any], target: IntArray, n_jobs: int | None
) -> tuple[FloatArray, BoolArray]:
    """Return the margins of samples at every stage, and which it gets wrong."""
    shape = len(X), len(stages)
    margins, wrong = np.empty(shape), np.empty(shape, dtype=np.bool_)
    for number, forest in enumerate(stages.forests):
        found = scores(forest, X, n_jobs)
        margins[:, number] = margins_of(forest, X, found)
        wrong[:, number] = predictions(forest.link, found).argmax(axis=1) != target
    return margins, wrong


def _greatest_margin(forest: Forest) -> float:
    """Return what no margin exceeds, whatever the sample, but for the draw that breaks ties."""
    roots = forest.tree_start[:-1]
    divisor = forest.n_trees if forest.combine == "mean" else 1
    low, high = (
        ends[roots].sum(axis=0) / divisor + forest.bias for ends in value_ranges(forest, True)
    )
    return float(np.abs([low, high]).max() if len(low) == 1 else np.ptp([low, high]))


def _refuse_samples_of_tuning(rules: StoppingRules, margins: FloatArray, wrong: BoolArray) -> None:
    """Refuse samples on which all rules err exactly as on those that tuned them."""
    errors = np.array([at_stop(margins, wrong, rule).mean() for rule in rules.thresholds])
    are_alike = np.allclose(errors, rules.errors, rtol=0, atol=ROUNDING)
    if are_alike and len(set(errors.tolist())) >= ENOUGH_ERRORS:
        raise InputError(
            "These are the samples that the cascade was tuned on, on which its rules look better "
            "than they are: pass samples that nothing of it has seen.",
            "X",
        )
