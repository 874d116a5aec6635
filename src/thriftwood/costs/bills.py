"""What rows pay for the features that they use."""

from dataclasses import dataclass

import numpy as np

from thriftwood.arrays import BoolArray, FloatArray
from thriftwood.costs.price_list import MODEL, OPEN, ROW, PriceList


@dataclass(frozen=True, eq=False)
class Bills:
    """The bills of rows, without what is paid for the model.

    Attributes
    ----------
    per_row : shape (n_rows,)
        What batches of rows pay together counts in equal parts.
    by_charge : shape (n_charges,)
        What a row pays for each charge on average; 0 for those of the model.
    needed_by : shape (n_charges,)
        The share of rows that need what is charged.
    """

    per_row: FloatArray
    by_charge: FloatArray
    needed_by: FloatArray


def bills_of(prices: PriceList, used: BoolArray) -> Bills:
    """Charge rows for features, each charge once.

    Parameters
    ----------
    prices : PriceList
    used : shape (n_rows, n_features)
        The features whose values each row is tested for.
    """
    n_rows = len(used)
    bills = Bills(np.zeros(n_rows), np.zeros(prices.n_charges), np.zeros(prices.n_charges))
    needs = np.zeros((prices.n_charges, n_rows), dtype=np.bool_)
    feature = np.repeat(np.arange(prices.n_features), np.diff(prices.start))
    for k, charge, gate in zip(feature, prices.charge, prices.gate, strict=True):
        needs[charge] |= used[:, k] if gate == OPEN else used[:, k] & prices.gates[gate]
    for charge in np.flatnonzero(prices.payer != MODEL).tolist():
        amount = _amounts(prices, charge, needs[charge])
        bills.per_row[:] += amount
        bills.by_charge[charge] = amount.mean()
        bills.needed_by[charge] = needs[charge].mean()
    return bills


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
