"""Numba loops that take samples down trees; the functions that call them check everything."""

from collections import namedtuple

import numpy as np

from thriftwood.support.compiling import kernel, quick_kernel, small_kernel

LEAF = -1
NO_SET = -1

# How a split decides; one of these for every node.
THRESHOLD = 0
ZERO_IS_MISSING = 1
CATEGORIES = 2

# LightGBM takes what is no further from 0 than this for 0.
NEXT_TO_ZERO = float(np.float32(1e-35))

# The node arrays of a forest, for one sample at a time.
Splits = namedtuple(
    "Splits",
    "feature threshold left right missing_left kind category_set set_start in_set",
)

# A node as batches of samples pass it: 16 bytes, so that looking at one fetches all of it at once.
NODE = np.dtype([("threshold", np.float64), ("left", np.uint32), ("feature", np.uint32)])

# The nodes in the order of levels, the index of each in the forest, and the forest's own arrays.
Layout = namedtuple("Layout", "nodes index tree_start splits")

# Samples that go down together. Alone, each would wait at every node until the next is fetched.
BATCH = 8


@small_kernel
def goes_left(splits, h, value):
    """Return True if a split sends a value left."""
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
def leaf_of(splits, root, x):
    """Return the leaf of a tree that a sample ends in."""
    h = root
    while splits.left[h] != LEAF:
        h = splits.left[h] if goes_left(splits, h, x[splits.feature[h]]) else splits.right[h]
    return h


@small_kernel
def find_leaves(layout, tree, X, leaf):
    """Fill in the leaf of a tree that each sample ends in.

    The samples of a batch take each step together until all are at leaves, whose only step is to
    themselves. The last few samples go down alone.
    """
    nodes, index, splits = layout.nodes, layout.index, layout.splits
    n_together = len(X) // BATCH * BATCH
    for first in range(0, n_together, BATCH):
        for i in range(first, first + BATCH):
            leaf[i] = tree
        moved = np.uint32(1)  # 0 when no sample has left the node it was at
        while moved != 0:
            moved = np.uint32(0)
            for i in range(first, first + BATCH):
                # Unsigned: a negative index would count from the end, which takes time to rule out.
                h = leaf[i]
                value, threshold, left = X[i, nodes[h].feature], nodes[h].threshold, nodes[h].left
                if np.isnan(value) or np.isnan(threshold):
                    to_right = left != h and not goes_left(splits, np.int64(index[h]), value)
                else:
                    to_right = value > threshold
                below = np.uint32(left + np.uint32(to_right))
                moved |= below ^ h
                leaf[i] = below
    for i in range(n_together):
        leaf[i] = index[leaf[i]]
    for i in range(n_together, len(X)):
        leaf[i] = leaf_of(splits, layout.tree_start[tree], X[i])


@kernel
def leaves_of(layout, X, leaves):
    """Fill in the leaf of every tree that each sample ends in."""
    leaf = np.empty(len(X), dtype=np.uint32)
    for tree in range(leaves.shape[1]):
        find_leaves(layout, tree, X, leaf)
        for i in range(len(X)):
            leaves[i, tree] = leaf[i]


@quick_kernel
def add_values(layout, values, X, total):
    """Add up for each sample the values of the leaves that it ends in."""
    leaf = np.empty(len(X), dtype=np.uint32)
    for tree in range(len(layout.tree_start) - 1):
        find_leaves(layout, tree, X, leaf)
        for i in range(len(X)):
            for k in range(values.shape[1]):
                total[i, k] += values[leaf[i], k]


@kernel
def route_tree(layout, tree, X, order, start, stop):
    """Sort the samples of one tree so that those of each of its nodes are a slice of `order`.

    Fills `order` with sample numbers, and `start[h]:stop[h]` with the slice of node h::

        order   | samples of leaf 3 | samples of leaf 4 | samples of leaf 6 | ...
                |<------- node 2 = parent of 3, 4 ----->|
    """
    left, right = layout.splits.left, layout.splits.right
    first, last = layout.tree_start[tree], layout.tree_start[tree + 1]
    leaf = np.empty(len(X), dtype=np.uint32)
    find_leaves(layout, tree, X, leaf)
    stop[first:last] = 0
    for i in range(len(X)):
        stop[leaf[i]] += 1  # for now the number of samples
    for h in range(last - 1, first - 1, -1):  # children come after their parents
        if left[h] != LEAF:
            stop[h] = stop[left[h]] + stop[right[h]]
    start[first] = 0
    for h in range(first, last):
        if left[h] != LEAF:
            start[left[h]] = start[h]
            start[right[h]] = start[h] + stop[left[h]]
            stop[h] += start[h]
        else:
            stop[h] = start[h]  # grows to the end of the slice while samples are put there
    for i in range(len(X)):
        h = leaf[i]
        order[stop[h]] = i
        stop[h] += 1


@kernel
def first_tests(group_of, feature, parent):
    """Mark the splits that test a feature of some group, below no split that tests the same group.

    `group_of` numbers the group of each feature, -1 for none.
    """
    is_first = np.zeros(len(feature), dtype=np.bool_)
    for h in range(len(feature)):
        if feature[h] == LEAF or group_of[feature[h]] < 0:
            continue
        above = parent[h]
        while above != LEAF and group_of[feature[above]] != group_of[feature[h]]:
            above = parent[above]
        is_first[h] = above == LEAF
    return is_first


@kernel
def class_weights(layout, routes, label, weight, times, n_classes):
    """Add up the weight of every class among the samples of every node.

    `routes` are the order, start and stop that `route_tree` fills. `weight` says how much each
    sample counts, `times` how often in each tree.
    """
    order, start, stop = routes
    left, right, tree_start = layout.splits.left, layout.splits.right, layout.tree_start
    total = np.zeros((len(left), n_classes), dtype=np.float64)
    for tree in range(len(tree_start) - 1):
        for h in range(tree_start[tree + 1] - 1, tree_start[tree] - 1, -1):
            if left[h] == LEAF:
                for place in range(start[h], stop[h]):
                    sample = order[tree, place]
                    total[h, label[sample]] += weight[sample] * times[tree, sample]
            else:
                for k in range(n_classes):
                    total[h, k] = total[left[h], k] + total[right[h], k]
    return total
