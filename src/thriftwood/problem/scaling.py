"""Whole numbers for real ones, so that solvers can be exact.

Counts, prices in cents and other decimals are kept exactly. What has more digits is rounded to a
power of two, as fine as the range of the solvers allows.
"""

import math
from fractions import Fraction

import numpy as np

from thriftwood.support.arrays import FloatArray, IntArray

MOST_DECIMALS = 6
# How far from a whole number of units a decimal may lie: noise of sums, not digits that matter.
NOISE = 1e-7


def whole_numbers(values: FloatArray, most: int) -> tuple[IntArray, Fraction]:
    """Return integers, which add up to at most `most`, and the unit that makes them the values.

    The unit is 1, a tenth, a hundredth, ... if the values are decimals of that kind and fit;
    otherwise the smallest power of two that fits, and the integers are rounded.
    """
    size = math.frexp(float(np.abs(values).max(initial=0.0)))[1]
    near_one = np.ldexp(values, -size)  # so that their sum is finite
    total = float(np.abs(near_one).sum())
    if abs(size) < 100:  # beyond, nobody writes decimals, and powers of ten overflow
        for decimals in range(MOST_DECIMALS + 1):
            if math.ldexp(total, size) * 10.0**decimals > most:
                break
            scaled = values * 10.0**decimals
            rounded = np.rint(scaled)
            lost = (rounded == 0) & (values != 0)
            if (np.abs(scaled - rounded) <= NOISE).all() and not lost.any():
                return rounded.astype(np.int64), Fraction(1, 10**decimals)
    exponent = math.frexp(total / most)[1]
    whole = np.rint(np.ldexp(near_one, -exponent)).astype(np.int64)
    return whole, Fraction(2) ** (size + exponent)


def lost_to_rounding(values: FloatArray, whole: IntArray, unit: Fraction) -> float:
    """Return by how much integers times unit miss the values, all together, noise aside."""
    missed = np.abs(values - whole * float(unit))
    return float(missed[missed > NOISE * float(unit)].sum())
