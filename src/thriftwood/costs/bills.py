"""What rows pay for the features that they use."""

from dataclasses import dataclass

import numpy as np

from thriftwood.costs.price_list import (
    MODEL,
    OPEN,
    ROW,
    PriceList,
)
from thriftwood.support.arrays import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Bills:
    """The bills of rows, without what is paid for the model.

    Attributes
    ----------
    per_row : shape (n_samples,)
        What batches of rows pay together counts in equal parts.
    by_charge : shape (n_charges,)
        What a row pays for each charge on average; 0 for those of the model.
    needed_by : shape (n_charges,)
        The share of rows that need what is charged.
    """

    per_row: FloatArray
    by_charge: FloatArray
    needed_by: FloatArray


def bills_of(prices: PriceList, used: BoolArray, weights: FloatArray | None = None) -> Bills:
    """Charge rows for features, each charge once.

    Parameters
    ----------
    prices : PriceList
    used : shape (n_samples, n_features)
        The features whose values each row is tested for.
    weights : shape (n_samples,), optional
        How much each row counts in the means.
    """
    n_samples = len(used)
    bills = Bills(np.zeros(n_samples), np.zeros(prices.n_charges), np.zeros(prices.n_charges))
    needs = _needs(prices, used, prices.gates)
    for charge in np.flatnonzero(prices.payer != MODEL).tolist():
        amount = _amounts(prices, charge, needs[charge])
        bills.per_row[:] += amount
        bills.by_charge[charge] = np.average(amount, weights=weights)
        bills.needed_by[charge] = np.average(needs[charge], weights=weights)
    return bills


def shared_by_batches(prices: PriceList, used: BoolArray, row: int) -> list[int]:
    """Return the charges that a row has a part in because some row of its batch needs them.

    Parameters
    ----------
    prices, used
        As in `bills_of`.
    row : int
    """
    found: list[int] = []
    for number, batch_of in enumerate(prices.batch_of):
        batch = np.flatnonzero(batch_of == batch_of[row])
        needed = _needs(prices, used[batch], prices.gates[:, batch]).any(axis=1)
        found.extend(np.flatnonzero(needed & (prices.payer == number)).tolist())
    return sorted(found)


def part_of_row(prices: PriceList, charge: int, row: int) -> float:
    """Return what a row pays for a charge that it needs, or that its batch needs."""
    payer = prices.payer[charge]
    if payer == ROW:
        return float(prices.price_of(np.array([charge]), np.array([row]))[0])
    batch_of = prices.batch_of[payer]
    return float(prices.prices[charge] / np.count_nonzero(batch_of == batch_of[row]))


def charges_of(prices: PriceList, feature: int, row: int) -> list[int]:
    """Return the charges that using a feature triggers for a row: the feature's own comes first."""
    triggers = range(prices.start[feature], prices.start[feature + 1])
    charges = [
        int(prices.charge[one])
        for one in triggers
        if prices.gate[one] == OPEN or prices.gates[prices.gate[one], row]
    ]
    return sorted(
        (charge for charge in charges if prices.payer[charge] != MODEL),
        key=lambda charge: (charge != feature, charge),
    )


def _needs(prices: PriceList, used: BoolArray, gates: BoolArray) -> BoolArray:
    """Return which rows need what is charged, shape (n_charges, n_samples)."""
    needs = np.zeros((prices.n_charges, len(used)), dtype=np.bool_)
    feature = np.repeat(np.arange(prices.n_features), np.diff(prices.start))
    for k, charge, gate in zip(feature, prices.charge, prices.gate, strict=True):
        needs[charge] |= used[:, k] if gate == OPEN else used[:, k] & gates[gate]
    return needs


def _amounts(prices: PriceList, charge: int, needs: BoolArray) -> FloatArray:
    """Return what each row pays for a charge."""
    payer = prices.payer[charge]
    amounts: FloatArray
    if payer == ROW:
        rows = np.flatnonzero(needs)
        amounts = np.zeros(len(needs))
        amounts[rows] = prices.price_of(np.full(len(rows), charge), rows)
    else:
        batch_of = prices.batch_of[payer]
        pays = np.bincount(batch_of, needs) > 0
        amounts = np.where(pays, prices.prices[charge] / np.bincount(batch_of), 0.0)[batch_of]
    return amounts
