"""Rules of a thrifty model on samples that it was not trained on: errors, bills, who stops where.

Points go from dear to cheap, as those of a path of prunings: point `i` is the rule `-1 - i`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from thriftwood.billing import FeatureBill, FeatureUse, make_bill
from thriftwood.cascade import at_stop, whole_model
from thriftwood.costs import AnyCosts, PriceList
from thriftwood.evaluation import Evaluation, Meter, Predicted, class_losses, read_score
from thriftwood.forest import NestedStages, mask_of, stages_in_use
from thriftwood.problem import ErrorCosts, SampleData, read_validation
from thriftwood.support.arrays import FloatArray, IntArray, read_only
from thriftwood.support.validation import shares_of_one
from thriftwood.thrifty.units import bills_of_sets


@dataclass(frozen=True)
class MeasuredStages:
    """Predictions of every stage of a thrifty model for some samples, and their margins.

    Attributes
    ----------
    model : a fitted thrifty model
    data : SampleData
    prices : PriceList
    outputs : shape (n_samples, n_stages, n_outputs)
    margins : shape (n_samples, n_stages)
    """

    model: Any
    data: SampleData
    prices: PriceList
    outputs: FloatArray
    margins: FloatArray

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, sample_weight: Any = None, costs: AnyCosts = None
    ) -> MeasuredStages:
        trees = model.purchase_plan.richest
        about = "all", None, sample_weight, costs
        data, prices = read_validation(trees, model.prices, X, y, *about)
        stages: NestedStages = model.stages_
        rows = data.table.values.astype(np.float64, copy=False)
        outputs = [stages.outputs(number, rows, model.n_jobs) for number in range(len(stages))]
        margins = [
            stages.margins(number, rows, own, model.n_jobs) for number, own in enumerate(outputs)
        ]
        return cls(model, data, prices, np.stack(outputs, axis=1), np.column_stack(margins))

    @property
    def costs(self) -> FloatArray:
        """The mean bill of each point where it was tuned, from dear to cheap."""
        costs: FloatArray = self.model.rules_.costs[::-1]
        return costs

    def stage_at(self, point: int | None) -> IntArray:
        """Return where samples stop at a point; None is the full model, the last stage for all."""
        return at_stop(self.margins, self._numbers, self._rule(point))

    def bill_at(self, point: int | None) -> FeatureBill:
        """Return what samples pay at a point, or for the full model."""
        stage, in_use = self.stage_at(point), self.in_use(point)
        rows, names = self.data.table.values, self.model.purchase_plan.richest.feature_names
        return bill_of_sets(
            self.model.stages_, in_use, self.prices, stage, rows, names, self.data.weights
        )

    def in_use(self, point: int | None) -> list[int]:
        """Return the stages that samples may reach at a point."""
        return stages_in_use(self._rule(point))

    def evaluate(self, quantiles: Sequence[float] = ()) -> Evaluation:
        """Measure all points: errors, scores and bills."""
        trees, shares = self.model.purchase_plan.richest, shares_of_one(quantiles, "quantiles")
        score = read_score(_scoring_of(self.model), trees, self.data, self.data.table.values)
        points = [None, *range(len(self.costs))]
        meter = Meter(self.model, trees, self.data, score, shares, len(points))
        return Evaluation.of(
            [
                meter(predicted, bill)._replace(cost=cost)
                for predicted, bill, cost in self._along(points)
            ],
            points=read_only(np.arange(len(self.costs))),
            tradeoffs=read_only(np.full(len(self.costs), np.nan)),
            quantiles=shares,
            n_samples=int(np.count_nonzero(self.data.sample_weights)),
            scoring=score.name,
            error_costs=score.error_costs,
        )

    @property
    def _numbers(self) -> IntArray:
        return np.tile(np.arange(self.margins.shape[1]), (len(self.margins), 1))

    def _along(self, points: Sequence[int | None]) -> Iterator[tuple[Predicted, FloatArray, float]]:
        """Yield predictions, bills and the mean bill of points."""
        sets, weights = self.model.stages_.sets, self.data.weights
        bills = bills_of_sets(self.prices, sets, len(weights))
        for point in points:
            rule = self._rule(point)
            outputs = at_stop(self.margins, self.outputs, rule)
            losses = (
                class_losses(outputs, self.data.target)
                if self.model.purchase_plan.richest.is_classifier
                else (outputs.T - self.data.target) ** 2
            )
            bill = at_stop(self.margins, bills, rule)
            once = _model_cost(self.prices, sets[self.in_use(point)[-1]])
            cost = float(weights @ bill / weights.sum() + once)
            yield Predicted(losses, outputs, outputs.argmax(axis=1)), bill, cost

    def _rule(self, point: int | None) -> FloatArray:
        """Return the thresholds of a point."""
        rule: FloatArray
        if point is None:
            rule = whole_model(self.margins.shape[1])
        else:
            rule = self.model.rules_.thresholds[-1 - point]
        return rule


def bill_of_sets(
    stages: NestedStages,
    in_use: Sequence[int],
    prices: PriceList,
    stage: IntArray,
    rows: FloatArray,
    names: tuple[str, ...] | None,
    weights: FloatArray | None = None,
) -> FeatureBill:
    """Return what samples pay that stop at these stages, of those that are in use."""
    bill = make_bill(
        prices,
        stages.used(stage),
        np.zeros(len(rows)),
        partial(_uses_of, stages, in_use, stage, rows),
        _model_cost(prices, stages.sets[in_use[-1]]),
        names if prices.made_of is None else prices.made_of.names,
        weights,
    )
    return replace(bill, _part="stage")


def _scoring_of(model: Any) -> Any:
    """Return the score of the frontier, of numbers the squared error; or what errors cost."""
    if getattr(model, "error_costs", None) is not None:
        return ErrorCosts(model.error_costs_)
    is_class = hasattr(model, "classes_")
    usual = model.frontier_.scoring if is_class else "neg_mean_squared_error"
    return usual if model.scoring is None else model.scoring


def _model_cost(prices: PriceList, features: frozenset[int]) -> float:
    return prices.model_cost(mask_of(features, prices.n_features), 0)


def _uses_of(
    stages: NestedStages, in_use: Sequence[int], stage: IntArray, rows: FloatArray, sample: int
) -> list[FeatureUse]:
    """Return what a sample buys, stage after stage."""
    return [
        (feature, number, _shown(rows[sample, feature]))
        for number in in_use
        if number <= stage[sample]
        for feature in sorted(stages.sets[number])
    ]


def _shown(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
