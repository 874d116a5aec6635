"""Rules to stop whose errors are, with a stated confidence, hardly more than the whole model's.

Learn then test (Angelopoulos, Bates, Candes, Jordan and Lei, 2021): rules that were fixed before
are tested on fresh samples, from the whole model on, until one fails. Tests in a fixed sequence
need no correction for their number: a rule that is worse than allowed is chosen only if the first
of those that are has passed its test. So of the rules that pass any may be taken.
"""

from __future__ import annotations

import sys
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from thriftwood.cascade.calibration import is_lopsided
from thriftwood.cascade.rules import StoppingRules, whole_model
from thriftwood.cascade.tuning import at_stop
from thriftwood.errors import ConstantPredictionWarning, InputError
from thriftwood.evaluation import (
    Predicted,
    all_alike,
    class_losses,
    counted_answers,
    errors_in_words,
    near_best,
    read_score,
)
from thriftwood.forest import (
    LEAST_SHARE,
    Forest,
    Stages,
    predictions,
    scores,
    value_ranges,
)
from thriftwood.problem import (
    ClassWeight,
    SampleData,
    is_uniform,
    least_cost_answers,
    read_class_weights,
)
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.validation import one_number, six_digits

# How far thresholds are raised towards the greatest margin that there can be, from dear to cheap.
RAISED = np.append(np.geomspace(1.0, 1e-4, 80), 0.0)
# Bets to average over, as parts of the largest bet.
BETS = (np.arange(200) + 0.5) / 200
ROUNDING = 1e-12
# With fewer different errors samples may be like others by chance.
ENOUGH_ERRORS = 5
ALIKE = np.ones(1)


@dataclass(frozen=True, eq=False)
class Guarantee:
    """A statement about the errors of a cascade on new samples, shown on samples not seen before.

    Attributes
    ----------
    max_error_increase, confidence : float
        The error exceeds that of the whole model, the last stage, by at most so much, with this
        probability over the samples that show it.
    n_samples : int
        How many samples show it.
    is_shown : bool
        False where they are too few for any rule.
    is_whole : bool
        True where the whole model predicts every sample, as no rule was shown to be good enough.
    is_constant, one_class : bool
        Whether the cascade predicts the same for all of them, or the same class with other
        probabilities, and the whole model does not.
    confusion, confusion_before : shape (n_classes, n_classes)
        How many of each class (rows) get each answer (columns), of the cascade and of the whole
        model; with `sample_weight` what they weigh.
    is_money : bool
        True where errors have costs, and the limit is one of these.
    classes : tuple
        Labels, in the order of `confusion`.
    class_weights : tuple of float, optional
        How much errors on each class count, where they do not count alike.
    """

    max_error_increase: float
    confidence: float
    n_samples: int
    is_shown: bool
    is_whole: bool
    is_constant: bool
    one_class: bool
    confusion: FloatArray
    confusion_before: FloatArray
    is_money: bool
    classes: tuple[Any, ...]
    class_weights: tuple[float, ...] | None = None

    def __str__(self) -> str:
        words = self._statement, "" if self.is_whole else self.which_errors, self._what_is_lost
        return " ".join(filter(None, words))

    @property
    def which_errors(self) -> str:
        """Missed ones and false alarms of two classes, per 1,000 samples; empty for more."""
        return errors_in_words(self.confusion_before, self.confusion, self.classes)

    @property
    def _statement(self) -> str:
        samples, limit = f"{self.n_samples:,} samples", six_digits(self.max_error_increase)
        if not self.is_shown:
            return (
                f"{samples} are too few to show that {'costs of ' * self.is_money}errors rise by "
                f"at most {limit}{self._weighing}: the whole model predicts every sample."
            )
        if self.is_whole:
            return (
                f"On {samples} no cheaper rule was good enough: the whole model predicts every "
                "sample."
            )
        verb = "Its errors cost" if self.is_money else "It errs"
        return (
            f"{verb} at most {limit} more than the whole model{self._weighing}, with confidence "
            f"{six_digits(self.confidence)}, as shown on {samples}."
        )

    @property
    def _weighing(self) -> str:
        if self.class_weights is None:
            return ""
        of_class = zip(self.classes, self.class_weights, strict=True)
        return f", where classes weigh {', '.join(f'{k}: {weight:.3g}' for k, weight in of_class)}"

    @property
    def _what_is_lost(self) -> str:
        if self.is_constant:
            return "It predicts the same for every sample."
        return "It predicts one class for every sample." if self.one_class else ""

    def facts(self) -> dict[str, Any]:
        """Return the statement as JSON has it, but for the classes."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "classes"}
        for name in ("confusion", "confusion_before"):
            found[name] = found[name].tolist()
        return found

    @classmethod
    def of(cls, facts: dict[str, Any], classes: tuple[Any, ...]) -> Guarantee:
        """Return the statement that `facts` are of; raise what a damaged file raises."""
        facts = facts | {"classes": classes}
        for name in ("confusion", "confusion_before"):
            facts[name] = np.array(facts[name], dtype=np.float64)
            if facts[name].shape != (len(classes), len(classes)):
                raise ValueError
        for name in ("max_error_increase", "confidence"):
            facts[name] = float(facts[name])
        return cls(**facts)


class Limits(NamedTuple):
    """By how much errors may rise, with which confidence, and how much those on classes count."""

    max_error_increase: float
    confidence: float
    class_weights: FloatArray | None


def cheapest_guaranteed(
    stages: Stages,
    rules: StoppingRules,
    data: SampleData,
    limits: Limits,
    n_jobs: int | None = None,
) -> tuple[FloatArray, Guarantee]:
    """Return the thresholds of the cheapest rule that passes its test, and what is shown of it.

    The whole model is what is left where no other rule passes, or none of these is good enough.
    """
    results = _results(stages, data, n_jobs)
    _refuse_samples_of_tuning(rules, results, data)
    weights = _weights(data, limits.class_weights)
    if not weights.any():
        raise InputError("`class_weight` is 0 for every sample that counts: weigh one class.")
    passed = [whole_model(len(stages)), *_passing(stages, rules, results, weights, limits)]
    if len(stages.error_costs):
        rule = passed[-1]
    else:
        rule = _last_good_one(passed, results, replace(data, loss_weights=weights), stages.richest)
    found = _guarantee(stages, (passed[0], rule), results, data, limits, len(passed) > 1)
    _warn(found, _part(stages, limits), weights)
    return rule, found


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


def p_value(room: FloatArray, counts: FloatArray | IntArray, most: float) -> float:
    """Return how well it fits that samples have no room below a limit, on average.

    The room of a sample, here each so often, is the limit less by how much a rule is worse there,
    times what the sample weighs; it is never below -`most`. If its mean is 0 or less, a gambler who
    bets a part of her money on each, and has ``1 + bet * room`` times as much afterwards, does not
    win on average: she has t times her money with probability 1 / t at most (Waudby-Smith and
    Ramdas, Journal of the Royal Statistical Society B, 2024). Here the money is spread over many
    bets, so that nobody needs to know how often stages disagree.
    """
    logs = np.log1p((BETS / most)[:, None] * room) @ counts
    return float(np.exp(min(0.0, np.log(len(BETS)) - logsumexp(logs))))


def fewest_samples(max_increase: float, confidence: float, weights: FloatArray = ALIKE) -> int:
    """Return how many samples a test needs where no stage ever disagrees with the last.

    `weights`, from 0 to 1, are those of samples such as these.
    """
    room, counts = np.unique(max_increase * weights, return_counts=True)

    def is_shown(n_samples: int) -> bool:
        value = p_value(room, counts * float(n_samples) / len(weights), 1.0 - max_increase)
        return value <= 1 - confidence

    enough = 1
    while not is_shown(enough):
        enough *= 2
        if enough >= sys.maxsize:
            return sys.maxsize  # more than there can be
    return 1 + bisect_left(range(1, enough), True, key=is_shown)


def read_class_weight(class_weight: ClassWeight, forest: Forest) -> FloatArray | None:
    """Return the weights of classes in errors, at most 1; None where all count alike."""
    if is_uniform(class_weight):
        return None
    if isinstance(class_weight, str):
        raise InputError(
            f"`class_weight` is {class_weight!r}: pass a mapping from class to weight, or "
            "'uniform'. What is shown on samples must not have weights that depend on these.",
            "class_weight",
        )
    weights = read_class_weights(class_weight, forest)
    if not weights.any():
        raise InputError("`class_weight` is 0 for every class: weigh one at least.")
    return None if (weights == weights[0]).all() else weights / weights.max()


def read_part(value: object, name: str, most: float = 1.0) -> float:
    """Return the argument as a number between 0 and the most there can be, or refuse it."""
    try:
        number = one_number(value, name)
    except InputError:
        number = np.nan
    if not 0 < number < most:
        raise InputError(f"`{name}` is {value!r}: pass a number between 0 and {most:g}.", name)
    return number


def _warn(found: Guarantee, most: float, weights: FloatArray) -> None:
    """Warn where samples are too few, or where the rule tells no samples apart."""
    if not found.is_shown:
        fewest = fewest_samples(most, found.confidence, weights)
        needed = f"At least {fewest:,} are needed, and more where stages disagree with it."
        warnings.warn(f"{found} {needed}", stacklevel=4)
        return
    advice = "Only its probabilities tell samples apart: set a threshold on these that suits you."
    if found.is_money:
        advice = "By these costs of errors no test is worth its price."
    elif found.is_constant:
        advice = "By its score the whole model is not clearly better than a constant."
    if found.is_constant or (found.one_class and not found.is_money):
        warnings.warn(f"{found} {advice}", ConstantPredictionWarning, stacklevel=4)


class _Results(NamedTuple):
    """Margins of samples at every stage, what is predicted there, answers, and what these cost."""

    margins: FloatArray
    outputs: FloatArray  # (n_samples, n_stages, n_classes)
    answers: IntArray
    lost: FloatArray

    def predicted(self, rule: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return outputs and answers of a rule."""
        outputs, answers = (at_stop(self.margins, one, rule) for one in self[1:3])
        return outputs, answers


def _results(stages: Stages, data: SampleData, n_jobs: int | None) -> _Results:
    X, n_classes = data.table.values, len(np.asarray(stages.richest.classes))
    margins, outputs = np.empty((len(X), len(stages))), np.empty((len(X), len(stages), n_classes))
    for number, forest in enumerate(stages.forests):
        found = scores(forest, X, n_jobs)
        margins[:, number] = stages.margins(number, X, found)
        outputs[:, number] = predictions(forest.link, found)
    error_costs = stages.error_costs if len(stages.error_costs) else 1.0 - np.eye(n_classes)
    answers = least_cost_answers(outputs, error_costs)
    return _Results(margins, outputs, answers, error_costs[data.target[:, None], answers])


def _weights(data: SampleData, class_weights: FloatArray | None) -> FloatArray:
    """Return the weights of samples in errors, from 0 to 1."""
    weights: FloatArray = data.sample_weights / data.sample_weights.max()
    return weights if class_weights is None else weights * class_weights[data.target]


def _passing(
    stages: Stages,
    rules: StoppingRules,
    results: _Results,
    weights: FloatArray,
    limits: Limits,
) -> Iterator[FloatArray]:
    """Yield rules, from dear to cheap, until one fails its test."""
    most = _part(stages, limits)
    lost = results.lost * most / limits.max_error_increase
    for rule in rules_from_dear_to_cheap(stages, rules):
        more = at_stop(results.margins, lost, rule) - lost[:, -1]
        room = np.unique(weights * (most - more), return_counts=True)
        if p_value(*room, 1.0 - most) > 1 - limits.confidence:
            return
        yield rule


def _part(stages: Stages, limits: Limits) -> float:
    """Return the limit as a part of the dearest error."""
    return float(limits.max_error_increase / (stages.error_costs.max(initial=0.0) or 1.0))


def _last_good_one(
    passed: list[FloatArray], results: _Results, data: SampleData, forest: Forest
) -> FloatArray:
    """Return the last rule that does not throw away what errors cannot see.

    Where nearly all samples are of one class, whatever classes weigh, that is one whose score is
    not clearly below the best; elsewhere one that does not name a single class, if the whole model
    does not.
    """
    judged = data.loss_weights > 0
    if is_lopsided(data.target.astype(np.int32), data.sample_weights / data.sample_weights.sum()):
        score = read_score(None, forest, data, None)
        found = [score.of(_predicted(results, rule, data)) for rule in passed]
        values, deviations = map(np.array, zip(*found, strict=True))
        is_good = near_best(values, deviations)
    else:
        several = [len(np.unique(results.predicted(rule)[1][judged])) > 1 for rule in passed]
        is_good = np.array(several) == several[0]
    return passed[int(np.flatnonzero(is_good)[-1])]


def _predicted(results: _Results, rule: FloatArray, data: SampleData) -> Predicted:
    outputs, answers = results.predicted(rule)
    return Predicted(class_losses(outputs, data.target), outputs, answers)


def _guarantee(
    stages: Stages,
    rules: tuple[FloatArray, FloatArray],
    results: _Results,
    data: SampleData,
    limits: Limits,
    is_shown: bool,
) -> Guarantee:
    """Return the guarantee of a rule, beside the whole model, whose rule comes first."""
    judged = np.flatnonzero(data.sample_weights > 0)
    classes, confusions, alike = tuple(np.asarray(stages.richest.classes).tolist()), [], []
    for rule in rules:
        outputs, answers = results.predicted(rule)
        confusions.append(counted_answers(data.target, answers, data.sample_weights, len(classes)))
        alike.append([all_alike(outputs, judged), all_alike(answers, judged)])
    before, now = alike
    of_class = limits.class_weights
    return Guarantee(
        max_error_increase=limits.max_error_increase,
        confidence=limits.confidence,
        n_samples=len(judged),
        is_shown=is_shown,
        is_whole=bool((rules[0] == rules[1]).all()),
        is_constant=now[0] and not before[0],
        one_class=now[1] and not before[1],
        confusion=confusions[1],
        confusion_before=confusions[0],
        is_money=len(stages.error_costs) > 0,
        classes=classes,
        class_weights=None if of_class is None else tuple(of_class.tolist()),
    )


def _greatest_margin(stages: Stages, number: int) -> float:
    """Upper bound on margins at a stage, but for the draw that breaks ties."""
    if len(stages.error_costs):
        return float(np.log1p(1 / LEAST_SHARE))
    forest = stages.forests[number]
    roots = forest.tree_start[:-1]
    divisor = forest.n_trees if forest.combine == "mean" else 1
    low, high = (
        ends[roots].sum(axis=0) / divisor + forest.bias for ends in value_ranges(forest, True)
    )
    return float(np.abs([low, high]).max() if len(low) == 1 else np.ptp([low, high]))


def _refuse_samples_of_tuning(rules: StoppingRules, results: _Results, data: SampleData) -> None:
    """Refuse samples on which all rules err exactly as on those that tuned them."""
    weights = _weights(data, rules.class_weights)
    if not weights.any():
        return
    errors = [
        np.average(at_stop(results.margins, results.lost, rule), weights=weights)
        for rule in rules.thresholds
    ]
    are_alike = np.allclose(errors, rules.errors, rtol=0, atol=ROUNDING)
    if are_alike and len(set(errors)) >= ENOUGH_ERRORS:
        raise InputError(
            "These are the samples that the cascade was tuned on, on which its rules look better "
            "than they are: pass samples that nothing of it has seen.",
            "X",
        )
