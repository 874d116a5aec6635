"""Rules to choose a point of a path by what was measured on samples.

A rule marks the points that are good enough; of these the cheapest is chosen.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thriftwood.adapters import Scoring
from thriftwood.errors import ConstantPredictionWarning, InputError
from thriftwood.evaluation.evaluation import Evaluation, samples_in_words
from thriftwood.evaluation.scores import NEG_ERROR_COSTS, standard_errors_to
from thriftwood.forest import Forest
from thriftwood.problem import ErrorCosts
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray
from thriftwood.support.validation import chosen, one_number_from_zero

# Means of losses and bills may differ in their last digits where they should be equal.
ROUNDING = 1e-12
LEAST_TOTAL_COST = "least_total_cost"
# Of standard errors: by more than this are probabilities said to be worse.
CLEARLY = 2.0
# Fewer samples of a class than this tell little of it.
FEW = 10


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
    brier, brier_before, brier_error : float, optional
        Brier scores of probabilities, the lower the better, and the standard error of their
        difference; not of regressors.
    fewest : int, optional
        How many samples the rarest class has; not of regressors, nor where samples have weights.
    n_queries : int, optional
        Where samples are documents of queries.
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
    brier: float | None = None
    brier_before: float | None = None
    brier_error: float | None = None
    fewest: int | None = None
    n_queries: int | None = None

    @property
    def given_up(self) -> float:
        """By how much the score is below that of the model before pruning."""
        return self.score_before - self.score

    def __str__(self) -> str:
        side = "below" if self.given_up >= 0 else "above"
        found = (
            f"{self.scoring} is {self.score:.4g}, {abs(self.given_up):.2g} ± "
            f"{self.standard_error:.2g} {side} the model before pruning"
        )
        if self.scoring == NEG_ERROR_COSTS:
            found = f"errors cost {0.0 - self.score:.6g} instead of {0.0 - self.score_before:.6g}"
        return (
            f"On {samples_in_words(self.n_samples, self.n_queries)} {found}, and the mean bill "
            f"{self.cost:.6g} instead of {self.cost_before:.6g}.{self._what_is_lost}"
        )

    @property
    def _what_is_lost(self) -> str:
        lost = ""
        if self.fewest is not None and self.fewest < FEW:
            lost = f" Of one class there are only {self.fewest}, which tell little."
        if self.is_constant:
            return f"{lost} It predicts the same for every sample."
        lost += " It predicts one class for every sample." if self.one_class else ""
        if self.brier is None or self.brier_before is None or self.brier_error is None:
            return lost
        if self.brier - self.brier_before > CLEARLY * self.brier_error:
            lost += (
                f" Its probabilities are clearly worse: Brier score {self.brier:.3g} instead of "
                f"{self.brier_before:.3g}."
            )
        return lost


def check_statistic(
    forest: Forest, scoring: Scoring | ErrorCosts = None, has_queries: bool = False
) -> None:
    """Refuse to judge by squared errors what was trained for something else."""
    is_numbers = not forest.is_classifier and not has_queries
    if is_numbers and forest.statistic == "other" and scoring is None:
        raise InputError(
            "This model predicts a quantile, a rank or something of your own, which squared errors "
            "do not judge: pass a `scoring` that does, for a ranker `qid`, the query of each "
            "sample, or take a point by `path.at(...)`.",
            "scoring",
        )


def check_several_classes(found: IntArray, n_samples: int) -> None:
    """Refuse to choose on samples of a single class, where a constant is never wrong."""
    if len(found) == 1:
        raise InputError(
            f"All {n_samples} samples that are to choose are of one class: whatever names it looks "
            "perfect on them, and a constant looks best. Pass samples of every class.",
            "y",
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
    confusion, fewest = measured.original.confusion, None
    if confusion is not None and len(confusion) > 1:
        of_class = confusion.sum(axis=1)
        check_several_classes(np.flatnonzero(of_class), measured.n_samples)
        if of_class.sum() == measured.n_samples:
            fewest = int(of_class[of_class > 0].min())
    good_enough = np.flatnonzero(RULES[rule](measured, 0.0 if limit is None else limit))
    cost = measured.cost[good_enough]
    place = int(good_enough[_at_most(cost, cost.min())][-1])
    before, brier = measured.original, {}
    if measured.brier is not None and measured.brier_deviations is not None:
        brier = {
            "brier": float(measured.brier[place]),
            "brier_before": before.brier,
            "brier_error": _apart(measured.brier_deviations, place),
        }
    return Choice(
        point=int(measured.points[place]),
        rule=rule,
        scoring=measured.scoring,
        score=float(measured.score[place]),
        score_before=before.score,
        standard_error=_apart(measured.deviations, place),
        cost=float(measured.cost[place]),
        cost_before=before.cost,
        n_samples=measured.n_samples,
        is_constant=bool(measured.is_constant[place]) and not before.is_constant,
        one_class=bool(measured.one_class[place]) and not before.one_class,
        fewest=fewest,
        n_queries=measured.n_queries,
        **brier,
    )


def _apart(deviations: FloatArray, place: int) -> float:
    """Return the standard error of the difference between a point and the model before pruning."""
    return float(standard_errors_to(deviations[[1 + place]], deviations[0])[0])


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
    good_enough = near_best(score, measured.deviations)[1:]
    if not good_enough.any():
        good_enough = best_score(measured, 0.0)
    if measured.scoring.startswith("roc_auc") and measured.brier is not None:
        return _with_good_probabilities(measured, good_enough)
    return good_enough


def _with_good_probabilities(measured: Evaluation, good_enough: BoolArray) -> BoolArray:
    """Mark those of some points whose Brier score is not clearly worse, or else the best of it.

    The area under a ROC curve sees only the order of probabilities. Those of a model with class
    weights are judged with these.
    """
    before, after, deviations = measured.original.brier, measured.brier, measured.brier_deviations
    if measured.own_brier is not None:
        before, after = measured.original.own_brier, measured.own_brier
        deviations = measured.own_brier_deviations
    assert before is not None
    assert after is not None
    assert deviations is not None
    score = -np.append(before, after)
    as_good = good_enough & near_best(score, deviations)[1:]
    if as_good.any():
        return as_good
    return good_enough & _at_least(score[1:], score[1:][good_enough].max())


def near_best(score: FloatArray, deviations: FloatArray) -> BoolArray:
    """Mark scores that are below the best by no more than the standard error of the difference."""
    best = int(score.argmax())
    return _at_least(score, score[best] - standard_errors_to(deviations, deviations[best]))


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
