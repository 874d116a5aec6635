"""Rules of a cascade as candidates of a choice, beside the model before pruning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from thriftwood.billing import bill_of_stages, model_cost_of
from thriftwood.cascade.rules import StoppingRules
from thriftwood.cascade.tuning import StageResults, at_stop
from thriftwood.costs import PriceList
from thriftwood.evaluation import Evaluation, Meter, Predicted, Score, class_losses, labels_of
from thriftwood.forest import one_stage
from thriftwood.problem import SampleData
from thriftwood.support.arrays import FloatArray, read_only


def measure_rules(
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


def cost_of_whole(
    path: Any, data: SampleData, prices: PriceList, n_jobs: int | None = None
) -> float:
    """Return the mean bill of the model before pruning."""
    bill = bill_of_stages(one_stage(path.forest), data.table, prices, n_jobs).per_sample
    weights = data.counted(data.weights)
    return float(np.average(bill, weights=weights)) + model_cost_of(path.forest, prices)


def _predicted(
    rules: StoppingRules, results: StageResults, of_stages: FloatArray, of_whole: FloatArray
) -> Iterator[Predicted]:
    """Yield what the model before pruning predicts, and then each rule."""
    yield _with_losses(of_whole, results)
    for rule in rules.thresholds:
        yield _with_losses(at_stop(results.margins, of_stages, rule), results)


def _with_losses(outputs: FloatArray, results: StageResults) -> Predicted:
    return Predicted(class_losses(outputs, results.target), outputs, outputs.argmax(axis=1))
