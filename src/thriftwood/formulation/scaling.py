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
NOISE = 1e-6


def whole_numbers(values: FloatArray, size: float, most: int) -> tuple[IntArray, Fraction]:
    """Return integers and a unit such that integers times unit are the values.

    Parameters
    ----------
    values : array
    size : float
        A positive bound, such as the largest absolute value or the sum of them.
    most : int
        What `size` may become at most when it is measured in the unit.

    Returns
    -------
    integers : int array
    unit : Fraction
        1, a tenth, a hundredth, ... if the values are decimals of that kind and fit; otherwise the
        smallest power of two that fits, and the integers are rounded.
    """
    for decimals in range(MOST_DECIMALS + 1):
        scaled = values * 10.0**decimals
        if size * 10.0**decimals > most:
            break
        rounded = np.rint(scaled)
        if (np.abs(scaled - rounded) <= NOISE).all() and ((rounded != 0) == (values != 0)).all():
            return rounded.astype(np.int64), Fraction(1, 10**decimals)
    exponent = math.frexp(size / most)[1]
    return np.rint(np.ldexp(values, -exponent)).astype(np.int64), Fraction(2) ** exponent
