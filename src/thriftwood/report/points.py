"""Which points of a path have details on the page."""

import math
from collections.abc import Iterable
from itertools import pairwise

from thriftwood.arrays import FloatArray
from thriftwood.pruning import PruningPath


def shown_points(costs: FloatArray, wanted: Iterable[int], most: int) -> list[int]:
    """Return points of a path, in order: the first, the last, those wanted, others between.

    As long as there may be more, the widest gap of cost that has a point inside gets the one next
    to its middle.

    Parameters
    ----------
    costs : shape (n_points,)
        They fall along the path.
    wanted : iterable of int
    most : int
        How many points to return at the most.
    """
    shown = sorted({0, len(costs) - 1, *wanted})
    while len(shown) < min(most, len(costs)):
        gaps = [gap for gap in pairwise(shown) if gap[1] - gap[0] > 1]
        first, last = max(gaps, key=lambda gap: costs[gap[0]] - costs[gap[1]])
        middle = (costs[first] + costs[last]) / 2
        inside = range(first + 1, last)
        shown.append(min(inside, key=lambda point: abs(costs[point] - middle)))
        shown.sort()
    return shown


def tradeoffs_of(path: PruningPath, point: int) -> tuple[float, float]:
    """Return from which tradeoff to which a point is optimal; the last one for ever."""
    beyond = path.tradeoffs[point + 1] if point + 1 < len(path) else math.inf
    return float(path.tradeoffs[point]), float(beyond)
