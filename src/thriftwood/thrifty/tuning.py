"""Tune when samples may stop at nested stages, by what cross-fitted models predict for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thriftwood.cascade import (
    StageResults,
    StoppingRules,
    at_stop,
    brier_scores,
    cheapest,
    expected_errors,
    is_lopsided,
    not_beaten,
    rules_near_best,
    temperature_scaling,
    tune_rules,
    whole_model,
)
from thriftwood.evaluation import areas_under_curve, near_best
from thriftwood.forest import gate_margins, margins_of
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray
from thriftwood.thrifty.data import LEAST_CHANCE, LabelledData

NO_LABELS = np.empty((0, 0), dtype=np.int64)
# Of the standard error: by so much may a rule rank samples worse. Few samples of a rare class make
# it large, and a whole one would give much of what is known of them away.
RANKED_WORSE = 0.5


class StageOutputs(NamedTuple):
    """Predictions of stages for samples that their models did not see, and their costs.

    Attributes
    ----------
    outputs : shape (n_samples, n_stages, n_outputs)
    gates : shape (n_samples, n_stages)
        For numbers, the squared error that later stages may save, as far as a stage can tell;
        nothing for classes.
    bills : shape (n_samples, n_stages)
    bill_weights : shape (n_samples,)
        How much samples count in mean bills.
    model_costs : shape (n_stages,)
    """

    outputs: FloatArray
    gates: FloatArray
    bills: FloatArray
    bill_weights: FloatArray
    model_costs: FloatArray


class Objective(NamedTuple):
    """Costs of wrong answers: true class, answer; nothing for squared errors.

    `unit` is what margins of numbers are compared with, `is_money` that errors were given a price.
    """

    error_costs: FloatArray
    unit: float = 1.0
    is_money: bool = False

    def observed(self, data: LabelledData, outputs: FloatArray) -> FloatArray:
        """Return the loss of each sample, by its true class or number."""
        losses: FloatArray
        if data.n_classes:
            losses = self.error_costs[data.y, self.answers(outputs)]
        else:
            losses = (outputs[:, 0] - data.y) ** 2
        return losses

    def answers(self, outputs: FloatArray) -> IntArray:
        """Return the class of least expected cost."""
        answers: IntArray = (outputs @ self.error_costs).argmin(axis=1)
        return answers

    def margins(self, found: StageOutputs, stage: int) -> FloatArray:
        if len(self.error_costs):
            return margins_of(found.outputs[:, stage], "identity", self.error_costs)
        return gate_margins(found.gates[:, stage], self.unit)


class TunedStages(NamedTuple):
    """Rules to stop, and what they were measured by: margins and losses at each stage.

    `as_likely` marks rules whose probabilities of classes are not clearly worse than the best, and
    that rank samples hardly worse.
    """

    rules: StoppingRules
    margins: FloatArray
    observed: FloatArray
    as_likely: BoolArray

    @classmethod
    def of(
        cls,
        rules: StoppingRules,
        margins: FloatArray,
        observed: FloatArray,
        weights: FloatArray,
        as_likely: BoolArray | None = None,
    ) -> TunedStages:
        """Suggest the cheapest rule that is not clearly worse than the best, by its losses nor by
        its probabilities: rules of few errors may know little of who is at risk.
        """
        as_good = rules_near_best(rules, margins, observed, weights)
        as_likely = as_good if as_likely is None else as_likely
        suggested = cheapest(as_good & as_likely)
        return cls(replace(rules, suggested=suggested), margins, observed, as_likely)


def tune_stages(
    found: StageOutputs, data: LabelledData, objective: Objective, final: FloatArray
) -> TunedStages:
    """Return rules from cheap to dear, each dearer and better than the one before.

    `final` are the margins of the models that were trained on all samples, (n_samples, n_stages).
    Losses are expected ones, as in `cascade`: the best stage is trusted, and others err where they
    disagree with it. Of classes they are what errors cost, if that was said; else Brier scores,
    which see who is at risk, and, unless nearly all samples are of one class, errors, added up.
    """
    stages = range(found.outputs.shape[1])
    margins = np.column_stack([objective.margins(found, s) for s in stages])
    observed = np.column_stack([objective.observed(data, found.outputs[:, s]) for s in stages])
    weights = data.weights / data.weights.sum()
    shared: dict[str, Any] = {
        "margins": margins,
        "margins_of_all": margins,
        "bills": found.bills,
        "weights": found.bill_weights / found.bill_weights.sum(),
        "loss_weights": weights,
        "model_costs": found.model_costs,
    }
    if data.n_classes > 1:
        answers = np.column_stack([objective.answers(found.outputs[:, s]) for s in stages])
        probability = _calibrated(found, data, weights)
        expected = expected_errors(probability, margins, answers, weights, objective.error_costs)
        if not objective.is_money:
            briers = brier_scores(found.outputs, probability)
            expected = briers if is_lopsided(data.y, weights) else briers + expected
        results = StageResults(
            labels=answers,
            probability=probability,
            target=data.y.astype(np.int32),
            error_costs=objective.error_costs,
            expected=expected,
            **shared,
        )
        rules = at_final_bills(tune_rules(results), results, final)
        as_likely = are_as_likely(rules, margins, found.outputs, data)
        return TunedStages.of(rules, margins, observed, weights, as_likely)
    expected = np.zeros(margins.shape) if data.n_classes else _expected(found, data, weights)
    unit = float(weights @ expected[:, 0]) or 1.0  # rules are tuned for losses of about 1
    results = StageResults(
        labels=NO_LABELS,
        probability=np.empty((0, 0)),
        target=NO_LABELS.astype(np.int32),
        error_costs=np.ones((1, 1)),
        expected=expected / unit,
        observed=observed / unit,
        **shared,
    )
    rules = at_final_bills(tune_rules(results), results, final)
    scaled = {name: unit * getattr(rules, name) for name in ("losses", "errors", "standard_errors")}
    return TunedStages.of(replace(rules, **scaled), margins, observed, weights)


def are_as_likely(
    rules: StoppingRules, margins: FloatArray, outputs: FloatArray, data: LabelledData
) -> BoolArray:
    """Mark rules whose log loss is not clearly above the least, and that rank samples hardly worse
    than the best rule or the last stage, by areas under ROC curves.
    """
    weights = data.weights / data.weights.sum()
    right = outputs[np.arange(len(data.y)), :, data.y]
    log_losses = -np.log(np.maximum(right, LEAST_CHANCE))
    as_likely = rules_near_best(rules, margins, log_losses, weights)
    if len(np.unique(data.y)) < data.n_classes:  # one may be so rare that no sample is left
        return as_likely
    area_of = areas_under_curve(data.y, weights, data.n_classes)
    tried = [*rules.thresholds, whole_model(outputs.shape[1])]
    found = [area_of(at_stop(margins, outputs, rule)) for rule in tried]
    areas, deviations = map(np.array, zip(*found, strict=True))
    return as_likely & near_best(areas, deviations, RANKED_WORSE)[:-1]


def at_final_bills(rules: StoppingRules, results: StageResults, final: FloatArray) -> StoppingRules:
    """Return rules with what samples pay by the final models, where that is more.

    Samples that are alike have one margin, and a threshold beside it parts them from others by the
    models of the folds, and perhaps not by the final ones. Rules that others beat then are left
    out.
    """
    more = [
        results.weights
        @ (at_stop(final, results.bills, rule) - at_stop(results.margins, results.bills, rule))
        for rule in rules.thresholds
    ]
    costs = rules.costs + np.maximum(more, 0.0)
    kept = not_beaten(costs, rules.losses)
    names = "thresholds", "losses", "errors", "standard_errors"
    return replace(rules, costs=costs[kept], **{name: getattr(rules, name)[kept] for name in names})


def _calibrated(found: StageOutputs, data: LabelledData, weights: FloatArray) -> FloatArray:
    """Return probabilities of classes by the stage of least log loss, once it is calibrated."""
    logs = np.log(np.maximum(found.outputs, LEAST_CHANCE))
    stages = range(logs.shape[1])
    calibrated = [temperature_scaling(logs[:, s], data.y, weights) for s in stages]
    return min(calibrated, key=lambda pair: pair[1])[0]


def _expected(found: StageOutputs, data: LabelledData, weights: FloatArray) -> FloatArray:
    """Return the squared error of the best stage, and how far each stage is from it."""
    numbers = found.outputs[:, :, 0]
    errors = weights @ (numbers - data.y[:, None]) ** 2
    best = int(np.argmin(errors))
    far = (numbers - numbers[:, [best]]) ** 2
    # What a stage errs more on average is more than its distance, where it is biased, or less.
    means = weights @ far
    more = np.maximum(errors - errors[best], 0.0)
    scale = np.divide(more, means, out=np.ones_like(more), where=means > 0)
    losses: FloatArray = errors[best] + scale * far
    return losses
