"""Pruning by dual ascent in a fixed number of steps, in the way of the authors' program.

Every tree pays a price of its own for each value that a sample would buy in it. At given prices
each tree prunes itself, the best it can; what all trees reach together is a bound. A price rises
where a tree buys what the others have not paid for, and falls where it is paid for and not bought;
the step is the gap divided by the number of disagreements, and shrinks slowly. The best pruning
that was met is kept, whether the gap is closed or not. Written from the descriptions alone.
"""

from typing import NamedTuple

import numpy as np

from thriftwood.closure import ClosureProblem

N_STEPS = 50
PATIENCE = 500.0  # steps after which the step is half as long


class Ascent(NamedTuple):
    """The best pruning that was met, as a mask over projects, its profit, and the bound on it."""

    kept: np.ndarray
    profit: float
    bound: float


def dual_ascent(problem: ClosureProblem, lambda_: float, n_steps: int = N_STEPS) -> Ascent:
    """Return the best pruning at a lambda that is met within some steps."""
    levels = levels_of(problem.requires)
    project, item = problem.arc_project(), problem.arc_item
    cost = lambda_ * problem.costs
    price = np.zeros(problem.n_arcs)
    best = Ascent(np.zeros(problem.n_projects, dtype=np.bool_), 0.0, np.inf)
    for step in range(1, n_steps + 1):
        paid = np.bincount(item, price, problem.n_items)
        worth = problem.gains - np.bincount(project, price, problem.n_projects)
        kept, value = pruned_alone(worth, problem.requires, levels)
        bound = value + np.maximum(paid - cost, 0).sum()
        profit = problem.gains[kept].sum() - cost[problem.needed_items(kept)].sum()
        if profit > best.profit:
            best = best._replace(kept=kept, profit=float(profit))
        best = best._replace(bound=min(best.bound, float(bound)))
        disagreement = kept[project].astype(np.float64) - (paid > cost)[item]
        size = disagreement @ disagreement
        if size == 0 or best.bound - best.profit <= 0:
            break
        length = (1 + PATIENCE) / (step + PATIENCE) * (bound - best.profit) / size
        price = np.maximum(price + length * disagreement, 0)
    return best


def levels_of(requires: np.ndarray) -> list[np.ndarray]:
    """Return the projects at each depth; a project comes after the one that it requires."""
    depth = np.zeros(len(requires), dtype=np.int64)
    for project in np.flatnonzero(requires >= 0):
        depth[project] = depth[requires[project]] + 1
    return [np.flatnonzero(depth == level) for level in range(depth.max(initial=-1) + 1)]


def pruned_alone(
    worth: np.ndarray, requires: np.ndarray, levels: list[np.ndarray]
) -> tuple[np.ndarray, float]:
    """Return the best sets of projects where nothing is shared, and what they are worth."""
    value = worth.copy()
    for own in levels[:0:-1]:
        np.add.at(value, requires[own], np.maximum(value[own], 0))
    kept = value > 0
    for own in levels[1:]:
        kept[own] &= kept[requires[own]]
    return kept, float(np.maximum(value[requires < 0], 0).sum())
