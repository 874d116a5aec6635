"""Numba loops that walk rows along a path; `walking` and `evaluation` check everything first."""

from collections import namedtuple

import numpy as np

from thriftwood.compiling import kernel

# What rows get at the current point of the path.
#
#   total      sum of the values of the leaves they are in, in whole numbers so that nothing drifts
#   votes      how many trees predict each class
#   n_trees    how many trees predict the row
#   n_askers   how many trees ask for each feature of the row
#   bill, n_bought   what the row pays, and for how many features
#   buyers     weight of the rows that buy each feature
#   changed    rows that are no longer as they were last measured
State = namedtuple("State", "total votes n_trees n_askers bill n_bought buyers changed")

# The trees with all they have to say about the rows.
Walk = namedtuple(
    "Walk",
    "tree_of left right feature first_use value winner prices order start stop times weights",
)


@kernel
def enter(walk, state, roots):
    """Put the rows into trees that are single leaves."""
    for root in roots:
        move(walk, state, root, 1)


@kernel
def change(walk, state, tops, before, after):
    """Go from the kept splits of one point to those of the next, below the nodes that change."""
    stack = np.empty(len(walk.left), dtype=np.int32)
    for top in tops:
        count_below(walk, state, top, before, -1, stack)
        count_below(walk, state, top, after, 1, stack)


@kernel
def count_below(walk, state, top, kept, sign, stack):
    """Add the leaves and purchases at and below a node, or take them away."""
    stack[0] = top
    size = 1
    while size > 0:
        size -= 1
        h = stack[size]
        if not kept[h]:
            move(walk, state, h, sign)
            continue
        if walk.first_use[h]:
            if sign > 0:
                buy(walk, state, h)
            else:
                return_it(walk, state, h)
        stack[size] = walk.left[h]
        stack[size + 1] = walk.right[h]
        size += 2


@kernel
def move(walk, state, leaf, sign):
    """Add what a leaf says about its rows, or take it away."""
    tree = walk.tree_of[leaf]
    for place in range(walk.start[leaf], walk.stop[leaf]):
        row = walk.order[tree, place]
        if walk.times[tree, row] == 0:
            continue
        state.changed[row] = True
        state.n_trees[row] += sign
        state.votes[row, walk.winner[leaf]] += sign
        for k in range(walk.value.shape[1]):
            state.total[row, k] += sign * walk.value[leaf, k]


@kernel
def buy(walk, state, h):
    """Let the rows of a split ask for its feature."""
    tree, feature = walk.tree_of[h], walk.feature[h]
    for place in range(walk.start[h], walk.stop[h]):
        row = walk.order[tree, place]
        if state.n_askers[row, feature] == 0:
            state.bill[row] += walk.prices[feature]
            state.n_bought[row] += 1
            state.buyers[feature] += walk.weights[row]
        state.n_askers[row, feature] += 1


@kernel
def return_it(walk, state, h):
    """Let the rows of a split no longer ask for its feature."""
    tree, feature = walk.tree_of[h], walk.feature[h]
    for place in range(walk.start[h], walk.stop[h]):
        row = walk.order[tree, place]
        state.n_askers[row, feature] -= 1
        if state.n_askers[row, feature] == 0:
            state.n_bought[row] -= 1
            state.bill[row] -= walk.prices[feature]
            state.buyers[feature] -= walk.weights[row]
            if state.n_bought[row] == 0:
                state.bill[row] = 0.0  # no rounding is left over


@kernel
def judge_classes(state, label, losses):
    """Update the columns error, vote error, Brier and log loss of the rows that changed."""
    n_classes = state.total.shape[1]
    smallest = np.finfo(np.float64).eps
    for row in range(len(label)):
        if not state.changed[row] or state.n_trees[row] == 0:
            continue
        state.changed[row] = False
        best, most_votes, total = 0, 0, 0.0
        for k in range(n_classes):
            total += state.total[row, k]
            if state.total[row, k] > state.total[row, best]:
                best = k
            if state.votes[row, k] > state.votes[row, most_votes]:
                most_votes = k
        distance = 0.0
        for k in range(n_classes):
            truth = 1.0 if k == label[row] else 0.0
            distance += (state.total[row, k] / total - truth) ** 2
        right = state.total[row, label[row]] / total
        losses[0, row] = best != label[row]
        losses[1, row] = most_votes != label[row]
        losses[2, row] = distance / 2 if n_classes == 2 else distance
        losses[3, row] = -np.log(min(max(right, smallest), 1.0 - smallest))


@kernel
def judge_numbers(state, target, unit, losses):
    """Update the squared error of the rows that changed."""
    for row in range(len(target)):
        if not state.changed[row] or state.n_trees[row] == 0:
            continue
        state.changed[row] = False
        predicted = state.total[row, 0] / state.n_trees[row] * unit
        losses[0, row] = (predicted - target[row]) ** 2
