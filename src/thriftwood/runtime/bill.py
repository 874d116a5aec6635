"""The cost meter: what every prediction of a model pays for features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_forest
from thriftwood.arrays import FloatArray, handed_over
from thriftwood.costs import prices_per_feature
from thriftwood.routing import first_uses, route_examples
from thriftwood.runtime import kernels
from thriftwood.table import read_table

MOST_LINES = 8  # of features in a printed bill


@dataclass(frozen=True, eq=False, repr=False)
class FeatureBill:
    """What rows pay when each feature is bought at its first use and then kept.

    Attributes
    ----------
    per_example : shape (n_rows,)
        The bill of each row: the prices of the features that it meets in any tree, each once.
    by_feature : shape (n_features,)
        What a row pays for each feature on average; the sum of these is `mean`.
    bought : shape (n_features,)
        The share of rows that buy each feature.
    feature_names : tuple of str, optional
        Where the model or the data frame has names.
    """

    per_example: FloatArray
    by_feature: FloatArray
    bought: FloatArray
    feature_names: tuple[str, ...] | None

    @property
    def mean(self) -> float:
        """The mean bill of a row."""
        return float(self.per_example.mean())

    def __repr__(self) -> str:
        bought = np.flatnonzero(self.bought)
        lines = [
            f"FeatureBill: mean {self.mean:.6g} per example, from {self.per_example.min():.6g} to "
            f"{self.per_example.max():.6g}; {len(bought)} of {len(self.bought)} features bought"
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
        return "\n".join(lines)


def feature_bill(
    model: Any,
    X: Any,
    costs: ArrayLike | Mapping[str, float] | None = None,
    *,
    n_jobs: int | None = None,
) -> FeatureBill:
    """Measure what predicting rows with a model costs in features.

    Parameters
    ----------
    model : fitted model, pruned or not
        Any model that `prune` accepts.
    X : array-like or data frame, shape (n_rows, n_features)
    costs : array-like, mapping from feature name to price, or None
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
    table = read_table(X, forest.input_dtype)
    routes = route_examples(forest, table, n_jobs)
    names = forest.feature_names or table.names
    prices = prices_per_feature(costs, forest.n_features, names)
    uses = first_uses(forest)
    bill, n_buyers = kernels.charge(
        uses,
        forest.feature,
        forest.tree_of(uses),
        routes.order,
        routes.start,
        routes.stop,
        prices,
    )
    bought = n_buyers / table.n_rows
    return FeatureBill(handed_over(bill), handed_over(bought * prices), handed_over(bought), names)
