"""Traversal: which samples pass which node, and sums, means and ranges over what lies below."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest import kernels
from thriftwood.forest.forest import Forest
from thriftwood.forest.kernels import LEAF
from thriftwood.forest.table import Table
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.parallel import for_each


@dataclass(frozen=True, eq=False)
class Routes:
    """The samples that pass each node, as slices of one ordering per tree.

    The samples that reach or pass node `h` of tree `t` are `order[t, start[h]:stop[h]]`: those of
    its left child, then those of the right; in increasing order within a leaf. This takes one
    32-bit number per sample and tree, never one per sample and node.
    """

    order: IndexArray
    start: IndexArray
    stop: IndexArray

    @property
    def n_samples(self) -> int:
        return int(self.order.shape[1])

    @property
    def n_samples_of(self) -> IndexArray:
        """The number of samples that pass each node."""
        return self.stop - self.start


def route_samples(forest: Forest, table: Table, n_jobs: int | None = None) -> Routes:
    """Send every sample of a table, with the columns of the forest, through every tree."""
    with np.errstate(over="ignore"):
        X = read_only(table.values.astype(forest.input_dtype, copy=False).view())
    order = np.empty((forest.n_trees, len(X)), dtype=np.int32)
    start = np.empty(forest.n_nodes, dtype=np.int32)
    stop = np.empty(forest.n_nodes, dtype=np.int32)
    layout = forest.layout
    for_each(
        lambda tree: kernels.route_tree(layout, tree, X, order[tree], start, stop),
        range(forest.n_trees),
        n_jobs,
    )
    return Routes(read_only(order), read_only(start), read_only(stop))


def first_uses(forest: Forest) -> IntArray:
    """Return the splits that test a feature for the first time on their way from the root.

    A sample pays for a feature in a tree at exactly one of them, the paper's u(t, k, i). They come
    sorted by feature, within a feature by node.
    """
    each = np.arange(forest.n_features)
    nodes = np.flatnonzero(kernels.first_tests(each, forest.feature, forest.parent))
    return nodes[np.argsort(forest.feature[nodes], kind="stable")]


def preorder(forest: Forest) -> IntArray:
    """Return all nodes as a traversal meets them: a node, all below its left child, then right."""
    left, right = forest.left.tolist(), forest.right.tolist()
    order, ahead = [], forest.tree_start[-2::-1].tolist()
    while ahead:
        h = ahead.pop()
        order.append(h)
        if left[h] != LEAF:
            ahead += [right[h], left[h]]
    return np.array(order, dtype=np.int64)


def sums_below(forest: Forest, amounts: NDArray[Any]) -> FloatArray:
    """Return for every node the sum of the amounts, shape (n_nodes, ...), at it and below it."""
    total: FloatArray = np.array(amounts, dtype=np.float64)
    for split in _splits_bottom_up(forest):
        total[split] += total[forest.left[split]]
        total[split] += total[forest.right[split]]
    return total


def leaf_means(
    forest: Forest, values: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return for each node the weighted mean of the leaves below it, and their weight.

    `values`, shape (n_nodes, n_outputs), and `weights` are read at leaves alone, which keep theirs.
    Where there is no weight, both sides of a split count alike.
    """
    means = np.where(forest.is_split[:, None], 0.0, values)
    weights = sums_below(forest, np.where(forest.is_split, 0.0, weights))
    for split in _splits_bottom_up(forest):
        both = np.stack([forest.left[split], forest.right[split]])
        mass = np.where(weights[split] > 0, weights[both], 1.0)[:, :, None]
        means[split] = (mass * means[both]).sum(axis=0) / mass.sum(axis=0)
    return means, weights


def value_ranges(forest: Forest, leaves_only: bool) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest value of nodes, or leaves, at or below each, per output."""
    low, high = forest.values.copy(), forest.values.copy()
    for split in _splits_bottom_up(forest):
        left, right = forest.left[split], forest.right[split]
        least, greatest = np.minimum(low[left], low[right]), np.maximum(high[left], high[right])
        low[split] = least if leaves_only else np.minimum(low[split], least)
        high[split] = greatest if leaves_only else np.maximum(high[split], greatest)
    return low, high


def _splits_bottom_up(forest: Forest) -> list[IndexArray]:
    """Return the splits level by level, the deepest level first."""
    return [level[forest.is_split[level]] for level in forest.levels()][::-1]
