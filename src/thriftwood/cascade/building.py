"""Make points of a path the stages of a cascade, and tune when samples may stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thriftwood.adapters import Scoring, forest_model, read_forest
from thriftwood.billing import bill_of_stages, model_cost_of
from thriftwood.cascade.calibration import brier_scores, is_lopsided, temperature_scaling
from thriftwood.cascade.model import CascadeClassifier
from thriftwood.cascade.rules import StoppingRules
from thriftwood.cascade.tuning import StageResults, at_stop, tune_rules
from thriftwood.costs import PriceList
from thriftwood.errors import InputError
from thriftwood.evaluation import (
    Evaluation,
    Meter,
    Predicted,
    Score,
    check_scoring,
    check_several_classes,
    choose_point,
    class_losses,
    labels_of,
    read_score,
)
from thriftwood.forest import (
    Forest,
    Stages,
    collapse,
    leaves,
    one_stage,
    predictions,
    scores,
)
from thriftwood.problem import (
    ErrorCosts,
    SampleData,
    least_cost_answers,
    ranks,
    read_error_costs,
    read_points,
)
from thriftwood.refitting import LabelledSamples, read_labelled, refit_model
from thriftwood.support.arrays import FloatArray, read_only
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import chosen, is_whole, whole_number

# How many stages to try; more take longer and bring nothing.
N_STAGES = 18


def check_cascade(
    forest: Forest, samples: str, refit: LabelledSamples | None, has_queries: bool = False
) -> None:
    """Refuse what no cascade can be tuned on, before samples are read."""
    if not (forest.is_classifier or (has_queries and ranks(forest))):
        raise InputError(
            "A cascade stops where the class of a sample is clear, and this model predicts "
            "numbers. Take a point of the path by `path.at(...)`, or mix two by `path.mix(...)`; "
            "for a ranker pass `qid`, the query of each sample."
        )
    if has_queries and not forest.is_classifier:
        chosen(samples, ("all",), "samples")
    if chosen(samples, ("all", "out_of_bag"), "samples") == "out_of_bag" and refit is not None:
        raise InputError(
            f"Refitted values have seen every training sample, so that samples={samples!r} has no "
            "meaning for them: pass samples that the model was not trained on, or leave `refit` "
            "out.",
            "samples",
        )


def build_cascade(
    path: Any,
    data: SampleData,
    prices: PriceList,
    stages: int | Sequence[int] = N_STAGES,
    refit: LabelledSamples | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    scoring: Scoring | ErrorCosts = None,
) -> CascadeClassifier:
    """Return a cascade of points of a path, tuned on a validation set, as `PruningPath.cascade`."""
    error_costs = None
    if isinstance(scoring, ErrorCosts):
        error_costs = read_error_costs(scoring, path.forest.classes)
    elif scoring is not None:
        check_scoring(scoring)  # refused before the work
    if prices.is_shared:
        raise InputError(
            "With `shared_by` what a sample pays depends on where others stop, so that none can be "
            "told when to stop. Leave it out of `costs`.",
            "costs",
        )
    if len(np.asarray(path.forest.classes)) > 1:
        judged = data.counted(data.loss_weights) > 0
        check_several_classes(np.unique(data.target[judged]), int(judged.sum()))
    labels = np.asarray(path.forest.classes)[data.target]
    validation = data.table.columns, labels, data.sample_weights
    with progress_bar("Cascading", progress) as bar:
        forests = stage_forests(path, stages, refit, validation, n_jobs, bar)
        tried = Stages(tuple(forests), np.zeros(len(forests)))
        if error_costs is not None:
            tried = replace(tried, error_costs=error_costs)
        results, outputs = _results(tried, data, prices, n_jobs)
        rules = tune_rules(results)
    whole = predictions(path.forest.link, _scores_of(path.forest, data, n_jobs))
    score = read_score(scoring, path.forest, data, data.table.columns)
    bill = bill_of_stages(one_stage(path.forest), data.table, prices, n_jobs).per_sample
    before = float(np.average(bill, weights=data.counted(data.weights)))
    before += model_cost_of(path.forest, prices)
    measured = _measured(path, data, score, rules, results, (outputs, whole), before)
    if error_costs is not None:  # as they are expected: what was counted is noisy
        suggested = int(np.argmin(rules.costs + rules.losses))
    else:
        chosen_rule = choose_point(measured, "one_standard_error").point
        ends_whole = forests[-1] is path.forest
        dearest = len(rules) if ends_whole else len(rules) - 1
        suggested = dearest if chosen_rule is None else chosen_rule
    rules = replace(rules, suggested=suggested, class_weights=_class_weights(data, path.forest))
    last = replace(tried, thresholds=rules.thresholds[-1])
    cascade = CascadeClassifier(last, prices.without_samples(), rules, n_jobs, evaluation=measured)
    return cascade.at(budget=None)


def _class_weights(data: SampleData, forest: Forest) -> FloatArray | None:
    """Return how much errors on each class count, beside the weights of samples, at most 1.

    A class without samples counts like that which counts most.
    """
    weighs = data.sample_weights > 0
    of_class = np.full(len(np.asarray(forest.classes)), -1.0)
    of_class[data.target[weighs]] = data.loss_weights[weighs] / data.sample_weights[weighs]
    of_class = np.where(of_class < 0, 1.0, of_class / of_class.max())
    return None if np.allclose(of_class, 1.0) else of_class


def stage_forests(
    path: Any,
    stages: int | Sequence[int],
    refit: LabelledSamples | None,
    validation: LabelledSamples,
    n_jobs: int | None,
    bar: Callable[[float], None],
) -> list[Forest]:
    """Return the forests of the stages, from cheap to rich, with values fitted again if asked."""
    training = None if refit is None else read_labelled(refit, "refit")
    if is_whole(stages):
        points = _spread(path.costs, whole_number(stages, "stages", 1) - 1)
    else:
        points = sorted(set(read_points(stages, len(path), "stages").tolist()), reverse=True)
    forests = [collapse(path.forest, path.kept_nodes(point))[0] for point in points]
    forests += [path.forest] if is_whole(stages) else []
    for number, forest in enumerate(forests):
        bar(number / len(forests))
        if training is not None and forest.n_splits < path.forest.n_splits:
            forests[number] = _refitted(forest, training, validation, n_jobs)
    return forests


def _spread(costs: FloatArray, n_points: int) -> list[int]:
    """Return points from cheap to rich, far apart from each other in the logarithm of their costs.

    The last and the first point of the path are taken first, then always the point that is
    farthest from all those taken.
    """
    place = np.log1p(costs / costs[costs > 0].min(initial=np.inf))
    taken = [len(costs) - 1, 0][:n_points]
    distance = np.abs(place[:, None] - place[taken]).min(axis=1, initial=np.inf)
    while len(taken) < n_points and distance.max() > 0:
        taken.append(int(distance.argmax()))
        distance = np.minimum(distance, np.abs(place - place[taken[-1]]))
    return sorted(set(taken), reverse=True)


def _refitted(
    forest: Forest, training: LabelledSamples, validation: LabelledSamples, n_jobs: int | None
) -> Forest:
    """Return a forest with values fitted again, or as it is, if that predicts better."""
    model, _ = refit_model(forest_model(forest), training, validation, n_jobs=n_jobs)
    refitted = replace(read_forest(model), inputs=forest.inputs)
    if refitted.n_outputs == forest.n_outputs:
        return refitted
    # All stages have the same outputs: a score of 0 for the first of two classes is added to that
    # of a logistic model, since forests that average probabilities have two.
    return replace(
        refitted,
        values=np.hstack([np.zeros((refitted.n_nodes, 1)), refitted.values]),
        bias=np.concatenate([[0.0], refitted.bias]),
        link="softmax",
    ).check()


def _results(
    stages: Stages,
    data: SampleData,
    prices: PriceList,
    n_jobs: int | None,
) -> tuple[StageResults, FloatArray]:
    """Return what every stage predicts for the validation set, and what that costs.

    The last is what it predicts, shape (n_samples, n_stages, n_classes).
    """
    X, target = data.table.values, data.target.astype(np.int32)
    weights, loss_weights = (
        one / one.sum() for one in map(data.counted, (data.weights, data.loss_weights))
    )
    n_classes = len(np.asarray(stages.richest.classes))
    error_costs = stages.error_costs if len(stages.error_costs) else 1.0 - np.eye(n_classes)
    margins, margins_of_all, bills = np.empty((3, len(X), len(stages)))
    outputs = np.empty((*margins.shape, n_classes))
    best, least = np.empty((0, 0)), np.inf
    for s, forest in enumerate(stages.forests):
        of_all = scores(forest, X, n_jobs)
        found = of_all if data.times.all() else _scores_of(forest, data, n_jobs)
        margins[:, s] = stages.margins(s, X, found)
        margins_of_all[:, s] = stages.margins(s, X, of_all)
        outputs[:, s] = predictions(forest.link, found)
        bills[:, s] = bill_of_stages(one_stage(forest), data.table, prices, n_jobs).per_sample
        probability, loss = temperature_scaling(found, target, loss_weights)
        if loss < least:
            best, least = probability, loss
    expected = None
    if not len(stages.error_costs) and is_lopsided(target, loss_weights):
        expected = brier_scores(outputs, best)
    results = StageResults(
        margins=margins,
        margins_of_all=margins_of_all,
        labels=least_cost_answers(outputs, error_costs),
        probability=best,
        target=target,
        bills=bills,
        weights=weights,
        loss_weights=loss_weights,
        model_costs=np.array([model_cost_of(forest, prices) for forest in stages.forests]),
        error_costs=error_costs,
        expected=expected,
    )
    return results, outputs


def _scores_of(forest: Forest, data: SampleData, n_jobs: int | None) -> FloatArray:
    """Return the scores of samples by the trees that predict each; 0 where none does."""
    if data.times.all():
        return scores(forest, data.table.values, n_jobs)
    reached = leaves(forest, data.table.values, n_jobs)
    predicts = data.times > 0
    total = np.zeros((len(reached), forest.n_outputs))
    for tree, counts in enumerate(predicts):
        total[counts] += forest.values[reached[counts, tree]]
    return total / np.maximum(predicts.sum(axis=0), 1)[:, None]


def _measured(
    path: Any,
    data: SampleData,
    score: Score,
    rules: StoppingRules,
    results: StageResults,
    outputs: tuple[FloatArray, FloatArray],
    cost_before: float,
) -> Evaluation:
    """Return errors, scores and bills of all rules on the samples that tuned them.

    `outputs` are those of stages, shape (n_samples, n_stages, n_classes), and of the model before
    pruning, which costs so much.
    """
    meter = Meter(path.model, path.forest, data, score, (), 1 + len(rules))
    costs = [cost_before, *rules.costs.tolist()]
    found = _predicted(rules, results, *outputs)
    return Evaluation.of(
        [
            meter(one, data.weights)._replace(cost=cost)
            for one, cost in zip(found, costs, strict=True)
        ],
        points=read_only(np.arange(len(rules))),
        tradeoffs=read_only(np.full(len(rules), np.nan)),
        quantiles=(),
        n_samples=int(np.count_nonzero(data.times.any(axis=0))),
        scoring=score.name,
        error_costs=score.error_costs,
        classes=labels_of(path.forest),
    )


def _predicted(
    rules: StoppingRules, results: StageResults, of_stages: FloatArray, of_whole: FloatArray
) -> Iterator[Predicted]:
    """Yield predictions of the model before pruning, and then of each rule."""
    yield _with_losses(of_whole, results)
    for rule in rules.thresholds:
        yield _with_losses(at_stop(results.margins, of_stages, rule), results)


def _with_losses(outputs: FloatArray, results: StageResults) -> Predicted:
    return Predicted(class_losses(outputs, results.target), outputs, outputs.argmax(axis=1))
