"""Prices: what using features costs a sample, a batch of samples, or the whole model.

Law: the bill of a sample is the sum of the cost items that the features it uses buy, each once.
Nothing here knows a tree. `Costs` is what a user writes, `PriceList` what the code reads.
"""

from thriftwood.costs.costs import AnyCosts, Costs, as_costs
from thriftwood.costs.price_list import (
    MODEL,
    NO_MASK,
    QUERIES,
    SAMPLE,
    PriceList,
    plain_prices,
    price_parts,
    prices_from,
)
from thriftwood.costs.reading import prices_of_samples, read_prices, warn_of_guesses, with_known
