"""Make a closure problem smaller without changing its smallest optimum.

Each reduction returns the smaller problem and an `undo` that carries a solution, flow included,
back to the larger one: the certificate is always checked on the problem the user asked about.
"""

from collections.abc import Callable

import numpy as np

from thriftwood.closure import kernels
from thriftwood.closure.integers import exact_sum
from thriftwood.closure.problem import NOTHING, ClosureProblem
from thriftwood.closure.solution import ClosureSolution, Flow
from thriftwood.support.arrays import (
    BoolArray,
    IndexArray,
    IntArray,
    read_only,
)

Undo = Callable[[ClosureSolution], ClosureSolution]
Reduction = Callable[[ClosureProblem], tuple[ClosureProblem, Undo]]


def reduce_closure(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Apply all reductions, in an order in which each one makes room for the next."""
    undos: list[Undo] = []
    steps: tuple[Reduction, ...] = (
        drop_free_items,
        merge_twin_items,
        fold_private_items,
        drop_hopeless_projects,
        join_projects_without_items,
    )
    for step in steps:
        problem, undo = step(problem)
        undos.append(undo)
    return problem, _undo_all(undos)


def reduce_until_stable(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Apply all reductions and keep what is sure, again and again, until nothing changes.

    What is kept makes its items free for the others, and what is dropped leaves items to fewer of
    them: each makes room for the other. Little is left at light and at heavy tradeoffs.
    """
    undos: list[Undo] = []
    size = None
    while size != (size := (problem.n_projects, problem.n_items, problem.n_arcs)):
        for step in (reduce_closure, keep_sure_projects):
            problem, undo = step(problem)
            undos.append(undo)
    return problem, _undo_all(undos)


def _undo_all(undos: list[Undo]) -> Undo:
    """Return what undoes all steps, the last one first."""

    def undo_all(solution: ClosureSolution) -> ClosureSolution:
        for undo in reversed(undos):
            solution = undo(solution)
        return solution

    return undo_all


def drop_free_items(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Forget items that cost nothing: needing them is no reason against a project."""
    if (problem.costs > 0).all():
        return problem, _unchanged
    return _without_arcs(problem, problem.costs[problem.arc_item] > 0)


def drop_hopeless_projects(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Forget projects that cannot gain even if all items were free: zero-gain subtrees.

    Where losses come first and gains later, the later gains must make up for the losses: a project
    is worth its own gain and the worth, if positive, of those that require it.
    """
    worth = kernels.best_alone(problem.gains, problem.requires)
    hopeful = kernels.without_hopeless(worth, problem.requires)
    if hopeful.all():
        return problem, _unchanged
    origin = np.flatnonzero(hopeful)
    stays = np.repeat(hopeful, np.diff(problem.arc_start))
    number = np.cumsum(hopeful, dtype=np.int32) - 1
    arc_start, arc_item, costs = _compact(problem, stays)
    smaller = ClosureProblem(
        gains=problem.gains[origin],
        requires=_renumbered(problem.requires[origin], number),
        arc_start=arc_start[np.append(origin, problem.n_projects)],
        arc_item=arc_item,
        costs=costs,
    )

    def undo(solution: ClosureSolution) -> ClosureSolution:
        kept = np.zeros(problem.n_projects, dtype=np.bool_)
        kept[origin] = solution.kept
        if solution.flow is None:
            return ClosureSolution(kept, None)
        to_required = np.where(hopeful, 0, np.maximum(worth, 0))
        to_required[origin] = solution.flow.to_required
        to_item = np.zeros(problem.n_arcs, dtype=np.int64)
        to_item[stays] = solution.flow.to_item
        return ClosureSolution(kept, Flow(to_required, to_item))

    return smaller, undo


def merge_twin_items(
    problem: ClosureProblem, most: int | None = None
) -> tuple[ClosureProblem, Undo]:
    """Buy items together that exactly the same projects need, at the sum of their costs.

    Parameters
    ----------
    problem : ClosureProblem
    most : int, optional
        What that sum is at the most. None is more than all gains: nothing that costs more is ever
        bought. That is so only once the costs are multiplied by the tradeoff.
    """
    group, n_groups = kernels.twin_groups(problem.arc_start, problem.arc_item, problem.n_items)
    never = exact_sum(np.maximum(problem.gains, 0)) + 1 if most is None else most
    arc_start, arc_item = kernels.merge_arcs(problem.arc_start, problem.arc_item, group, n_groups)
    costs = kernels.merge_costs(problem.costs, group, n_groups, never)
    merged = ClosureProblem(
        problem.gains, problem.requires, arc_start, read_only(arc_item), read_only(costs)
    )

    def undo(solution: ClosureSolution) -> ClosureSolution:
        if solution.flow is None:
            return solution
        to_item = kernels.share_out(
            problem.arc_start,
            problem.arc_item,
            problem.costs,
            group,
            merged.arc_start,
            merged.arc_item,
            solution.flow.to_item,
        )
        return ClosureSolution(solution.kept, Flow(solution.flow.to_required, to_item))

    return merged, undo


def fold_private_items(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Charge an item that only one project needs to the gain of that project.

    Where twins are merged first a project has one such item at most, so its gain cannot wrap.
    """
    n_needers = np.bincount(problem.arc_item, minlength=problem.n_items)
    private = n_needers[problem.arc_item] == 1
    paid = problem.costs[problem.arc_item[private]]
    gains = problem.gains.copy()
    np.subtract.at(gains, problem.arc_project()[private], paid)
    smaller, put_back = _without_arcs(problem, ~private, gains)

    def undo(solution: ClosureSolution) -> ClosureSolution:
        solution = put_back(solution)
        if solution.flow is None:
            return solution
        solution.flow.to_item[private] = paid
        return solution

    return smaller, undo


def join_projects_without_items(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Join a project that gains and needs nothing new to the project that it requires."""
    stands_for = kernels.absorb_into_required(problem.gains, problem.requires, problem.arc_start)
    itself = stands_for == np.arange(problem.n_projects)
    origin = np.flatnonzero(itself)
    number = np.cumsum(itself, dtype=np.int32) - 1
    gains = np.zeros(problem.n_projects, dtype=np.int64)
    unsure = stands_for != NOTHING
    np.add.at(gains, stands_for[unsure], problem.gains[unsure])
    required = problem.requires[origin]
    required = np.where(required == NOTHING, NOTHING, stands_for[required])
    smaller = ClosureProblem(
        gains=gains[origin],
        requires=_renumbered(required, number),
        arc_start=problem.arc_start[np.append(origin, problem.n_projects)],
        arc_item=problem.arc_item,
        costs=problem.costs,
    )

    def undo(solution: ClosureSolution) -> ClosureSolution:
        kept = np.ones(problem.n_projects, dtype=np.bool_)
        kept[unsure] = solution.kept[number[stands_for[unsure]]]
        if solution.flow is None:
            return ClosureSolution(kept, None)
        to_required = np.zeros(problem.n_projects, dtype=np.int64)
        to_required[origin] = solution.flow.to_required
        kernels.hand_on_all(problem.gains, problem.requires, stands_for, to_required)
        return ClosureSolution(kept, Flow(to_required, solution.flow.to_item))

    return smaller, undo


def keep_sure_projects(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Keep projects that gain even if they pay all their items alone; the items become free.

    More company never makes a project cost more, so every best closed set contains these.
    """
    needs = (problem.gains, problem.requires, problem.arc_start, problem.arc_item, problem.costs)
    sure = kernels.sure_to_be_kept(*needs, exact_sum(np.maximum(problem.gains, 0)) + 1)
    if not sure.any():
        return problem, _unchanged
    unsure = ~sure
    origin = np.flatnonzero(unsure)
    number = np.cumsum(unsure, dtype=np.int32) - 1
    stays = (
        np.repeat(unsure, np.diff(problem.arc_start))
        & ~problem.needed_items(sure)[problem.arc_item]
    )
    arc_start, arc_item, costs = _compact(problem, stays)
    required = problem.requires[origin]
    smaller = ClosureProblem(
        gains=problem.gains[origin],
        requires=np.where((required == NOTHING) | sure[required], NOTHING, number[required]),
        arc_start=arc_start[np.append(origin, problem.n_projects)],
        arc_item=arc_item,
        costs=costs,
    )

    def undo(solution: ClosureSolution) -> ClosureSolution:
        kept = sure.copy()
        kept[origin] = solution.kept
        if solution.flow is None:
            return ClosureSolution(kept, None)
        to_required = np.zeros(problem.n_projects, dtype=np.int64)
        to_required[origin] = solution.flow.to_required
        to_item = np.zeros(problem.n_arcs, dtype=np.int64)
        to_item[stays] = solution.flow.to_item
        kernels.pay_for_sure(*needs, sure, to_required, to_item)
        return ClosureSolution(kept, Flow(to_required, to_item))

    return smaller, undo


def _unchanged(solution: ClosureSolution) -> ClosureSolution:
    return solution


def _without_arcs(
    problem: ClosureProblem, stays: BoolArray, gains: IntArray | None = None
) -> tuple[ClosureProblem, Undo]:
    """Leave out arcs, and the items that are then needed by nobody."""
    arc_start, arc_item, costs = _compact(problem, stays)
    smaller = ClosureProblem(
        problem.gains if gains is None else gains, problem.requires, arc_start, arc_item, costs
    )

    def undo(solution: ClosureSolution) -> ClosureSolution:
        if solution.flow is None:
            return solution
        to_item = np.zeros(problem.n_arcs, dtype=np.int64)
        to_item[stays] = solution.flow.to_item
        return ClosureSolution(solution.kept, Flow(solution.flow.to_required, to_item))

    return smaller, undo


def _compact(problem: ClosureProblem, stays: BoolArray) -> tuple[IntArray, IndexArray, IntArray]:
    """Return `arc_start`, `arc_item` and `costs` of the arcs that stay, items numbered anew."""
    arc_start, arc_item, costs = kernels.leave_out(
        problem.arc_start, problem.arc_item, problem.costs, stays
    )
    return read_only(arc_start), read_only(arc_item), read_only(costs)


def _renumbered(requires: IndexArray, number: IndexArray) -> IndexArray:
    return np.where(requires == NOTHING, NOTHING, number[requires])
