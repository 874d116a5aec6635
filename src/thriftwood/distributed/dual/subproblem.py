"""The subproblem of a partition: its items, all projects, and what it is asked to solve."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.closure import (
    LARGEST_TOTAL,
    NOTHING,
    ClosureProblem,
    ScaledLambda,
    check_certificate,
    exact_sum,
    kernels,
    last_needed,
)
from thriftwood.solvers.min_cut import min_cut
from thriftwood.solvers.parametric_cut import parametric_cut
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
    read_only_copy,
)

# For each project whether all partitions keep or drop it, or it is still open.
Status = NDArray[np.int8]
OPEN, KEPT, DROPPED = 0, 1, -1


@dataclass(frozen=True, eq=False)
class Subproblem:
    """Needs of all projects among one part of the items; gains belong to all parts together.

    Arrays are those of a `ClosureProblem`. Items that exactly the same projects need are bought
    together, so that a subproblem grows much more slowly than what it was made of. Costs are real
    numbers while subproblems are made, and whole ones, by `in_units`, once it is known what all of
    them cost together: only these make a problem. Weight says how much of each project lies in
    this partition; where there is none, the partition has nothing to say about the project.
    """

    requires: IndexArray
    arc_start: IntArray
    arc_item: IndexArray
    costs: NDArray[Any]
    weight: FloatArray

    def __post_init__(self) -> None:
        dtypes = (np.int32, np.int64, np.int32, None, np.float64)
        for name, dtype in zip(self.__dataclass_fields__, dtypes, strict=True):
            object.__setattr__(self, name, read_only_copy(getattr(self, name), dtype))

    @property
    def n_projects(self) -> int:
        return len(self.requires)

    @property
    def n_items(self) -> int:
        return len(self.costs)

    @property
    def n_arcs(self) -> int:
        return len(self.arc_item)

    def with_gains(self, gains: IntArray) -> ClosureProblem:
        """Return the closure problem of this partition at its multipliers."""
        needs = (self.requires, self.arc_start, self.arc_item, self.costs)
        return ClosureProblem(gains, *needs).check()

    def in_units(self, per_unit: float) -> "Subproblem":
        """Return the same subproblem with costs as whole numbers of units, 1 at least."""
        whole = np.rint(self.costs * per_unit).astype(np.int64)
        return replace(self, costs=read_only(np.maximum(whole, self.costs > 0)))

    def with_arcs(self, stays: BoolArray) -> "Subproblem":
        """Return the same subproblem with some of its arcs, and the items that these lead to."""
        needs = kernels.leave_out(self.arc_start, self.arc_item, self.costs, stays)
        arc_start, arc_item, costs = map(read_only, needs)
        return replace(self, arc_start=arc_start, arc_item=arc_item, costs=costs)

    def at(self, scaled: ScaledLambda) -> "Subproblem":
        """Return the same subproblem with costs in the unit of gains."""
        return replace(self, costs=read_only(scaled.scale_costs(self.costs)))

    def needed_items(self, kept: BoolArray) -> BoolArray:
        """Return the items that the kept projects need."""
        return self.last_needed(np.where(kept, 0, -1).astype(np.int32)) == 0

    def last_needed(self, breakpoint_of: IndexArray) -> IndexArray:
        """Return the last breakpoint at which each item is needed."""
        return last_needed(breakpoint_of, self.arc_start, self.arc_item, self.n_items)

    def cost_of(self, kept: BoolArray) -> int:
        """Return the costs of the items that the kept projects need."""
        return exact_sum(self.costs[self.needed_items(kept)])

    def disagreement(self, status: Status) -> "Subproblem":
        """Return the subproblem of open projects, beyond what kept ones have bought."""
        is_open = status == OPEN
        bought = self.needed_items(status == KEPT)
        stays = np.repeat(is_open, np.diff(self.arc_start)) & ~bought[self.arc_item]
        sparse = self.with_arcs(stays)
        number = np.cumsum(is_open, dtype=np.int32) - 1
        required = self.requires[is_open]
        rest = Subproblem(
            np.where((required == NOTHING) | ~is_open[required], NOTHING, number[required]),
            sparse.arc_start[np.append(np.flatnonzero(is_open), self.n_projects)],
            sparse.arc_item,
            sparse.costs,
            self.weight[is_open],
        )
        return join_subproblems([rest])


def join_subproblems(subproblems: Sequence[Subproblem]) -> Subproblem:
    """Return the items of several subproblems as one; twins are bought together."""
    arc_start, arc_item = side_by_side(subproblems)
    costs = np.concatenate([one.costs for one in subproblems])
    arc_start, arc_item, group, n_groups = kernels.merge_all_twins(arc_start, arc_item, len(costs))
    most = LARGEST_TOTAL if costs.dtype.kind == "i" else np.inf
    costs = kernels.merge_costs(costs, group, n_groups, most)
    return Subproblem(
        subproblems[0].requires,
        read_only(arc_start),
        read_only(arc_item),
        read_only(costs),
        read_only(np.sum([one.weight for one in subproblems], axis=0)),
    )


def side_by_side(subproblems: Sequence[Subproblem]) -> tuple[IntArray, IndexArray]:
    """Return all arcs, project by project; items are numbered one partition after the other."""
    arc_start = np.sum([one.arc_start for one in subproblems], axis=0)
    arc_item = np.empty(arc_start[-1], dtype=np.int32)
    next_place = arc_start[:-1].copy()
    n_items = 0
    for one in subproblems:
        n_arcs = np.diff(one.arc_start)
        place = np.repeat(next_place - one.arc_start[:-1], n_arcs) + np.arange(one.n_arcs)
        arc_item[place] = one.arc_item + n_items
        next_place += n_arcs
        n_items += one.n_items
    return arc_start, arc_item


# --- work on a partition: runs where the subproblem lies; only messages and answers travel


class ParametricSolution(NamedTuple):
    """The best sets of a subproblem at its multipliers, for all tradeoffs."""

    drops_at: FloatArray  # at which tradeoff projects drop: 0 if never kept, infinity if always
    gain: IntArray  # what each breakpoint gives up
    cost: IntArray  # and what it saves
    sure_gain: int  # at any tradeoff
    slack: float  # gains that may be missed because prices had to be rounded


def solve_all(subproblem: Subproblem, multipliers: IntArray) -> ParametricSolution:
    """Solve a subproblem for all tradeoffs by a parametric cut."""
    path = parametric_cut(subproblem.with_gains(multipliers), n_jobs=1)
    drops_at = np.concatenate([path.gain / path.cost, [np.inf, 0.0]])  # the last for index -1
    sure = int(multipliers[path.breakpoint_of == path.n_breakpoints].sum())
    return ParametricSolution(drops_at[path.breakpoint_of], path.gain, path.cost, sure, path.slack)


def certify(
    subproblem: Subproblem, message: tuple[BoolArray, IntArray, ScaledLambda]
) -> tuple[BoolArray, int, int]:
    """Solve a subproblem at one tradeoff: its best set, its proven bound, what `kept` costs here.

    The message has the projects that are kept, the multipliers and the tradeoff.
    """
    kept, multipliers, scaled = message
    priced = subproblem.at(scaled)
    problem = priced.with_gains(multipliers)
    solution = min_cut(problem)
    return solution.kept, check_certificate(problem, solution).bound, priced.cost_of(kept)


def cost_by_breakpoint(subproblem: Subproblem, message: tuple[IndexArray, int]) -> IntArray:
    """Return what the items cost that are needed up to each breakpoint and no longer.

    The message has the breakpoint with which each project drops, -1 if it is never kept, and how
    many breakpoints there are.
    """
    breakpoint_of, n_breakpoints = message
    last = subproblem.last_needed(breakpoint_of)
    cost = np.zeros(n_breakpoints, dtype=np.int64)
    ever = last >= 0
    np.add.at(cost, last[ever], subproblem.costs[ever])
    return cost


def capacity(subproblem: Subproblem, _: None) -> FloatArray:
    """Return the capacity of each project: costs of its items, shared by all who need them."""
    n_needers = np.bincount(subproblem.arc_item, minlength=subproblem.n_items)
    share = subproblem.costs / np.maximum(n_needers, 1)
    paid = np.zeros(subproblem.n_projects)
    project = np.repeat(np.arange(subproblem.n_projects), np.diff(subproblem.arc_start))
    np.add.at(paid, project, share[subproblem.arc_item])
    return paid


def size_of_disagreement(subproblem: Subproblem, status: Status) -> int:
    """Return the number of arcs from open projects to items that are not bought anyway."""
    return subproblem.disagreement(status).n_arcs


def send_disagreement(subproblem: Subproblem, message: tuple[Status, ScaledLambda]) -> Subproblem:
    """Return the subproblem of open projects here, at one tradeoff."""
    status, scaled = message
    return subproblem.at(scaled).disagreement(status)


def send_all(state: Any, _: None) -> Any:
    """Return all that lies in a partition."""
    return state
