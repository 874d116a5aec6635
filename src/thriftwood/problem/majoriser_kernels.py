"""Numba loops of the majoriser; `majoriser` checks everything before it calls them."""

from collections import namedtuple

import numpy as np

from thriftwood.support.compiling import kernel, small_kernel

LEAF = -1
SQUARED, LOGISTIC, SOFTMAX = 0, 1, 2

# An ensemble as it stands, and the samples that its loss is counted on.
#
#   value    what each node adds to the scores, shape (n_nodes, n_outputs)
#   likely   how likely each output is now, shape (n_samples, n_outputs); or the score
#   truth    1 for the right output, else 0; of squared errors the target
#   weight   how much each sample counts
#   loss     which loss
Stand = namedtuple("Stand", "left value order start stop likely truth weight loss")


@kernel
def measure_spans(stand, tree, first, last, leaf, span):
    """Write down where each sample ends in a tree, and how far pruning can move its value there."""
    for h in range(first, last):
        if stand.left[h] == LEAF:
            for place in range(stand.start[h], stand.stop[h]):
                sample = stand.order[tree, place]
                leaf[sample] = h
                span[sample] = 0.0
    for h in range(first, last):
        if stand.left[h] != LEAF:
            for place in range(stand.start[h], stand.stop[h]):
                sample = stand.order[tree, place]
                for k in range(stand.value.shape[1]):
                    far = abs(stand.value[h, k] - stand.value[leaf[sample], k])
                    span[sample] = max(span[sample], far)


@kernel
def measure_moves(stand, tree, first, last, toward, leaf, move):
    """Write down how far the value of each sample in a tree moves if only `toward` stay splits."""
    is_gone = np.zeros(len(move), dtype=np.bool_)
    for h in range(first, last):
        if stand.left[h] == LEAF or toward[h]:
            continue
        for place in range(stand.start[h], stand.stop[h]):
            sample = stand.order[tree, place]
            if is_gone[sample]:
                continue  # with a split above this one
            is_gone[sample] = True
            for k in range(stand.value.shape[1]):
                far = abs(stand.value[h, k] - stand.value[leaf[sample], k])
                move[sample] = max(move[sample], far)


@kernel
def add_losses(stand, tree, first, last, leaf, share, losses):
    """Add up, for each split of a tree, by how much more its samples may lose if it is a leaf.

    `share` is the part of each sample's loss that the tree answers for; it is as large as what the
    tree can do to the sample's score.
    """
    change = np.empty(stand.value.shape[1])
    for h in range(first, last):
        if stand.left[h] == LEAF:
            continue
        for place in range(stand.start[h], stand.stop[h]):
            sample = stand.order[tree, place]
            if share[sample] == 0.0:
                continue
            for k in range(len(change)):
                change[k] = (stand.value[h, k] - stand.value[leaf[sample], k]) / share[sample]
            losses[h] += stand.weight[sample] * share[sample] * rise(stand, sample, change)


@small_kernel
def rise(stand, sample, change):
    """Increase of the loss of a sample when its scores change."""
    if stand.loss == SQUARED:
        return change[0] * (2.0 * (stand.likely[sample, 0] - stand.truth[sample, 0]) + change[0])
    if stand.loss == SOFTMAX:
        largest = 0.0
        for k in range(len(change)):
            largest = max(largest, change[k])
        total, right = 0.0, 0.0
        for k in range(len(change)):
            total += stand.likely[sample, k] * np.exp(change[k] - largest)
            right += stand.truth[sample, k] * change[k]
        return largest + np.log(total) - right
    risen = 0.0
    for k in range(len(change)):  # each class against the rest, or one score alone
        largest = max(change[k], 0.0)
        stays = (1.0 - stand.likely[sample, k]) * np.exp(-largest)
        moved = stand.likely[sample, k] * np.exp(change[k] - largest)
        risen += largest + np.log(stays + moved) - stand.truth[sample, k] * change[k]
    return risen
