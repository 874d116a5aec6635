"""Dual ascent: gains move, round by round, to the partitions where projects drop too early."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thriftwood.closure import from_the_end
from thriftwood.distributed.dual import kernels
from thriftwood.distributed.dual.subproblem import (
    ParametricSolution,
    capacity,
    cost_by_breakpoint,
    solve_all,
)
from thriftwood.distributed.partitions import Partitions
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
)

# Moving all the way at once overshoots, since many projects move; less where rounds still do.
FIRST_PART = 0.7
SMALLEST_PART = 0.05
# What the multipliers of a partition may add up to, signs aside, in the whole numbers of its
# problem.
MOST_GAIN = 2**58
# By which part sums of doubles may be off: a bound is raised by it.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class DecomposedClosure:
    """A closure problem whose items lie in partitions, the states of which are `Subproblem`s.

    Weight, shape (n_partitions, n_projects), says how much of each project lies in every
    partition. A project that lies nowhere is taken to be where the one that it requires is: who
    decides on a project decides on all it needs.
    """

    partitions: Partitions
    gains: IntArray
    requires: IndexArray
    weight: FloatArray
    n_arcs: int

    def __post_init__(self) -> None:
        somewhere = kernels.somewhere(self.weight, self.requires)
        object.__setattr__(self, "weight", read_only(somewhere))

    @cached_property
    def decides(self) -> BoolArray:
        """Mask of the partitions that have something to say on each project."""
        return self.weight > 0

    def map(self, work: Callable[[Any, Any], Any], message: Any = None) -> list[Any]:
        """Return `work(subproblem, message)` of every partition, the same message for all."""
        return self.partitions.map(work, [message] * self.partitions.n_partitions)


@dataclass(frozen=True, eq=False)
class DualPoint:
    """The dual function at some multipliers, and nested closed sets from all its solutions.

    Multipliers and `drops_at` have the shape (n_partitions, n_projects); multipliers were times
    `scale` when the subproblems were solved. `breakpoint_of` says with which breakpoint each
    project drops from the nested sets, -1 if it is never kept, the last one if it never drops.
    What is gained and what it costs to keep all from each breakpoint on is that of all partitions.
    """

    multipliers: FloatArray
    drops_at: FloatArray
    solutions: list[ParametricSolution]
    scale: int
    breakpoint_of: IndexArray
    gain_from: IntArray
    cost_from: IntArray

    def bounds(self, tradeoffs: FloatArray) -> FloatArray:
        """Return the dual bound at each tradeoff."""
        gain = np.concatenate([one.gain for one in self.solutions]) / self.scale
        cost = np.concatenate([one.cost for one in self.solutions]).astype(np.float64)
        sure = sum(one.sure_gain + one.slack for one in self.solutions) / self.scale
        dear_first = np.argsort(-gain / cost, kind="stable")
        up_to = np.searchsorted(-(gain / cost)[dear_first], -tradeoffs, side="left")
        gain_to = np.concatenate([[0.0], np.cumsum(gain[dear_first])])
        cost_to = np.concatenate([[0.0], np.cumsum(cost[dear_first])])
        total: FloatArray = sure + gain_to[up_to] - tradeoffs * cost_to[up_to]
        return total + ROUNDING * (abs(sure) + gain_to[up_to])

    @property
    def disagreement(self) -> float:
        """A convex function of the multipliers, least where all agree at all tradeoffs."""
        squares = [(one.gain.astype(np.float64) ** 2 / one.cost).sum() for one in self.solutions]
        return float(sum(map(float, squares))) / float(self.scale) ** 2


def dual_ascent(problem: DecomposedClosure) -> Iterator[DualPoint]:
    """Yield better and better points of the dual function, without end."""
    # By how much each multiplier moves per unit of tradeoff that partitions differ by. What a
    # project can pay for is its capacity, the costs of its items. A gain may also be handed on to
    # the items of required projects, so these lend half of theirs, by weight.
    pairs = zip(problem.map(capacity), problem.weight, strict=True)
    sizes = np.array([kernels.lend_capacity(own, there, problem.requires) for own, there in pairs])
    multipliers = first_multipliers(problem.gains, problem.weight)
    part, last = FIRST_PART, np.inf
    while True:
        point = _dual_point(problem, multipliers)
        yield point
        if point.disagreement > last:
            part = max(part / 2, SMALLEST_PART)
        last = point.disagreement
        multipliers = moved(multipliers, point.drops_at, sizes, part)


def _dual_point(problem: DecomposedClosure, multipliers: FloatArray) -> DualPoint:
    """Solve all subproblems, and put nested sets together from what they want on average."""
    scale = largest_scale(multipliers)
    whole = whole_multipliers(multipliers, problem.gains, scale)
    solutions = problem.partitions.map(solve_all, list(whole))
    drops_at = np.array([one.drops_at for one in solutions]) / scale
    # The mean tradeoff at which partitions drop a project; infinity if none ever does.
    weight = np.where(np.isfinite(drops_at) & problem.decides, problem.weight, 0.0)
    mean_drop = _weighted_mean(drops_at, weight, np.inf)
    breakpoint_of, n_breakpoints = _breakpoints(mean_drop, problem.requires)
    cost = np.sum(problem.map(cost_by_breakpoint, (breakpoint_of, n_breakpoints)), axis=0)
    gain = np.zeros(n_breakpoints, dtype=np.int64)
    ever = breakpoint_of >= 0
    np.add.at(gain, breakpoint_of[ever], problem.gains[ever])
    kept = (breakpoint_of, from_the_end(gain), from_the_end(cost))
    return DualPoint(multipliers, drops_at, solutions, scale, *kept)


def _weighted_mean(values: FloatArray, weight: FloatArray, nowhere: float) -> FloatArray:
    """Return the mean over partitions, where there is any weight."""
    total = weight.sum(axis=0)
    summed = (weight * np.where(weight > 0, values, 0.0)).sum(axis=0)
    return np.divide(summed, total, out=np.full_like(total, nowhere), where=total > 0)


def _breakpoints(drops_at: FloatArray, requires: IndexArray) -> tuple[IndexArray, int]:
    """Number the tradeoffs at which projects drop; those that never drop come last."""
    at = kernels.not_above_required(drops_at, requires)
    tradeoffs = np.unique(at[(at > 0) & np.isfinite(at)])
    breakpoint_of = np.searchsorted(tradeoffs, at).astype(np.int32)
    breakpoint_of[at <= 0] = -1
    return breakpoint_of, len(tradeoffs) + 1


# --- multipliers: which part of every gain each partition gets; they add up to it, exactly


def first_multipliers(gains: IntArray, weight: FloatArray) -> FloatArray:
    """Divide gains, shape (n_projects,), by weight, shape (n_partitions, n_projects)."""
    return gains * _parts(weight)


def whole_multipliers(multipliers: FloatArray, gains: IntArray, scale: int) -> IntArray:
    """Return multipliers times a scale in whole numbers that add up to the gains times it."""
    whole = np.rint(multipliers * scale).astype(np.int64)
    largest = np.abs(multipliers).argmax(axis=0)
    whole[largest, np.arange(len(gains))] += gains * scale - whole.sum(axis=0)
    return whole


def largest_scale(multipliers: FloatArray) -> int:
    """Return the largest power of two that multipliers may be scaled by."""
    total = max(float(np.abs(multipliers).sum(axis=1).max(initial=0.0)), 1.0)
    return 1 << max(int(np.log2(MOST_GAIN / total)), 0)


def moved(
    multipliers: FloatArray, drops_at: FloatArray, sizes: FloatArray, part: float
) -> FloatArray:
    """Move gains from partitions that would keep a project long to those that drop it early.

    Each multiplier goes a part of the way that would bring its partition to the mean tradeoff,
    were it alone in moving. All arrays have the shape (n_partitions, n_projects).
    """
    weight = np.where(np.isfinite(drops_at), sizes, 0.0)
    off = _weighted_mean(drops_at, weight, 0.0) - np.where(weight > 0, drops_at, 0.0)
    return multipliers + part * weight * off


def split_by(weight: FloatArray, amounts: IntArray) -> IntArray:
    """Split whole numbers among partitions by weight, into whole numbers of the same sign."""
    size = np.abs(amounts)
    up_to = np.minimum(np.rint(np.cumsum(_parts(weight), axis=0) * size).astype(np.int64), size)
    up_to[-1] = size
    return np.sign(amounts) * np.diff(up_to, axis=0, prepend=0)


def _parts(weight: FloatArray) -> FloatArray:
    """Return weight as parts of 1; every project has some somewhere."""
    return weight / weight.sum(axis=0)
