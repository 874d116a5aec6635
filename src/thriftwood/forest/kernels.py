"""Numba loops that walk rows down trees; `forest` and `scoring` check everything before."""

from collections import namedtuple

import numpy as np

from thriftwood.compiling import kernel, small_kernel

LEAF = -1
NO_SET = -1

# LightGBM takes what is no further from 0 than this for 0.
NEXT_TO_ZERO = float(np.float32(1e-35))

# A node as rows walk over it: 16 bytes, so that looking at one fetches all of it at once.
STEP = np.dtype([("threshold", np.float64), ("left", np.uint32), ("feature", np.uint32)])
NO_STEP = 0  # in the place of the left child, at leaves: the first root is nobody's child

# Made by `packing`, which says what they are.
Splits = namedtuple(
    "Splits", "steps node threshold left right missing_left category_set set_start in_set"
)


@small_kernel
def goes_left(splits, h, value):
    """Say where a split sends a value if comparing it with a threshold is not enough."""
    if np.isnan(value):
        return splits.missing_left[h]
    if splits.category_set[h] != NO_SET:
        first = splits.set_start[splits.category_set[h]]
        size = splits.set_start[splits.category_set[h] + 1] - first
        # -0.5 is category 0, as for libraries that cast to whole numbers.
        return value > -1.0 and max(value, 0.0) < size and splits.in_set[first + np.int64(value)]
    if abs(value) <= NEXT_TO_ZERO:
        return splits.missing_left[h]
    return value <= splits.threshold[h]


@kernel
def find_leaves(splits, tree, rows, leaf):
    """Fill in the leaf of a tree that each row ends in.

    Each row takes one step before any takes its next: alone, a row would wait at every node for
    the memory of the next one, together they wait at the same time. Indices are unsigned, because
    negative ones would count from the end, and to look for them takes longer than the step.
    """
    steps = splits.steps
    walking = np.empty(len(rows), dtype=np.uint32)
    for i in range(len(rows)):
        leaf[i] = tree
        walking[i] = i
    n_walking = np.uint64(0 if steps[tree].left == NO_STEP else len(rows))
    while n_walking > 0:
        n_next = np.uint64(0)
        for place in range(n_walking):
            i = walking[place]
            h = leaf[i]
            value = rows[i, steps[h].feature]
            threshold = steps[h].threshold
            if np.isnan(value) or np.isnan(threshold):
                to_right = not goes_left(splits, splits.node[h], value)
            else:
                to_right = value > threshold
            h = steps[h].left + np.uint32(to_right)
            leaf[i] = h
            walking[n_next] = i
            n_next += np.uint64(steps[h].left != NO_STEP)
        n_walking = n_next
    for i in range(len(rows)):
        leaf[i] = splits.node[leaf[i]]


@kernel
def leaves_of(splits, rows, leaves):
    """Fill in the leaf of every tree that each row ends in."""
    leaf = np.empty(len(rows), dtype=np.uint32)
    for tree in range(leaves.shape[1]):
        find_leaves(splits, tree, rows, leaf)
        for i in range(len(rows)):
            leaves[i, tree] = leaf[i]


@kernel
def add_values(splits, values, n_trees, rows, total):
    """Add up for each row the values of the leaves that it ends in."""
    leaf = np.empty(len(rows), dtype=np.uint32)
    for tree in range(n_trees):
        find_leaves(splits, tree, rows, leaf)
        for i in range(len(rows)):
            for k in range(values.shape[1]):
                total[i, k] += values[leaf[i], k]
