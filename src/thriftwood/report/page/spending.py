"""What rows spend on one forest, broken down as the page shows it."""

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
    shared_items,
    uses_in_order,
)
from thriftwood.costs import MODEL, PriceList
from thriftwood.forest import Forest
from thriftwood.forest.table import Table
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

OTHER_FEATURES = "features without a group"
ALL_FEATURES = "features"
TESTS = "splits that a row passes"
MODEL_COST = "what is paid once for the model"
SEVERAL = "counted in several groups"


@dataclass(frozen=True, eq=False)
class Spending:
    """What rows spend on a forest.

    Attributes
    ----------
    forest : Forest
    mean : float
        Mean bill of a row, its part of what the model costs included.
    per_row : shape (n_samples,)
        The bill of each row, without what is paid for the model.
    bought, spent : shape (n_features + n_fees,)
        The share of rows that buy each feature or pay each fee, and what a row pays on average.
    test_cost, model_cost : float
        What a row pays on average for the splits that it passes, and as its part of the model.
    by_line : float array
        The same as `mean`, in parts: one for each name that `line_names` returns.
    """

    forest: Forest
    mean: float
    per_row: FloatArray
    bought: FloatArray
    spent: FloatArray
    test_cost: float
    model_cost: float
    by_line: FloatArray
    prices: PriceList
    table: Table
    used: BoolArray
    n_tests: IntArray

    @property
    def splits_per_tree(self) -> IntArray:
        splits = np.flatnonzero(self.forest.is_split)
        return np.bincount(self.forest.tree_of(splits), minlength=self.forest.n_trees)

    def cost_items_of(self, row: int) -> dict[int, float]:
        """Return what one row pays for each cost item; 0 for features that it has anyway."""
        features = list(self.values_of(row))
        needed = {item for one in features for item in items_needed(self.prices, one, row)}
        needed.update(shared_items(self.prices, self.used, row))
        paid = {item: part_of(self.prices, item, row) for item in sorted(needed)}
        return dict.fromkeys(features, 0.0) | paid

    def values_of(self, row: int) -> dict[int, Any]:
        """Return what one row turns out to have, for every feature that it is asked for."""
        in_order = uses_in_order(self.forest, self.table.values[row])
        return {use.feature: use.value for use in in_order}

    def tests_of(self, row: int) -> float:
        """Return what one row pays for being tested."""
        return float(self.prices.per_split * self.n_tests[row])


def spending_on(
    forest: Forest, table: Table, prices: PriceList, weights: FloatArray, n_jobs: int | None
) -> Spending:
    """Send rows through a forest and add up what they pay, each as much as it counts."""
    used, n_tests = features_used(forest, table, n_jobs)
    bills = bills_of(prices, used, weights)
    tests = prices.per_split * n_tests
    model_cost = model_cost_of(forest, prices)
    per_row = bills.per_sample + tests
    mean = float(np.average(per_row, weights=weights)) + model_cost
    test_cost = float(np.average(tests, weights=weights))
    bought = [*range(prices.n_features), *fee_items(prices)]
    return Spending(
        forest=forest,
        mean=mean,
        per_row=per_row,
        bought=bills.needed_by[bought],
        spent=bills.by_cost_item[bought],
        test_cost=test_cost,
        model_cost=model_cost,
        by_line=_lines(prices, bills.by_cost_item, test_cost, model_cost, mean),
        prices=prices,
        table=table,
        used=used,
        n_tests=n_tests,
    )


def fee_items(prices: PriceList) -> list[int]:
    """Return the cost items that are fees: rows pay them, but they are no features."""
    cost_items: list[int] = np.flatnonzero(prices.payer != MODEL)[prices.n_features :].tolist()
    return cost_items


def line_names(prices: PriceList) -> list[str]:
    """Return the parts that a mean bill is divided into: groups first, then what has none."""
    rest = OTHER_FEATURES if prices.groups else ALL_FEATURES
    return [*(name for name, _ in prices.groups), rest, TESTS, MODEL_COST, SEVERAL]


def _lines(
    prices: PriceList, by_cost_item: FloatArray, test_cost: float, model_cost: float, mean: float
) -> FloatArray:
    """Return the parts of a mean bill; the last makes up for features of several groups."""
    by_feature = by_cost_item[: prices.n_features]
    fees = {
        prices.names[cost_item]: float(by_cost_item[cost_item]) for cost_item in fee_items(prices)
    }
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
