"""Numba loops of node losses; `losses` checks everything before it calls them."""

import numpy as np

from thriftwood.forest.kernels import LEAF
from thriftwood.support.compiling import kernel


@kernel
def class_weight_per_node(
    order, start, stop, tree_start, left, right, label, weight, times, n_classes
):
    """Add up the weight of every class among the samples of every node."""
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
