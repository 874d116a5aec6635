"""Numba loops of the formulation; the Python functions that call them check everything."""

import numpy as np

from thriftwood.compiling import kernel

NOTHING = -1


@kernel
def number_items(first_use, feature, tree_of, order, start, stop, arc_start, arc_item, most_items):
    """Number the (feature, row) pairs that somebody pays for, and write each split's arcs.

    `first_use` lists splits sorted by feature; `arc_start` says where the arcs of each begin in
    `arc_item`. Returns the feature and the row of every item.
    """
    n_rows = order.shape[1]
    item_of = np.full(n_rows, NOTHING, dtype=np.int32)  # of the feature at hand
    seen_for = np.full(n_rows, NOTHING, dtype=np.int32)
    item_feature = np.empty(most_items, dtype=np.int32)
    item_row = np.empty(most_items, dtype=np.int32)
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


@kernel
def class_weight_per_node(
    order, start, stop, tree_start, left, right, label, weight, times, n_classes
):
    """Add up the weight of every class among the rows of every node."""
    total = np.zeros((len(left), n_classes), dtype=np.float64)
    for tree in range(len(tree_start) - 1):
        for h in range(tree_start[tree + 1] - 1, tree_start[tree] - 1, -1):
            if left[h] == NOTHING:
                for place in range(start[h], stop[h]):
                    row = order[tree, place]
                    total[h, label[row]] += weight[row] * times[tree, row]
            else:
                for k in range(n_classes):
                    total[h, k] = total[left[h], k] + total[right[h], k]
    return total


@kernel
def last_need(step_of, arc_start, arc_item, n_items):
    """Return for each item the last step among the projects that need it."""
    last = np.full(n_items, NOTHING, dtype=np.int32)
    for h in range(len(step_of)):
        for arc in range(arc_start[h], arc_start[h + 1]):
            last[arc_item[arc]] = max(last[arc_item[arc]], step_of[h])
    return last
