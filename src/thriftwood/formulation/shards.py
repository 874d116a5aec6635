"""From some of the rows to a shard of the closure problem, in units that all shards share.

Law: the shards of all pieces, joined, are the items of the closure problem of all rows at once.
"""

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.arrays import FloatArray, handed_over
from thriftwood.closure import Shard, join_shards
from thriftwood.costs import MODEL, PriceList
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest
from thriftwood.formulation.build import required_splits
from thriftwood.formulation.purchases import list_purchases
from thriftwood.formulation.scaling import NOISE, whole_numbers
from thriftwood.formulation.targets import checked_weights
from thriftwood.routing import Routes

# What all prices may add up to in whole numbers: a thousand million rows then still fit.
MOST_PRICE = 2**30
# How much of a price may be lost to rounding before it is refused.
LOST_DIGITS = 1e-6
# The weights of rows in pieces count in parts of 1 of this size: no piece knows the others' digits.
WEIGHT_UNIT = 1e-6


def shard_of(forest: Forest, routes: Routes, prices: PriceList, weights: FloatArray) -> Shard:
    """Return what rows buy at which splits; who buys the same is merged, the rows are forgotten.

    Parameters
    ----------
    forest, routes
    prices : PriceList
        In whole numbers, from `whole_prices`.
    weights : shape (n_rows,)
        How much each row counts, in whole numbers.
    """
    bought = list_purchases(forest, routes, prices, weights)
    presence = routes.n_rows_of[forest.is_split].astype(np.float64)
    if prices.per_node or (prices.payer == MODEL).any():
        # What is paid once is paid in parts by all shards: also where no row passes the split.
        presence += routes.n_rows
    every = Shard(
        requires=required_splits(forest),
        arc_start=bought.arc_start,
        arc_item=bought.arc_item,
        costs=bought.item_cost.astype(np.int64),
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
    *of_charges, per_split, per_node = whole.astype(np.float64)
    counted = replace(
        prices,
        prices=handed_over(np.array(of_charges)),
        per_split=float(per_split),
        per_node=float(per_node),
        predictions=1.0,
    )
    matters = np.where(missed > NOISE * float(unit), missed, 0.0) / often
    most = float(matters[:-2].sum() + n_splits * matters[-2:].sum())
    return WholePrices(counted, unit / Fraction(often), most)


def read_piece_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return how much each row of a piece counts, as whole numbers in a unit that all share."""
    if sample_weight is None:
        return handed_over(np.ones(n_rows))
    weights = checked_weights(sample_weight, n_rows)
    whole = np.rint(weights / WEIGHT_UNIT)
    coarse = np.flatnonzero(np.abs(whole * WEIGHT_UNIT - weights) > LOST_DIGITS * weights)
    if len(coarse):
        raise InputError(
            f"`sample_weight` is {weights[coarse[0]]:g} in row {coarse[0]}: where rows come in "
            "pieces, weights count in millionths. Scale and round them to that."
        )
    return handed_over(whole)
