"""Thresholds in numbers of another width, such that every row goes where it went."""

import numpy as np
from numpy.typing import NDArray

from thriftwood.arrays import FloatArray
from thriftwood.forest import Forest


def for_single_rows(forest: Forest) -> NDArray[np.float32]:
    """Return thresholds in float32 that part all float32 numbers as the forest's own do.

    `value <= threshold` holds for the same float32 values as with the largest float32 number that
    is not above the threshold.
    """
    with np.errstate(over="ignore"):
        nearest = forest.threshold.astype(np.float32)
    below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest.astype(np.float64) > forest.threshold, below, nearest)


def for_double_rows(forest: Forest) -> FloatArray:
    """Return thresholds that part all doubles as the forest does.

    Where the forest casts a row to float32 first, a double is at most the threshold exactly if it
    is rounded to a float32 number that is. The numbers in which that changes are halfway between
    two neighbours; which of them the middle itself is rounded to, the cast says.
    """
    if forest.input_dtype == np.float64:
        return forest.threshold
    below = for_single_rows(forest)
    above = np.nextafter(below, np.float32(np.inf))
    middle = (_in_reach(below) + _in_reach(above)) / 2
    with np.errstate(over="ignore"):
        down = middle.astype(np.float32) <= below
    highest = np.where(down, middle, np.nextafter(middle, -np.inf))
    return np.where(below == np.inf, np.inf, highest)


def _in_reach(single: NDArray[np.float32]) -> FloatArray:
    """Return float32 numbers as doubles, 2**128 for infinity: where the next number would be."""
    return np.clip(single.astype(np.float64), -(2.0**128), 2.0**128)
