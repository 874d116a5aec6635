"""Whole numbers that never wrap: exact sums, and lambda as a ratio of two integers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import RangeError
from thriftwood.support.arrays import IntArray

# All gains together, and each cost, stay below this. What passes through one vertex is then at most
# three times as much, so no sum that a solver or the certificate forms leaves 64 bits.
LARGEST_TOTAL = 2**60

# The part by which a lambda may differ from the simple fraction that it stands for.
SAME_LAMBDA = Fraction(1, 2**50)


def exact_sum(values: IntArray) -> int:
    """Add without wrapping: the two halves of the bits separately."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def from_the_end(values: NDArray[Any]) -> NDArray[Any]:
    """Return for each place the sum of its value and all that follow."""
    return np.cumsum(values[::-1])[::-1].copy()


@dataclass(frozen=True)
class ScaledLambda:
    """Lambda in whole numbers: what gains and costs are multiplied by before they are subtracted.

    With lambda as a simple fraction b / a, gains are multiplied by a and costs by b, and nothing is
    rounded. Where a is too large, gains are multiplied by a power of two, and each cost is rounded
    to one part in that of the smallest gain.

    Attributes
    ----------
    gain_scale : int
    cost_scale : int or float
        Costs multiplied by a float are rounded afterwards.
    never : int
        More than all gains: what costs more is never bought, and how much more does not matter.
    """

    gain_scale: int
    cost_scale: int | float
    never: int

    def refined(self) -> "ScaledLambda":
        """Return the same lambda in the smallest unit that has room for all gains."""
        room = LARGEST_TOTAL // max(self.never, self.gain_scale)
        times = 1 << max(room.bit_length() - 1, 0)
        return ScaledLambda(self.gain_scale * times, self.cost_scale * times, self.never * times)

    def scale_costs(self, costs: IntArray) -> IntArray:
        """Return the costs of items in the unit of the gains, at most `never`."""
        if isinstance(self.cost_scale, float):
            rounded = np.rint(costs * self.cost_scale)
            return np.where(rounded < self.never, rounded, self.never).astype(np.int64)
        affordable = self.never // max(self.cost_scale, 1)
        exact = costs * min(self.cost_scale, self.never)
        return np.where(costs <= affordable, exact, self.never if self.cost_scale else 0)

    def total_cost(self, costs: IntArray) -> int:
        """Return the sum of the costs in the unit of the gains, however large."""
        if isinstance(self.cost_scale, float):
            return sum(int(cost) for cost in np.rint(costs * self.cost_scale))
        return exact_sum(costs) * self.cost_scale


def scale_lambda(lambda_: Fraction, total_gain: int) -> ScaledLambda:
    """Return lambda in whole numbers, for gains that add up to a total, signs aside."""
    room = LARGEST_TOTAL // max(total_gain, 1)
    if room == 0:
        raise RangeError(
            f"The gains add up to {total_gain:.3g}; up to {LARGEST_TOTAL:.3g} is exact. Use a "
            "coarser unit."
        )
    simple = simple_fraction(lambda_)
    if simple.denominator <= room:
        a, b = simple.denominator, simple.numerator
        return ScaledLambda(a, b, total_gain * a + 1)
    scale = 1 << (room.bit_length() - 1)
    return ScaledLambda(scale, float(lambda_ * scale), total_gain * scale + 1)


def simple_fraction(number: Fraction) -> Fraction:
    """Return the simplest fraction that agrees with a number as doubles do: 0.1 is one tenth."""
    near, largest = Fraction(0), 1
    while abs(near - number) > SAME_LAMBDA * number:
        near, largest = number.limit_denominator(largest), 8 * largest
    return near
