"""Trees laid out for many rows to walk over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thriftwood.forest.kernels import NO_SET, STEP, Steps
from thriftwood.support.arrays import IndexArray, read_only

if TYPE_CHECKING:
    from thriftwood.forest.forest import Forest


def lay_steps(forest: Forest) -> Steps:
    """Return the nodes of a forest as steps.

    They are numbered anew: all roots first, in the order of the trees, then all nodes one split
    below, and so on. A right child is next to the left one, so that an addition leads to it, and
    a leaf leads to itself::

        step         0  1  2 | 3  4   5  6   7  8 | 9 10
        tree         0  1  2 | 0  0   1  1   2  2 | 1  1
        left         3  5  7 | 3  4   5  9   7  8 | 9 10

    A threshold of NaN stands for a split that takes more than a comparison.

    Parameters
    ----------
    forest
        One that passes its check.
    """
    node = _level_by_level(forest)
    number = np.empty(forest.n_nodes, dtype=np.uint32)
    number[node] = np.arange(forest.n_nodes, dtype=np.uint32)
    compares = ~forest.zero_is_missing & (forest.category_set == NO_SET)
    threshold = np.where(compares, forest.threshold, np.nan)
    is_split = forest.is_split[node]
    step = np.empty(forest.n_nodes, dtype=STEP)
    step["threshold"] = np.where(is_split, threshold[node], np.inf)
    step["left"] = np.where(is_split, number[forest.left[node]], number[node])
    step["feature"] = np.where(is_split, forest.feature[node], 0)
    return Steps(read_only(step), read_only(node.astype(np.uint32)))


def _level_by_level(forest: Forest) -> IndexArray:
    """Return all nodes, the roots first, children of one parent next to each other."""
    level: IndexArray = forest.tree_start[:-1].astype(np.int32)
    levels = [level]
    while len(level):
        split = level[forest.is_split[level]]
        level = np.column_stack([forest.left[split], forest.right[split]]).ravel()
        levels.append(level)
    return np.concatenate(levels)
