"""Prices: what using features costs a row, a batch of rows, or the whole model.

Law: the bill of a row is the sum of the cost items that the features it uses buy, each cost item
once. Nothing here knows a tree.
"""

from thriftwood.costs.costs import AnyCosts, Costs
from thriftwood.costs.knowing import with_known
from thriftwood.costs.per_feature import prices_per_feature
from thriftwood.costs.price_list import (
    MODEL,
    NO_MASK,
    SAMPLE,
    PriceList,
    SamplePrices,
)
from thriftwood.costs.reading import prices_of_samples, read_prices
from thriftwood.costs.stored import price_parts, prices_from

__all__ = [
    "MODEL",
    "NO_MASK",
    "SAMPLE",
    "AnyCosts",
    "Costs",
    "PriceList",
    "SamplePrices",
    "price_parts",
    "prices_from",
    "prices_of_samples",
    "prices_per_feature",
    "read_prices",
    "with_known",
]
