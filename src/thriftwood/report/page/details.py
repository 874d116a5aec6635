"""What the page says about one model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thriftwood.report.page.bins import bar_heights, bill_counts
from thriftwood.report.page.spending import Spending
from thriftwood.support.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Details:
    """What the page says about one model: the one before pruning, or a point of the path.

    Attributes
    ----------
    cost, n_splits, n_features
        As in `PruningPath`.
    quantiles : float array
        What the row at 10, 50 and 90 % of all rows pays, without what is paid for the model.
    bills : float array
        How many rows pay so much, for each bin of the page.
    bought, spent : shape (n_features + n_fees,)
        The share of rows that buy each feature or pay each fee, and what a row pays on average.
    test_cost, model_cost : float
        What a row pays on average for the splits that it passes, and as its part of the model.
    by_line : float array
        The mean bill in parts, as `PageContents.lines` names them.
    trees : float array
        Splits of each tree, or of a few trees on average where there are very many.
    """

    cost: float
    n_splits: int
    n_features: int
    quantiles: FloatArray
    bills: FloatArray
    bought: FloatArray
    spent: FloatArray
    test_cost: float
    model_cost: float
    by_line: FloatArray
    trees: FloatArray


def details_of(
    spending: Spending, before: Spending, edges: FloatArray, weights: FloatArray
) -> Details:
    """Return what the page says about a forest, of which `before` is the one before pruning."""
    forest = spending.forest
    return Details(
        cost=spending.mean,
        n_splits=forest.n_splits,
        n_features=len(np.unique(forest.feature[forest.is_split])),
        quantiles=_quantiles(spending.per_row, weights),
        bills=bill_counts(spending.per_row, edges, weights),
        bought=spending.bought,
        spent=spending.spent,
        test_cost=spending.test_cost,
        model_cost=spending.model_cost,
        by_line=spending.by_line,
        trees=bar_heights(spending.splits_per_tree, before.splits_per_tree),
    )


def _quantiles(bills: FloatArray, weights: FloatArray) -> FloatArray:
    found: FloatArray = np.quantile(bills, (0.1, 0.5, 0.9), weights=weights, method="inverted_cdf")
    return found
