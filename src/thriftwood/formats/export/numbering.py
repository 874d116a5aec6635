"""Numbers of nodes for formats that keep splits and leaves in arrays of their own."""

from typing import NamedTuple

import numpy as np

from thriftwood.forest import LEAF, Forest
from thriftwood.support.arrays import IntArray


class Numbering(NamedTuple):
    """Splits and leaves counted apart.

    `splits` and `leaves` are nodes of the forest, `number` says which of either a node is, and
    `lone` are the leaves that are whole trees.
    """

    splits: IntArray
    leaves: IntArray
    number: IntArray
    lone: IntArray


def number_nodes(forest: Forest) -> Numbering:
    """Return the numbers of all nodes, in the order of `_in_order`."""
    order = _in_order(forest)
    splits, leaves = order[forest.is_split[order]], order[~forest.is_split[order]]
    number = np.empty(forest.n_nodes, dtype=np.int64)
    number[splits] = np.arange(len(splits))
    number[leaves] = np.arange(len(leaves))
    roots = forest.tree_start[:-1]
    return Numbering(splits, leaves, number, roots[~forest.is_split[roots]])


def _in_order(forest: Forest) -> IntArray:
    """Return the nodes as a walk meets them that goes left first.

    Sets of categories belong to splits by their order. ONNX means the order of the list, but its
    own reference takes that of the walk: here they are the same.
    """
    left, right = forest.left.tolist(), forest.right.tolist()
    order, ahead = [], forest.tree_start[-2::-1].tolist()
    while ahead:
        h = ahead.pop()
        order.append(h)
        if left[h] != LEAF:
            ahead += [right[h], left[h]]
    return np.array(order, dtype=np.int64)
