"""Subproblems of samples, in units that all partitions share.

Law: the subproblems of all partitions, joined, are the items of the closure problem of all samples.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.billing import list_purchases
from thriftwood.costs import MODEL, PriceList
from thriftwood.distributed.dual import Subproblem, join_subproblems
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest, Routes
from thriftwood.problem.closure import MOST_COST, required_splits
from thriftwood.problem.scaling import MOST_DECIMALS, NOISE, whole_numbers
from thriftwood.problem.targets import checked_weights
from thriftwood.support.arrays import FloatArray, read_only

# What all prices may add up to in whole numbers: a thousand million samples then still fit.
MOST_PRICE = 2**30
# How much of a price may be lost to rounding before it is refused.
LOST_DIGITS = 1e-6
# Beyond this, or below 1 divided by it, weights would leave doubles when they are added up.
MOST_WEIGHT = 1e30
# Decimals of numbers that are no decimals.
NO_DECIMALS = 99


def subproblem_of(
    forest: Forest, routes: Routes, prices: PriceList, weights: FloatArray
) -> Subproblem:
    """Return what samples buy at which splits; who buys the same is merged, they are forgotten.

    Prices are in whole numbers, from `whole_prices`.
    """
    bought = list_purchases(forest, routes, prices, weights)
    weight = routes.n_samples_of[forest.is_split].astype(np.float64)
    if prices.per_node or (prices.payer == MODEL).any():
        # What is paid once is paid in parts by all partitions: also where nobody passes the split.
        weight += routes.n_samples
    every = Subproblem(
        requires=required_splits(forest),
        arc_start=bought.arc_start,
        arc_item=bought.arc_item,
        costs=bought.item_cost,
        weight=weight,
    )
    return join_subproblems([every.with_arcs(every.costs[every.arc_item] > 0)])


def whole_prices(prices: PriceList, n_splits: int) -> tuple[PriceList, Fraction, float]:
    """Return prices in whole numbers, what 1 stands for, and what a sample may lose at most.

    All partitions must count in the same unit, before any of them has seen its samples. What is
    paid for each prediction is multiplied by their number, so that everything is paid once.
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
            "apart to be exact in partitions. Give the smallest prices as 0, or raise them."
        )
    *of_items, per_split, per_node = whole.astype(np.float64)
    counted = replace(
        prices,
        prices=read_only(np.array(of_items)),
        per_split=float(per_split),
        per_node=float(per_node),
        predictions=1.0,
    )
    matters = np.where(missed > NOISE * float(unit), missed, 0.0) / often
    most = float(matters[:-2].sum() + n_splits * matters[-2:].sum())
    return counted, unit / Fraction(often), most


def count_decimals(weights: FloatArray) -> int:
    """Return how many decimals weights have."""
    tries = range(MOST_DECIMALS + 1)
    return next((d for d in tries if _are_whole(weights * 10.0**d)), NO_DECIMALS)


def common_units(total: float, decimals: int, n_numbers: int) -> tuple[float, float]:
    """Return how many units make 1 in all partitions, and what may be lost by counting in them.

    Numbers with so many decimals that add up to a total that fits are exact.
    """
    per_one = 10.0**decimals
    if total * per_one <= MOST_COST:
        return per_one, 0.0
    per_one = 2.0 ** math.floor(math.log2(MOST_COST / total))
    # Half a unit each, but a whole one where something must not become free.
    return per_one, n_numbers / per_one


def read_partition_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Return how much each sample of a partition counts."""
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
