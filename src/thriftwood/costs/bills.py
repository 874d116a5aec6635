"""What rows pay for the features that they use."""

from dataclasses import dataclass

import numpy as np

from thriftwood.costs.price_list import (
    MODEL,
    NO_MASK,
    SAMPLE,
    PriceList,
)
from thriftwood.support.arrays import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Bills:
    """The bills of rows, without what is paid for the model.

    Attributes
    ----------
    per_sample : shape (n_samples,)
        What batches of rows pay together counts in equal parts.
    by_cost_item : shape (n_cost_items,)
        What a row pays for each cost item on average; 0 for those of the model.
    needed_by : shape (n_cost_items,)
        The share of rows that need what is charged.
    """

    per_sample: FloatArray
    by_cost_item: FloatArray
    needed_by: FloatArray


def bills_of(prices: PriceList, used: BoolArray, weights: FloatArray | None = None) -> Bills:
    """Charge rows for features, each cost item once.

    Parameters
    ----------
    prices : PriceList
    used : shape (n_samples, n_features)
        The features whose values each row is tested for.
    weights : shape (n_samples,), optional
        How much each row counts in the means.
    """
    n_samples = len(used)
    bills = Bills(np.zeros(n_samples), np.zeros(prices.n_cost_items), np.zeros(prices.n_cost_items))
    needs = _needs(prices, used, prices.masks)
    for cost_item in np.flatnonzero(prices.payer != MODEL).tolist():
        amount = _amounts(prices, cost_item, needs[cost_item])
        bills.per_sample[:] += amount
        bills.by_cost_item[cost_item] = np.average(amount, weights=weights)
        bills.needed_by[cost_item] = np.average(needs[cost_item], weights=weights)
    return bills


def shared_by_batches(prices: PriceList, used: BoolArray, row: int) -> list[int]:
    """Return the cost items that a row has a part in because some row of its batch needs them.

    Parameters
    ----------
    prices, used
        As in `bills_of`.
    row : int
    """
    found: list[int] = []
    for number, batch_of in enumerate(prices.batch_of):
        batch = np.flatnonzero(batch_of == batch_of[row])
        needed = _needs(prices, used[batch], prices.masks[:, batch]).any(axis=1)
        found.extend(np.flatnonzero(needed & (prices.payer == number)).tolist())
    return sorted(found)


def part_of_sample(prices: PriceList, cost_item: int, row: int) -> float:
    """Return what a row pays for a cost item that it needs, or that its batch needs."""
    payer = prices.payer[cost_item]
    if payer == SAMPLE:
        return float(prices.price_of(np.array([cost_item]), np.array([row]))[0])
    batch_of = prices.batch_of[payer]
    return float(prices.prices[cost_item] / np.count_nonzero(batch_of == batch_of[row]))


def cost_items_of(prices: PriceList, feature: int, row: int) -> list[int]:
    """Return the cost items that using a feature buys for a row: the feature's own comes first."""
    triggers = range(prices.start[feature], prices.start[feature + 1])
    cost_items = [
        int(prices.cost_item[one])
        for one in triggers
        if prices.mask[one] == NO_MASK or prices.masks[prices.mask[one], row]
    ]
    return sorted(
        (cost_item for cost_item in cost_items if prices.payer[cost_item] != MODEL),
        key=lambda cost_item: (cost_item != feature, cost_item),
    )


def _needs(prices: PriceList, used: BoolArray, masks: BoolArray) -> BoolArray:
    """Return which rows need what is charged, shape (n_cost_items, n_samples)."""
    needs = np.zeros((prices.n_cost_items, len(used)), dtype=np.bool_)
    feature = np.repeat(np.arange(prices.n_features), np.diff(prices.start))
    for k, cost_item, mask in zip(feature, prices.cost_item, prices.mask, strict=True):
        needs[cost_item] |= used[:, k] if mask == NO_MASK else used[:, k] & masks[mask]
    return needs


def _amounts(prices: PriceList, cost_item: int, needs: BoolArray) -> FloatArray:
    """Return what each row pays for a cost item."""
    payer = prices.payer[cost_item]
    amounts: FloatArray
    if payer == SAMPLE:
        rows = np.flatnonzero(needs)
        amounts = np.zeros(len(needs))
        amounts[rows] = prices.price_of(np.full(len(rows), cost_item), rows)
    else:
        batch_of = prices.batch_of[payer]
        pays = np.bincount(batch_of, needs) > 0
        amounts = np.where(pays, prices.prices[cost_item] / np.bincount(batch_of), 0.0)[batch_of]
    return amounts
