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
    read_only_copy,
)

NO_PRICES = np.empty((0, 0))


class Tolls(NamedTuple):
    """What features buy and what that costs a row, in the order of a kernel's arguments.

    Names are those of `PriceList`. `amount` is what a row pays for each item: nothing for those of
    the model, and of what batches pay together a part, for batches of the usual size.
    """

    start: IndexArray
    cost_item: IndexArray
    mask: IndexArray
    amount: FloatArray
    own_price: FloatArray
    masks: BoolArray

    def take(self, rows: IntArray) -> Tolls:
        """Return the same for some of the rows."""
        return self._replace(
            own_price=read_only_copy(self.own_price[rows], None)
            if self.own_price.size
            else self.own_price,
            masks=read_only_copy(self.masks[:, rows], None) if self.masks.size else self.masks,
        )


def tolls_of(prices: PriceList) -> Tolls:
    amount = prices.prices.copy()
    amount[prices.payer == MODEL] = 0
    for number, batch_of in enumerate(prices.batch_of):
        amount[prices.payer == number] *= (batch_of.max() + 1) / len(batch_of)
    own = None if prices.samples is None else prices.samples.own_prices
    return Tolls(
        start=read_only_copy(prices.start, np.int32),
        cost_item=read_only_copy(prices.cost_item, np.int32),
        mask=read_only_copy(prices.mask, np.int32),
        amount=read_only_copy(amount, np.float64),
        own_price=read_only_copy(NO_PRICES if own is None else own, np.float64),
        masks=read_only_copy(prices.masks, np.bool_),
    )
