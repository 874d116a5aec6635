"""Rules to choose a point of a path by what was measured on samples.

A rule marks the points that are good enough; of these the cheapest is chosen.
"""

from collections.abc import Callable

import numpy as np

from thriftwood.errors import InputError
from thriftwood.evaluation.evaluation import Evaluation
from thriftwood.forest import Forest
from thriftwood.support.arrays import BoolArray, FloatArray
from thriftwood.support.validation import chosen, one_number_from_zero

# Means of losses and bills may differ in their last digits where they should be equal.
ROUNDING = 1e-12


def check_statistic(forest: Forest) -> None:
    """Refuse to judge by squared errors what was trained for something else."""
    if not forest.is_classifier and forest.statistic == "other":
        raise InputError(
            "This model predicts a quantile, a rank or something of your own, which squared errors "
            "do not judge: measure the models of some points, `path[i].model`, your own way, and "
            "take one by `path.at(...)`."
        )


def check_rule(rule: str, limit: float | None) -> None:
    """Raise where a rule does not exist, or lacks its limit."""
    chosen(rule, RULES, "rule")
    if rule in WITH_LIMIT:
        one_number_from_zero(limit, "limit", f"The rule {rule!r} needs it.")
    elif limit is not None:
        raise InputError(f"The rule {rule!r} takes no `limit`.", "limit")


def chosen_point(measured: Evaluation, rule: str, limit: float | None = None) -> int:
    """Return the point of the path that a rule chooses; of equally cheap ones the last."""
    good_enough = np.flatnonzero(RULES[rule](measured, 0.0 if limit is None else limit))
    cost = measured.cost[good_enough]
    cheapest = good_enough[_at_most(cost, cost.min())]
    return int(measured.points[cheapest[-1]])


def lowest_error(measured: Evaluation, _limit: float) -> BoolArray:
    return _at_most(measured.error, measured.error.min())


def one_standard_error(measured: Evaluation, _limit: float) -> BoolArray:
    best = int(measured.error.argmin())
    return _at_most(measured.error, measured.error[best] + measured.standard_error[best])


def max_error_increase(measured: Evaluation, limit: float) -> BoolArray:
    before = measured.original.error
    good_enough = _at_most(measured.error, before + limit)
    if not good_enough.any():
        raise InputError(
            f"The error of the model is {before:.4g} on these samples, and no pruning stays within "
            f"{before + limit:.4g}: the nearest comes to {measured.error.min():.4g}. Allow more, "
            "or leave the model as it is."
        )
    return good_enough


def budget(measured: Evaluation, limit: float) -> BoolArray:
    affordable = measured.cost <= limit
    if not affordable.any():
        raise InputError(
            f"No point has a mean bill of at most {limit:g} on these samples; the cheapest has "
            f"{measured.cost.min():g}."
        )
    return affordable & _at_most(measured.error, measured.error[affordable].min())


def _at_most(values: FloatArray, most: float) -> BoolArray:
    return values <= most + ROUNDING * abs(most)


RULES: dict[str, Callable[[Evaluation, float], BoolArray]] = {
    "lowest_error": lowest_error,
    "one_standard_error": one_standard_error,
    "max_error_increase": max_error_increase,
    "budget": budget,
}
WITH_LIMIT = ("max_error_increase", "budget")
