"""Numba loops that walk rows as far as their values lead; `walk` checks everything before.

Rows are numbered by `i`; a row that is on its way also has a slot, where kernels keep what nobody
needs once it has arrived.

Arrays come one by one, not in a bundle: Python hands them over once per round, and a bundle would
be taken apart and put together again every time.
"""

import numpy as np

from thriftwood.forest.kernels import LEAF, Splits, goes_left
from thriftwood.forest.stages import TIE_BREAK
from thriftwood.support.compiling import kernel
from thriftwood.support.draws_kernels import uniform

# What is known about a feature of a row. From `KNOWN` on there is a value that splits can look at.
UNKNOWN = 0
ASKED = 1
LOST = 2  # the source failed: trees that need it answer from where they are
KNOWN = 3  # beforehand, and no split has looked at it yet
USED = 4
MISSED = 5  # the source failed: splits look at a missing value instead

NOTHING = -1
NO_SEED = np.uint64(0)


@kernel
def go_on(
    feature,
    threshold,
    left,
    right,
    missing_left,
    kind,
    category_set,
    set_start,
    in_set,
    roots,
    says,
    bias,
    divisor,
    enough,
    first_asked,
    first_asked_start,
    values,
    know,
    at,
    stage,
    scores,
    n_tests,
    asked,
    n_asked,
    rows,
    slots,
    one_by_one,
):
    """Walk rows on, through stage after stage, until each asks for values or has its scores.

    Every tree asks for the value that it needs next; only the first that needs one if
    `one_by_one`. Returns the feature that the last row asked for last, or `NOTHING`.
    """
    splits = Splits(
        feature, threshold, left, right, missing_left, kind, category_set, set_start, in_set
    )
    wanted = NOTHING
    for place in range(len(rows)):
        i, slot = rows[place], slots[place]
        while True:
            wanted = NOTHING
            for tree in range(at.shape[1]):
                k = walk_tree(splits, values, know, at, n_tests, asked, n_asked, i, slot, tree)
                if k != NOTHING and know[i, k] == UNKNOWN:
                    ask(know, asked, n_asked, i, slot, tree, k)
                    wanted = k
                    if one_by_one:
                        break
            if wanted != NOTHING:
                break
            add_up(says, bias, divisor, at, scores, stage[i], i, slot)
            if stage[i] == len(enough) - 1:
                break
            raised = raised_by(first_asked, first_asked_start, values, stage[i], i)
            if gap_of(scores, i) * raised >= enough[stage[i]]:
                break
            enter_next_stage(roots, stage, at, n_tests, i, slot)
    return wanted


@kernel
def walk_tree(splits, values, know, at, n_tests, asked, n_asked, i, slot, tree):
    """Walk a row down a tree; return the feature whose value it would need to go on, if any.

    A tree that has lost a value stands at ``-1 - h`` from then on, where h is the node it is at.
    """
    h = at[slot, tree]
    if h < 0:
        return NOTHING
    k = NOTHING
    while splits.left[h] != LEAF:
        k = splits.feature[h]
        if know[i, k] < KNOWN:
            break
        if know[i, k] == KNOWN:
            write_down(asked, n_asked, slot, tree, k)
            know[i, k] = USED
        n_tests[i] += 1
        h = splits.left[h] if goes_left(splits, h, values[i, k]) else splits.right[h]
        k = NOTHING
    if k != NOTHING and know[i, k] == LOST:
        at[slot, tree] = -1 - h
        return NOTHING
    at[slot, tree] = h
    return k


@kernel
def ask(know, asked, n_asked, i, slot, tree, k):
    know[i, k] = ASKED
    write_down(asked, n_asked, slot, tree, k)


@kernel
def write_down(asked, n_asked, slot, tree, k):
    """Note which tree asked first for a feature, in the order of asking."""
    asked[slot, n_asked[slot], 0] = k
    asked[slot, n_asked[slot], 1] = tree
    n_asked[slot] += 1


@kernel
def add_up(says, bias, divisor, at, scores, stage, i, slot):
    """Work out the scores of a row exactly as `forest.scores` does, tree after tree."""
    for output in range(scores.shape[1]):
        total = 0.0
        for tree in range(at.shape[1]):
            h = at[slot, tree]
            total += says[h if h >= 0 else -1 - h, output]
        scores[i, output] = total / divisor[stage] + bias[stage, output]


@kernel
def raised_by(first_asked, first_asked_start, values, stage, i):
    """Return by what a draw multiplies the margin of a row at a stage, as `margins_of` does.

    The draw depends on what the trees of the stage ask for first.
    """
    columns = first_asked[first_asked_start[stage] : first_asked_start[stage + 1]]
    return 1.0 + TIE_BREAK * uniform(values[i], columns, NO_SEED)


@kernel
def gap_of(scores, i):
    """Return by how much the best score of a row is above the second best."""
    if scores.shape[1] == 1:
        return abs(scores[i, 0])
    best, second = scores[i, 0], scores[i, 1]
    if second > best:
        best, second = second, best
    for output in range(2, scores.shape[1]):
        score = scores[i, output]
        if score > best:
            best, second = score, best
        elif score > second:
            second = score
    return best - second


@kernel
def enter_next_stage(roots, stage, at, n_tests, i, slot):
    """Start at the roots again: what the row has got so far leads it back to where it was."""
    stage[i] += 1
    n_tests[i] = 0
    for tree in range(at.shape[1]):
        at[slot, tree] = roots[stage[i], tree]
