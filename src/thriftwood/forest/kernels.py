"""Numba loops that walk rows down trees; `forest` and `scoring` check everything before."""

from collections import namedtuple

import numpy as np

from thriftwood.compiling import kernel, small_kernel

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
def leaves_of(splits, tree_start, rows, leaves):
    """Fill in the leaf of every tree that each row ends in."""
    for i in range(len(rows)):
        for tree in range(len(tree_start) - 1):
            leaves[i, tree] = leaf_of(splits, tree_start[tree], rows[i])


@kernel
def add_values(splits, values, tree_start, rows, total):
    """Add up for each row the values of the leaves that it ends in."""
    for tree in range(len(tree_start) - 1):
        for i in range(len(rows)):
            h = leaf_of(splits, tree_start[tree], rows[i])
            for k in range(values.shape[1]):
                total[i, k] += values[h, k]
