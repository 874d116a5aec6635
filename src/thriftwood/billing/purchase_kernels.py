"""Numba loops of the formulation; the Python functions that call them check everything."""

from collections import namedtuple

import numpy as np

from thriftwood.costs import MODEL, NO_MASK, SAMPLE
from thriftwood.support.compiling import kernel

NOTHING = -1


@kernel
def find_asks(roots, left, right, feature, item_start, key, most_asks):
    """Return the splits, and the cost items of their features, whose key no split above has.

    Walks down each tree; the complement of a split on the stack says that all below it are done.
    """
    n_above = np.zeros(key.max() + 1, dtype=np.int32)
    stack = np.empty(2 * len(left) + 2, dtype=np.int64)
    node = np.empty(most_asks, dtype=np.int64)
    entry = np.empty(most_asks, dtype=np.int64)
    n_asks = 0
    for root in roots:
        stack[0] = root
        size = 1
        while size > 0:
            size -= 1
            h = stack[size]
            if h < 0:
                k = feature[~h]
                for place in range(item_start[k], item_start[k + 1]):
                    n_above[key[place]] -= 1
                continue
            if left[h] == NOTHING:
                continue
            k = feature[h]
            for place in range(item_start[k], item_start[k + 1]):
                if n_above[key[place]] == 0:
                    node[n_asks] = h
                    entry[n_asks] = place
                    n_asks += 1
            for place in range(item_start[k], item_start[k + 1]):
                n_above[key[place]] += 1
            stack[size] = ~h
            stack[size + 1] = right[h]
            stack[size + 2] = left[h]
            size += 3
    return node[:n_asks].copy(), entry[:n_asks].copy()


# Asks with all that tells who pays there: `Asks`, `PriceList` and `Routes` in arrays.
Asked = namedtuple("Asked", "node cost_item mask payer tree_of order start stop masks batch_of")


@kernel
def count_arcs(asked):
    """Return how many different payers ask for each cost item at each node."""
    n_arcs = np.empty(len(asked.node), dtype=np.int64)
    seen_at = np.full(asked.order.shape[1], NOTHING, dtype=np.int64)
    for ask in range(len(asked.node)):
        h = asked.node[ask]
        who = asked.payer[asked.cost_item[ask]]
        if who == MODEL:
            n_arcs[ask] = 1
        elif who == SAMPLE and asked.mask[ask] == NO_MASK:
            n_arcs[ask] = asked.stop[h] - asked.start[h]
        else:
            n_arcs[ask] = 0
            for place in range(asked.start[h], asked.stop[h]):
                row = asked.order[asked.tree_of[ask], place]
                if asked.mask[ask] != NO_MASK and not asked.masks[asked.mask[ask], row]:
                    continue
                unit = row if who == SAMPLE else asked.batch_of[who, row]
                if seen_at[unit] != ask:
                    seen_at[unit] = ask
                    n_arcs[ask] += 1
    return n_arcs


@kernel
def number_items(asked, group, arc_start, arc_item, most_items):
    """Number what somebody pays for, and write the arcs of each ask.

    Asks of the same group, all for the same cost item, are neighbours: who pays in several of them
    pays one item. `arc_start` says where the arcs of each ask begin in `arc_item`. Returns the
    cost item and the payer of every item.
    """
    n_samples = asked.order.shape[1]
    item_of = np.full(n_samples, NOTHING, dtype=np.int32)  # of the group at hand
    seen_for = np.full(n_samples, NOTHING, dtype=np.int64)
    seen_at = np.full(n_samples, NOTHING, dtype=np.int64)
    cost_item = np.empty(most_items, dtype=np.int32)
    item_payer = np.empty(most_items, dtype=np.int32)
    n_items = 0
    for ask in range(len(asked.node)):
        h = asked.node[ask]
        who = asked.payer[asked.cost_item[ask]]
        first, last = (0, 1) if who == MODEL else (asked.start[h], asked.stop[h])
        arc = arc_start[ask]
        for place in range(first, last):
            row = 0 if who == MODEL else asked.order[asked.tree_of[ask], place]
            if asked.mask[ask] != NO_MASK and not asked.masks[asked.mask[ask], row]:
                continue
            unit = asked.batch_of[who, row] if who >= 0 else row
            if seen_for[unit] != group[ask]:
                seen_for[unit] = group[ask]
                item_of[unit] = n_items
                cost_item[n_items] = asked.cost_item[ask]
                item_payer[n_items] = unit
                n_items += 1
            if who >= 0:
                if seen_at[unit] == ask:
                    continue
                seen_at[unit] = ask
            arc_item[arc] = item_of[unit]
            arc += 1
    return cost_item[:n_items].copy(), item_payer[:n_items].copy()


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
