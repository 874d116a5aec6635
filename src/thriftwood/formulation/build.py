"""Pruning as project selection: splits are projects, (feature, row) pairs are items.

In the paper's variables, x = 1 for a split that stays; w(k, i) = 1 where row i buys feature k::

    maximise   sum_h gain_h x_h  -  tradeoff * n_trees * sum_(k,i) price_k w_(k,i)
    where      x_h <= x_parent(h)       a split stays only if its parent stays
               x_h <= w_(k,i)           h is the first to test k on row i: the row pays, once

which is the paper's IP3 times rows and trees.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from thriftwood.arrays import BoolArray, FloatArray, IndexArray, IntArray, handed_over
from thriftwood.closure import ClosureProblem
from thriftwood.errors import RangeError
from thriftwood.forest import LEAF, Forest
from thriftwood.formulation import kernels
from thriftwood.formulation.scaling import lost_to_rounding, whole_numbers
from thriftwood.routing import Routes, first_uses

# What gains and costs may add up to, in their units. The first has 13 digits and leaves room to
# multiply gains by the denominator of a tradeoff; the second has 15, for prices far apart.
MOST_GAIN = 2**44
MOST_COST = 2**50
# How much of what a feature costs in all may be lost to rounding before prices are refused.
LOST_DIGITS = 1e-6


@dataclass(frozen=True, eq=False)
class ClosureIndex:
    """The way back from a closure problem to the forest, and its units.

    Attributes
    ----------
    split : int array, shape (n_projects,)
        The node of the forest that each project stands for.
    item_feature, item_row : int arrays, shape (n_items,)
        What each item is: this feature of this row.
    gain_unit, cost_unit : Fraction
        What 1 stands for in gains and costs of the problem.
    n_nodes : int
        Of the forest.
    trees_per_row : Fraction
        In how many trees a row's loss counts, on average; all of them unless told otherwise.
    lost_gain, lost_cost : float
        What all gains, and all costs, lost together when they were made whole numbers.
    """

    split: IntArray
    item_feature: IntArray
    item_row: IntArray
    gain_unit: Fraction
    cost_unit: Fraction
    n_nodes: int
    trees_per_row: Fraction
    lost_gain: float
    lost_cost: float

    def closure_tradeoff(self, tradeoff: float) -> Fraction:
        """Return the paper's lambda in the units of the problem."""
        return Fraction(tradeoff) * self.trees_per_row * self.cost_unit / self.gain_unit

    def tradeoff(self, price: Fraction) -> float:
        """Return a price in the units of the problem as the paper's lambda."""
        return float(price * self.gain_unit / (self.trees_per_row * self.cost_unit))

    def kept_nodes(self, kept: BoolArray) -> BoolArray:
        """Return the kept projects as a mask over all nodes of the forest."""
        mask = np.zeros(self.n_nodes, dtype=np.bool_)
        mask[self.split] = kept
        return mask


def build_closure(
    forest: Forest,
    routes: Routes,
    losses: FloatArray,
    prices: FloatArray,
    weights: FloatArray,
    trees_per_row: Fraction | None = None,
) -> tuple[ClosureProblem, ClosureIndex]:
    """Write the pruning problem of a forest as a closure problem.

    Parameters
    ----------
    forest, routes
        The trees and who passes where.
    losses : shape (n_nodes,)
        What each node would lose as a leaf, from `node_losses` with the same weights.
    prices : shape (n_features,)
        What a feature costs one row.
    weights : shape (n_rows,)
        How much each row counts.
    trees_per_row : Fraction, optional
        In how many trees a row counts in `losses`; None means all.
    """
    split = np.flatnonzero(forest.is_split)
    number = np.cumsum(forest.is_split, dtype=np.int32) - 1
    parent = forest.parent[split]
    exact_gains = losses[split] - losses[forest.left[split]] - losses[forest.right[split]]
    gains, gain_unit = whole_numbers(exact_gains, MOST_GAIN)

    uses = first_uses(forest)
    n_arcs = np.zeros(forest.n_nodes, dtype=np.int64)
    n_arcs[uses] = routes.n_rows_of[uses]
    if n_arcs.sum() >= 2**31:
        raise RangeError(
            f"The forest buys features at {n_arcs.sum()} (split, row) pairs; up to 2**31 fit. "
            "Prune on a sample of the rows."
        )
    arc_start = np.zeros(len(split) + 1, dtype=np.int64)
    np.cumsum(n_arcs[split], out=arc_start[1:])
    arc_item = np.empty(arc_start[-1], dtype=np.int32)
    item_feature, item_row = kernels.number_items(
        uses,
        forest.feature,
        forest.tree_of(uses),
        routes.order,
        routes.start,
        routes.stop,
        arc_start[number[uses]],
        arc_item,
        min(len(arc_item), len(np.unique(forest.feature[uses])) * routes.n_rows),
    )
    exact_costs = _costs(prices, weights, item_feature, item_row)
    costs, cost_unit = _whole_costs(exact_costs, prices, item_feature)
    problem = ClosureProblem(
        gains=gains,
        requires=np.where(parent == LEAF, LEAF, number[parent]),
        arc_start=arc_start,
        arc_item=handed_over(arc_item),
        costs=costs,
    )
    index = ClosureIndex(
        split,
        item_feature,
        item_row,
        gain_unit,
        cost_unit,
        forest.n_nodes,
        Fraction(forest.n_trees) if trees_per_row is None else trees_per_row,
        lost_to_rounding(exact_gains, gains, gain_unit),
        lost_to_rounding(exact_costs, costs, cost_unit),
    )
    return problem.check(), index


def last_needed(problem: ClosureProblem, step_of: IndexArray) -> IndexArray:
    """Return for each item the last step of a path at which a kept project needs it."""
    last: IndexArray = kernels.last_need(
        step_of, problem.arc_start, problem.arc_item, problem.n_items
    )
    return last


def _costs(
    prices: FloatArray, weights: FloatArray, item_feature: IntArray, item_row: IntArray
) -> FloatArray:
    """Return what each item costs: the price of its feature, times the weight of its row."""
    with np.errstate(over="ignore"):
        exact: FloatArray = prices[item_feature] * weights[item_row]
        total = exact.sum()
    if not np.isfinite(total):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
    return exact


def _whole_costs(
    exact: FloatArray, prices: FloatArray, item_feature: IntArray
) -> tuple[IntArray, Fraction]:
    """Return whole numbers for costs, at least 1 for what costs anything."""
    costs, unit = whole_numbers(exact, MOST_COST)
    costs = np.maximum(costs, exact > 0)
    paid = np.bincount(item_feature, weights=exact, minlength=len(prices))
    counted = np.bincount(item_feature, weights=costs * float(unit), minlength=len(prices))
    lost = np.flatnonzero(np.abs(counted - paid) > LOST_DIGITS * paid)
    if len(lost) and prices[lost].max() == prices.max():
        raise RangeError(
            f"Prices up to {prices.max():g} are too small for doubles. Use a smaller unit."
        )
    if len(lost):
        raise RangeError(
            f"The prices reach from {prices[lost[0]]:g} to {prices.max():g}, too far apart to be "
            "exact with this many rows. Give the smallest prices as 0, or raise them."
        )
    return costs, unit
