"""Numba loops that advance samples in a compiled forest; `traversal` checks everything before.

Samples are numbered by `i`; one that is in progress also has a slot, the place of its working
memory. Python calls these kernels once per request and hands bundles over as plain tuples: numba
takes twice as long to recognise named ones, which are made here instead.
"""

from collections import namedtuple

import numpy as np

from thriftwood.forest.kernels import LEAF, Splits, goes_left
from thriftwood.forest.margin_kernels import margin_of
from thriftwood.forest.stages import TIE_BREAK
from thriftwood.support.compiling import quick_kernel, small_kernel
from thriftwood.support.draws_kernels import uniform

# Node arrays of all stages, one stage after the other. `roots` has a row for each stage; a sample
# stops at a stage if its margin is at least `threshold`. Draws of stage `s` depend on the features
# `root_features[root_feature_start[s] : root_feature_start[s + 1]]`.
NodeArrays = namedtuple(
    "NodeArrays",
    "splits roots values bias divisor link error_costs threshold root_features root_feature_start",
)

# Traversal state. By sample: `values`, `status`, `stage`, `scores`, `n_tests`. By slot: the node
# that each tree has reached, and the (feature, tree) of first uses in order.
State = namedtuple("State", "values status stage scores n_tests node first_uses n_first_uses")

# What a sample has paid for values, what it pays for each test, and the most that it may pay.
Purse = namedtuple("Purse", "spent per_split max_cost")

# Status of a value. From `KNOWN` on there is one that splits can look at.
UNKNOWN = 0
REQUESTED = 1
LOST = 2  # the source failed, or it is too dear: trees that need it answer from where they are
KNOWN = 3  # beforehand, and no split has looked at it yet
USED = 4
MISSED = 5  # the source failed: splits look at a missing value instead

NOTHING = -1
NO_SEED = np.uint64(0)


@quick_kernel
def advance(node_arrays, state_arrays, one_by_one, samples, slots):
    """Advance samples, through stage after stage, until each needs values or has its scores.

    Every tree requests the value that it needs next; only the first that needs one if
    `one_by_one`. Returns the feature that the last sample requested last, or `NOTHING`.
    """
    nodes, state = NodeArrays(*node_arrays), State(*state_arrays)
    splits = Splits(*nodes.splits)
    unlimited = Purse(0.0, 0.0, np.inf)
    wanted = NOTHING
    for place in range(len(samples)):
        i, slot = samples[place], slots[place]
        while True:
            wanted = NOTHING
            for tree in range(state.node.shape[1]):
                k = advance_tree(splits, state, unlimited, i, slot, tree)
                if k != NOTHING and state.status[i, k] == UNKNOWN:
                    record_first_use(state, i, slot, tree, k, REQUESTED)
                    wanted = k
                    if one_by_one:
                        break
            if wanted != NOTHING:
                break
            add_scores(nodes, state, i, slot)
            if is_sure(nodes, state, i):
                break
            enter_next_stage(nodes, state, i, slot)
    return wanted


@small_kernel
def advance_tree(splits, state, purse, i, slot, tree):
    """Send a sample down a tree; return the feature that it would need to go on, if any.

    A tree that has lost a value, or cannot pay for its next test, stands at ``-1 - h`` from then
    on, where h is the node it is at.
    """
    h = state.node[slot, tree]
    if h < 0:
        return NOTHING
    k = NOTHING
    ends_here = False
    while splits.left[h] != LEAF:
        k = splits.feature[h]
        if state.status[i, k] < KNOWN:
            ends_here = state.status[i, k] == LOST
            break
        if not pays_for_tests(purse, state.n_tests[i] + 1):
            ends_here = True
            break
        if state.status[i, k] == KNOWN:
            record_first_use(state, i, slot, tree, k, USED)
        state.n_tests[i] += 1
        is_left = goes_left(splits, np.int64(h), state.values[i, k])
        h = splits.left[h] if is_left else splits.right[h]
        k = NOTHING
    if ends_here:
        state.node[slot, tree] = -1 - h
        return NOTHING
    state.node[slot, tree] = h
    return k


@small_kernel
def pays_for_tests(purse, n_tests):
    """Return True if so many tests keep the bill, added up as bills are, within the limit."""
    return purse.spent + purse.per_split * n_tests <= purse.max_cost


@small_kernel
def record_first_use(state, i, slot, tree, k, status):
    """Write down for the receipt which tree was the first to need a feature."""
    state.status[i, k] = status
    number = state.n_first_uses[slot]
    state.first_uses[slot, number, 0] = k
    state.first_uses[slot, number, 1] = tree
    state.n_first_uses[slot] = number + 1


@small_kernel
def add_scores(nodes, state, i, slot):
    """Add up the scores of a sample exactly as `forest.scores` does, tree after tree."""
    stage = state.stage[i]
    for output in range(state.scores.shape[1]):
        total = 0.0
        for tree in range(state.node.shape[1]):
            h = state.node[slot, tree]
            total += nodes.values[h if h >= 0 else -1 - h, output]
        state.scores[i, output] = total / nodes.divisor[stage] + nodes.bias[stage, output]


@small_kernel
def is_sure(nodes, state, i):
    """Return True if a sample stops at its stage, by its scores; at the last one it does."""
    stage = state.stage[i]
    if stage == len(nodes.threshold) - 1:
        return True
    margin = margin_of(state.scores[i], nodes.link[stage], nodes.error_costs)
    return margin * tie_break(nodes, state, i) >= nodes.threshold[stage]


@small_kernel
def tie_break(nodes, state, i):
    """Return the factor by which a draw raises the margin of a sample, as in `Stages.margins`."""
    start = nodes.root_feature_start
    columns = nodes.root_features[start[state.stage[i]] : start[state.stage[i] + 1]]
    return 1.0 + TIE_BREAK * uniform(state.values[i], columns, NO_SEED)


@small_kernel
def enter_next_stage(nodes, state, i, slot):
    """Start at the roots again: the values so far lead the sample back to where it was."""
    state.stage[i] += 1
    state.n_tests[i] = 0
    for tree in range(state.node.shape[1]):
        state.node[slot, tree] = nodes.roots[state.stage[i], tree]
