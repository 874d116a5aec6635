"""Which points of a path are shown, and which of its curve are drawn."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from thriftwood.support.arrays import FloatArray, IntArray


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


def drawn_points(costs: FloatArray, wanted: Iterable[int], most: int) -> IntArray:
    """Return points of a path, in order, that look like all of them when they are drawn.

    These are all points, unless there are more than `most`; then those wanted, and of the others
    the first in each of so many equal parts of the costs. Parameters as in `shown_points`.
    """
    if len(costs) <= most:
        return np.arange(len(costs))
    part = np.floor(costs / costs.max() * (most - 1))
    _, first = np.unique(part, return_index=True)
    return np.union1d(first, list(wanted))
