"""Grow trees on threads, each on a sample of its own, as many as a budget allows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from thriftwood.adapters import read_forest
from thriftwood.billing import bills_of, features_used
from thriftwood.costs import PriceList
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest
from thriftwood.forest.table import Table
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.parallel import Progress, for_each, n_threads

# What double arithmetic may add to a bill that is exactly the budget.
ROUNDING = 1e-12


def grow_trees(
    grow: Callable[[int], DecisionTreeClassifier],
    seeds: IntArray,
    limit: BudgetLimit | None,
    n_jobs: int | None,
    progress: Progress,
) -> list[DecisionTreeClassifier]:
    """Grow a tree for each seed, or a few at a time until the budget is used up."""
    n_trees = len(seeds)
    n_at_once = n_trees if limit is None else n_threads(n_jobs)
    trees: list[DecisionTreeClassifier] = [None] * n_trees

    def grow_one(number: int) -> None:
        trees[number] = grow(int(seeds[number]))
        progress((number + 1) / n_trees)

    for first in range(0, n_trees, n_at_once):
        batch = range(first, min(first + n_at_once, n_trees))
        for_each(grow_one, batch, n_jobs)
        for number in batch:
            if limit is not None and not limit.allows(read_forest(trees[number])):
                return trees[:number]
    return trees


class BudgetLimit:
    """The mean bill of samples as trees are added to a forest, held against a budget."""

    def __init__(
        self, budget: float, X: NDArray[np.float32], weights: FloatArray, prices: PriceList
    ) -> None:
        with np.errstate(over="ignore"):
            everything = prices.prices.sum()
        if not np.isfinite(everything):
            raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
        prices.batch_weights(weights)  # refuses weights that differ within a batch
        self._budget = budget
        self._table = Table(X, None)
        self._weights = weights
        self._prices = prices
        self._used = np.zeros(X.shape, dtype=np.bool_)
        self._test_costs = np.zeros(len(X))
        self._tested = np.zeros(X.shape[1], dtype=np.bool_)
        self._n_splits = 0
        self._n_trees = 0

    def allows(self, tree: Forest) -> bool:
        """Add a tree; return True if the mean bill is still within the budget."""
        used, test_costs = features_used(tree, self._table, self._prices)
        self._used |= used
        self._test_costs += test_costs
        self._tested[tree.feature[tree.is_split]] = True
        self._n_splits += tree.n_splits
        bills = bills_of(self._prices, self._used).per_sample + self._test_costs
        of_model = self._prices.model_cost(self._tested, self._n_splits)
        bill = float(np.average(bills, weights=self._weights)) + of_model
        is_within = bill <= self._budget * (1 + ROUNDING)
        if not is_within and self._n_trees == 0:
            raise InputError(
                f"Even one tree costs {bill:g} per sample, more than the `budget` of "
                f"{self._budget:g}: raise it, or grow smaller trees with a larger `alpha` or a "
                "`max_depth`.",
                "budget",
            )
        self._n_trees += 1
        return is_within
