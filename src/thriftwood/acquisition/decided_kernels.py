"""Numba loops that advance samples one value at a time, the most telling for its price first.

Samples may stop as soon as no unread leaf can change the label, and keep their bills within a
limit.

Bounds are added up in the order in which scores are. Rounded addition never turns the order of its
terms around, so a score lies between the two sums to the last bit, and no allowance for rounding
is needed but for what the link does to scores.
"""

from collections import namedtuple

import numpy as np

from thriftwood.acquisition.kernels import (
    LOST,
    NOTHING,
    REQUESTED,
    UNKNOWN,
    USED,
    NodeArrays,
    Purse,
    State,
    add_scores,
    advance_tree,
    enter_next_stage,
    is_sure,
    pays_for_tests,
    record_first_use,
    tie_break,
)
from thriftwood.costs.price_list import NO_MASK
from thriftwood.forest.kernels import Splits
from thriftwood.forest.stages import TIE_BREAK
from thriftwood.support.compiling import quick_kernel, small_kernel

# The least and the greatest value that a tree may still say from each node on, and for each stage
# when a class is surely the label: see below.
ScoreBounds = namedtuple("ScoreBounds", "low high label_rule")

# The arrays of a `PriceList`, with what one sample pays for a cost item in `amount`.
PriceArrays = namedtuple("PriceArrays", "start cost_item mask amount own_price masks per_split")

# Whether samples stop as soon as their label is decided, and the most that each may pay.
Stopping = namedtuple("Stopping", "when_decided max_cost")

# Label rules. Predictions are the scores themselves; or scores that differ by more than `SURE` make
# predictions that differ; or predictions are shares of one class against the rest, which may be 1
# for several classes, and must differ by more than `SURE` themselves.
EXACT = 0
GAP = 1
SHARES = 2

SURE = 1e-12

# Decisions about a sample at a stage.
UNDECIDED = 0
STOPS = 1
PASSES = 2


@quick_kernel
def advance_weighing(
    node_arrays, score_bounds, price_arrays, stopping_rule, state_arrays, samples, slots
):
    """Advance samples until each requests the most telling value for its price, or has its scores.

    A value that does not fit into what is left of `max_cost` never will: what others cost leaves
    the bill at least as much higher as the value gets cheaper. So it is lost, and trees that do not
    need it go on. Returns the feature that the last sample requested, or `NOTHING`.
    """
    nodes, state = NodeArrays(*node_arrays), State(*state_arrays)
    bounds, prices = ScoreBounds(*score_bounds), PriceArrays(*price_arrays)
    stopping = Stopping(*stopping_rule)
    splits = Splits(*nodes.splits)
    n_trees, n_classes = state.node.shape[1], max(state.scores.shape[1], 2)
    waits_for = np.empty(n_trees, dtype=np.int32)
    worth = np.empty(state.status.shape[1])
    paid = np.empty(len(prices.amount), dtype=np.bool_)
    with_it = np.empty_like(paid)
    least, most = np.zeros(n_classes), np.zeros(n_classes)
    wanted = NOTHING
    for place in range(len(samples)):
        i, slot = samples[place], slots[place]
        mark_paid(prices, state, paid, i, slot)
        purse = purse_of(prices, paid, stopping.max_cost, i)
        while True:
            wanted = NOTHING
            some_wait = False
            for tree in range(n_trees):
                waits_for[tree] = advance_tree(splits, state, purse, i, slot, tree)
                some_wait |= waits_for[tree] != NOTHING
            decision = UNDECIDED
            if some_wait:
                add_bounds(nodes, bounds, state, least, most, i, slot)
                if stopping.when_decided:
                    decision = decide(nodes, bounds, state, least, most, i)
            else:
                add_scores(nodes, state, i, slot)
                decision = STOPS if is_sure(nodes, state, i) else PASSES
            if decision == STOPS:
                break
            if decision == PASSES:
                enter_next_stage(nodes, state, i, slot)
                continue
            add_worth(bounds, state, least, most, waits_for, worth, slot)
            wanted = most_telling(prices, paid, worth, i)
            n_tests = state.n_tests[i] + 1
            if not fits(prices, paid, with_it, stopping.max_cost, n_tests, i, wanted):
                state.status[i, wanted] = LOST
                continue
            tree = 0
            while waits_for[tree] != wanted:
                tree += 1
            record_first_use(state, i, slot, tree, wanted, REQUESTED)
            break
    return wanted


@small_kernel
def add_bounds(nodes, bounds, state, least, most, i, slot):
    """Add up the bounds of a sample's scores, and its scores so far.

    So far: the values of nodes that trees have reached, held within what they may still say. One
    score is that of the second class, the first has 0.
    """
    stage, n_outputs = state.stage[i], state.scores.shape[1]
    first = len(least) - n_outputs
    for output in range(n_outputs):
        total_low, total, total_high = 0.0, 0.0, 0.0
        for tree in range(state.node.shape[1]):
            h = state.node[slot, tree]
            if h >= 0:
                low, high = bounds.low[h, output], bounds.high[h, output]
                value = min(max(nodes.values[h, output], low), high)
            else:
                low = high = value = nodes.values[-1 - h, output]
            total_low += low
            total += value
            total_high += high
        shift, by = nodes.bias[stage, output], nodes.divisor[stage]
        least[first + output] = total_low / by + shift
        state.scores[i, output] = total / by + shift
        most[first + output] = total_high / by + shift


@small_kernel
def decide(nodes, bounds, state, least, most, i):
    """Decide whether a sample surely stops at a stage with a certain label, or surely goes on."""
    stage = state.stage[i]
    rule, threshold = bounds.label_rule[stage], nodes.threshold[stage]
    least_factor, most_factor = tie_break_bounds(nodes, state, i)
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
    if label_is_sure and gap * least_factor >= threshold:
        return STOPS
    return PASSES if greatest_gap(least, most) * most_factor < threshold else UNDECIDED


@small_kernel
def tie_break_bounds(nodes, state, i):
    """Return the least and the greatest factor by which a draw may raise the margin of a sample.

    It is certain as soon as all values are there that the draw depends on; nobody draws at the last
    stage.
    """
    stage = state.stage[i]
    if stage == len(nodes.threshold) - 1:
        return 1.0, 1.0
    for place in range(nodes.root_feature_start[stage], nodes.root_feature_start[stage + 1]):
        if state.status[i, nodes.root_features[place]] == UNKNOWN:
            return 1.0, 1.0 + TIE_BREAK
    factor = tie_break(nodes, state, i)
    return factor, factor


@small_kernel
def share(score):
    """Logistic function."""
    return 1.0 / (1.0 + np.exp(-score))


@small_kernel
def greatest_gap(least, most):
    """Upper bound on the margin of the best score, given bounds of all."""
    greatest = -np.inf
    for one in range(len(least)):
        best_other = -np.inf
        for other in range(len(least)):
            if other != one:
                best_other = max(best_other, least[other])
        greatest = max(greatest, most[one] - best_other)
    return greatest


@small_kernel
def add_worth(bounds, state, least, most, waits_for, worth, slot):
    """Add up how far apart lies what waiting trees may say, for each feature that is waited for.

    For the two leading classes, by the middle of their bounds. Other features are worth -1.
    """
    n_outputs = state.scores.shape[1]
    one, two = leading(least, most) if n_outputs > 1 else (0, 0)
    worth[:] = -1.0
    for tree in range(len(waits_for)):
        k = waits_for[tree]
        if k != NOTHING:
            h = state.node[slot, tree]
            worth[k] = max(worth[k], 0.0) + bounds.high[h, one] - bounds.low[h, one]
            if n_outputs > 1:
                worth[k] += bounds.high[h, two] - bounds.low[h, two]


@small_kernel
def leading(least, most):
    """Return the classes whose bounds have the highest middles, the first of those that tie."""
    one, two = 0, 1
    if least[1] + most[1] > least[0] + most[0]:
        one, two = 1, 0
    for other in range(2, len(least)):
        if least[other] + most[other] > least[one] + most[one]:
            one, two = other, one
        elif least[other] + most[other] > least[two] + most[two]:
            two = other
    return one, two


@small_kernel
def mark_paid(prices, state, paid, i, slot):
    """Mark the cost items of all values that a sample has got; what failed is not paid."""
    paid[:] = False
    for number in range(state.n_first_uses[slot]):
        k = state.first_uses[slot, number, 0]
        if state.status[i, k] == USED:
            pay(prices, paid, i, k)


@small_kernel
def purse_of(prices, paid, max_cost, i):
    """Add up what a sample has paid for values, in the order in which bills are added up."""
    spent = 0.0
    for item in range(len(paid)):
        if paid[item]:
            spent += price_of(prices, i, item)
    return Purse(spent, prices.per_split, max_cost)


@small_kernel
def most_telling(prices, paid, worth, i):
    """Return the feature that is worth most for what it adds to the bill; free ones come first."""
    best, best_ratio, best_is_free = NOTHING, -1.0, False
    for k in range(len(worth)):
        if worth[k] < 0:
            continue
        price = 0.0
        for entry in range(prices.start[k], prices.start[k + 1]):
            item = prices.cost_item[entry]
            if is_due(prices, entry, i) and not paid[item]:
                price += price_of(prices, i, item)
        is_free = price == 0
        ratio = worth[k] if is_free else worth[k] / price
        if (is_free and not best_is_free) or (is_free == best_is_free and ratio > best_ratio):
            best, best_ratio, best_is_free = k, ratio, is_free
    return best


@small_kernel
def fits(prices, paid, with_it, max_cost, n_tests, i, k):
    """Return True if a sample can buy a value and be tested with it within the limit."""
    if max_cost == np.inf:
        return True
    for item in range(len(paid)):
        with_it[item] = paid[item]
    pay(prices, with_it, i, k)
    return pays_for_tests(purse_of(prices, with_it, max_cost, i), n_tests)


@small_kernel
def pay(prices, paid, i, k):
    """Mark all cost items of a feature as paid."""
    for entry in range(prices.start[k], prices.start[k + 1]):
        if is_due(prices, entry, i):
            paid[prices.cost_item[entry]] = True


@small_kernel
def is_due(prices, entry, i):
    """Return True if a sample pays an entry of the price list: nobody pays for what they know."""
    return prices.mask[entry] == NO_MASK or prices.masks[prices.mask[entry], i]


@small_kernel
def price_of(prices, i, item):
    """Return the price of a cost item for a sample."""
    return prices.own_price[i, item] if item < prices.own_price.shape[1] else prices.amount[item]
