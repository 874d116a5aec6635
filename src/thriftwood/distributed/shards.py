"""From some of the rows to a shard of the closure problem, in units that all shards share.

Law: the shards of all pieces, joined, are the items of the closure problem of all rows at once.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.billing.purchases import list_purchases
from thriftwood.costs import MODEL, PriceList
from thriftwood.distributed.dual.shard import Shard, join_shards
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest
from thriftwood.forest.routes import Routes
from thriftwood.problem.closure import MOST_COST, required_splits
from thriftwood.problem.scaling import MOST_DECIMALS, NOISE, whole_numbers
from thriftwood.problem.targets import checked_weights
from thriftwood.support.arrays import FloatArray, read_only

# What all prices may add up to in whole numbers: a thousand million rows then still fit.
MOST_PRICE = 2**30
# How much of a price may be lost to rounding before it is refused.
LOST_DIGITS = 1e-6
# Beyond this, or below 1 divided by it, weights would leave doubles when they are added up.
MOST_WEIGHT = 1e30


def shard_of(forest: Forest, routes: Routes, prices: PriceList, weights: FloatArray) -> Shard:
    """Return what rows buy at which splits; who buys the same is merged, the rows are forgotten.

    Parameters
    ----------
    forest, routes
    prices : PriceList
        In whole numbers, from `whole_prices`.
    weights : shape (n_samples,)
        How much each row counts.
    """
    bought = list_purchases(forest, routes, prices, weights)
    presence = routes.n_samples_of[forest.is_split].astype(np.float64)
    if prices.per_node or (prices.payer == MODEL).any():
        # What is paid once is paid in parts by all shards: also where no row passes the split.
        presence += routes.n_samples
    every = Shard(
        requires=required_splits(forest),
        arc_start=bought.arc_start,
        arc_item=bought.arc_item,
        costs=bought.item_cost,
        presence=presence,
    )
    return join_shards([every.without_free_items()])


class WholePrices(NamedTuple):
    """Prices in whole numbers, what 1 stands for, and what a row may lose by that at most."""

    prices: PriceList
    unit: Fraction
    lost: float


def whole_prices(prices: PriceList, n_splits: int) -> WholePrices:
    """Return the prices of a forest with so many splits in whole numbers.

    All shards must count in the same unit, before any of them has seen its rows. What is paid for
    each prediction is multiplied by their number, so that everything is paid once.
    """
    often = prices.predictions
    times = np.where(prices.payer == MODEL, 1.0, often)
    exact = np.append(prices.prices * times, [prices.per_split * often, prices.per_node])
    whole, unit = whole_numbers(exact, MOST_PRICE)
    missed = np.abs(whole * float(unit) - exact)
    lost = np.flatnonzero(missed > LOST_DIGITS * exact)
    if len(lost):
        raise RangeError(
            f"The prices reach from {exact[lost[0]] / often:g} to {exact.max() / often:g}, too far "
            "apart to be exact in pieces. Give the smallest prices as 0, or raise them."
        )
    *of_cost_items, per_split, per_node = whole.astype(np.float64)
    counted = replace(
        prices,
        prices=read_only(np.array(of_cost_items)),
        per_split=float(per_split),
        per_node=float(per_node),
        predictions=1.0,
    )
    matters = np.where(missed > NOISE * float(unit), missed, 0.0) / often
    most = float(matters[:-2].sum() + n_splits * matters[-2:].sum())
    return WholePrices(counted, unit / Fraction(often), most)


class Digits(NamedTuple):
    """What must be known of numbers to choose a unit for them.

    Attributes
    ----------
    decimals : int
        How many they have; more than `MOST_DECIMALS` if they are no decimals.
    total : float
    n_numbers : int
    """

    decimals: int
    total: float
    n_numbers: int


def digits_of(weights: FloatArray, shard: Shard) -> Digits:
    """Return the decimals of weights, and what all items of a shard cost together."""
    decimals = next((d for d in range(MOST_DECIMALS + 1) if _are_whole(weights * 10.0**d)), 99)
    return Digits(decimals, float(shard.costs.sum()), shard.n_items)


class Units(NamedTuple):
    """How many units make 1, and what may be lost by counting in them."""

    per_one: float
    lost: float


def common_units(digits: Sequence[Digits]) -> Units:
    """Choose units for all shards, in which their costs are exact if they are decimals that fit."""
    total = sum(one.total for one in digits)
    per_one = 10.0 ** max(one.decimals for one in digits)
    if total * per_one <= MOST_COST:
        return Units(per_one, 0.0)
    per_one = 2.0 ** math.floor(math.log2(MOST_COST / total))
    # Half a unit each, but a whole one where something must not become free.
    return Units(per_one, sum(one.n_numbers for one in digits) / per_one)


def read_piece_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Return how much each row of a piece counts."""
    if sample_weight is None:
        return read_only(np.ones(n_samples))
    weights = checked_weights(sample_weight, n_samples)
    if weights.max() > MOST_WEIGHT or 0 < weights.max() < 1 / MOST_WEIGHT:
        raise InputError(
            f"`sample_weight` is up to {weights.max():g}, beyond what sums are exact for: divide "
            "all weights by one number."
        )
    return read_only(weights)


def _are_whole(numbers: FloatArray) -> bool:
    rounded = np.rint(numbers)
    is_lost = (rounded == 0) & (numbers > 0)
    return bool((np.abs(numbers - rounded) <= NOISE).all()) and not is_lost.any()
