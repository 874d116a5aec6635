"""The one engine that counts what samples pay, along nested prunings or for a single forest.

Nested prunings are one number per split: point `i` keeps the splits with a `drop_step` of at least
`i`, and -1 is never kept. A single forest is a path of one point, at which all steps are 0. A
sample pays a cost item until the last split drops that it passes and whose feature needs the item;
of a price that a batch shares, every sample pays an equal part until nobody of the batch needs it.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np

from thriftwood.billing import kernels
from thriftwood.billing.purchases import passing_weights
from thriftwood.closure import from_the_end
from thriftwood.costs import MODEL, NO_MASK, SAMPLE, PriceList
from thriftwood.forest import Forest, Routes, first_uses
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray

NEVER = -1
# How many payments are added to bills at a time.
TOGETHER = 2**16
# From a feature to the last step at which each sample uses it, -1 where it never does.
LastUse = Callable[[int], IndexArray]


class Payment(NamedTuple):
    """Payments of samples for one cost item: an amount, until the step `paid`; -1 is never.

    `needed` is the last step at which a sample needs the item itself; others of its batch may need
    it longer.
    """

    cost_item: int
    needed: IndexArray
    paid: IndexArray
    amount: float | FloatArray


class Bills(NamedTuple):
    """Payments of samples, without what is paid for the model."""

    # (n_samples,); what batches of samples pay together counts in equal parts
    per_sample: FloatArray
    # (n_cost_items,), what a sample pays for each on average; 0 for those of the model
    by_cost_item: FloatArray
    needed_by: FloatArray  # (n_cost_items,), the share of samples that need each
    shared: dict[int, BoolArray]  # of cost items that batches pay: which samples have a part in it


def last_uses(forest: Forest, routes: Routes, drop_step: IndexArray) -> LastUse:
    """Return for any feature until which step samples that pass a forest use it."""
    nodes = first_uses(forest)
    tree_of = forest.tree_of(nodes)
    start = np.searchsorted(forest.feature[nodes], np.arange(forest.n_features + 1))

    def last_use(feature: int) -> IndexArray:
        own = slice(start[feature], start[feature + 1])
        passed = routes.order, routes.start, routes.stop
        return kernels.last_steps(nodes[own], tree_of[own], *passed, drop_step)

    return last_use


def tested_features(forest: Forest) -> BoolArray:
    """Return a mask of the features that splits test."""
    found = np.zeros(forest.n_features, dtype=np.bool_)
    found[forest.feature[forest.is_split]] = True
    return found


def steps_of(kept: BoolArray) -> IndexArray:
    """Return a single pruning, or single uses, given as a mask, as steps."""
    return np.where(kept, np.int32(0), np.int32(NEVER))


def payments(
    prices: PriceList, last_use: LastUse, used: BoolArray | None = None
) -> Iterator[Payment]:
    """Yield what samples pay for each cost item that a feature needs, but those of the model.

    Where it is known which features are `used`, items that these do not need are passed over,
    unless there are some that batches pay.
    """
    of_entry = np.repeat(np.arange(prices.n_features), np.diff(prices.start))
    payer = prices.payer[prices.cost_item]
    counts = payer != MODEL
    if used is not None and (payer < 0).all():  # those of samples and of the model
        counts &= used[of_entry]
    feature = of_entry.tolist()
    entries: dict[int, list[int]] = {}
    for entry in np.flatnonzero(counts).tolist():
        entries.setdefault(int(prices.cost_item[entry]), []).append(entry)
    for cost_item in sorted(entries):
        steps = []
        for entry in entries[cost_item]:
            step = last_use(feature[entry])
            if prices.mask[entry] != NO_MASK:
                step = np.where(prices.masks[prices.mask[entry]], step, np.int32(NEVER))
            steps.append(step)
        needed: IndexArray = reduce(np.maximum, steps)
        paid = needed
        if prices.payer[cost_item] != SAMPLE:
            batch_of = prices.batch_of[prices.payer[cost_item]]
            last = np.full(batch_of.max() + 1, NEVER, dtype=np.int32)
            np.maximum.at(last, batch_of, needed)
            paid = last[batch_of]
        yield Payment(cost_item, needed, paid, amount_of(prices, cost_item))


def amount_of(prices: PriceList, cost_item: int) -> float | FloatArray:
    """Return the payment of a sample for a cost item that it, or its batch, needs."""
    payer = prices.payer[cost_item]
    amounts: FloatArray
    if payer != SAMPLE:
        batch_of = prices.batch_of[payer]
        amounts = (prices.prices[cost_item] / np.bincount(batch_of))[batch_of]
        return amounts
    if prices.own_prices is None or cost_item >= prices.n_columns:
        return float(prices.prices[cost_item])
    amounts = prices.own_prices[:, cost_item]
    return amounts


def bills_of(prices: PriceList, used: BoolArray, weights: FloatArray | None = None) -> Bills:
    """Charge samples for the features that they use, shape (n_samples, n_features), each item once.

    Weights say how much samples count in means.
    """
    n_items = prices.n_cost_items
    bills = Bills(np.zeros(len(used)), np.zeros(n_items), np.zeros(n_items), {})
    by_any: BoolArray = np.any(used, axis=0)
    for one in payments(prices, lambda feature: steps_of(used[:, feature]), by_any):
        pays = one.paid != NEVER
        amount = np.where(pays, one.amount, 0.0)
        bills.per_sample[:] += amount
        bills.by_cost_item[one.cost_item] = _mean(amount, weights)
        bills.needed_by[one.cost_item] = _mean(one.needed != NEVER, weights)
        if prices.payer[one.cost_item] != SAMPLE:
            bills.shared[one.cost_item] = pays
    return bills


def _mean(values: FloatArray | BoolArray, weights: FloatArray | None) -> float:
    """Mean of values: `numpy.average` takes four times as long for the bill of one sample."""
    if weights is None:
        return float(np.add.reduce(values, dtype=np.float64)) / len(values)
    return float(np.average(values, weights=weights))


def paid_by_step(
    forest: Forest,
    routes: Routes,
    prices: PriceList,
    weights: FloatArray,
    drop_step: IndexArray,
    n_points: int,
) -> FloatArray:
    """Return the weighted payments of samples that end when the splits of each step drop."""
    paid = np.zeros(n_points)
    for one in payments(prices, last_uses(forest, routes, drop_step), tested_features(forest)):
        who = np.flatnonzero(one.paid != NEVER)
        if isinstance(one.amount, float):
            # Weights are whole numbers: multiplied once, sums of them are not rounded.
            paid += one.amount * np.bincount(one.paid[who], weights[who], n_points)
        else:
            paid += np.bincount(one.paid[who], (one.amount * weights)[who], n_points)
    if prices.per_split > 0:
        split = np.flatnonzero(drop_step != NEVER)
        tested = passing_weights(forest, routes, weights)[split]
        paid += prices.per_split * np.bincount(drop_step[split], tested, n_points)
    return paid


def model_costs(
    forest: Forest, prices: PriceList, drop_step: IndexArray, n_points: int
) -> FloatArray:
    """Return the one-time costs of the model at nested points, per prediction."""
    split = np.flatnonzero(drop_step != NEVER)
    last_use = np.full(forest.n_features, NEVER, dtype=np.int32)
    np.maximum.at(last_use, forest.feature[split], drop_step[split])
    last = np.full(prices.n_cost_items, NEVER, dtype=np.int32)
    np.maximum.at(last, prices.cost_item, np.repeat(last_use, np.diff(prices.start)))
    once = np.flatnonzero((prices.payer == MODEL) & (last != NEVER))
    per_step = np.bincount(last[once], prices.prices[once], n_points).astype(np.float64)
    per_step += prices.per_node * np.bincount(drop_step[split], minlength=n_points)
    return from_the_end(per_step) / prices.predictions


def mean_costs(
    forest: Forest,
    routes: Routes,
    prices: PriceList,
    weights: FloatArray,
    drop_step: IndexArray,
    n_points: int,
) -> FloatArray:
    """Return the mean cost of a sample at each nested point, its part of the model included."""
    paid = paid_by_step(forest, routes, prices, weights, drop_step, n_points)
    mean: FloatArray = from_the_end(paid) / weights.sum()
    return mean + model_costs(forest, prices, drop_step, n_points)


def nested_bills(
    forest: Forest, routes: Routes, prices: PriceList, drop_step: IndexArray, n_points: int
) -> Iterator[FloatArray]:
    """Yield the bills of all samples at each nested point, the last point first."""
    n_samples = routes.n_samples
    last_use = last_uses(forest, routes, drop_step)
    start, pairs = _ends(prices, last_use, tested_features(forest), n_points, n_samples)
    batch_sizes = [np.bincount(batch_of)[batch_of] for batch_of in prices.batch_of]
    bill, test_cost = np.zeros(n_samples), np.zeros(n_samples)
    if prices.per_split > 0:
        splits, split_start = sorted_by_step(drop_step, n_points)
    for point in range(n_points - 1, -1, -1):
        for first in range(start[point], start[point + 1], TOGETHER):
            some = pairs[first : min(first + TOGETHER, start[point + 1])]
            item, sample = np.divmod(some, n_samples)
            amount = prices.price_of(item, sample)
            for number, size in enumerate(batch_sizes):
                shared = prices.payer[item] == number
                amount[shared] /= size[sample[shared]]
            np.add.at(bill, sample, amount)
        if prices.per_split > 0:
            put_in = splits[split_start[point] : split_start[point + 1]]
            test_cost += cost_of_tests(forest, routes, prices, put_in)
        yield bill + test_cost


def cost_of_tests(
    forest: Forest, routes: Routes, prices: PriceList, splits: IndexArray | IntArray
) -> FloatArray:
    """Return the costs of tests, of every sample at some splits."""
    n_tests = np.zeros(routes.n_samples)
    if prices.per_split > 0:
        passed = routes.order, routes.start, routes.stop
        splits = splits.astype(np.int64, copy=False)
        kernels.count_tests(splits, forest.tree_of(splits), *passed, n_tests)
    return prices.per_split * n_tests


def sorted_by_step(step: IndexArray, n_points: int) -> tuple[IndexArray, IntArray]:
    """Return places sorted by step, and where those of each step begin."""
    order = np.argsort(step, kind="stable").astype(np.int32)
    order = order[np.searchsorted(step[order], 0) :]
    return order, np.searchsorted(step[order], np.arange(n_points + 1))


def _ends(
    prices: PriceList, last_use: LastUse, used: BoolArray, n_points: int, n_samples: int
) -> tuple[IntArray, IndexArray]:
    """Return where the payments that end with each step begin, and item * n_samples + sample.

    Counted first and written afterwards, in one small number each: there is one for every sample
    and cost item.
    """
    start = np.zeros(n_points + 1, dtype=np.int64)
    for one in payments(prices, last_use, used):
        start[1:] += np.bincount(one.paid[one.paid != NEVER], minlength=n_points)
    np.cumsum(start, out=start)
    fits = prices.n_cost_items * n_samples < 2**31
    pairs = np.empty(start[-1], dtype=np.int32 if fits else np.int64)
    free = start[:-1].copy()
    for one in payments(prices, last_use, used):
        who, first = sorted_by_step(one.paid, n_points)
        place = np.arange(len(who)) + (free - first[:-1])[one.paid[who]]
        pairs[place] = who
        pairs[place] += one.cost_item * n_samples
        free += np.diff(first)
    return start, pairs
