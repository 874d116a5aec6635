"""Prices as the kernel reads them that weighs what a value tells against what it costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thriftwood.costs import MODEL, PriceList
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    frozen,
)

NO_PRICES = np.empty((0, 0))


class Tolls(NamedTuple):
    """What features trigger and what that costs a row, in the order of a kernel's arguments.

    Names are those of `PriceList`. `amount` is what a row pays for a charge: nothing for those of
    the model, and of what batches pay together a part, for batches of the usual size.
    """

    start: IndexArray
    charge: IndexArray
    gate: IndexArray
    amount: FloatArray
    own_price: FloatArray
    gates: BoolArray

    def take(self, rows: IntArray) -> Tolls:
        """Return the same for some of the rows."""
        return self._replace(
            own_price=frozen(self.own_price[rows], None) if self.own_price.size else self.own_price,
            gates=frozen(self.gates[:, rows], None) if self.gates.size else self.gates,
        )


def tolls_of(prices: PriceList) -> Tolls:
    amount = prices.prices.copy()
    amount[prices.payer == MODEL] = 0
    for number, batch_of in enumerate(prices.batch_of):
        amount[prices.payer == number] *= (batch_of.max() + 1) / len(batch_of)
    own = None if prices.rows is None else prices.rows.own_prices
    return Tolls(
        start=frozen(prices.start, np.int32),
        charge=frozen(prices.charge, np.int32),
        gate=frozen(prices.gate, np.int32),
        amount=frozen(amount, np.float64),
        own_price=frozen(NO_PRICES if own is None else own, np.float64),
        gates=frozen(prices.gates, np.bool_),
    )
