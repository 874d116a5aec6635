"""Sums of whole numbers that never wrap."""

import numpy as np

from thriftwood.support.arrays import IntArray

# All gains together, and each cost, stay below this. What passes through one vertex is then at most
# three times as much, so no sum that a solver or the certificate forms leaves 64 bits.
LARGEST_TOTAL = 2**60


def exact_sum(values: IntArray) -> int:
    """Add without wrapping: the two halves of the bits separately."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def from_the_end(values: IntArray) -> IntArray:
    """Return for each place the sum of its value and all that follow."""
    total: IntArray = np.cumsum(values[::-1])[::-1].copy()
    return total
