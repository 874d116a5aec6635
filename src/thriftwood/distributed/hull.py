"""Which of several prunings are best at some tradeoff: the lower convex hull of cost and loss."""

from __future__ import annotations

import numpy as np

from thriftwood.support.arrays import FloatArray, IntArray


def hull_of(costs: FloatArray, losses: FloatArray) -> IntArray:
    """Return the points on the lower hull, from the dearest to the cheapest.

    Point `a` is on it if some tradeoff makes loss + tradeoff * cost least at `a` and at no point
    that is cheaper. So costs fall, losses rise, and the slopes between neighbours, as `slopes_of`
    computes them, rise. The first has the least loss of all, and of such points the least cost. Of
    equal points the last is taken: along a path it is the smallest forest.

    Parameters
    ----------
    costs, losses : shape (n_points,)
        In any order. Where differences are whole numbers, no rounding decides who is on the hull.
    """
    hull: list[int] = []
    slopes: list[float] = []  # between neighbours
    number = np.arange(len(costs))
    first = np.lexsort((-number, costs, losses))[0]
    candidates = np.lexsort((-number, losses, -costs))
    for point in candidates[costs[candidates] <= costs[first]]:
        if hull and costs[point] == costs[hull[-1]]:
            continue  # as cheap as the one before, and no better
        slope = _slope(costs, losses, hull[-1], point) if hull else 0.0
        while slopes and slope <= slopes[-1]:
            hull.pop()
            slopes.pop()
            slope = _slope(costs, losses, hull[-1], point)
        if hull:
            slopes.append(slope)
        hull.append(int(point))
    return np.array(hull)


def slopes_of(costs: FloatArray, losses: FloatArray) -> FloatArray:
    """Return between neighbours on a hull the tradeoff at which both are equally good."""
    slopes: FloatArray = -np.diff(losses) / np.diff(costs)
    return slopes


def _slope(costs: FloatArray, losses: FloatArray, dear: int, cheap: int) -> float:
    return float(-(losses[cheap] - losses[dear]) / (costs[cheap] - costs[dear]))
