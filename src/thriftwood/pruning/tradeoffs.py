"""Tradeoffs, the paper's lambda: reading one, and those for which a point is optimal."""

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from thriftwood.support.arrays import FloatArray
from thriftwood.support.validation import one_number_from_zero

MOST_DIGITS = 17  # that a double has
FEWEST_DIGITS = 4  # that people get to read
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


def interval_in_words(low: float, high: float) -> str:
    """Return the tradeoffs from one to another in words, in digits enough to tell the two apart.

    The ends are rounded inwards: whoever types one gets the point whose tradeoffs these are.
    """
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        first, last = _at_least(low, digits), _below(high, digits)
        if first < last:
            end = "on" if math.isinf(high) else f"to {last:.{digits}g}"
            return f"from {first:.{digits}g} {end}"
    return f"at {low!r}"  # the next double is the next point's


def _at_least(number: float, digits: int) -> float:
    return float(Context(digits, ROUND_CEILING).create_decimal(repr(number)))


def _below(number: float, digits: int) -> float:
    """Return the largest number of so many digits that is smaller; of infinity that itself."""
    return (
        number if math.isinf(number) else float(Context(digits).next_minus(Decimal(repr(number))))
    )
