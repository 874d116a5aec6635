"""Send samples through a forest and remember who passed where."""

from dataclasses import dataclass

import numpy as np

from thriftwood.forest import kernels
from thriftwood.forest.forest import Forest
from thriftwood.forest.table import Table, check_columns
from thriftwood.support.arrays import BoolArray, IndexArray, IntArray, read_only
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
        """How many samples pass each node."""
        return self.stop - self.start


def route_samples(forest: Forest, table: Table, n_jobs: int | None = None) -> Routes:
    """Send every sample of `table` through every tree of `forest`."""
    check_columns(table, forest)
    with np.errstate(over="ignore"):
        X = table.values.astype(forest.input_dtype, copy=False)
    order = np.empty((forest.n_trees, table.n_samples), dtype=np.int32)
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
    nodes = np.flatnonzero(are_first_uses(forest))
    return nodes[np.argsort(forest.feature[nodes], kind="stable")]


def are_first_uses(forest: Forest) -> BoolArray:
    """Return the same splits as a mask over all nodes."""
    mask: BoolArray = kernels.first_use_of_each(forest.feature, forest.parent)
    return mask
