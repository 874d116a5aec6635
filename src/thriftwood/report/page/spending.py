"""What samples spend on one forest, broken down as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thriftwood.billing import (
    bills_of,
    features_used,
    items_needed,
    model_cost_of,
    part_of,
    uses_in_order,
)
from thriftwood.costs import MODEL, PriceList
from thriftwood.forest import Forest
from thriftwood.problem import PruningProblem
from thriftwood.support.arrays import BoolArray, FloatArray

OTHER_FEATURES = "features without a group"
ALL_FEATURES = "features"
TESTS = "splits that a sample passes"
MODEL_COST = "what is paid once for the model"
SEVERAL = "counted in several groups"


@dataclass(frozen=True, eq=False)
class Spending:
    """What samples spend on a forest, each as much as it counts.

    Attributes
    ----------
    forest : Forest
    problem : PruningProblem
        With samples and prices.
    used : shape (n_samples, n_features)
        The features that each sample is tested for.
    shared : dict
        Of every cost item that batches pay, which samples have a part in it.
    tests : shape (n_samples,)
        What each sample pays for being tested.
    per_sample : shape (n_samples,)
        The bill of each sample, without what is paid for the model.
    mean : float
        Mean bill of a sample, its part of what the model costs included.
    bought, spent : shape (n_features + n_fees,)
        The share of samples that buy each feature or pay each fee, and the mean that they pay.
    test_cost, model_cost : float
        Mean cost of the splits that a sample passes, and its part of the model.
    by_line : float array
        The same as `mean`, in parts: one for each name that `line_names` returns.
    """

    forest: Forest
    problem: PruningProblem
    used: BoolArray
    shared: dict[int, BoolArray]
    tests: FloatArray
    per_sample: FloatArray
    mean: float
    bought: FloatArray
    spent: FloatArray
    test_cost: float
    model_cost: float
    by_line: FloatArray

    def items_of(self, sample: int) -> dict[int, float]:
        """Return what one sample pays for each cost item; 0 for features that it has anyway."""
        prices, features = self.problem.prices, np.flatnonzero(self.used[sample]).tolist()
        needed = {item for one in features for item in items_needed(prices, one, sample)}
        needed.update(item for item, payers in self.shared.items() if payers[sample])
        paid = {item: part_of(prices, item, sample) for item in sorted(needed)}
        return dict.fromkeys(features, 0.0) | paid

    def receipt_lines(self, sample: int) -> list[dict[str, Any]]:
        """Return the lines of the receipt of one sample, the dearest first."""
        row, names = self.problem.in_memory.table.values[sample], self.problem.prices.names
        values = {use.feature: use.value for use in uses_in_order(self.forest, row)}
        lines = [
            {
                "item": item,
                "name": names[item] if item < self.forest.n_features else f"fee: {names[item]}",
                "value": _value_in_words(values[item]) if item in values else None,
                "price": price,
            }
            for item, price in self.items_of(sample).items()
        ]
        return sorted(lines, key=lambda line: -line["price"])


def spending_on(problem: PruningProblem, forest: Forest) -> Spending:
    """Send the samples of a problem through a forest, and add up what they pay."""
    data, prices = problem.in_memory, problem.prices
    used, tests = features_used(forest, data.table, prices, problem.n_jobs)
    bills = bills_of(prices, used, data.weights)
    per_sample = bills.per_sample + tests
    model_cost = model_cost_of(forest, prices)
    mean = float(np.average(per_sample, weights=data.weights)) + model_cost
    test_cost = float(np.average(tests, weights=data.weights))
    bought = [*range(prices.n_features), *fee_items(prices)]
    return Spending(
        forest=forest,
        problem=problem,
        used=used,
        shared=bills.shared,
        tests=tests,
        per_sample=per_sample,
        mean=mean,
        bought=bills.needed_by[bought],
        spent=bills.by_cost_item[bought],
        test_cost=test_cost,
        model_cost=model_cost,
        by_line=_lines(prices, bills.by_cost_item, test_cost, model_cost, mean),
    )


def fee_items(prices: PriceList) -> list[int]:
    """Return the cost items that are fees: samples pay them, but they are no features."""
    items: list[int] = np.flatnonzero(prices.payer != MODEL)[prices.n_features :].tolist()
    return items


def line_names(prices: PriceList) -> list[str]:
    """Return the parts that a mean bill is divided into: groups first, then what has none."""
    rest = OTHER_FEATURES if prices.groups else ALL_FEATURES
    return [*(name for name, _ in prices.groups), rest, TESTS, MODEL_COST, SEVERAL]


def _lines(
    prices: PriceList, by_item: FloatArray, test_cost: float, model_cost: float, mean: float
) -> FloatArray:
    """Return the parts of a mean bill; the last makes up for features of several groups."""
    by_feature = by_item[: prices.n_features]
    fees = {prices.names[item]: float(by_item[item]) for item in fee_items(prices)}
    in_groups = [
        fees.get(name, 0.0) + float(by_feature[list(members)].sum())
        for name, members in prices.groups
    ]
    has_group = np.zeros(prices.n_features, dtype=np.bool_)
    for _, members in prices.groups:
        has_group[list(members)] = True
    lines = [*in_groups, float(by_feature[~has_group].sum()), test_cost, model_cost]
    overlap = mean - sum(lines)
    return np.array([*lines, overlap if abs(overlap) > 1e-9 * max(1.0, mean) else 0.0])


def _value_in_words(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
