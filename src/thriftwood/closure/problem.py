"""The frozen problem: gains, needs and costs in whole numbers."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from thriftwood.arrays import BoolArray, IndexArray, IntArray, frozen
from thriftwood.errors import ClosureError, RangeError

NOTHING = -1

# All gains together, and each cost, stay below this. What passes through one vertex is then at most
# three times as much, so no sum that a solver or the certificate forms leaves 64 bits.
LARGEST_TOTAL = 2**60
# A tradeoff is taken as a simple fraction if that agrees with it to one part in this many.
TRADEOFF_PRECISION = 2**32


@dataclass(frozen=True, eq=False)
class ClosureProblem:
    """Projects that need projects and items; all numbers are integers, so that answers are exact.

    The items that project `h` needs are `arc_item[arc_start[h]:arc_start[h + 1]]`.

    Parameters
    ----------
    gains : shape (n_projects,)
        What keeping a project is worth; may be negative.
    requires : shape (n_projects,)
        The project that must be kept too, -1 for none; it comes before the one that needs it.
    arc_start : shape (n_projects + 1,)
    arc_item : shape (n_arcs,)
        Items, each at most once per project.
    costs : shape (n_items,)
        What an item costs, at least 0, however many projects need it.
    """

    gains: IntArray
    requires: IndexArray
    arc_start: IntArray
    arc_item: IndexArray
    costs: IntArray

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def n_projects(self) -> int:
        return len(self.gains)

    @property
    def n_items(self) -> int:
        return len(self.costs)

    @property
    def n_arcs(self) -> int:
        return len(self.arc_item)

    def __repr__(self) -> str:
        return (
            f"ClosureProblem({self.n_projects} projects, {self.n_items} items, {self.n_arcs} arcs)"
        )

    def arc_project(self) -> IndexArray:
        """Return the project at the tail of every arc."""
        projects = np.arange(self.n_projects, dtype=np.int32)
        return np.repeat(projects, np.diff(self.arc_start))

    def needed_items(self, kept: BoolArray) -> BoolArray:
        """Return the items that the kept projects need."""
        needed = np.zeros(self.n_items, dtype=np.bool_)
        needed[self.arc_item[np.repeat(kept, np.diff(self.arc_start))]] = True
        return needed

    def profit(self, kept: BoolArray) -> int:
        """Return the gains of the kept projects minus the costs of the items they need."""
        return exact_sum(self.gains[kept]) - exact_sum(self.costs[self.needed_items(kept)])

    def at(self, tradeoff: Fraction) -> tuple["ClosureProblem", int]:
        """Return the problem whose profit is gains minus `tradeoff` times costs, in whole numbers.

        With the tradeoff as a simple fraction b / a, gains are multiplied by a and costs by b, and
        nothing is rounded but the tradeoff, in its tenth digit. Where no simple fraction is near,
        gains are multiplied by a large power of two, and each cost is rounded to one part in that
        of the smallest gain.

        Returns
        -------
        problem : ClosureProblem
        scale : int
            What gains were multiplied by.
        """
        total = exact_sum(np.abs(self.gains))
        room = LARGEST_TOTAL // max(total, 1)
        near = _simple_fraction(tradeoff, room)
        scale = near.denominator if near is not None else 1 << (room.bit_length() - 1)
        # What costs more than all gains together is never bought; how much more does not matter.
        never = total * scale + 1
        if near is not None:
            affordable = never // max(near.numerator, 1)
            exact = self.costs * min(near.numerator, never)
            costs = np.where(self.costs <= affordable, exact, never if near.numerator else 0)
        else:
            rounded = np.rint(self.costs * float(tradeoff * scale))
            costs = np.where(rounded < never, rounded, never).astype(np.int64)
        return replace(self, gains=self.gains * scale, costs=costs), scale

    def check(self) -> "ClosureProblem":
        """Return the problem, or raise where its arrays contradict each other or do not fit."""
        n_projects = self.n_projects
        if self.requires.shape != (n_projects,) or self.arc_start.shape != (n_projects + 1,):
            raise ClosureError("`requires` and `arc_start` must match the number of gains.")
        if ((self.requires < NOTHING) | (self.requires >= np.arange(n_projects))).any():
            raise ClosureError("A project may only require one that comes before it, or -1.")
        if self.arc_start[0] != 0 or self.arc_start[-1] != self.n_arcs:
            raise ClosureError("`arc_start` must begin with 0 and end with the number of arcs.")
        if (np.diff(self.arc_start) < 0).any():
            raise ClosureError("`arc_start` must not fall.")
        if ((self.arc_item < 0) | (self.arc_item >= self.n_items)).any():
            raise ClosureError("An arc leads to an item that does not exist.")
        if (self.costs < 0).any():
            raise ClosureError("An item costs less than 0.")
        total = exact_sum(self.gains[self.gains > 0]) - exact_sum(self.gains[self.gains < 0])
        for name, size in (("gains add", total), ("costs go", int(self.costs.max(initial=0)))):
            if size > LARGEST_TOTAL + 1:
                raise RangeError(
                    f"The {name} up to {size:.3g}; up to {LARGEST_TOTAL:.3g} is exact. Use a "
                    "coarser unit."
                )
        if max(self.n_arcs, n_projects + 2 * self.n_items + 2) >= 2**31:
            raise RangeError(f"{self} is too large: arcs and vertices are numbered with 32 bits.")
        return self


_DTYPES = {
    "gains": np.int64,
    "requires": np.int32,
    "arc_start": np.int64,
    "arc_item": np.int32,
    "costs": np.int64,
}


def _simple_fraction(number: Fraction, largest_denominator: int) -> Fraction | None:
    """Return a simple fraction that is near the number, if there is one."""
    denominator = 1
    while denominator <= largest_denominator:
        near = number.limit_denominator(denominator)
        if abs(near - number) * TRADEOFF_PRECISION <= number:
            return near
        denominator *= 8
    return None


def exact_sum(values: IntArray) -> int:
    """Add without wrapping: the two halves of the bits separately."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
