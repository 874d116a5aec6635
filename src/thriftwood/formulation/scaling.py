"""Whole numbers for real ones, so that solvers can be exact.

Counts, prices in cents and other decimals are kept exactly. What has more digits is rounded to a
power of two, as fine as the range of the solvers allows.
"""

import math
from fractions import Fraction

import numpy as np

from thriftwood.arrays import FloatArray, IntArray

MOST_DECIMALS = 6
# How far from a whole number of units a decimal may lie: noise of sums, not digits that matter.
NOISE = 1e-7


def whole_numbers(values: FloatArray, most: int) -> tuple[IntArray, Fraction]:
    """Return integers and a unit such that integers times unit are the values.

    Parameters
    ----------
    values : array
    most : int
        What the integers may add up to at most, signs aside.

    Returns
    -------
    integers : int array
    unit : Fraction
        1, a tenth, a hundredth, ... if the values are decimals of that kind and fit; otherwise the
        smallest power of two that fits, and the integers are rounded.
    """
    total = float(np.abs(values).sum())
    for decimals in range(MOST_DECIMALS + 1):
        if total * 10.0**decimals > most:
            break
        scaled = values * 10.0**decimals
        rounded = np.rint(scaled)
        if (np.abs(scaled - rounded) <= NOISE).all() and ((rounded != 0) == (values != 0)).all():
            return rounded.astype(np.int64), Fraction(1, 10**decimals)
    exponent = math.frexp(total / most)[1] + 1
    return np.rint(np.ldexp(values, -exponent)).astype(np.int64), Fraction(2) ** exponent
