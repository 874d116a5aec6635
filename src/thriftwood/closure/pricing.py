"""A tradeoff in whole numbers: what to multiply gains and costs by."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from thriftwood.closure.sums import LARGEST_TOTAL, exact_sum
from thriftwood.errors import RangeError
from thriftwood.support.arrays import IntArray

# A tradeoff is taken as a simple fraction if that agrees with it to one part in this many.
TRADEOFF_PRECISION = 2**32


@dataclass(frozen=True)
class Pricing:
    """What gains and costs are multiplied by, so that their difference is the profit.

    With the tradeoff as a simple fraction b / a, gains are multiplied by a and costs by b, and
    nothing is rounded but the tradeoff, in its tenth digit. Where no simple fraction is near, gains
    are multiplied by a large power of two, and each cost is rounded to one part in that of the
    smallest gain.

    Attributes
    ----------
    scale : int
        What gains are multiplied by.
    factor : int or float
        What costs are multiplied by; a float is rounded afterwards.
    never : int
        More than all gains: what costs more is never bought, and how much more does not matter.
    """

    scale: int
    factor: int | float
    never: int

    def as_fine_as_possible(self) -> "Pricing":
        """Return the same prices in the smallest unit that has room for all gains."""
        room = LARGEST_TOTAL // max(self.never, self.scale)
        times = 1 << max(room.bit_length() - 1, 0)
        return Pricing(self.scale * times, self.factor * times, self.never * times)

    def priced(self, costs: IntArray) -> IntArray:
        """Return what items cost, in the unit of the gains."""
        if isinstance(self.factor, float):
            rounded = np.rint(costs * self.factor)
            return np.where(rounded < self.never, rounded, self.never).astype(np.int64)
        affordable = self.never // max(self.factor, 1)
        exact = costs * min(self.factor, self.never)
        return np.where(costs <= affordable, exact, self.never if self.factor else 0)

    def total(self, costs: IntArray) -> int:
        """Return what items cost together, however dear."""
        if isinstance(self.factor, float):
            return sum(int(cost) for cost in np.rint(costs * self.factor))
        return exact_sum(costs) * self.factor


def pricing_at(tradeoff: Fraction, total_gain: int) -> Pricing:
    """Return the pricing at a tradeoff, for gains that add up to a total, signs aside."""
    room = LARGEST_TOTAL // max(total_gain, 1)
    if room == 0:
        raise RangeError(
            f"The gains add up to {total_gain:.3g}; up to {LARGEST_TOTAL:.3g} is exact. Use a "
            "coarser unit."
        )
    near = _simple_fraction(tradeoff, room)
    if near is not None:
        return Pricing(near.denominator, near.numerator, total_gain * near.denominator + 1)
    scale = 1 << (room.bit_length() - 1)
    return Pricing(scale, float(tradeoff * scale), total_gain * scale + 1)


def _simple_fraction(number: Fraction, largest_denominator: int) -> Fraction | None:
    """Return a simple fraction that is near the number, if there is one."""
    denominator = 1
    while denominator <= largest_denominator:
        near = number.limit_denominator(denominator)
        if abs(near - number) * TRADEOFF_PRECISION <= number:
            return near
        denominator *= 8
    return None
