"""The cost meter: what every prediction of a model pays for features."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thriftwood.adapters import own_prices, read_stages
from thriftwood.billing.receipt import Receipt, make_receipt
from thriftwood.billing.stage_use import use_of_stages
from thriftwood.billing.use import Use, use_of
from thriftwood.costs import (
    MODEL,
    AnyCosts,
    PriceList,
    bills_of,
    prices_of_samples,
    read_prices,
    shared_by_batches,
)
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest, Stages
from thriftwood.forest.table import Table, read_rows
from thriftwood.support.arrays import BoolArray, FloatArray, read_only
from thriftwood.support.validation import is_whole, shares_of_one

MOST_LINES = 8  # of features in a printed bill, and of groups


@dataclass(frozen=True, eq=False, repr=False)
class FeatureBill:
    """What rows pay when each feature is bought at its first use and then kept.

    Attributes
    ----------
    per_sample : shape (n_samples,)
        The bill of each row: what it meets in any tree, each cost item once; of what it shares with
        other rows, an equal part. What is paid once for the model is not in it.
    by_feature : shape (n_features,)
        What a row pays for each feature itself, on average.
    bought : shape (n_features,)
        The share of rows that buy each feature, for its own sake or for another that requires it.
    fees : dict
        What a row pays on average for the fee of each group.
    by_group : dict
        What a row pays on average for each group in all: its fee, if it has one, and the prices of
        its features themselves. A feature of several groups counts in each; the fee of a group
        inside another only in its own.
    test_cost : float
        What it pays for being put to tests, where each costs something.
    model_cost : float
        What is paid once for the model, divided by the predictions that it will serve.
    unit : str
        What all this is counted in.
    feature_names : tuple of str, optional
        Where the model or the data frame has names.
    """

    per_sample: FloatArray
    by_feature: FloatArray
    bought: FloatArray
    fees: dict[str, float]
    by_group: dict[str, float]
    test_cost: float
    model_cost: float
    unit: str
    feature_names: tuple[str, ...] | None
    _use: Use  # what receipts are made of, one by one when somebody asks
    _prices: PriceList

    @property
    def mean(self) -> float:
        """The mean bill of a row, its part of what the model costs included."""
        return float(self.per_sample.mean()) + self.model_cost

    @property
    def used(self) -> BoolArray:
        """Which features each row is tested for, shape (n_samples, n_features)."""
        return self._use.used

    def quantiles(self, shares: Sequence[float] = (0.1, 0.5, 0.9)) -> FloatArray:
        """Return quantiles of the bills of rows, without what is paid for the model.

        Parameters
        ----------
        shares : sequence of float
            Each between 0 and 1.
        """
        wanted = shares_of_one(shares, "shares")
        found: FloatArray = np.quantile(self.per_sample, wanted)
        return found

    def receipt(self, i: int) -> Receipt:
        """Return what one row buys, from which tree on, in what order and at what price.

        Parameters
        ----------
        i : int
            The number of the row; -1 is the last.
        """
        row = _read_row(i, len(self.per_sample))
        asked = self._use.asked(row)
        return make_receipt(
            self._prices,
            row,
            asked,
            self._use.values(row, (feature for feature, _ in asked)),
            int(self._use.n_tests[row]),
            shared_by_batches(self._prices, self.used, row),
        )

    def __repr__(self) -> str:
        bought = np.flatnonzero(self.bought)
        unit = f" {self.unit}" if self.unit else ""
        lines = [
            f"FeatureBill: mean {self.mean:.6g}{unit} per example, from "
            f"{self.per_sample.min():.6g} to {self.per_sample.max():.6g}; "
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
        for name in list(self.by_group)[:MOST_LINES]:
            fee = f", {self.fees[name]:.6g} of it the shared fee" if name in self.fees else ""
            lines.append(f"  {name:20s} {self.by_group[name]:10.6g} per example in all{fee}")
        if len(self.by_group) > MOST_LINES:
            lines.append(f"  ... and {len(self.by_group) - MOST_LINES} more groups")
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
        Any model that `prune` accepts, or a cascade.
    X : array-like or data frame, shape (n_samples, n_features)
    costs : array-like, mapping from feature name to price, Costs, or None
        As in `prune`; None means 1 each, so that the bill counts features, or the prices of a
        cascade.
    n_jobs : int, optional
        Threads, as in scikit-learn.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = tw.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(heart.frame(), heart.y)
    >>> bill = tw.feature_bill(tree, heart.frame(), heart.prices)
    >>> print(f"{bill.mean:.2f} {bill.unit}")
    158.63 CAD
    >>> bill.receipt(0)
    Receipt of row 0: 103.9 CAD for 2 features
      tree 0  thal = 6      102.9  thal 1 + B 101.9
      tree 0  cp = 1            1
    """
    stages = read_stages(model)
    table = read_rows(X, stages.richest).copy()  # for receipts, whatever becomes of X
    names = stages.richest.feature_names or table.names
    own = own_prices(model)
    if own is None:
        prices = read_prices(costs, table.n_columns, names, table.n_samples)
    else:
        prices = prices_of_samples(own, "cascade", costs, names, table.n_samples)
    return bill_of_stages(stages, table, prices, n_jobs)


def bill_of_stages(
    stages: Stages, table: Table, prices: PriceList, n_jobs: int | None = None
) -> FeatureBill:
    """Measure what rows pay on their way through stages, or through the only one."""
    use: Use
    if len(stages) == 1:
        use = use_of(stages.richest, table, n_jobs)
    else:
        use = use_of_stages(stages, table, n_jobs)
    names = stages.richest.feature_names or table.names
    return bill_of(use, prices, model_cost_of(stages.last_in_use, prices), names)


def model_cost_of(forest: Forest, prices: PriceList) -> float:
    """Return what is paid once for a forest, per prediction that it will serve."""
    tested = np.bincount(forest.feature[forest.is_split], minlength=forest.n_features) > 0
    return prices.model_cost(tested, forest.n_splits)


def bill_of(
    use: Use, prices: PriceList, model_cost: float, feature_names: tuple[str, ...] | None
) -> FeatureBill:
    """Charge rows for what they are tested for, whatever model tests them.

    Parameters
    ----------
    use : Use
        What the model asks of which row.
    prices : PriceList
        For these rows.
    model_cost : float
        As in `FeatureBill`.
    feature_names : tuple of str, optional
    """
    with np.errstate(over="ignore", invalid="ignore"):
        bills = bills_of(prices, use.used)
        tests = prices.per_split * use.n_tests
        everything = bills.per_sample.sum() + tests.sum()
    if not np.isfinite(everything):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
    by_feature = bills.by_cost_item[: prices.n_features]
    is_fee = np.flatnonzero(prices.payer != MODEL)[prices.n_features :]
    fees = {prices.names[cost_item]: float(bills.by_cost_item[cost_item]) for cost_item in is_fee}
    by_group = {
        group: fees.get(group, 0.0) + float(by_feature[list(features)].sum())
        for group, features in prices.groups
    }
    return FeatureBill(
        per_sample=read_only(bills.per_sample + tests),
        by_feature=read_only(by_feature),
        bought=read_only(bills.needed_by[: prices.n_features]),
        fees=fees,
        by_group=by_group,
        test_cost=float(tests.mean()),
        model_cost=model_cost,
        unit=prices.unit,
        feature_names=feature_names,
        _use=use,
        _prices=prices,
    )


def _read_row(i: Any, n_samples: int) -> int:
    if not is_whole(i):
        raise InputError(f"The row is {reprlib.repr(i)}: pass its number, such as 0.")
    if not -n_samples <= int(i) < n_samples:
        raise InputError(f"The bill has {n_samples} rows: there is no row {i}.")
    return int(i) % n_samples
