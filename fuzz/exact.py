"""Numbers as exact fractions, and lists of them as whole numbers over one denominator."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

LIMB = 40  # bits; sums of some thousand of them fit 64


@lru_cache(maxsize=100_000)
def decimal(number):
    """Return the fraction that somebody typed: 0.1 is one tenth."""
    return Fraction(repr(float(number)))


def binary(number):
    """Return the fraction that a double holds."""
    return Fraction(float(number))


def whole(fractions):
    """Return whole numbers and the denominator that they share."""
    denominator = math.lcm(*(one.denominator for one in fractions))
    return [one.numerator * (denominator // one.denominator) for one in fractions], denominator


def dot(table, numbers):
    """Return the sum of the numbers that each row of a table of 0 and 1 has, exactly."""
    most = sum(abs(one) for one in numbers)
    if most < 2**60:
        return table @ np.array(numbers, dtype=np.int64)
    total = np.zeros(len(table), dtype=object)
    for shift in range(0, most.bit_length(), LIMB):
        limbs = [(abs(one) >> shift & (2**LIMB - 1)) * (-1 if one < 0 else 1) for one in numbers]
        total += (table @ np.array(limbs, dtype=np.int64)).astype(object) << shift
    return total
