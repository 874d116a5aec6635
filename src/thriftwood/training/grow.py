"""Grow one tree."""

import math
from dataclasses import dataclass

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest import LEAF, Forest
from thriftwood.support.arrays import FloatArray, IndexArray, read_only
from thriftwood.training import kernels
from thriftwood.training.columns import RankedColumns
from thriftwood.training.growth import IMPURITIES, Bundles, Growth

NO_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree, and what it saw of its sample.

    Attributes
    ----------
    forest : Forest
        The tree alone.
    n_samples : shape (n_nodes,)
        How many different rows of the sample pass each node.
    counts : shape (n_nodes, n_classes)
        The weight of each class among them.
    """

    forest: Forest
    n_samples: IndexArray
    counts: FloatArray


def grow_tree(
    columns: RankedColumns,
    label: IndexArray,
    weight: FloatArray,
    n_classes: int,
    growth: Growth,
    seed: int,
) -> GrownTree:
    """Grow a tree on the rows that have a weight.

    Parameters
    ----------
    columns : RankedColumns
    label : shape (n_samples,)
        Class numbers.
    weight : shape (n_samples,)
        How much each row counts: how often it was drawn, times its own weight. One at least counts.
    n_classes : int
    growth : Growth
    seed : int
        For the features drawn at a node.
    """
    _check(columns, label, weight, n_classes, growth)
    rows = _sampled(columns, label, weight)
    nodes = _room(2 * len(rows.label) - 1, n_classes)
    n_nodes = kernels.grow_nodes(rows, _rules(growth), np.uint64(seed), nodes)
    return _as_tree(kernels.Nodes(*(array[:n_nodes] for array in nodes)), columns)


def _check(
    columns: RankedColumns, label: IndexArray, weight: FloatArray, n_classes: int, growth: Growth
) -> None:
    """Raise where the kernels would read what is not there."""
    growth.check()
    n_features, n_samples = columns.order.shape
    if growth.prices.shape != (n_features,):
        raise InputError(f"There are {growth.prices.size} prices for {n_features} features.")
    bundles = growth.bundles
    if bundles is not None and bundles.start.shape != (n_features + 1,):
        raise InputError(f"The bundles of prices are not those of {n_features} features.")
    if label.shape != (n_samples,) or weight.shape != (n_samples,):
        raise InputError(f"Labels and weights must be {n_samples} numbers each, one per row.")
    if not (weight > 0).any():
        raise InputError("No row has a weight: a tree needs one at least.")
    if label.min() < 0 or label.max() >= n_classes:
        raise InputError(f"Labels must be class numbers from 0 to {n_classes - 1}.")


def _sampled(columns: RankedColumns, label: IndexArray, weight: FloatArray) -> kernels.Rows:
    """Return the rows that have a weight, numbered anew."""
    sample = np.flatnonzero(weight > 0)
    number = np.full(len(weight), kernels.NOTHING, dtype=np.int32)
    number[sample] = np.arange(len(sample))
    shape = (len(columns.order), len(sample))
    # Half the memory where it is enough; missing values need a code, too.
    code_type = np.uint16 if columns.n_distinct.max() < 2**16 else np.int32
    rows = kernels.Rows(
        codes=np.empty(shape, dtype=code_type),
        order=np.empty(shape, dtype=np.int32),
        members=np.arange(len(sample), dtype=np.int32),
        missing=columns.n_distinct.copy(),
        label=label[sample].astype(np.int32),
        weight=weight[sample].astype(np.float64),
    )
    kernels.take_sample(columns.order, columns.is_new, number, rows)
    return rows


def _rules(growth: Growth) -> kernels.Rules:
    # Only ratios of prices matter; near 1 they stay within doubles when divided by gains.
    largest = math.frexp(float(growth.prices.max(initial=0.0)))[1]
    bundles = growth.bundles or _nothing_shared(len(growth.prices))
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


def _nothing_shared(n_features: int) -> Bundles:
    nothing = np.empty(0, dtype=np.int32)
    return Bundles(np.zeros(n_features + 1, dtype=np.int32), nothing, np.empty(0))


def _room(n_nodes: int, n_classes: int) -> kernels.Nodes:
    """Return arrays for as many nodes as a tree can have."""
    types = {"missing_left": np.bool_, "counts": np.float64}
    return kernels.Nodes(
        **{
            name: np.empty(
                (n_nodes, n_classes) if name == "counts" else n_nodes, types.get(name, np.int32)
            )
            for name in kernels.Nodes._fields
        }
    )


def _as_tree(nodes: kernels.Nodes, columns: RankedColumns) -> GrownTree:
    split = np.flatnonzero(nodes.left != LEAF)
    threshold = np.zeros(len(nodes.left))
    threshold[split] = columns.thresholds(
        nodes.feature[split], nodes.below[split], nodes.above[split]
    )
    counts = nodes.counts.copy()
    forest = Forest(
        tree_start=np.array([0, len(counts)]),
        feature=nodes.feature,
        threshold=threshold,
        left=nodes.left,
        right=nodes.right,
        missing_left=nodes.missing_left,
        values=counts / counts.sum(axis=1, keepdims=True),
        n_features=len(columns.order),
        classes=np.arange(counts.shape[1]),
    )
    return GrownTree(forest, read_only(nodes.n_samples.copy()), read_only(counts))
