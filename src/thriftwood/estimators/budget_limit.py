"""How many trees a budget allows."""

import numpy as np
from numpy.typing import NDArray

from thriftwood.arrays import FloatArray
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest
from thriftwood.routing import first_uses, route_examples
from thriftwood.table import Table

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
    prices : shape (n_features,)
    """

    def __init__(
        self, budget: float, X: NDArray[np.float32], weights: FloatArray, prices: FloatArray
    ) -> None:
        with np.errstate(over="ignore"):
            everything = prices.sum()
        if not np.isfinite(everything):
            raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
        self._budget = budget
        self._table = Table(X, None)
        self._weights = weights
        self._prices = prices
        self._bought = np.zeros(X.shape, dtype=np.bool_)
        self._n_trees = 0

    def allows(self, tree: Forest) -> bool:
        """Add a tree, and say whether the mean bill is still within the budget."""
        routes = route_examples(tree, self._table)
        for node in first_uses(tree):
            rows = routes.order[0, routes.start[node] : routes.stop[node]]
            self._bought[rows, tree.feature[node]] = True
        bill = float(np.average(self._bought @ self._prices, weights=self._weights))
        is_within = bill <= self._budget * (1 + ROUNDING)
        if not is_within and self._n_trees == 0:
            raise InputError(
                f"Even one tree costs {bill:g} per row, more than the `budget` of "
                f"{self._budget:g}: raise it, or grow smaller trees with a larger `alpha` or a "
                "`max_depth`."
            )
        self._n_trees += 1
        return is_within
