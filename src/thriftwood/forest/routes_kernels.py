"""Numba loops of routing; `routes` checks everything before it calls them."""

import numpy as np

from thriftwood.forest.kernels import LEAF, find_leaves
from thriftwood.support.compiling import kernel


@kernel
def route_tree(rows, steps, splits, tree, first, last, order, start, stop):
    """Sort the rows of one tree so that the rows of each node `first:last` are a slice of `order`.

    Fills `order` with row numbers, and `start[h]:stop[h]` with the slice of node h::

        order   | rows of leaf 3 | rows of leaf 4 | rows of leaf 6 | ...
                |<---- node 2 = parent of 3, 4 -->|
    """
    n_samples = rows.shape[0]
    left, right = splits.left, splits.right
    leaf = np.empty(n_samples, dtype=np.uint32)
    find_leaves(steps, splits, tree, rows, leaf)
    for h in range(first, last):
        start[h] = 0
        stop[h] = 0
    for i in range(n_samples):
        stop[leaf[i]] += 1  # for now the number of rows

    # Leaves get their place from left to right, so that the leaves below any node are neighbours.
    stack = np.empty(last - first, dtype=np.int32)
    stack[0] = first
    size = 1
    place = 0
    while size > 0:
        size -= 1
        h = stack[size]
        if left[h] == LEAF:
            start[h] = place
            place += stop[h]
            stop[h] = start[h]  # grows to the end of the slice while rows are put there
        else:
            stack[size] = right[h]
            stack[size + 1] = left[h]
            size += 2
    for i in range(n_samples):
        h = leaf[i]
        order[stop[h]] = i
        stop[h] += 1
    for h in range(last - 1, first - 1, -1):
        if left[h] != LEAF:
            start[h] = start[left[h]]
            stop[h] = stop[right[h]]


@kernel
def first_use_of_each(feature, parent):
    """Mark the splits at which no ancestor tests the same feature."""
    n_nodes = len(feature)
    first_use = np.zeros(n_nodes, dtype=np.bool_)
    for h in range(n_nodes):
        if feature[h] == LEAF:
            continue
        above = parent[h]
        while above != LEAF and feature[above] != feature[h]:
            above = parent[above]
        first_use[h] = above == LEAF
    return first_use
