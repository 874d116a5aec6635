"""Numba loops of the cost meter; `bill` checks everything before it calls them."""

import numpy as np

from thriftwood.compiling import kernel


@kernel
def use_features(splits, feature, tree_of, order, start, stop, n_features):
    """Return which features each row is tested for, and by how many splits in all."""
    n_rows = order.shape[1]
    used = np.zeros((n_rows, n_features), dtype=np.bool_)
    n_tests = np.zeros(n_rows, dtype=np.int64)
    for number in range(len(splits)):
        h = splits[number]
        for place in range(start[h], stop[h]):
            row = order[tree_of[number], place]
            used[row, feature[h]] = True
            n_tests[row] += 1
    return used, n_tests
