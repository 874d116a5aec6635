"""Prices: what using features costs a row, a batch of rows, or the whole model.

Law: the bill of a row is the sum of the charges that the features it uses trigger, each charge
once. Nothing here knows a tree.
"""

from thriftwood.costs.bills import (
    Bills,
    bills_of,
    charges_of,
    part_of_row,
    shared_by_batches,
)
from thriftwood.costs.costs import AnyCosts, Costs
from thriftwood.costs.knowing import with_known
from thriftwood.costs.per_feature import prices_per_feature
from thriftwood.costs.price_list import (
    MODEL,
    OPEN,
    ROW,
    PriceList,
    RowPrices,
)
from thriftwood.costs.reading import prices_of_rows, read_prices
from thriftwood.costs.stored import price_parts, prices_from
from thriftwood.costs.wording import did_you_mean

__all__ = [
    "MODEL",
    "OPEN",
    "ROW",
    "AnyCosts",
    "Bills",
    "Costs",
    "PriceList",
    "RowPrices",
    "bills_of",
    "charges_of",
    "did_you_mean",
    "part_of_row",
    "price_parts",
    "prices_from",
    "prices_of_rows",
    "prices_per_feature",
    "read_prices",
    "shared_by_batches",
    "with_known",
]
