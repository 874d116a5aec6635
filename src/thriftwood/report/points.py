"""Which points of a path are shown, and for which tradeoffs each is optimal."""

import math
from collections.abc import Iterable
from itertools import pairwise

from thriftwood.arrays import FloatArray
from thriftwood.pruning import PruningPath, tradeoffs_of

FEWEST_DIGITS = 4


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


def interval_in_words(path: PruningPath, index: int) -> str:
    """Return for which tradeoffs a point is optimal, in as many digits as tell the two apart."""
    low, high = tradeoffs_of(path.tradeoffs, index)
    if math.isinf(high):
        return f"from {low:.4g} on"
    words = ((f"{low:.{digits}g}", f"{high:.{digits}g}") for digits in range(FEWEST_DIGITS, 18))
    return "from {} to {}".format(*next(pair for pair in words if pair[0] != pair[1]))
