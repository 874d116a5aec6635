"""Rules to choose a point of a path by what was measured on samples.

Candidates are the model before pruning and then the points. A rule marks those that are good
enough; of these the cheapest is chosen.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import Scoring
from thriftwood.errors import ConstantPredictionWarning, InputError
from thriftwood.evaluation.confusion import errors_in_words
from thriftwood.evaluation.evaluation import Evaluation, samples_in_words
from thriftwood.evaluation.money import Recalibration
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
    point : int, optional
        Of the path, or the rule of a cascade; None is the model before pruning.
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
    which_errors : str
        Of two classes, missed ones and false alarms before and after, in words.
    """

    point: int | None
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
    which_errors: str = ""

    @property
    def given_up(self) -> float:
        """Fall of the score below that of the model before pruning."""
        return self.score_before - self.score

    def __str__(self) -> str:
        if self.point is None:
            return (
                f"On {samples_in_words(self.n_samples, self.n_queries)} nothing cheaper was good "
                f"enough, so that the model stays as it was: {self.scoring} {self.score:.4g}, mean "
                f"bill {self.cost:.6g}."
            )
        side = "below" if self.given_up >= 0 else "above"
        found = (
            f"{self.scoring} is {self.score:.4g}, {abs(self.given_up):.2g} ± "
            f"{self.standard_error:.2g} {side} the model before pruning"
        )
        if self.scoring == NEG_ERROR_COSTS:
            found = f"errors cost {0.0 - self.score:.6g} instead of {0.0 - self.score_before:.6g}"
        return (
            f"On {samples_in_words(self.n_samples, self.n_queries)} {found}, and the mean bill "
            f"{self.cost:.6g} instead of {self.cost_before:.6g}."
            f"{self.which_errors and f' {self.which_errors}'}{self._what_is_lost}"
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
    """Return the point that a rule chooses, or the model before pruning; of equal ones the last."""
    confusion = measured.original.confusion
    if confusion is not None and len(confusion) > 1:
        check_several_classes(np.flatnonzero(confusion.sum(axis=1)), measured.n_samples)
    good_enough = np.flatnonzero(RULES[rule](measured, 0.0 if limit is None else limit))
    cost = _of_candidates(measured, "cost")[good_enough]
    candidate = int(good_enough[_at_most(cost, cost.min())][-1])
    return choice_of(measured, None if candidate == 0 else candidate - 1, rule)


def choice_of(measured: Evaluation, place: int | None, rule: str) -> Choice:
    """Return the choice of a point: savings and losses; None is the model before pruning."""
    before, brier = measured.original, {}
    candidate = 0 if place is None else 1 + place

    def own(name: str) -> Any:
        return _of_candidates(measured, name)[candidate].item()

    def was(name: str) -> float:
        return float(getattr(measured.original, name))

    if measured.brier_deviations is not None:
        brier = {
            "brier": own("brier"),
            "brier_before": was("brier"),
            "brier_error": _apart(measured.brier_deviations, candidate),
        }
    return Choice(
        point=None if place is None else int(measured.points[place]),
        rule=rule,
        scoring=measured.scoring,
        score=own("score"),
        score_before=was("score"),
        standard_error=_apart(measured.deviations, candidate),
        cost=own("cost"),
        cost_before=was("cost"),
        n_samples=measured.n_samples,
        is_constant=own("is_constant") and not before.is_constant,
        one_class=own("one_class") and not before.one_class,
        fewest=_fewest(measured),
        n_queries=measured.n_queries,
        which_errors=_which_errors(measured, place),
        **brier,
    )


def _which_errors(measured: Evaluation, place: int | None) -> str:
    """Return missed ones and false alarms of two classes in words, or nothing."""
    now, before = measured.confusion, measured.original.confusion
    if now is None or before is None or place is None:
        return ""
    return errors_in_words(before, now[place], measured.classes or ())


def chosen_recalibration(
    measured: Evaluation | None, choice: Choice | None
) -> Recalibration | None:
    """Return the recalibration of the chosen point, if there is one."""
    if measured is None or choice is None or measured.recalibration is None:
        return None
    own = measured.original.recalibration
    if choice.point is not None:
        own = measured.recalibration[np.flatnonzero(measured.points == choice.point)[0]]
    return None if own is None else Recalibration.of(own)


def _of_candidates(measured: Evaluation, name: str) -> NDArray[Any]:
    """Return a measure of the model before pruning, and then of the points."""
    return np.append(getattr(measured.original, name), getattr(measured, name))


def _fewest(measured: Evaluation) -> int | None:
    """Return the number of samples of the rarest class, where they have no weights."""
    confusion = measured.original.confusion
    if confusion is None or confusion.sum() != measured.n_samples:
        return None
    of_class = confusion.sum(axis=1)
    return int(of_class[of_class > 0].min())


def _apart(deviations: FloatArray, candidate: int) -> float:
    """Return the standard error of the difference to the model before pruning."""
    return float(standard_errors_to(deviations[[candidate]], deviations[0])[0])


def warn_of_constant(choice: Choice, stacklevel: int) -> None:
    """Warn where a model that predicts several classes was given up for one that does not."""
    is_least = choice.rule == LEAST_TOTAL_COST  # and weighs answers by what they cost
    if not (choice.is_constant or (choice.one_class and not is_least)):
        return
    advice = "Choose by another `rule`, `limit` or `scoring` to keep what the model knows."
    if is_least:
        advice = "By these costs of errors no test is worth its price."
    elif not choice.is_constant:
        advice = (
            "Only its probabilities tell samples apart: set a threshold on these that suits you, "
            'or choose by scoring="balanced_accuracy".'
        )
    elif choice.given_up <= choice.standard_error:
        advice = "By this score the model is not clearly better than a constant."
    warnings.warn(f"{choice} {advice}", ConstantPredictionWarning, stacklevel=stacklevel + 1)


def best_score(measured: Evaluation, _limit: float) -> BoolArray:
    score = _of_candidates(measured, "score")
    return _at_least(score, score.max())


def one_standard_error(measured: Evaluation, _limit: float) -> BoolArray:
    """Mark candidates that are not clearly worse than the best.

    The standard error is that of the paired difference, not of a score alone.
    """
    good_enough = near_best(_of_candidates(measured, "score"), measured.deviations)
    if measured.scoring.startswith("roc_auc") and measured.brier is not None:
        return _with_good_probabilities(measured, good_enough)
    return good_enough


def _with_good_probabilities(measured: Evaluation, good_enough: BoolArray) -> BoolArray:
    """Mark those of some candidates whose Brier score is not clearly worse, or the best of it.

    The area under a ROC curve sees only the order of probabilities. Those of a model with class
    weights are judged with these.
    """
    own = "brier" if measured.own_brier is None else "own_brier"
    score = -_of_candidates(measured, own)
    as_good = good_enough & near_best(score, getattr(measured, f"{own}_deviations"))
    if as_good.any():
        return as_good
    return good_enough & _at_least(score, score[good_enough].max())


def near_best(score: FloatArray, deviations: FloatArray, part: float = 1.0) -> BoolArray:
    """Mark scores below the best by at most (a part of) the standard error of the difference."""
    best = int(score.argmax())
    return _at_least(score, score[best] - part * standard_errors_to(deviations, deviations[best]))


def least_total_cost(measured: Evaluation, _limit: float) -> BoolArray:
    """Mark the least sum of bill and errors, which count half as seen and half as expected."""
    errors = -_of_candidates(measured, "score")
    if measured.expected_cost is not None:
        errors = (errors + _of_candidates(measured, "expected_cost")) / 2
    total = _of_candidates(measured, "cost") + errors
    return _at_most(total, float(total.min()))


def max_score_decrease(measured: Evaluation, limit: float) -> BoolArray:
    return _at_least(_of_candidates(measured, "score"), measured.original.score - limit)


def max_error_increase(measured: Evaluation, limit: float) -> BoolArray:
    return _at_most(_of_candidates(measured, "error"), measured.original.error + limit)


def budget(measured: Evaluation, limit: float) -> BoolArray:
    score, cost = _of_candidates(measured, "score"), _of_candidates(measured, "cost")
    affordable = cost <= limit
    if not affordable.any():
        raise InputError(
            f"No point has a mean bill of at most {limit:g} on these samples; the cheapest has "
            f"{cost.min():g}."
        )
    return affordable & _at_least(score, score[affordable].max())


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
