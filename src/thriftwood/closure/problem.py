"""The maximum-weight closure problem, frozen: gains, needs and costs in whole numbers."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from thriftwood.closure.integers import LARGEST_TOTAL, exact_sum, scale_lambda
from thriftwood.closure.kernels import NOTHING, ClosureArrays
from thriftwood.errors import ClosureError, RangeError
from thriftwood.support.arrays import (
    BoolArray,
    IndexArray,
    IntArray,
    read_only_copy,
)


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
    n_projects: int = field(init=False)
    n_items: int = field(init=False)
    n_arcs: int = field(init=False)

    def __post_init__(self) -> None:
        own = {name: read_only_copy(getattr(self, name), _DTYPES[name]) for name in _DTYPES}
        sizes = map(len, (own["gains"], own["costs"], own["arc_item"]))
        counts = zip(("n_projects", "n_items", "n_arcs"), sizes, strict=True)
        for name, value in (*own.items(), *counts):
            object.__setattr__(self, name, value)

    @property
    def arrays(self) -> ClosureArrays:
        """The bundle that kernels take."""
        return ClosureArrays(self.gains, self.requires, self.arc_start, self.arc_item, self.costs)

    def __repr__(self) -> str:
        return (
            f"ClosureProblem({self.n_projects} projects, {self.n_items} items, {self.n_arcs} arcs)"
        )

    @property
    def never(self) -> int:
        """More than all gains together: what costs more is never bought."""
        return exact_sum(np.maximum(self.gains, 0)) + 1

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

    def at(self, lambda_: Fraction) -> tuple["ClosureProblem", int]:
        """Return the problem whose profit is gains minus lambda times costs, in whole numbers.

        Returns
        -------
        problem : ClosureProblem
        scale : int
            What gains were multiplied by.
        """
        scaled = scale_lambda(lambda_, exact_sum(np.abs(self.gains)))
        gains, costs = self.gains * scaled.gain_scale, scaled.scale_costs(self.costs)
        return replace(self, gains=gains, costs=costs), scaled.gain_scale

    def profit_at(self, lambda_: Fraction, kept: BoolArray) -> int:
        """Return the profit of the kept projects in the problem that `at` returns.

        There, what is too dear to be ever bought costs no more than that takes; here it costs what
        it does, so that a bad choice looks as bad as it is.
        """
        scaled = scale_lambda(lambda_, exact_sum(np.abs(self.gains)))
        gain = exact_sum(self.gains[kept]) * scaled.gain_scale
        return gain - scaled.total_cost(self.costs[self.needed_items(kept)])

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
        # Doubles are too coarse for the sums themselves, but tell whether they fit into 64 bits.
        total = float(np.abs(self.gains, dtype=np.float64).sum())
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
