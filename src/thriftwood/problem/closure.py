"""Pruning as project selection: splits are projects, what somebody pays once is an item.

In the paper's variables, x = 1 for a split that stays; w(c, i) = 1 where sample i pays cost item
c, such as the price of a feature (with fees, batches and models, i may be more than a sample)::

    maximise   sum_h gain_h x_h  -  tradeoff * n_trees * sum_(c,i) price_c w_(c,i)
    where      x_h <= x_parent(h)       a split stays only if its parent stays
               x_h <= w_(c,i)           h is the first to ask i for c: it is paid, once

which is the paper's IP3 times samples and trees. Where trees share nothing, a sample pays an item
at exactly one split of each tree, so every split has one item of its own and no sample is seen.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from thriftwood.billing import OF_SPLIT, Purchases
from thriftwood.closure import SAME_LAMBDA, ClosureProblem, ParametricCut, simple_fraction
from thriftwood.errors import RangeError
from thriftwood.forest import LEAF, Forest
from thriftwood.problem.scaling import WholeNumbers, beyond_digits, whole_numbers
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)

# What gains and costs may add up to, in their units: 14 digits, and room to multiply gains by what
# a dual decomposition or the denominator of a tradeoff needs.
MOST_GAIN = 2**48
MOST_COST = 2**50
# A gain is the difference of losses, each a long sum of doubles, and less than this part of them is
# no gain.
LOSS_NOISE = 2.0**-46
# Whole losses below this were added up without rounding.
MOST_COUNT = 2**50
# Units by which costs that were multiplied by a tradeoff as doubles may be off, besides 1 each.
PRODUCT_NOISE = 2**9
LARGEST_TRADEOFF = 1e307  # so that one above it is a number, too
# How much of what a feature costs in all may be lost to rounding before prices are refused.
LOST_DIGITS = 1e-6


@dataclass(frozen=True, eq=False)
class ClosureIndex:
    """The way back from a closure problem to the forest, and its units.

    Projects are the splits of the forest, in the order of the nodes.
    """

    forest: Forest
    n_items: int  # of the problem
    loss_per_cost: Fraction  # what a cost of 1 weighs against losses at a tradeoff of 1
    gain_unit: Fraction  # what 1 stands for in gains of the problem
    lost_gain: float  # what all gains lost together when they were made whole numbers
    cost_unit: Fraction  # the same of costs
    lost_cost: float
    # (n_splits,), splits that stay for certain, where only the others are projects
    certain: BoolArray | None = None

    def in_units(self, tradeoff: float) -> Fraction:
        """Return a tradeoff as the lambda of the closure problem, in its units."""
        exact = Fraction(tradeoff) * self.loss_per_cost * self.cost_unit / self.gain_unit
        return simple_fraction(exact)

    def rounded(self, lambda_: Fraction, scale: int) -> Fraction:
        """Return by how much loss + tradeoff * cost may be misjudged because numbers were rounded.

        Both are added up over samples and trees; `scale` is what gains were multiplied by.
        """
        lost_cost = Fraction(self.lost_cost) / self.cost_unit * lambda_ * self.gain_unit
        times = lambda_ * scale
        is_exact = abs(round(times) - times) <= 2 * SAME_LAMBDA * times
        units = 0 if is_exact else self.n_items + PRODUCT_NOISE
        return 2 * (Fraction(self.lost_gain) + lost_cost) + units * self.gain_unit / scale

    def tradeoffs(self, cut: ParametricCut) -> FloatArray:
        """Return the tradeoffs from which on each set of a parametric cut is best, 0 for the first.

        Refuses those without room for others above them.
        """
        unit = self.gain_unit / (self.loss_per_cost * self.cost_unit)
        try:
            tradeoffs = np.array([0.0, *(float(lambda_ * unit) for lambda_ in cut.breakpoints)])
        except OverflowError:
            tradeoffs = np.array([np.inf])
        if tradeoffs[-1] > LARGEST_TRADEOFF:
            raise RangeError(
                "The prices are so small that what a unit of them is worth in loss is beyond "
                "doubles. Use a smaller unit."
            )
        return tradeoffs

    def kept_nodes(self, kept: BoolArray) -> BoolArray:
        """Return the kept projects, and what is certain, as a mask over all nodes of the forest."""
        mask = np.zeros(self.forest.n_nodes, dtype=np.bool_)
        if self.certain is not None:
            every = self.certain.copy()
            every[~self.certain] = kept
            kept = every
        mask[self.forest.is_split] = kept
        return mask


def build_closure(
    forest: Forest, bought: Purchases, losses: FloatArray, loss_per_cost: Fraction
) -> tuple[ClosureProblem, ClosureIndex]:
    """Write the pruning problem of a forest as a closure problem.

    `losses` is what each node would lose as a leaf; `loss_per_cost` what a cost of 1, in the units
    of the purchases, weighs against losses at a tradeoff of 1.
    """
    gains, costs = whole_gains(forest, losses), _whole_costs(bought)
    needs = required_splits(forest), bought.arc_start, bought.arc_item
    problem = ClosureProblem(gains.whole, *needs, costs.whole).check()
    return problem, ClosureIndex(forest, problem.n_items, loss_per_cost, *gains[1:], *costs[1:])


def build_complexity(
    forest: Forest, losses: FloatArray, weight: float
) -> tuple[ClosureProblem, ClosureIndex]:
    """Write Breiman's cost-complexity problems of all trees, each alone, as one closure problem.

    Every split costs 1, the leaf that it adds.
    """
    gains, every = whole_gains(forest, losses), np.arange(forest.n_splits + 1)
    needs = required_splits(forest), every, every[:-1].astype(np.int32)
    problem = ClosureProblem(gains.whole, *needs, np.ones(forest.n_splits, dtype=np.int64)).check()
    loss_per_leaf = Fraction(weight) / forest.n_trees
    return problem, ClosureIndex(
        forest, problem.n_items, loss_per_leaf, *gains[1:], cost_unit=Fraction(1), lost_cost=0.0
    )


def whole_gains(
    forest: Forest, losses: FloatArray, split: IndexArray | IntArray | None = None
) -> WholeNumbers:
    """Return what splits, by default all, gain over leaves in their place, in whole numbers.

    `losses` is what nodes would lose as leaves.
    """
    if split is None:
        split = np.flatnonzero(forest.is_split)
    gains, noise = gains_of(forest, losses, split)
    whole, unit, lost = whole_numbers(gains, MOST_GAIN, noise)
    return WholeNumbers(whole, unit, lost + float(noise.sum()))


def gains_of(
    forest: Forest, losses: FloatArray, split: IndexArray | IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the gains of splits over leaves in their place, and their rounding errors."""
    as_leaf, below = losses[split], losses[forest.left[split]] + losses[forest.right[split]]
    are_counts = (losses == np.rint(losses)).all() and np.abs(losses).max() < MOST_COUNT
    noise = (0.0 if are_counts else LOSS_NOISE) * (np.abs(as_leaf) + np.abs(below))
    return as_leaf - below, noise


def required_splits(forest: Forest) -> IndexArray:
    """Return the number of the parent split of each split, -1 for roots."""
    number = np.cumsum(forest.is_split, dtype=np.int32) - 1
    parent = forest.parent[forest.is_split]
    return np.where(parent == LEAF, LEAF, number[parent]).astype(np.int32)


def _whole_costs(purchases: Purchases) -> WholeNumbers:
    """Return costs of items in whole numbers, at least 1 for what costs anything."""
    exact, cost_item = purchases.item_cost, purchases.cost_item
    costs = whole_numbers(exact, MOST_COST)
    place = cost_item + 1  # the cost items of splits are -1
    paid = np.bincount(place, exact, 1 + len(purchases.cost_item_price))
    counted = np.bincount(place, costs.whole * float(costs.unit), len(paid))
    lost = np.flatnonzero(np.abs(counted - paid) > LOST_DIGITS * paid) - 1
    if not len(lost):
        if costs.lost:
            return costs
        return costs._replace(lost=float(beyond_digits(purchases.cost_item_price) @ paid[1:]))
    prices = purchases.cost_item_price
    if lost[0] == OF_SPLIT:
        raise RangeError(
            f"`per_split` and `per_node` are too small to be exact beside prices of up to "
            f"{prices.max():g}. Give 0 for them, or raise them."
        )
    if prices[lost].max() == prices.max():
        raise RangeError(
            f"Prices up to {prices.max():g} are too small for doubles. Use a smaller unit."
        )
    raise RangeError(
        f"The prices reach from {prices[lost].min():g} to {prices.max():g}, too far apart to be "
        "exact with this many samples. Give the smallest prices as 0, or raise them."
    )
