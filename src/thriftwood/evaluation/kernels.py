"""Numba loops that walk rows along a path; `walking` and `evaluation` check everything first."""

from collections import namedtuple

import numpy as np

from thriftwood.costs import MODEL, NO_MASK
from thriftwood.forest import LINKS
from thriftwood.support.compiling import kernel, small_kernel

# What rows get at the current point of the path.
#
#   total      sum of the values of the leaves they are in, in whole numbers so that nothing drifts
#   votes      how many trees predict each class
#   n_trees    how many trees predict the row
#   n_askers   how many splits ask each row for each cost item
#   bill       what the row pays for itself
#   n_paid     how many cost items and tests are on its bill
#   n_payers   how many rows of each batch need each cost item that batches pay
#   changed    rows that are no longer as they were last measured
State = namedtuple("State", "total votes n_trees n_askers bill n_paid n_payers changed")

# The trees with all they have to say about the rows.
#
#   ask_start, ask_cost_item, ask_mask   what each node asks its rows for
#   own_prices   what each row pays for a feature, or nothing where `prices` say it
#   line         the line of `n_payers` of a cost item that batches pay
Walk = namedtuple(
    "Walk",
    "tree_of left right value winner order start stop times "
    "ask_start ask_cost_item ask_mask prices payer own_prices masks batch_of line per_split",
)

# What makes predictions of these whole numbers; `link` is a place in `LINKS`.
Scale = namedtuple("Scale", "unit is_mean bias link n_classes")
IDENTITY, LOGISTIC, EXP = LINKS.index("identity"), LINKS.index("logistic"), LINKS.index("exp")


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
    """Add the leaves and bills at and below a node, or take them away."""
    stack[0] = top
    size = 1
    while size > 0:
        size -= 1
        h = stack[size]
        if not kept[h]:
            move(walk, state, h, sign)
            continue
        ask(walk, state, h, sign)
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
def ask(walk, state, h, sign):
    """Let a split ask its rows for its cost items, or no longer do so."""
    tree = walk.tree_of[h]
    for number in range(walk.ask_start[h], walk.ask_start[h + 1]):
        cost_item, mask = walk.ask_cost_item[number], walk.ask_mask[number]
        if walk.payer[cost_item] == MODEL:
            continue
        for place in range(walk.start[h], walk.stop[h]):
            row = walk.order[tree, place]
            if mask != NO_MASK and not walk.masks[mask, row]:
                continue
            before = state.n_askers[row, cost_item]
            state.n_askers[row, cost_item] += sign
            if before == (0 if sign > 0 else 1):
                settle(walk, state, row, cost_item, sign)
    if walk.per_split > 0:
        for place in range(walk.start[h], walk.stop[h]):
            put_on_bill(state, walk.order[tree, place], walk.per_split, sign)


@kernel
def settle(walk, state, row, cost_item, sign):
    """Let a row, or its batch, begin or stop to pay a cost item."""
    if walk.payer[cost_item] >= 0:
        state.n_payers[walk.line[cost_item], walk.batch_of[walk.payer[cost_item], row]] += sign
    elif cost_item < walk.own_prices.shape[1]:
        put_on_bill(state, row, walk.own_prices[row, cost_item], sign)
    else:
        put_on_bill(state, row, walk.prices[cost_item], sign)


@kernel
def put_on_bill(state, row, price, sign):
    state.bill[row] += sign * price
    state.n_paid[row] += sign
    if state.n_paid[row] == 0:
        state.bill[row] = 0.0  # no rounding is left over


@kernel
def judge_classes(state, label, scale, losses):
    """Update the columns error, vote error, Brier and log loss of the rows that changed."""
    n_classes = scale.n_classes
    smallest = np.finfo(np.float64).eps
    probability = np.empty(n_classes)
    for row in range(len(label)):
        if not state.changed[row] or state.n_trees[row] == 0:
            continue
        state.changed[row] = False
        fill_probabilities(state, row, scale, probability)
        best, most_votes = 0, 0
        distance = 0.0
        for k in range(n_classes):
            if probability[k] > probability[best]:
                best = k
            distance += (probability[k] - (1.0 if k == label[row] else 0.0)) ** 2
        for k in range(state.votes.shape[1]):
            if state.votes[row, k] > state.votes[row, most_votes]:
                most_votes = k
        losses[0, row] = best != label[row]
        losses[1, row] = most_votes != label[row]
        losses[2, row] = distance / 2 if n_classes == 2 else distance
        losses[3, row] = -np.log(min(max(probability[label[row]], smallest), 1.0 - smallest))


@small_kernel
def fill_probabilities(state, row, scale, probability):
    """Write down how likely each class of a row is; their sum is 1."""
    n_outputs = state.total.shape[1]
    if scale.link == LOGISTIC and n_outputs == 1:
        probability[1] = 1.0 / (1.0 + np.exp(-score(state, row, 0, scale)))
        probability[0] = 1.0 - probability[1]
        return
    largest = -np.inf
    for k in range(n_outputs):
        if scale.link == IDENTITY:
            probability[k] = state.total[row, k]  # of averaged trees: whole numbers, no rounding
        else:
            probability[k] = score(state, row, k, scale)
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
    """Update the squared error of the rows that changed."""
    for row in range(len(target)):
        if not state.changed[row] or state.n_trees[row] == 0:
            continue
        state.changed[row] = False
        predicted = score(state, row, 0, scale)
        if scale.link == EXP:
            predicted = np.exp(predicted)
        elif scale.link == LOGISTIC:
            predicted = 1.0 / (1.0 + np.exp(-predicted))
        losses[0, row] = (predicted - target[row]) ** 2


@small_kernel
def score(state, row, k, scale):
    """Return what the trees say about an output of a row."""
    total = state.total[row, k] * scale.unit
    if scale.is_mean:
        total /= state.n_trees[row]
    return total + scale.bias[k]
