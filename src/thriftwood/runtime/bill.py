"""The cost meter: what every prediction of a model pays for features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thriftwood.adapters import read_forest
from thriftwood.arrays import FloatArray, handed_over
from thriftwood.costs import MODEL, AnyCosts, bills_of, read_prices
from thriftwood.errors import RangeError
from thriftwood.routing import route_examples
from thriftwood.runtime import kernels
from thriftwood.table import read_rows

MOST_LINES = 8  # of features in a printed bill


@dataclass(frozen=True, eq=False, repr=False)
class FeatureBill:
    """What rows pay when each feature is bought at its first use and then kept.

    Attributes
    ----------
    per_example : shape (n_rows,)
        The bill of each row: what it meets in any tree, each charge once; of what it shares with
        other rows, an equal part. What is paid once for the model is not in it.
    by_feature : shape (n_features,)
        What a row pays for each feature itself, on average.
    bought : shape (n_features,)
        The share of rows that buy each feature, for its own sake or for another that requires it.
    fees : dict
        What a row pays on average for the fee of each group.
    test_cost : float
        What it pays for being put to tests, where each costs something.
    model_cost : float
        What is paid once for the model, divided by the predictions that it will serve.
    unit : str
        What all this is counted in.
    feature_names : tuple of str, optional
        Where the model or the data frame has names.
    """

    per_example: FloatArray
    by_feature: FloatArray
    bought: FloatArray
    fees: dict[str, float]
    test_cost: float
    model_cost: float
    unit: str
    feature_names: tuple[str, ...] | None

    @property
    def mean(self) -> float:
        """The mean bill of a row, its part of what the model costs included."""
        return float(self.per_example.mean()) + self.model_cost

    def __repr__(self) -> str:
        bought = np.flatnonzero(self.bought)
        unit = f" {self.unit}" if self.unit else ""
        lines = [
            f"FeatureBill: mean {self.mean:.6g}{unit} per example, from "
            f"{self.per_example.min():.6g} to {self.per_example.max():.6g}; "
            f"{len(bought)} of {len(self.bought)} features bought"
        ]
        dearest_first = bought[np.argsort(-self.by_feature[bought], kind="stable")]
        for feature in dearest_first[:MOST_LINES]:
            name = self.feature_names[feature] if self.feature_names else f"feature {feature}"
            lines.append(
                f"  {name:20s} {self.by_feature[feature]:10.6g} per example, "
                f"bought by {self.bought[feature]:.0%}"
            )
        if len(bought) > MOST_LINES:
            lines.append(f"  ... and {len(bought) - MOST_LINES} more")
        for name, fee in self.fees.items():
            lines.append(f"  {name:20s} {fee:10.6g} per example, shared")
        if self.test_cost > 0:
            lines.append(f"  {'tests':20s} {self.test_cost:10.6g} per example")
        if self.model_cost > 0:
            lines.append(f"  {'model':20s} {self.model_cost:10.6g} per prediction")
        return "\n".join(lines)


def feature_bill(
    model: Any,
    X: Any,
    costs: AnyCosts = None,
    *,
    n_jobs: int | None = None,
) -> FeatureBill:
    """Measure what predicting rows with a model costs in features.

    Parameters
    ----------
    model : fitted model, pruned or not
        Any model that `prune` accepts.
    X : array-like or data frame, shape (n_rows, n_features)
    costs : array-like, mapping from feature name to price, Costs, or None
        As in `prune`; None means 1 each, so that the bill counts features.
    n_jobs : int, optional
        Threads, as in scikit-learn.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = tw.datasets.load_heart()
    >>> stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(heart.X, heart.y)
    >>> tw.feature_bill(stump, heart.X).mean
    1.0
    """
    forest = read_forest(model)
    table = read_rows(X, forest)
    routes = route_examples(forest, table, n_jobs)
    names = forest.feature_names or table.names
    prices = read_prices(costs, forest.n_features, names, table.n_rows)
    splits = np.flatnonzero(forest.is_split)
    used, n_tests = kernels.use_features(
        splits,
        forest.feature,
        forest.tree_of(splits),
        routes.order,
        routes.start,
        routes.stop,
        forest.n_features,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        bills = bills_of(prices, used)
        tests = prices.per_split * n_tests
        everything = bills.per_row.sum() + tests.sum()
    if not np.isfinite(everything):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
    is_fee = np.flatnonzero(prices.payer != MODEL)[forest.n_features :]
    fees = {prices.names[charge]: float(bills.by_charge[charge]) for charge in is_fee}
    tested = np.bincount(forest.feature[splits], minlength=forest.n_features) > 0
    return FeatureBill(
        per_example=handed_over(bills.per_row + tests),
        by_feature=handed_over(bills.by_charge[: forest.n_features]),
        bought=handed_over(bills.needed_by[: forest.n_features]),
        fees=fees,
        test_cost=float(tests.mean()),
        model_cost=prices.model_cost(tested, len(splits)),
        unit=prices.unit,
        feature_names=names,
    )
