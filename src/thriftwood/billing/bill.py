"""The cost meter: what every prediction of a model pays for features."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import own_prices, read_stages, unwrapped, without_threshold
from thriftwood.billing.payments import (
    NEVER,
    bills_of,
    cost_of_tests,
    last_uses,
    model_costs,
    steps_of,
)
from thriftwood.billing.receipt import FeatureUse, Receipt, make_receipt, uses_in_order
from thriftwood.costs import MODEL, AnyCosts, PriceList, prices_of_samples, read_prices
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import (
    Forest,
    NestedStages,
    Routes,
    Stages,
    predict_stages,
    route_samples,
)
from thriftwood.forest.table import Table, read_rows
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.memory import tells_memory
from thriftwood.support.parallel import aside
from thriftwood.support.summary import Summarised, Summary
from thriftwood.support.text import shown, unit_behind
from thriftwood.support.validation import chosen, is_whole, numbered, shares_of_one

MOST_LINES = 8  # of features in a printed bill, and of groups


@dataclass(frozen=True, eq=False, repr=False)
class FeatureBill(Summarised):
    """Bills of samples when each feature is bought at its first use and then kept.

    Attributes
    ----------
    per_sample : shape (n_samples,)
        The bill of each sample: what it meets in any tree, each cost item once; of what it shares
        with other samples, an equal part. What is paid once for the model is not in it.
    by_feature : shape (n_features,)
        What a sample pays for each feature itself, on average.
    bought : shape (n_features,)
        The share of samples that buy each feature, for itself or for another that requires it.
    fees, fee_payers : dict
        What a sample pays on average for the fee of each group, and the share of samples that need
        it.
    by_group : dict
        What a sample pays on average for each group in all: its fee, if it has one, and the prices
        of its features themselves. A feature of several groups counts in each; the fee of a group
        inside another only in its own.
    test_cost : float
        What it pays for being put to tests, where each costs something.
    model_cost : float
        What is paid once for the model, divided by the predictions that it will serve.
    unit : str
        What all this is counted in.
    feature_names : tuple of str, optional
        Where the model or the data frame has names.
    used : bool array, shape (n_samples, n_features)
        The features that each sample is tested for.
    per_query : shape (n_queries,), optional
        The bill of each query, that of all its documents together, in the order of their first
        documents; with `qid`.
    """

    per_sample: FloatArray
    by_feature: FloatArray
    bought: FloatArray
    fees: dict[str, float]
    fee_payers: dict[str, float]
    by_group: dict[str, float]
    test_cost: float
    model_cost: float
    unit: str
    feature_names: tuple[str, ...] | None
    used: BoolArray
    per_query: FloatArray | None
    # How much samples count, and what receipts are made of, one by one when somebody asks.
    _weights: FloatArray | None
    _prices: PriceList
    _shared: dict[int, BoolArray]
    _test_costs: FloatArray
    _in_order: Callable[[int], list[FeatureUse]]
    _part: str = "tree"

    @property
    def mean(self) -> float:
        """The mean bill of a sample, its part of what the model costs included."""
        return float(np.average(self.per_sample, weights=self._weights)) + self.model_cost

    def quantiles(
        self, shares: Sequence[float] = (0.1, 0.5, 0.9), per: str = "sample"
    ) -> FloatArray:
        """Return quantiles of the bills of samples, without what is paid for the model.

        Parameters
        ----------
        shares : sequence of float
            Each between 0 and 1.
        per : {"sample", "query"}
            Whose bills: those of queries, for example, say how long users wait.
        """
        wanted = shares_of_one(shares, "shares")
        found: FloatArray
        if chosen(per, ("sample", "query"), "per") == "query":
            if self.per_query is None:
                raise InputError("This bill knows no queries: make it with `qid`.", "qid")
            found = np.quantile(self.per_query, wanted)
            return found
        method: Any = "linear" if self._weights is None else "inverted_cdf"
        found = np.quantile(self.per_sample, wanted, method=method, weights=self._weights)
        return found

    def receipt(self, i: int) -> Receipt:
        """Return what one sample buys, from which tree on, in what order and at what price.

        Parameters
        ----------
        i : int
            The number of the sample; -1 is the last.
        """
        sample = _read_sample(i, len(self.per_sample))
        shared = (item for item, payers in self._shared.items() if payers[sample])
        test_cost = float(self._test_costs[sample])
        in_order = self._in_order(sample)
        return make_receipt(self._prices, sample, in_order, test_cost, shared, self._part)

    def _summary(self) -> Summary:
        bought, of_queries = np.flatnonzero(self.bought), ""
        if self.per_query is not None:
            of_queries = f"{self.per_query.mean():.6g}{unit_behind(self.unit)} per query; "
        title = (
            f"FeatureBill: mean {self.mean:.6g}{unit_behind(self.unit)} per sample, from "
            f"{self.per_sample.min():.6g} to {self.per_sample.max():.6g}; {of_queries}"
            f"{len(bought)} of {len(self.bought)} features bought"
        )
        rows = []
        dearest_first = bought[np.argsort(-self.by_feature[bought], kind="stable")]
        for feature in dearest_first[:MOST_LINES]:
            name = self.feature_names[feature] if self.feature_names else f"feature {feature}"
            share = f"per sample, bought by {self.bought[feature]:.0%}"
            rows.append((shown(name), f"{self.by_feature[feature]:.6g}", share))
        if len(bought) > MOST_LINES:
            rows.append((f"... and {len(bought) - MOST_LINES} more", "", ""))
        for name in list(self.by_group)[:MOST_LINES]:
            fee = f", {self.fees[name]:.6g} of it the shared fee" if name in self.fees else ""
            rows.append((shown(name), f"{self.by_group[name]:.6g}", f"per sample in all{fee}"))
        if len(self.by_group) > MOST_LINES:
            rows.append((f"... and {len(self.by_group) - MOST_LINES} more groups", "", ""))
        if self.test_cost > 0:
            rows.append(("tests", f"{self.test_cost:.6g}", "per sample"))
        if self.model_cost > 0:
            rows.append(("model", f"{self.model_cost:.6g}", "per prediction"))
        return Summary(title, "  {:20s} {:>10s} {}", rows)


@tells_memory
def feature_bill(
    model: Any,
    X: Any,
    costs: AnyCosts = None,
    *,
    qid: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> FeatureBill:
    """Measure what predicting samples with a model costs in features.

    Parameters
    ----------
    model : fitted model, pruned or not
        Any model that `prune` accepts, or what Thriftwood hands out: a `Pruned`, a pruned
        ensemble, a cascade; or one of scikit-learn's threshold classifiers around it.
    X : array-like or data frame, shape (n_samples, n_features)
    costs : array-like, mapping from feature name to price, Costs, or None
        As in `prune`. None means the prices that a `Pruned`, a cascade or a pruned ensemble was
        made with; any other model knows none: 1 each, so that the bill counts features.
    qid : array-like, shape (n_samples,), optional
        The query of each sample, where samples are documents that queries found: the bill then has
        those of queries, too. Prices per query need it.
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
    Receipt of sample 0: 103.9 CAD for 2 features
      tree 0  thal = 6      102.9  thal 1 + B 101.9
      tree 0  cp = 1            1
    """
    model = without_threshold(model)
    if callable(getattr(model, "list_rule", None)):
        return model.bill(X, qid, costs)  # of the stages where documents stop
    if isinstance(getattr(model, "stages_", None), NestedStages):
        return model.bill(X, costs)  # of what its stages buy, whatever trees ask
    if getattr(unwrapped(model), "max_cost", math.inf) < math.inf:
        return unwrapped(model).bill(X, costs)  # it knows when to stop buying
    stages = read_stages(model)
    table = read_rows(X, stages.richest).copy()  # for receipts, whatever becomes of X
    columns = stages.richest.named(table.names).columns
    own = own_prices(model)
    query = None if qid is None else numbered(qid, table.n_samples, "qid")
    if own is None:
        prices = read_prices(costs, columns, table.n_samples, query)
    else:
        prices = prices_of_samples(own, "model", costs, columns, table.n_samples, query)
    return bill_of_stages(stages, table, prices, n_jobs, query=query)


@np.errstate(over="ignore", invalid="ignore")  # what is infinite is refused in the end
def bill_of_stages(
    stages: Stages,
    table: Table,
    prices: PriceList,
    n_jobs: int | None = None,
    weights: FloatArray | None = None,
    query: IndexArray | None = None,
    stage: IntArray | None = None,
) -> FeatureBill:
    """Measure what samples pay on their way through the stages of a cascade, or the only one.

    Stages are nested, so that a sample uses what the stage tests where it stops. `stage` says where
    that is, if that is known already; at -1 nothing is used.
    """
    if stage is None and len(stages) == 1:
        stage = np.zeros(table.n_samples, dtype=np.int64)
        used, test_costs = features_used(stages.richest, table, prices, n_jobs)
    else:
        if stage is None:
            stage = predict_stages(stages, table.values, n_jobs).stage
        used = np.zeros(table.values.shape, dtype=np.bool_)
        test_costs = np.zeros(table.n_samples)
        for number in np.unique(stage[stage >= 0]).tolist():
            here = np.flatnonzero(stage == number)
            part = Table(table.values[here], table.names)
            paid = features_used(stages.forests[number], part, prices, n_jobs)
            used[here], test_costs[here] = paid
    in_order = partial(_uses_until, stages, stage, table, prices)
    columns = prices.made_of or stages.richest.named(table.names).columns
    model_cost = model_cost_of(stages.last_in_use, prices)
    about = prices, used, test_costs, in_order, model_cost, columns.names, weights
    bill = make_bill(*about)
    if query is None:
        return bill
    return replace(bill, per_query=read_only(np.bincount(query, bill.per_sample)))


def _uses_until(
    stages: Stages, stage: IntArray, table: Table, prices: PriceList, sample: int
) -> list[FeatureUse]:
    """Return the uses of a sample on its way to the stage where it stops."""
    passed = [stages.forests[one] for one in stages.in_use if one <= stage[sample]]
    uses = [use for forest in passed for use in uses_in_order(forest, table.values[sample])]
    if table.raw is None:
        return uses
    return [
        (k, tree, tuple(table.cell(sample, column) for column in prices.columns_of(k)))
        for k, tree, _ in uses
    ]


def features_used(
    forest: Forest, table: Table, prices: PriceList, n_jobs: int | None = None
) -> tuple[BoolArray, FloatArray]:
    """Send samples through a forest: return the features that each uses, and what tests cost it."""
    return aside(_uses, forest, route_samples(forest, table, n_jobs), prices)


def _uses(forest: Forest, routes: Routes, prices: PriceList) -> tuple[BoolArray, FloatArray]:
    last_use = last_uses(forest, routes, steps_of(forest.is_split))
    used = np.empty((routes.n_samples, forest.n_features), dtype=np.bool_)
    for feature in range(forest.n_features):
        used[:, feature] = last_use(feature) != NEVER
    return used, cost_of_tests(forest, routes, prices, np.flatnonzero(forest.is_split))


def model_cost_of(forest: Forest, prices: PriceList) -> float:
    """Return the one-time costs of a forest, per prediction that it will serve."""
    return float(model_costs(forest, prices, steps_of(forest.is_split), 1)[0])


def make_bill(
    prices: PriceList,
    used: BoolArray,
    test_costs: FloatArray,
    in_order: Callable[[int], list[FeatureUse]],
    model_cost: float,
    feature_names: tuple[str, ...] | None,
    weights: FloatArray | None = None,
) -> FeatureBill:
    """Charge samples for the features that they use, whatever model tests them.

    `in_order` returns the uses of one sample in the order of buying.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        bills = bills_of(prices, used, weights)
        per_sample = bills.per_sample + test_costs
        everything = per_sample.sum() + model_cost
    if not np.isfinite(everything):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
    by_feature = bills.by_cost_item[: prices.n_columns]
    is_fee = np.flatnonzero(prices.payer != MODEL)[prices.n_columns :]
    fees = {prices.names[item]: float(bills.by_cost_item[item]) for item in is_fee}
    fee_payers = {prices.names[item]: float(bills.needed_by[item]) for item in is_fee}
    by_group = {
        group: fees.get(group, 0.0) + float(by_feature[list(features)].sum())
        for group, features in prices.groups
    }
    return FeatureBill(
        per_sample=read_only(per_sample),
        by_feature=read_only(by_feature),
        bought=read_only(bills.needed_by[: prices.n_columns]),
        fees=fees,
        fee_payers=fee_payers,
        by_group=by_group,
        test_cost=float(np.average(test_costs, weights=weights)),
        model_cost=model_cost,
        unit=prices.unit,
        feature_names=feature_names,
        used=read_only(prices.columns_in(used)),
        per_query=None,
        _weights=weights,
        _prices=prices,
        _shared=bills.shared,
        _test_costs=test_costs,
        _in_order=in_order,
    )


def _read_sample(i: Any, n_samples: int) -> int:
    if not is_whole(i):
        raise InputError(f"The sample is {reprlib.repr(i)}: pass its number, such as 0.")
    if not -n_samples <= int(i) < n_samples:
        raise InputError(f"The bill has {n_samples} samples: there is no sample {i}.")
    return int(i) % n_samples
