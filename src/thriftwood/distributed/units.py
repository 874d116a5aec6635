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
from thriftwood.problem.scaling import NOISE, beyond_digits, whole_numbers
from thriftwood.problem.targets import checked_weights
from thriftwood.support.arrays import FloatArray, read_only

# What all prices may add up to in whole numbers.
MOST_PRICE = 2**50
# How much of a price may be lost to rounding before it is refused.
LOST_DIGITS = 1e-9
# Beyond this, or below 1 divided by it, weights would leave doubles when they are added up.
MOST_WEIGHT = 1e30
# Weights are counted in millionths, before anybody knows how many decimals they have.
MOST_DECIMALS = 6
MILLION = 10.0**MOST_DECIMALS
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
    whole, unit, _ = whole_numbers(exact, MOST_PRICE)
    missed = np.abs(whole * float(unit) - exact)
    near = missed <= NOISE * exact
    own = np.append(prices.prices, [prices.per_split, prices.per_node])
    missed[near] = (beyond_digits(own) * exact)[near]
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
    most = float(missed[:-2].sum() + n_splits * missed[-2:].sum()) / often
    return counted, unit / Fraction(often), most


def count_decimals(weights: FloatArray) -> int:
    """Return the number of decimals of weights in millionths."""
    for decimals in range(MOST_DECIMALS + 1):
        if not (weights % 10.0 ** (MOST_DECIMALS - decimals)).any():
            return decimals
    return NO_DECIMALS


def common_units(total: float, decimals: int, n_numbers: int) -> tuple[Fraction, float]:
    """Return how many units make a millionth in all partitions, and what may be lost by that.

    Numbers with so many decimals that add up to a total, in millionths, that fits are exact.
    """
    per_one = Fraction(10) ** (decimals - MOST_DECIMALS)
    if not total or (decimals <= MOST_DECIMALS and total * per_one <= MOST_COST):
        return per_one, 0.0
    per_one = Fraction(2) ** math.floor(math.log2(MOST_COST / total))
    # Half a unit each, but a whole one where something must not become free.
    return per_one, float(n_numbers / per_one)


def read_partition_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Return the sample weights of a partition, in millionths."""
    if sample_weight is None:
        return read_only(np.full(n_samples, MILLION))
    weights = checked_weights(sample_weight, n_samples)
    if weights.max() > MOST_WEIGHT or 0 < weights.max() < 1 / MOST_WEIGHT:
        raise InputError(
            f"`sample_weight` is up to {weights.max():g}, beyond what sums are exact for: divide "
            "all weights by one number."
        )
    exact = weights * MILLION
    whole = np.rint(exact)
    are_whole = (np.abs(exact - whole) <= NOISE * exact).all()
    return read_only(whole if are_whole else exact)
