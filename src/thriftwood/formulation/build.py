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

from thriftwood.arrays import BoolArray, FloatArray, IntArray, handed_over
from thriftwood.closure import ClosureProblem
from thriftwood.closure.problem import LARGEST_DENOMINATOR, LARGEST_TOTAL
from thriftwood.errors import RangeError
from thriftwood.forest import Forest
from thriftwood.forest.forest import LEAF
from thriftwood.formulation import kernels
from thriftwood.formulation.scaling import whole_numbers
from thriftwood.routing import Routes, first_uses


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
    n_nodes, n_trees : int
        Of the forest.
    """

    split: IntArray
    item_feature: IntArray
    item_row: IntArray
    gain_unit: Fraction
    cost_unit: Fraction
    n_nodes: int
    n_trees: int

    def closure_tradeoff(self, tradeoff: float) -> Fraction:
        """Return the paper's lambda in the units of the problem."""
        return Fraction(tradeoff) * self.n_trees * self.cost_unit / self.gain_unit

    def paper_tradeoff(self, tradeoff: Fraction) -> float:
        """Return the paper's lambda, given a tradeoff in the units of the problem."""
        return float(tradeoff * self.gain_unit / (self.n_trees * self.cost_unit))

    def kept_nodes(self, kept: BoolArray) -> BoolArray:
        """Return the kept projects as a mask over all nodes of the forest."""
        mask = np.zeros(self.n_nodes, dtype=np.bool_)
        mask[self.split] = kept
        return mask


def build_closure(
    forest: Forest, routes: Routes, losses: FloatArray, prices: FloatArray, weights: IntArray
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
    weights : int array, shape (n_rows,)
        How often each row counts, in whole numbers.
    """
    split = np.flatnonzero(forest.is_split)
    number = np.cumsum(forest.is_split, dtype=np.int32) - 1
    parent = forest.parent[split]
    gains, gain_unit = _whole_gains(forest, losses, split)
    whole_prices, cost_unit = _whole_prices(prices, weights)

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
    )
    problem = ClosureProblem(
        gains=gains,
        requires=np.where(parent == LEAF, LEAF, number[parent]),
        arc_start=arc_start,
        arc_item=handed_over(arc_item),
        costs=whole_prices[item_feature] * weights[item_row],
    )
    index = ClosureIndex(
        split, item_feature, item_row, gain_unit, cost_unit, forest.n_nodes, forest.n_trees
    )
    return problem.check(), index


def _whole_gains(forest: Forest, losses: FloatArray, split: IntArray) -> tuple[IntArray, Fraction]:
    """Return what the loss falls by when a node is split rather than a leaf."""
    gains = losses[split] - losses[forest.left[split]] - losses[forest.right[split]]
    # Room for the solvers to multiply gains by the denominator of any tradeoff.
    most = LARGEST_TOTAL // LARGEST_DENOMINATOR
    return whole_numbers(gains, float(np.abs(gains).sum()), most)


def _whole_prices(prices: FloatArray, weights: IntArray) -> tuple[IntArray, Fraction]:
    largest = float(prices.max(initial=0.0))
    most = min(2**40, LARGEST_TOTAL // max(len(prices) * int(weights.sum()), 1))
    whole, unit = whole_numbers(prices, largest, most)
    lost = np.flatnonzero((whole == 0) & (prices > 0))
    if len(lost):
        raise RangeError(
            f"The prices reach from {prices[lost[0]]:g} to {largest:g}: with this many rows and "
            f"features, {most:.2g} is the largest ratio that stays exact. "
            "Give the smallest prices as 0, or raise them."
        )
    return whole, unit
