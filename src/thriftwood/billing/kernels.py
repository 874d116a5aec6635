"""Numba loops of the cost meter; `use` checks everything before it calls them."""

import numpy as np

from thriftwood.forest.kernels import LEAF, goes_left
from thriftwood.support.compiling import kernel


@kernel
def use_features(splits, feature, tree_of, order, start, stop, n_features):
    """Return which features each row is tested for, and by how many splits in all."""
    n_samples = order.shape[1]
    used = np.zeros((n_samples, n_features), dtype=np.bool_)
    n_tests = np.zeros(n_samples, dtype=np.int64)
    for number in range(len(splits)):
        h = splits[number]
        for place in range(start[h], stop[h]):
            row = order[tree_of[number], place]
            used[row, feature[h]] = True
            n_tests[row] += 1
    return used, n_tests


@kernel
def first_asks_of(splits, tree_start, row):
    """Return the features that a row is tested for, and the tree that asks first for each.

    In the order in which they are met: tree after tree, in each from the root down.
    """
    asked = np.zeros(len(row), dtype=np.bool_)
    features = np.empty(len(row), dtype=np.int64)
    trees = np.empty(len(row), dtype=np.int64)
    size = 0
    for tree in range(len(tree_start) - 1):
        h = tree_start[tree]
        while splits.left[h] != LEAF:
            k = splits.feature[h]
            if not asked[k]:
                asked[k] = True
                features[size] = k
                trees[size] = tree
                size += 1
            h = splits.left[h] if goes_left(splits, h, row[k]) else splits.right[h]
    return features[:size], trees[:size]
