"""Trees as kernels walk them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thriftwood.arrays import IndexArray, handed_over
from thriftwood.forest.kernels import NO_SET, NO_STEP, STEP, Splits

if TYPE_CHECKING:
    from thriftwood.forest.forest import Forest


def pack(forest: Forest) -> Splits:
    """Return a forest as kernels walk it.

    Its nodes are numbered once more: all roots first, in the order of the trees, then all nodes
    one split below, and so on. A right child comes next to the left one, so that going there is
    an addition::

        steps        0  1  2 | 3  4   5  6   7  8 | 9 10 | ...
        tree         0  1  2 | 0  0   1  1   2  2 | 1  1 |
        left         3  5  7 | -  -   -  9   -  - | -  - |     (NO_STEP at leaves)

    Parameters
    ----------
    forest
        One that passes its check.

    Returns
    -------
    Splits
        The `steps`, and for each step which `node` of the forest it is. A threshold of NaN stands
        for a split that takes more than a comparison. Then arrays of the forest, one entry per
        node.
    """
    node = _level_by_level(forest)
    number = np.empty(forest.n_nodes, dtype=np.uint32)
    number[node] = np.arange(forest.n_nodes, dtype=np.uint32)
    is_split = forest.is_split[node]
    compares = ~forest.zero_is_missing & (forest.category_set == NO_SET)
    steps = np.empty(forest.n_nodes, dtype=STEP)
    steps["threshold"] = np.where(compares, forest.threshold, np.nan)[node]
    steps["left"] = np.where(is_split, number[forest.left[node]], NO_STEP)
    steps["feature"] = np.where(is_split, forest.feature[node], 0)
    return Splits(
        handed_over(steps),
        handed_over(node.astype(np.uint32)),
        forest.threshold,
        forest.left,
        forest.right,
        forest.missing_left,
        forest.category_set,
        forest.set_start,
        forest.in_set,
    )


def _level_by_level(forest: Forest) -> IndexArray:
    """Return all nodes, the roots first, children of one parent next to each other."""
    level: IndexArray = forest.tree_start[:-1].astype(np.int32)
    levels = [level]
    while len(level):
        split = level[forest.is_split[level]]
        level = np.column_stack([forest.left[split], forest.right[split]]).ravel()
        levels.append(level)
    return np.concatenate(levels)
