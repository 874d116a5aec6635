"""How many trees a budget allows."""

import numpy as np
from numpy.typing import NDArray

from thriftwood.costs import PriceList, bills_of
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest
from thriftwood.forest.routes import route_samples
from thriftwood.forest.table import Table
from thriftwood.support.arrays import FloatArray

# What double arithmetic may add to a bill that is exactly the budget.
ROUNDING = 1e-12


class BudgetLimit:
    """Lets rows buy features, each once, as trees are added to a forest.

    Parameters
    ----------
    budget : float
        What a row may cost on average.
    X, weights
        The rows, and how much each counts.
    prices : PriceList
        For these rows.
    """

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
        self._tests = np.zeros(len(X))
        self._tested = np.zeros(X.shape[1], dtype=np.bool_)
        self._n_splits = 0
        self._n_trees = 0

    def allows(self, tree: Forest) -> bool:
        """Add a tree, and say whether the mean bill is still within the budget."""
        routes = route_samples(tree, self._table)
        for node in np.flatnonzero(tree.is_split):
            rows = routes.order[0, routes.start[node] : routes.stop[node]]
            self._used[rows, tree.feature[node]] = True
            self._tests[rows] += self._prices.per_split
            self._tested[tree.feature[node]] = True
        self._n_splits += tree.n_splits
        bill = self._mean_cost()
        is_within = bill <= self._budget * (1 + ROUNDING)
        if not is_within and self._n_trees == 0:
            raise InputError(
                f"Even one tree costs {bill:g} per row, more than the `budget` of "
                f"{self._budget:g}: raise it, or grow smaller trees with a larger `alpha` or a "
                "`max_depth`."
            )
        self._n_trees += 1
        return is_within

    def _mean_cost(self) -> float:
        bills = bills_of(self._prices, self._used).per_sample + self._tests
        of_model = self._prices.model_cost(self._tested, self._n_splits)
        return float(np.average(bills, weights=self._weights)) + of_model
