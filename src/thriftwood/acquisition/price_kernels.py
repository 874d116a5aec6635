"""Numba loops over the price list of a sample: what is paid, what a value would add to the bill."""

from collections import namedtuple

import numpy as np

from thriftwood.acquisition.kernels import NOTHING, USED, Purse, pays_for_tests
from thriftwood.costs.price_list import NO_MASK
from thriftwood.support.compiling import small_kernel

# The arrays of a `PriceList`, with what one sample pays for a cost item in `amount`.
PriceArrays = namedtuple("PriceArrays", "start cost_item mask amount own_price masks per_split")


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
def fits(prices, paid, max_cost, n_tests, i, k):
    """Tell whether a sample can buy a value and be tested with it within the limit."""
    if max_cost == np.inf:
        return True
    with_it = paid.copy()
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
    """Tell whether a sample pays an entry of the price list: nobody pays for what they know."""
    return prices.mask[entry] == NO_MASK or prices.masks[prices.mask[entry], i]


@small_kernel
def price_of(prices, i, item):
    """Return what a sample pays for a cost item."""
    return prices.own_price[i, item] if item < prices.own_price.shape[1] else prices.amount[item]
