"""Numba loops of the cost meter; `bill` checks everything before it calls them."""

import numpy as np

from thriftwood.compiling import kernel

NOTHING = -1


@kernel
def charge(first_use, feature, tree_of, order, start, stop, prices):
    """Charge every row for each feature that it meets in any tree, once.

    `first_use` lists splits sorted by feature. Returns the bill of each row and how many rows
    bought each feature.
    """
    n_rows = order.shape[1]
    bill = np.zeros(n_rows, dtype=np.float64)
    n_buyers = np.zeros(len(prices), dtype=np.int64)
    paid_for = np.full(n_rows, NOTHING, dtype=np.int32)
    for use in range(len(first_use)):
        h = first_use[use]
        for place in range(start[h], stop[h]):
            row = order[tree_of[use], place]
            if paid_for[row] != feature[h]:
                paid_for[row] = feature[h]
                bill[row] += prices[feature[h]]
                n_buyers[feature[h]] += 1
    return bill, n_buyers
