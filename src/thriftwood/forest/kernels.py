"""Numba loops that walk rows down trees; `forest` and `scoring` check everything before."""

from collections import namedtuple

import numpy as np

from thriftwood.support.compiling import kernel, small_kernel

LEAF = -1
NO_SET = -1

# How a split decides; one of these for every node.
THRESHOLD = 0
ZERO_IS_MISSING = 1
CATEGORIES = 2

# LightGBM takes what is no further from 0 than this for 0.
NEXT_TO_ZERO = float(np.float32(1e-35))

Splits = namedtuple(
    "Splits",
    "feature threshold left right missing_left kind category_set set_start in_set",
)

# A node as many rows walk over it: 16 bytes, so that looking at one fetches all of it at once.
STEP = np.dtype([("threshold", np.float64), ("left", np.uint32), ("feature", np.uint32)])

# All steps, and which node each of them is; made by `steps.lay_steps`.
Steps = namedtuple("Steps", "step node")

# Rows that walk at a time. Alone, each would wait at every node until the next is fetched.
ROWS_TOGETHER = 8


@small_kernel
def goes_left(splits, h, value):
    """Say where a split sends a value."""
    if np.isnan(value):
        return splits.missing_left[h]
    if splits.kind[h] == THRESHOLD:
        return value <= splits.threshold[h]
    if splits.kind[h] == CATEGORIES:
        first = splits.set_start[splits.category_set[h]]
        size = splits.set_start[splits.category_set[h] + 1] - first
        # -0.5 is category 0, as for libraries that cast to whole numbers.
        return value > -1.0 and max(value, 0.0) < size and splits.in_set[first + np.int64(value)]
    if abs(value) <= NEXT_TO_ZERO:
        return splits.missing_left[h]
    return value <= splits.threshold[h]


@small_kernel
def leaf_of(splits, root, row):
    """Return the leaf of a tree that a row ends in."""
    h = root
    while splits.left[h] != LEAF:
        h = splits.left[h] if goes_left(splits, h, row[splits.feature[h]]) else splits.right[h]
    return h


@kernel
def find_leaves(steps, splits, tree, rows, leaf):
    """Fill in the leaf of a tree that each row ends in.

    Some rows take each step together until all stand at leaves, whose only step is to themselves.
    The last few rows walk alone.
    """
    step, node = steps.step, steps.node
    n_together = len(rows) // ROWS_TOGETHER * ROWS_TOGETHER
    for first in range(0, n_together, ROWS_TOGETHER):
        for i in range(first, first + ROWS_TOGETHER):
            leaf[i] = tree
        moved = np.uint32(1)  # 0 when no row has left the node it was at
        while moved != 0:
            moved = np.uint32(0)
            for i in range(first, first + ROWS_TOGETHER):
                # Unsigned: a negative index would count from the end, which takes time to rule out.
                h = leaf[i]
                value, threshold, left = rows[i, step[h].feature], step[h].threshold, step[h].left
                if np.isnan(value) or np.isnan(threshold):
                    to_right = left != h and not goes_left(splits, node[h], value)
                else:
                    to_right = value > threshold
                below = np.uint32(left + np.uint32(to_right))
                moved |= below ^ h
                leaf[i] = below
    for i in range(n_together):
        leaf[i] = node[leaf[i]]
    for i in range(n_together, len(rows)):
        leaf[i] = leaf_of(splits, node[tree], rows[i])


@kernel
def leaves_of(steps, splits, rows, leaves):
    """Fill in the leaf of every tree that each row ends in."""
    leaf = np.empty(len(rows), dtype=np.uint32)
    for tree in range(leaves.shape[1]):
        find_leaves(steps, splits, tree, rows, leaf)
        for i in range(len(rows)):
            leaves[i, tree] = leaf[i]


@kernel
def add_values(steps, splits, values, n_trees, rows, total):
    """Add up for each row the values of the leaves that it ends in."""
    leaf = np.empty(len(rows), dtype=np.uint32)
    for tree in range(n_trees):
        find_leaves(steps, splits, tree, rows, leaf)
        for i in range(len(rows)):
            for k in range(values.shape[1]):
                total[i, k] += values[leaf[i], k]
