"""Numba loops of pruning by size; `dynamic_programming` checks everything first.

`n_below[h]` is the number of splits in the subtree of a node. For every number of splits that a
node may keep, from 1 to `n_below[h]`, `choice` has how many of them its left subtree gets::

    choice      | 1 2 3 ... n_below[h] | 1 2 ...
                ^ start[h]             ^ start[h + 1]
"""

from collections import namedtuple

import numpy as np

from thriftwood.support.compiling import inner_kernel, kernel

NOTHING = -1


@kernel
def count_splits_below(left, right):
    """Return the number of splits in the subtree of each node, itself among them."""
    n_below = np.zeros(len(left), dtype=np.int64)
    for h in range(len(left) - 1, -1, -1):
        if left[h] != NOTHING:
            n_below[h] = 1 + n_below[left[h]] + n_below[right[h]]
    return n_below


# The arrays of a forest, what nodes lose as leaves, and the choices to be made.
Subtrees = namedtuple("Subtrees", "left right loss n_below start choice")


@kernel
def best_of_each_size(subtrees, first, last, best):
    """Fill `best[k]` with the least loss of a tree with k splits, and `choice` with how to get it.

    The tree has the nodes `first:last`. A node with n splits has n + 1 losses, of its subtree with
    0 to n splits: as many as its two children have together. So they take the children's place::

        best   | left child, 0 1 2 ... | right child, 0 1 ... |
               | node, 0 1 2 3 ...                            |
    """
    left, right, loss, n_below, start, choice = subtrees
    place = np.empty(last - first, dtype=np.int64)
    place[0] = 0
    for h in range(first, last):
        if left[h] != NOTHING:
            place[left[h] - first] = place[h - first]
            place[right[h] - first] = place[h - first] + n_below[left[h]] + 1
    table = np.empty(last - first, dtype=np.float64)
    for h in range(last - 1, first - 1, -1):
        here = place[h - first]
        if left[h] != NOTHING:
            middle = here + n_below[left[h]] + 1
            end = here + n_below[h] + 1
            merge(best[here:middle], best[middle:end], choice[start[h] : start[h + 1]], table)
            for size in range(1, end - here):
                best[here + size] = table[size - 1]
        best[here] = loss[h]


@inner_kernel
def merge(left_best, right_best, choice, table):
    """Share 1, 2, ... splits out among a node itself and its subtrees, at the least loss."""
    for n_shared in range(len(choice)):
        table[n_shared] = np.inf
        fewest = max(0, n_shared - len(right_best) + 1)
        for share in range(fewest, min(n_shared, len(left_best) - 1) + 1):
            loss = left_best[share] + right_best[n_shared - share]
            if loss < table[n_shared]:
                table[n_shared] = loss
                choice[n_shared] = share


@kernel
def kept_at_size(size, roots, left, right, n_below, start, choice):
    """Return the splits that stay where each tree gets this many, or all it has."""
    n_kept = np.zeros(len(left), dtype=np.int64)
    kept = np.zeros(len(left), dtype=np.bool_)
    for root in roots:
        n_kept[root] = min(size, n_below[root])
    for h in range(len(left)):
        if n_kept[h] > 0:
            kept[h] = True
            share = choice[start[h] + n_kept[h] - 1]
            n_kept[left[h]] = share
            n_kept[right[h]] = n_kept[h] - 1 - share
    return kept
