"""Numba loops over samples and the splits that a point adds; `evaluation` checks everything."""

from collections import namedtuple

import numpy as np

from thriftwood.forest import LINKS
from thriftwood.support.compiling import kernel, small_kernel

# What samples get at the current point of a path.
#
#   total      sum of the values of the leaves they are in, in whole numbers so that nothing drifts
#   votes      how many trees predict each class
#   n_trees    how many trees predict the sample
#   changed    samples that are no longer as they were last measured
State = namedtuple("State", "total votes n_trees changed")

# The trees with the values of their nodes, and the samples that pass them: `Forest` and `Routes`.
#
#   winner     the output with the largest value at each node
#   times      0 where a tree does not predict a sample
Trees = namedtuple("Trees", "tree_of left right value winner order start stop times")

# What makes predictions of these whole numbers; `link` is a place in `LINKS`.
Scale = namedtuple("Scale", "unit is_mean bias link n_classes")
IDENTITY, LOGISTIC, EXP = LINKS.index("identity"), LINKS.index("logistic"), LINKS.index("exp")


@kernel
def put_in(trees, state, splits, sign):
    """Send the samples of some leaves on to their children; with sign -1 take them back.

    What a split adds to a sample does not depend on other splits: any order will do.
    """
    for h in splits:
        tree, left = trees.tree_of[h], trees.left[h]
        for place in range(trees.start[h], trees.stop[h]):
            sample = trees.order[tree, place]
            if trees.times[tree, sample] == 0:
                continue
            child = left if place < trees.stop[left] else trees.right[h]
            state.changed[sample] = True
            state.votes[sample, trees.winner[h]] -= sign
            state.votes[sample, trees.winner[child]] += sign
            for k in range(trees.value.shape[1]):
                state.total[sample, k] += sign * (trees.value[child, k] - trees.value[h, k])


@kernel
def judge_classes(state, label, scale, losses):
    """Update the columns error, vote error, Brier and log loss of the samples that changed."""
    n_classes = scale.n_classes
    smallest = np.finfo(np.float64).eps
    probability = np.empty(n_classes)
    for sample in range(len(label)):
        if not state.changed[sample] or state.n_trees[sample] == 0:
            continue
        state.changed[sample] = False
        fill_probabilities(state, sample, scale, probability)
        best, most_votes = 0, 0
        distance = 0.0
        for k in range(n_classes):
            if probability[k] > probability[best]:
                best = k
            distance += (probability[k] - (1.0 if k == label[sample] else 0.0)) ** 2
        for k in range(state.votes.shape[1]):
            if state.votes[sample, k] > state.votes[sample, most_votes]:
                most_votes = k
        losses[0, sample] = best != label[sample]
        losses[1, sample] = most_votes != label[sample]
        losses[2, sample] = distance / 2 if n_classes == 2 else distance
        losses[3, sample] = -np.log(min(max(probability[label[sample]], smallest), 1.0 - smallest))


@small_kernel
def fill_probabilities(state, sample, scale, probability):
    """Write down how likely each class of a sample is; their sum is 1."""
    n_outputs = state.total.shape[1]
    if scale.link == LOGISTIC and n_outputs == 1:
        probability[1] = 1.0 / (1.0 + np.exp(-score(state, sample, 0, scale)))
        probability[0] = 1.0 - probability[1]
        return
    largest = -np.inf
    for k in range(n_outputs):
        if scale.link == IDENTITY:
            probability[k] = state.total[sample, k]  # of averaged trees: whole numbers, no rounding
        else:
            probability[k] = score(state, sample, k, scale)
            largest = max(largest, probability[k])
    total = 0.0
    for k in range(n_outputs):
        if scale.link == LOGISTIC:
            probability[k] = 1.0 / (1.0 + np.exp(-probability[k]))
        elif scale.link != IDENTITY:
            probability[k] = np.exp(probability[k] - largest)
        total += probability[k]
    for k in range(n_outputs):
        probability[k] /= total


@kernel
def judge_numbers(state, target, scale, losses):
    """Update the squared error of the samples that changed."""
    for sample in range(len(target)):
        if not state.changed[sample] or state.n_trees[sample] == 0:
            continue
        state.changed[sample] = False
        predicted = score(state, sample, 0, scale)
        if scale.link == EXP:
            predicted = np.exp(predicted)
        elif scale.link == LOGISTIC:
            predicted = 1.0 / (1.0 + np.exp(-predicted))
        losses[0, sample] = (predicted - target[sample]) ** 2


@small_kernel
def score(state, sample, k, scale):
    """Return the score of an output of a sample."""
    total = state.total[sample, k] * scale.unit
    if scale.is_mean:
        total /= state.n_trees[sample]
    return total + scale.bias[k]
