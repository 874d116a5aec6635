"""Numba loops that walk rows only until no unread leaf can change the label.

Sums of bounds are added up in the order in which scores are. Rounded addition never turns the order
of its terms around, so a score lies between the two sums to the last bit, and no allowance for
rounding is needed but for what the link does to scores.
"""

import numpy as np

from thriftwood.acquisition.kernels import (
    NOTHING,
    UNKNOWN,
    add_up,
    ask,
    enter_next_stage,
    gap_of,
    raised_by,
    walk_tree,
)
from thriftwood.costs.price_list import NO_MASK
from thriftwood.forest.kernels import Splits
from thriftwood.forest.stages import TIE_BREAK
from thriftwood.support.compiling import kernel

# When a class is surely the label. Predictions are the scores themselves; or scores that differ by
# more than `SURE` make predictions that differ; or predictions are shares of one class against the
# rest, which may be 1 for several classes, and must differ by more than `SURE` themselves.
EXACT = 0
GAP = 1
SHARES = 2

SURE = 1e-12

# What is sure about a row at a stage.
UNDECIDED = 0
STOPS = 1
PASSES = 2


@kernel
def go_on_until_decided(
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
    low,
    high,
    rule,
    start,
    cost_item,
    mask,
    amount,
    own_price,
    masks,
    paid,
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
):
    """Walk rows on until each asks for the most telling value for its price, or is decided.

    Returns the feature that the last row asked for, or `NOTHING`.
    """
    splits = Splits(
        feature, threshold, left, right, missing_left, kind, category_set, set_start, in_set
    )
    n_trees, n_features = at.shape[1], know.shape[1]
    waits_for = np.empty(n_trees, dtype=np.int32)
    worth = np.empty(n_features)
    n_classes = max(scores.shape[1], 2)
    least, most = np.zeros(n_classes), np.zeros(n_classes)
    wanted = NOTHING
    for place in range(len(rows)):
        i, slot = rows[place], slots[place]
        while True:
            wanted = NOTHING
            some_wait = False
            for tree in range(n_trees):
                waits_for[tree] = walk_tree(
                    splits, values, know, at, n_tests, asked, n_asked, i, slot, tree
                )
                some_wait |= waits_for[tree] != NOTHING
            raised_least, raised_most = 1.0, 1.0
            if stage[i] < len(enough) - 1:
                raised_least, raised_most = bounds_of_raise(
                    first_asked, first_asked_start, values, know, stage[i], i
                )
            if some_wait:
                add_up_bounds(
                    says, low, high, bias, divisor, at, scores, least, most, stage[i], i, slot
                )
                sure = verdict(
                    least, most, rule[stage[i]], enough[stage[i]], raised_least, raised_most
                )
            else:
                add_up(says, bias, divisor, at, scores, stage[i], i, slot)
                is_enough = gap_of(scores, i) * raised_least >= enough[stage[i]]
                sure = STOPS if is_enough or stage[i] == len(enough) - 1 else PASSES
            if sure == STOPS:
                break
            if sure == PASSES:
                enter_next_stage(roots, stage, at, n_tests, i, slot)
                continue
            add_up_worth(low, high, least, most, scores.shape[1], at, waits_for, worth, slot)
            wanted = most_telling(
                start, cost_item, mask, amount, own_price, masks, paid, worth, i, slot
            )
            tree = 0
            while waits_for[tree] != wanted:
                tree += 1
            ask(know, asked, n_asked, i, slot, tree, wanted)
            pay(start, cost_item, mask, masks, paid, i, slot, wanted)
            break
    return wanted


@kernel
def add_up_bounds(says, low, high, bias, divisor, at, scores, least, most, stage, i, slot):
    """Work out between what the scores of a row will lie, and what they are so far.

    So far: what nodes say that trees have reached, held within what leaves below them say. One
    score is that of the second class, the first has 0.
    """
    n_outputs = scores.shape[1]
    first = len(least) - n_outputs
    for output in range(n_outputs):
        total_low, total, total_high = 0.0, 0.0, 0.0
        for tree in range(at.shape[1]):
            h = at[slot, tree]
            if h >= 0:
                total_low += low[h, output]
                total += min(max(says[h, output], low[h, output]), high[h, output])
                total_high += high[h, output]
            else:
                said = says[-1 - h, output]
                total_low += said
                total += said
                total_high += said
        shift, by = bias[stage, output], divisor[stage]
        least[first + output] = total_low / by + shift
        scores[i, output] = total / by + shift
        most[first + output] = total_high / by + shift


@kernel
def bounds_of_raise(first_asked, first_asked_start, values, know, stage, i):
    """Return between what the draw of a row may multiply its margin.

    That is certain as soon as the row has all values that the draw depends on.
    """
    for place in range(first_asked_start[stage], first_asked_start[stage + 1]):
        if know[i, first_asked[place]] == UNKNOWN:
            return 1.0, 1.0 + TIE_BREAK
    raised = raised_by(first_asked, first_asked_start, values, stage, i)
    return raised, raised


@kernel
def verdict(least, most, rule, enough, raised_least, raised_most):
    """Say whether a row surely stops at a stage with a certain label, or surely goes on."""
    leader = np.argmax(least)
    gap = np.inf
    label_is_sure = True
    for other in range(len(least)):
        if other == leader:
            continue
        gap = min(gap, least[leader] - most[other])
        if rule == EXACT:
            # The first of those that tie is the label.
            is_above = least[leader] > most[other]
            label_is_sure &= is_above or (least[leader] == most[other] and leader < other)
        elif rule == GAP:
            label_is_sure &= least[leader] - most[other] > SURE
        else:
            label_is_sure &= share(least[leader]) - share(most[other]) > SURE
    if label_is_sure and gap * raised_least >= enough:
        return STOPS
    return PASSES if greatest_gap(least, most) * raised_most < enough else UNDECIDED


@kernel
def share(score):
    return 1.0 / (1.0 + np.exp(-score))


@kernel
def greatest_gap(least, most):
    """Return how far the best of scores between bounds can be above the second best."""
    greatest = -np.inf
    for one in range(len(least)):
        best_other = -np.inf
        for other in range(len(least)):
            if other != one:
                best_other = max(best_other, least[other])
        greatest = max(greatest, most[one] - best_other)
    return greatest


@kernel
def add_up_worth(low, high, least, most, n_outputs, at, waits_for, worth, slot):
    """Add up how far the leaves of waiting trees lie apart, for each feature that is waited for.

    For the two leading classes, by the middle of their bounds. Other features are worth -1.
    """
    one, two = 0, 0
    if n_outputs > 1:
        two = 1
        if least[1] + most[1] > least[0] + most[0]:
            one, two = 1, 0
        for output in range(2, n_outputs):
            middle = least[output] + most[output]
            if middle > least[one] + most[one]:
                one, two = output, one
            elif middle > least[two] + most[two]:
                two = output
    worth[:] = -1.0
    for tree in range(len(waits_for)):
        k = waits_for[tree]
        if k != NOTHING:
            h = at[slot, tree]
            worth[k] = max(worth[k], 0.0) + high[h, one] - low[h, one]
            if n_outputs > 1:
                worth[k] += high[h, two] - low[h, two]


@kernel
def most_telling(start, cost_item, mask, amount, own_price, masks, paid, worth, i, slot):
    """Return the feature that is worth most for what it adds to the bill; free ones come first."""
    best, best_ratio, best_is_free = NOTHING, -1.0, False
    for k in range(len(worth)):
        if worth[k] < 0:
            continue
        price = 0.0
        for entry in range(start[k], start[k + 1]):
            one = cost_item[entry]
            if paid[slot, one] or not (mask[entry] == NO_MASK or masks[mask[entry], i]):
                continue
            is_own = one < own_price.shape[1]
            price += own_price[i, one] if is_own else amount[one]
        is_free = price == 0
        ratio = worth[k] if is_free else worth[k] / price
        if (is_free and not best_is_free) or (is_free == best_is_free and ratio > best_ratio):
            best, best_ratio, best_is_free = k, ratio, is_free
    return best


@kernel
def pay(start, cost_item, mask, masks, paid, i, slot, k):
    for entry in range(start[k], start[k + 1]):
        if mask[entry] == NO_MASK or masks[mask[entry], i]:
            paid[slot, cost_item[entry]] = True
