"""Whole numbers for real ones, so that solvers can be exact.

Counts, prices in cents and other decimals are kept exactly. What has more digits is rounded to a
power of two, as fine as the range of the solvers allows; what that loses is added up.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from thriftwood.support.arrays import FloatArray, IntArray

MOST_DECIMALS = 15
# A double that was written as a decimal, and multiplied once or twice, is off by at most this part.
NOISE = 2.0**-50
# Nothing that is further from a whole number counts as one, however noisy it is.
NEAR = 2.0**-7


class WholeNumbers(NamedTuple):
    """Integers, the unit that makes them the values, and what all values lost to rounding."""

    whole: IntArray
    unit: Fraction
    lost: float


def whole_numbers(values: FloatArray, most: int, noise: FloatArray | None = None) -> WholeNumbers:
    """Return integers that add up to about `most`, at the most, signs aside.

    The unit divides all values, where they are decimals that fit;
    otherwise the smallest power of two that fits, and the integers are rounded, but nothing that is
    more than noise becomes 0. `noise` is how far off each value may be, by default a part of it.
    """
    size = math.frexp(float(np.abs(values).max(initial=0.0)))[1]
    near_one = np.ldexp(values, -size)  # so that their sum is finite
    total = float(np.abs(near_one).sum())
    if noise is None:
        noise = NOISE * np.abs(values)
    if abs(size) < 100:  # beyond, nobody writes decimals, and powers of ten overflow
        for decimals in range(MOST_DECIMALS + 1):
            if math.ldexp(total, size) * 10.0**decimals > most:
                break
            scaled = values * 10.0**decimals
            rounded = np.rint(scaled)
            if (np.abs(scaled - rounded) <= np.minimum(noise * 10.0**decimals, NEAR)).all():
                whole = rounded.astype(np.int64)
                divisor = max(int(np.gcd.reduce(whole)), 1)
                return WholeNumbers(whole // divisor, Fraction(divisor, 10**decimals), 0.0)
    exponent = math.frexp(total / most)[1]
    exact = np.ldexp(near_one, -exponent)
    rounded = np.copysign(np.maximum(np.rint(np.abs(exact)), 1.0), exact)
    rounded[np.abs(values) <= noise] = 0.0
    unit = Fraction(2) ** (size + exponent)
    lost = float(np.abs(exact - rounded).sum() * float(unit))
    return WholeNumbers(rounded.astype(np.int64), unit, lost)


def beyond_digits(values: FloatArray) -> FloatArray:
    """Return the relative error of each value in as many decimal digits as are kept."""
    kept = np.array([float(f"{value:.{MOST_DECIMALS}g}") for value in values.tolist()])
    return np.abs(values - kept) / np.where(values == 0, 1.0, np.abs(values))
