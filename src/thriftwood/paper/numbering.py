"""Nodes in the paper's order: from 1, in pre-order, on through all trees."""

from dataclasses import dataclass

import numpy as np

from thriftwood.forest import LEAF, Forest
from thriftwood.support.arrays import IntArray, read_only


@dataclass(frozen=True, eq=False)
class Numbering:
    """The nodes of a forest in pre-order: a node, all below its left child, all below its right.

    Attributes
    ----------
    number : shape (n_nodes,)
        The number of each node, as in the paper's Figure 1.
    last : shape (n_nodes,)
        The highest number at or below each node.
    """

    number: IntArray
    last: IntArray


def number_nodes(forest: Forest) -> Numbering:
    """Number the nodes in pre-order, whatever their order in the forest's arrays."""
    size = np.ones(forest.n_nodes, dtype=np.int64)
    splits = np.flatnonzero(forest.is_split)
    for split in splits[::-1]:
        size[split] += size[forest.left[split]] + size[forest.right[split]]
    number = np.empty(forest.n_nodes, dtype=np.int64)
    number[forest.tree_start[:-1]] = forest.tree_start[:-1] + 1
    for split in splits:
        left, right = forest.left[split], forest.right[split]
        number[left] = number[split] + 1
        number[right] = number[left] + size[left]
    return Numbering(read_only(number), read_only(number + size - 1))


def nodes_down_to(forest: Forest, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Return each node with its predecessors, the paper's {h} and p(h).

    Returns
    -------
    which : int array
        Positions in `nodes`.
    passed : int array
        For each position the node itself and every node above it.
    """
    which, here = np.arange(len(nodes)), nodes.astype(np.int64)
    positions, passed = [which], [here]
    while len(here):
        above = forest.parent[here].astype(np.int64)
        which, here = which[above != LEAF], above[above != LEAF]
        positions.append(which)
        passed.append(here)
    return np.concatenate(positions), np.concatenate(passed)
