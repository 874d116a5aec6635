"""Lower convex hull of costs and losses: which prunings are best at some tradeoff."""

from __future__ import annotations

from typing import Any

import numpy as np

from thriftwood.support.arrays import FloatArray, IntArray


def lower_hull(costs: FloatArray | IntArray, losses: FloatArray | IntArray) -> IntArray:
    """Return the points on the lower hull, from the dearest to the cheapest.

    Point `a` is on it if some tradeoff from 0 on makes loss + tradeoff * cost least at `a` and at
    no point that is cheaper. So costs fall, losses rise, and the slopes between neighbours, as
    `slopes_of` computes them, rise. The first has the least loss of all, and of such points the
    least cost. Of equal points the last is taken: along a path it is the smallest forest. Points
    come in any order; where costs and losses are integers, nothing is rounded.
    """
    number = np.arange(len(costs))
    first = np.lexsort((-number, costs, losses))[0]
    candidates = np.lexsort((-number, losses, -costs))
    candidates = candidates[costs[candidates] <= costs[first]]
    hull: list[int] = []
    points: list[Any] = []
    found = zip(costs[candidates].tolist(), losses[candidates].tolist(), strict=True)
    for place, point in zip(candidates.tolist(), found, strict=True):
        if points and point[0] == points[-1][0]:
            continue  # as cheap as the one before, and no better
        while len(points) > 1 and not _rises(points[-2], points[-1], point):
            hull.pop()
            points.pop()
        hull.append(place)
        points.append(point)
    return np.array(hull, dtype=np.int64)


def slopes_of(costs: FloatArray, losses: FloatArray) -> FloatArray:
    """Return between neighbours on a hull the tradeoff at which both are equally good."""
    return -np.diff(losses) / np.diff(costs)


Point = tuple[Any, Any]


def _rises(a: Point, b: Point, c: Point) -> bool:
    """Return True if the slope from b to c is above that from a to b, of doubles as rounded."""
    before, after = b[1] - a[1], c[1] - b[1]
    if isinstance(before, int):
        return before * (b[0] - c[0]) < after * (a[0] - b[0])
    return -before / (b[0] - a[0]) < -after / (c[0] - b[0])
