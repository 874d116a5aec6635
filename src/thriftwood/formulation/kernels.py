"""Numba loops of the formulation; the Python functions that call them check everything."""

import numpy as np
from numba import njit

NOTHING = -1


@njit(cache=True, nogil=True)
def number_items(first_use, feature, tree_of, order, start, stop, arc_start, arc_item):
    """Number the (feature, row) pairs that somebody pays for, and write each split's arcs.

    `first_use` lists splits sorted by feature; `arc_start` says where the arcs of each begin in
    `arc_item`. Returns the feature and the row of every item.
    """
    n_rows = order.shape[1]
    item_of = np.full(n_rows, NOTHING, dtype=np.int32)  # of the feature at hand
    seen_for = np.full(n_rows, NOTHING, dtype=np.int32)
    item_feature = np.empty(len(arc_item), dtype=np.int32)
    item_row = np.empty(len(arc_item), dtype=np.int32)
    n_items = 0
    for use in range(len(first_use)):
        h = first_use[use]
        arc = arc_start[use]
        for place in range(start[h], stop[h]):
            row = order[tree_of[use], place]
            if seen_for[row] != feature[h]:
                seen_for[row] = feature[h]
                item_of[row] = n_items
                item_feature[n_items] = feature[h]
                item_row[n_items] = row
                n_items += 1
            arc_item[arc] = item_of[row]
            arc += 1
    return item_feature[:n_items].copy(), item_row[:n_items].copy()
