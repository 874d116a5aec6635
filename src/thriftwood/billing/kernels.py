"""Numba loops over first uses and the samples that pass them; their callers check everything."""

from collections import namedtuple

import numpy as np

from thriftwood.costs import MODEL, NO_MASK, SAMPLE
from thriftwood.forest.kernels import LEAF, goes_left
from thriftwood.support.compiling import kernel

NOBODY = -1
NEVER = -1

# First uses of cost items, and who passes them: `PriceList` and `Routes` in arrays.
#
#   node, cost_item, mask, tree   of each first use
#   payer                         of each cost item
#   order, start, stop            the samples that pass each node
#   masks, batch_of               of the samples
FirstUses = namedtuple(
    "FirstUses", "node cost_item mask tree payer order start stop masks batch_of"
)


@kernel
def count_arcs(uses):
    """Count the distinct payers of each first use."""
    n_arcs = np.empty(len(uses.node), dtype=np.int64)
    seen_at = np.full(uses.order.shape[1], NOBODY, dtype=np.int64)
    for use in range(len(uses.node)):
        h = uses.node[use]
        who = uses.payer[uses.cost_item[use]]
        if who == MODEL:
            n_arcs[use] = 1
        elif who == SAMPLE and uses.mask[use] == NO_MASK:
            n_arcs[use] = uses.stop[h] - uses.start[h]
        else:
            n_arcs[use] = 0
            for place in range(uses.start[h], uses.stop[h]):
                sample = uses.order[uses.tree[use], place]
                if uses.mask[use] != NO_MASK and not uses.masks[uses.mask[use], sample]:
                    continue
                payer = sample if who == SAMPLE else uses.batch_of[who, sample]
                if seen_at[payer] != use:
                    seen_at[payer] = use
                    n_arcs[use] += 1
    return n_arcs


@kernel
def number_items(uses, group, arc_start, arc_item, most_items):
    """Number the items, one for each cost item and payer, and write the arcs of each first use.

    First uses of the same group, all of the same cost item, are neighbours: whoever pays in several
    of them pays one item. `arc_start` says where the arcs of each first use begin in `arc_item`.
    Returns the cost item and the payer of every item.
    """
    n_samples = uses.order.shape[1]
    item_of = np.full(n_samples, NOBODY, dtype=np.int32)  # of the group at hand
    seen_for = np.full(n_samples, NOBODY, dtype=np.int64)
    seen_at = np.full(n_samples, NOBODY, dtype=np.int64)
    cost_item = np.empty(most_items, dtype=np.int32)
    item_payer = np.empty(most_items, dtype=np.int32)
    n_items = 0
    for use in range(len(uses.node)):
        h = uses.node[use]
        who = uses.payer[uses.cost_item[use]]
        first, last = (0, 1) if who == MODEL else (uses.start[h], uses.stop[h])
        arc = arc_start[use]
        for place in range(first, last):
            sample = 0 if who == MODEL else uses.order[uses.tree[use], place]
            if uses.mask[use] != NO_MASK and not uses.masks[uses.mask[use], sample]:
                continue
            payer = uses.batch_of[who, sample] if who >= 0 else sample
            if seen_for[payer] != group[use]:
                seen_for[payer] = group[use]
                item_of[payer] = n_items
                cost_item[n_items] = uses.cost_item[use]
                item_payer[n_items] = payer
                n_items += 1
            if who >= 0:
                if seen_at[payer] == use:
                    continue
                seen_at[payer] = use
            arc_item[arc] = item_of[payer]
            arc += 1
    return cost_item[:n_items].copy(), item_payer[:n_items].copy()


@kernel
def last_steps(nodes, tree_of, order, start, stop, drop_step):
    """Return the last step among nodes on the way of each sample, or `NEVER`."""
    last = np.full(order.shape[1], NEVER, dtype=np.int32)
    for number in range(len(nodes)):
        h = nodes[number]
        step = drop_step[h]
        if step != NEVER:
            for place in range(start[h], stop[h]):
                sample = order[tree_of[number], place]
                last[sample] = max(last[sample], step)
    return last


@kernel
def count_tests(splits, tree_of, order, start, stop, n_tests):
    """Add to each sample how many of some splits it passes."""
    for number in range(len(splits)):
        h = splits[number]
        for place in range(start[h], stop[h]):
            n_tests[order[tree_of[number], place]] += 1


@kernel
def features_in_order(splits, tree_start, sample):
    """Return the features that a sample is tested for, and the tree that tests each first.

    In the order in which they are met: tree after tree, in each from the root down.
    """
    seen = np.zeros(len(sample), dtype=np.bool_)
    features = np.empty(len(sample), dtype=np.int64)
    trees = np.empty(len(sample), dtype=np.int64)
    size = 0
    for tree in range(len(tree_start) - 1):
        h = tree_start[tree]
        while splits.left[h] != LEAF:
            k = splits.feature[h]
            if not seen[k]:
                seen[k] = True
                features[size] = k
                trees[size] = tree
                size += 1
            h = splits.left[h] if goes_left(splits, h, sample[k]) else splits.right[h]
    return features[:size], trees[:size]
