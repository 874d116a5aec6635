"""Finer units at low tradeoffs, where some splits are certain to stay.

All gains share one unit, so that large ones leave few digits to small ones. But a split stays at a
tradeoff, and at any below it, if its gain pays twice for all that it and the splits above it could
ever buy. Such splits need not be decided: the others are counted as finely as their own gains
allow, and what rounding hides in the certain ones is no part of any gap.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from thriftwood.closure import ClosureProblem, exact_sum
from thriftwood.problem.closure import LARGEST_TRADEOFF, ClosureIndex, gains_of, whole_gains
from thriftwood.support.arrays import BoolArray

if TYPE_CHECKING:
    from thriftwood.problem.problem import PruningProblem

# Numbers are too coarse where rounding may hide more than this part of what everything costs.
COARSE = Fraction(1, 2**20)
# They are fine from the tradeoff on where it hides no more than this part.
FINE = Fraction(1, 2**32)


def closure_at(problem: PruningProblem, tradeoff: float) -> tuple[ClosureProblem, ClosureIndex]:
    """Return the closure problem, and the way back, in units that are fine enough at a tradeoff."""
    closure, index = problem.closure
    if tradeoff >= coarse_below(problem, index.lost_gain):
        return closure, index
    return refined(problem, certain_splits(problem, tradeoff))


def coarse_below(problem: PruningProblem, hidden: float, part: Fraction = COARSE) -> float:
    """Return below which tradeoff the losses that rounding hides are too large.

    Too large is more than a part of what everything costs.
    """
    closure, index = problem.closure
    total = index.loss_per_cost * index.cost_unit * exact_sum(closure.costs)
    if not total:
        return 0.0
    return float(min(Fraction(hidden) / (part * total), Fraction(LARGEST_TRADEOFF)))


def refined(problem: PruningProblem, certain: BoolArray) -> tuple[ClosureProblem, ClosureIndex]:
    """Return the problem of the splits that are not certain, in the finest unit for them.

    What certain ones buy is paid.
    """
    closure, index = problem.closure
    inside = ~certain
    split = np.flatnonzero(index.forest.is_split)[inside]
    gains = whole_gains(index.forest, problem.node_losses.total, split)
    arcs = np.repeat(inside, np.diff(closure.arc_start))
    arcs &= ~closure.needed_items(certain)[closure.arc_item]
    before = np.zeros(closure.n_arcs + 1, dtype=np.int32)
    np.cumsum(arcs, out=before[1:])
    before = before[closure.arc_start]
    arc_item = closure.arc_item[arcs]
    items = np.zeros(closure.n_items, dtype=np.bool_)
    items[arc_item] = True
    item_number = np.cumsum(items, dtype=np.int32) - 1
    number = np.where(inside, np.cumsum(inside) - 1, -1)
    requires = closure.requires[inside]
    smaller = ClosureProblem(
        gains.whole,
        np.where(requires >= 0, number[requires], -1).astype(np.int32),
        np.concatenate([[0], np.cumsum(np.diff(before)[inside])]),
        item_number[arc_item],
        closure.costs[items],
    ).check()
    return smaller, replace(
        index,
        n_items=smaller.n_items,
        gain_unit=gains.unit,
        lost_gain=gains.lost,
        certain=certain,
    )


def hidden_in_others(problem: PruningProblem, certain: BoolArray) -> float:
    """Return the rounding error of losses in the problem that `refined` returns."""
    split = np.flatnonzero(problem.forest.is_split)[~certain]
    return 2 * whole_gains(problem.forest, problem.node_losses.total, split).lost


def certain_splits(problem: PruningProblem, tradeoff: float) -> BoolArray:
    """Return a mask of the splits in every optimum at a tradeoff, or below it."""
    closure, index = problem.closure
    forest, split = index.forest, np.flatnonzero(index.forest.is_split)
    gains, noise = gains_of(forest, problem.node_losses.total, split)
    price = float(Fraction(tradeoff) * index.loss_per_cost * index.cost_unit)
    spent = np.zeros(closure.n_arcs + 1, dtype=np.int64)
    np.take(closure.costs, closure.arc_item, out=spent[1:], mode="clip")  # "raise" would copy
    np.cumsum(spent, out=spent)
    spent = spent[closure.arc_start]
    # One more place, for what is above roots.
    gain, needed = np.zeros(forest.n_nodes + 1), np.zeros(forest.n_nodes + 1)
    gain[split], needed[split] = gains - noise, 2 * price * np.diff(spent)
    levels = list(forest.levels())
    for nodes in levels:
        above = forest.parent[nodes]
        needed[nodes] += needed[above] - np.minimum(gain[above], 0.0)
    certain = gain > needed
    for nodes in reversed(levels):
        certain[forest.parent[nodes[certain[nodes]]]] = True
    return certain[split]
