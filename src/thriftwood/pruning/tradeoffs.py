"""Tradeoffs, the paper's lambda: reading one, and those for which a point is optimal."""

import math
from typing import Any

from thriftwood.arguments import one_number_from_zero
from thriftwood.arrays import FloatArray

MOST_DIGITS = 17  # that a double has
MARGIN = 0.1  # how much of an interval stays free at either end


def read_tradeoff(tradeoff: Any) -> float:
    """Return the user's tradeoff as a number, or refuse it."""
    return one_number_from_zero(
        tradeoff, "tradeoff", "At 0 cost does not matter, the larger it is the more is pruned."
    )


def tradeoffs_of(tradeoffs: FloatArray, point: int) -> tuple[float, float]:
    """Return from which tradeoff to which a point of a path is optimal; the last one for ever.

    Parameters
    ----------
    tradeoffs : shape (n_points,)
        From where on each point is optimal.
    point : int
    """
    is_last = point + 1 == len(tradeoffs)
    return float(tradeoffs[point]), math.inf if is_last else float(tradeoffs[point + 1])


def tradeoff_inside(tradeoffs: FloatArray, point: int) -> float:
    """Return a tradeoff well inside those for which a point of a path is optimal.

    It has as few digits as possible, so that people can copy it. Parameters as in `tradeoffs_of`.
    """
    low, high = tradeoffs_of(tradeoffs, point)
    if math.isinf(high):
        high = 3 * low or 2.0
    middle, margin = (low + high) / 2, MARGIN * (high - low)
    for digits in range(1, MOST_DIGITS):
        rounded = float(f"{middle:.{digits}g}")
        if low + margin <= rounded <= high - margin:
            return rounded
    return middle
