"""Grow one tree of BudgetRF on ranked columns."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.forest import LEAF, Forest
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.parallel import for_each
from thriftwood.support.validation import chosen, one_number_from_zero, truth, whole_number
from thriftwood.training import kernels

IMPURITIES = {"pairs": kernels.PAIRS, "powers": kernels.POWERS, "entropy": kernels.ENTROPY}
# Class weights of up to 1e15 to this power are still far from the end of doubles.
MOST_POWER = 20
NO_LIMIT = 2**62


class Bundles(NamedTuple):
    """Parts of the prices of features: cost items that several features may share.

    The price of feature `k` is the sum of `amount[start[k]:start[k + 1]]`, for the cost items
    beside it, and of what is never shared.
    """

    start: IndexArray
    cost_item: IndexArray
    amount: FloatArray


@dataclass(frozen=True, eq=False)
class Growth:
    """The rules by which splits are chosen and growing stops."""

    prices: FloatArray  # (n_features,), of one sample that has bought nothing yet
    bundles: Bundles | None = None  # what these prices are made of, where features share some of it
    # "pairs", "powers" or "entropy": how mixed classes are, F(S) in the paper
    impurity: str = "pairs"
    # "pairs" subtracts it from the weight of each class; less entropy, in nats, is none
    alpha: float = 0.0
    power: int = 3  # of "powers"
    max_depth: int | None = None
    min_samples_leaf: int = 1  # how many samples of the tree a leaf has at least
    min_weight_leaf: float = 0.0  # and how much they weigh
    # How many features a node tries, drawn anew each time; those that do not vary there do not
    # count, and it goes on until one is of use. None tries all.
    max_features: int | None = None
    # A feature that was tested above a node costs nothing more there: it is taken where it gains at
    # least as much as the one that the prices suggest. Other features cost less by what they share
    # with those above.
    free_once_bought: bool = False

    def check(self) -> "Growth":
        """Return the rules themselves, or raise where one has no meaning."""
        chosen(self.impurity, IMPURITIES, "impurity")
        one_number_from_zero(self.alpha, "alpha", "At 0 trees grow the most.")
        if self.impurity == "powers" and self.alpha != 0:
            raise InputError("`alpha` has no use for impurity='powers': leave it at 0.")
        if whole_number(self.power, "power", 2) > MOST_POWER:
            raise InputError(f"`power` is {self.power}: it can be {MOST_POWER} at most.")
        whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        if self.max_depth is not None:
            whole_number(self.max_depth, "max_depth", 1)
        if self.max_features is not None:
            whole_number(self.max_features, "max_features", 1)
        truth(self.free_once_bought, "free_once_bought")
        return self


@dataclass(frozen=True, eq=False)
class RankedColumns:
    """Every column in increasing order, missing values last.

    `order`, shape (n_features, n_samples), has the samples in the order of each feature, and
    `is_new` is True where a value differs from the one before. Counted up from -1 these give the
    rank of a value among the distinct ones; of a missing one it is `n_distinct`. `values` holds the
    known values of all features, in increasing order, those of each from `first` on.
    """

    order: IndexArray
    is_new: BoolArray
    n_distinct: IndexArray
    first: IntArray
    values: FloatArray

    def thresholds(self, features: IndexArray, below: IndexArray, above: IndexArray) -> FloatArray:
        """Return the midpoints between two ranks of features; infinity where `above` is negative.

        Values are single precision, so their midpoint in double precision lies between them.
        """
        low = self.values[self.first[features] + below]
        high = self.values[self.first[features] + np.maximum(above, below)]
        return np.where(above < 0, np.inf, (low + high) / 2)


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A forest of one tree; the number of samples, and the weight of each class, at its nodes."""

    forest: Forest
    n_samples: IndexArray
    counts: FloatArray


def rank_columns(X: NDArray[np.float32], n_jobs: int | None = None) -> RankedColumns:
    """Rank the columns of a table; NaN is missing."""
    n_samples, n_features = X.shape
    order = np.empty((n_features, n_samples), dtype=np.int32)
    is_new = np.ones((n_features, n_samples), dtype=np.bool_)
    known: list[NDArray[np.float32]] = [X[:0, 0]] * n_features

    def rank(feature: int) -> None:
        order[feature] = np.argsort(X[:, feature], kind="stable")
        values = X[order[feature], feature]
        n_known = n_samples - np.count_nonzero(np.isnan(values))
        is_new[feature, 1:] = values[1:] != values[:-1]
        is_new[feature, n_known + 1 :] = False  # NaN differs from itself
        known[feature] = values[:n_known][is_new[feature, :n_known]]

    for_each(rank, range(n_features), n_jobs)
    n_distinct = np.array([len(values) for values in known], dtype=np.int32)
    return RankedColumns(
        order=read_only(order),
        is_new=read_only(is_new),
        n_distinct=read_only(n_distinct),
        first=read_only(np.cumsum(n_distinct, dtype=np.int64) - n_distinct),
        values=read_only(np.concatenate(known).astype(np.float64)),
    )


def grow_tree(
    columns: RankedColumns,
    label: IndexArray,
    weight: FloatArray,
    n_classes: int,
    growth: Growth,
    seed: int,
) -> GrownTree:
    """Grow a tree on the samples that have a weight: one at least must.

    The weight of a sample is how often it was drawn, times its own weight. Labels are class
    numbers; the seed is for the features drawn at a node. All are checked by the estimator.
    """
    samples = _sampled(columns, label, weight)
    nodes = _room(2 * len(samples.label) - 1, n_classes)
    n_nodes = kernels.grow_nodes(samples, _rules(growth), np.uint64(seed), nodes)
    grown = {name: array[:n_nodes].copy() for name, array in nodes._asdict().items()}
    split = np.flatnonzero(grown["left"] != LEAF)
    grown["threshold"] = np.zeros(n_nodes)
    grown["threshold"][split] = columns.thresholds(
        *(grown[name][split] for name in ("feature", "below", "above"))
    )
    return as_tree(grown, len(columns.order))


def _sampled(columns: RankedColumns, label: IndexArray, weight: FloatArray) -> kernels.Samples:
    """Return the samples that have a weight, numbered anew."""
    drawn = np.flatnonzero(weight > 0)
    number = np.full(len(weight), kernels.NOTHING, dtype=np.int32)
    number[drawn] = np.arange(len(drawn))
    shape = (len(columns.order), len(drawn))
    # Half the memory where it is enough; missing values need a code, too.
    code_type = np.uint16 if columns.n_distinct.max() < 2**16 else np.int32
    samples = kernels.Samples(
        codes=np.empty(shape, dtype=code_type),
        order=np.empty(shape, dtype=np.int32),
        members=np.arange(len(drawn), dtype=np.int32),
        missing=columns.n_distinct.copy(),
        label=label[drawn].astype(np.int32),
        weight=weight[drawn].astype(np.float64),
    )
    kernels.take_sample(columns.order, columns.is_new, number, samples)
    return samples


def _rules(growth: Growth) -> kernels.Rules:
    """Return the rules in numbers."""
    # Only ratios of prices matter; near 1 they stay within doubles when divided by gains.
    largest = math.frexp(float(growth.prices.max(initial=0.0)))[1]
    nothing_shared = Bundles(
        np.zeros(len(growth.prices) + 1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0)
    )
    bundles = growth.bundles or nothing_shared
    return kernels.Rules(
        impurity=IMPURITIES[growth.impurity],
        alpha=float(growth.alpha),
        power=int(growth.power),
        max_depth=min(growth.max_depth or NO_LIMIT, NO_LIMIT),
        min_samples_leaf=int(growth.min_samples_leaf),
        min_weight_leaf=float(growth.min_weight_leaf),
        max_features=min(growth.max_features or NO_LIMIT, NO_LIMIT),
        free_once_bought=bool(growth.free_once_bought),
        prices=np.ldexp(growth.prices, -largest),
        bundle_start=bundles.start,
        bundle_cost_item=bundles.cost_item,
        bundle_amount=np.ldexp(bundles.amount, -largest),
    )


def _room(n_nodes: int, n_classes: int) -> kernels.Nodes:
    """Return arrays for as many nodes as a tree can have."""
    nodes = {name: np.empty(n_nodes, np.int32) for name in kernels.Nodes._fields}
    special = {
        "missing_left": np.empty(n_nodes, np.bool_),
        "counts": np.empty((n_nodes, n_classes)),
    }
    return kernels.Nodes(**nodes | special)


def as_tree(nodes: dict[str, NDArray[Any]], n_features: int) -> GrownTree:
    """Return the tree that is made of nodes, the root first."""
    counts = nodes["counts"]
    forest = Forest(
        tree_start=np.array([0, len(counts)]),
        feature=nodes["feature"],
        threshold=nodes["threshold"],
        left=nodes["left"],
        right=nodes["right"],
        missing_left=nodes["missing_left"],
        values=counts / counts.sum(axis=1, keepdims=True),
        n_features=n_features,
        classes=np.arange(counts.shape[1]),
    )
    return GrownTree(forest, read_only(nodes["n_samples"]), read_only(counts))
