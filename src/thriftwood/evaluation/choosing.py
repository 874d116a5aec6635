"""Rules to choose a point of a path by what was measured on samples.

A rule marks the points that are good enough; of these the cheapest is chosen.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thriftwood.adapters import Scoring
from thriftwood.errors import ConstantPredictionWarning, InputError
from thriftwood.evaluation.evaluation import Evaluation
from thriftwood.evaluation.scores import standard_errors_to
from thriftwood.forest import Forest
from thriftwood.problem import ErrorCosts
from thriftwood.support.arrays import BoolArray, FloatArray
from thriftwood.support.validation import chosen, one_number_from_zero

# Means of losses and bills may differ in their last digits where they should be equal.
ROUNDING = 1e-12
LEAST_TOTAL_COST = "least_total_cost"


@dataclass(frozen=True)
class Choice:
    """A point that a rule chose, what it saves and what it gives up, on the samples that chose.

    Attributes
    ----------
    point : int
        Of the path.
    rule, scoring : str
        By which rule, and by which score.
    score, score_before : float
        Of the point, and of the model before pruning; the higher the better.
    standard_error : float
        Of the difference between the two, which predicted the same samples.
    cost, cost_before : float
        Mean bills.
    n_samples : int
    is_constant, one_class : bool
        Whether the point predicts the same for all samples, or the same class with other
        probabilities, and the model before pruning does not.
    """

    point: int
    rule: str
    scoring: str
    score: float
    score_before: float
    standard_error: float
    cost: float
    cost_before: float
    n_samples: int
    is_constant: bool
    one_class: bool

    @property
    def given_up(self) -> float:
        """By how much the score is below that of the model before pruning."""
        return self.score_before - self.score

    def __str__(self) -> str:
        side = "below" if self.given_up >= 0 else "above"
        return (
            f"On {self.n_samples} samples {self.scoring} is {self.score:.4g}, "
            f"{abs(self.given_up):.2g} ± {self.standard_error:.2g} {side} the model before "
            f"pruning, and the mean bill {self.cost:.6g} instead of {self.cost_before:.6g}."
            f"{self._what_is_lost}"
        )

    @property
    def _what_is_lost(self) -> str:
        if self.is_constant:
            return " It predicts the same for every sample."
        return " It predicts one class for every sample." if self.one_class else ""


def check_statistic(forest: Forest, scoring: Scoring | ErrorCosts = None) -> None:
    """Refuse to judge by squared errors what was trained for something else."""
    if not forest.is_classifier and forest.statistic == "other" and scoring is None:
        raise InputError(
            "This model predicts a quantile, a rank or something of your own, which squared errors "
            "do not judge: pass a `scoring` that does, or take a point by `path.at(...)`.",
            "scoring",
        )


def read_rule(rule: str | None, limit: float | None, is_money: bool = False) -> str:
    """Return the rule, or the usual one; raise where it does not exist, or lacks what it needs."""
    if rule is None:
        rule = LEAST_TOTAL_COST if is_money else "one_standard_error"
    chosen(rule, RULES, "rule")
    if rule == LEAST_TOTAL_COST and not is_money:
        raise InputError(f"The rule {rule!r} needs `error_costs`.", "rule")
    if rule in WITH_LIMIT:
        one_number_from_zero(limit, "limit", f"The rule {rule!r} needs it.")
    elif limit is not None:
        raise InputError(f"The rule {rule!r} takes no `limit`.", "limit")
    return rule


def choose_point(measured: Evaluation, rule: str, limit: float | None = None) -> Choice:
    """Return the point of the path that a rule chooses; of equally cheap ones the last."""
    good_enough = np.flatnonzero(RULES[rule](measured, 0.0 if limit is None else limit))
    cost = measured.cost[good_enough]
    place = int(good_enough[_at_most(cost, cost.min())][-1])
    apart = standard_errors_to(measured.deviations[[1 + place]], measured.deviations[0])
    before = measured.original
    return Choice(
        point=int(measured.points[place]),
        rule=rule,
        scoring=measured.scoring,
        score=float(measured.score[place]),
        score_before=before.score,
        standard_error=float(apart[0]),
        cost=float(measured.cost[place]),
        cost_before=before.cost,
        n_samples=measured.n_samples,
        is_constant=bool(measured.is_constant[place]) and not before.is_constant,
        one_class=bool(measured.one_class[place]) and not before.one_class,
    )


def warn_of_constant(choice: Choice, stacklevel: int) -> None:
    """Warn where a model that predicts several classes was given up for one that does not."""
    is_least = choice.rule == LEAST_TOTAL_COST  # money says that it is better so
    if is_least or not (choice.is_constant or choice.one_class):
        return
    advice = "Choose by another `rule`, `limit` or `scoring` to keep what the model knows."
    if not choice.is_constant:
        advice = (
            "Only its probabilities tell samples apart: set a threshold on these that suits you, "
            'or choose by scoring="balanced_accuracy".'
        )
    elif choice.given_up <= choice.standard_error:
        advice = "By this score the model is not clearly better than a constant."
    warnings.warn(f"{choice} {advice}", ConstantPredictionWarning, stacklevel=stacklevel + 1)


def best_score(measured: Evaluation, _limit: float) -> BoolArray:
    return _at_least(measured.score, measured.score.max())


def one_standard_error(measured: Evaluation, _limit: float) -> BoolArray:
    """Mark points that are not clearly worse than the best, the model before pruning included.

    The standard error is that of the paired difference, not of a score alone.
    """
    score = np.append(measured.original.score, measured.score)
    best = int(score.argmax())
    apart = standard_errors_to(measured.deviations, measured.deviations[best])
    good_enough = _at_least(score, score[best] - apart)[1:]
    return good_enough if good_enough.any() else best_score(measured, 0.0)


def least_total_cost(measured: Evaluation, _limit: float) -> BoolArray:
    total = measured.total_cost
    assert total is not None
    return _at_most(total, float(total.min()))


def max_score_decrease(measured: Evaluation, limit: float) -> BoolArray:
    before = measured.original.score
    good_enough = _at_least(measured.score, before - limit)
    if not good_enough.any():
        raise InputError(
            f"The {measured.scoring} of the model is {before:.4g} on these samples, and no pruning "
            f"stays above {before - limit:.4g}: the nearest comes to {measured.score.max():.4g}. "
            "Allow more, or leave the model as it is."
        )
    return good_enough


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
    return affordable & _at_least(measured.score, measured.score[affordable].max())


def _at_most(values: FloatArray, most: float) -> BoolArray:
    return values <= most + ROUNDING * abs(most)


def _at_least(values: FloatArray, least: FloatArray | float) -> BoolArray:
    return values >= least - ROUNDING * np.abs(least)


RULES: dict[str, Callable[[Evaluation, float], BoolArray]] = {
    "one_standard_error": one_standard_error,
    "best_score": best_score,
    LEAST_TOTAL_COST: least_total_cost,
    "max_score_decrease": max_score_decrease,
    "max_error_increase": max_error_increase,
    "budget": budget,
}
WITH_LIMIT = ("max_score_decrease", "max_error_increase", "budget")
