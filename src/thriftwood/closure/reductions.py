"""Make a closure problem smaller without changing its smallest optimum.

Each reduction returns the smaller problem and an `undo` that carries a solution, flow included,
back to the larger one: the certificate is always checked on the problem the user asked about.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.closure import kernels
from thriftwood.closure.kernels import NOTHING
from thriftwood.closure.problem import ClosureProblem
from thriftwood.closure.solution import ClosureSolution, Flow
from thriftwood.support.arrays import BoolArray, IntArray, read_only

Undo = Callable[[ClosureSolution], ClosureSolution]
Reduction = Callable[[ClosureProblem], tuple[ClosureProblem, Undo]]


def reduce_closure(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Apply all reductions, in an order in which each one makes room for the next."""
    return _in_turn(
        problem,
        drop_free_items,
        merge_twin_items,
        fold_private_items,
        drop_hopeless_projects,
        join_projects_without_items,
    )


def reduce_until_stable(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Apply all reductions and keep what is sure, again and again, until nothing changes.

    What is kept makes its items free for the others, and what is dropped leaves items to fewer of
    them: each makes room for the other. Little is left at a small and at a large lambda.
    """
    undos: list[Undo] = []
    size = None
    while size != (size := (problem.n_projects, problem.n_items, problem.n_arcs)):
        problem, undo = _in_turn(problem, reduce_closure, keep_sure_projects)
        undos.append(undo)
    return problem, _undo_all(undos)


def _in_turn(problem: ClosureProblem, *reductions: Reduction) -> tuple[ClosureProblem, Undo]:
    """Apply one reduction after the other."""
    undos: list[Undo] = []
    for reduction in reductions:
        problem, undo = reduction(problem)
        undos.append(undo)
    return problem, _undo_all(undos)


def _undo_all(undos: list[Undo]) -> Undo:
    """Return what undoes all reductions, the last one first."""

    def undo_all(solution: ClosureSolution) -> ClosureSolution:
        for undo in reversed(undos):
            solution = undo(solution)
        return solution

    return undo_all


def drop_free_items(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Forget items that cost nothing: needing them is no reason against a project."""
    if (problem.costs > 0).all():
        return problem, _undo()
    stays = problem.costs[problem.arc_item] > 0
    smaller = _with_arcs(problem, stays)
    return smaller, _undo(flow=lambda flow: Flow(flow.to_required, _spread(flow.to_item, stays)))


def merge_twin_items(
    problem: ClosureProblem, most: int | None = None
) -> tuple[ClosureProblem, Undo]:
    """Buy items together that exactly the same projects need, at the sum of their costs.

    Parameters
    ----------
    problem : ClosureProblem
    most : int, optional
        What that sum is at the most. None is more than all gains: nothing that costs more is ever
        bought. That is so only once the costs are multiplied by lambda.
    """
    group, n_groups = kernels.twin_groups(problem.arc_start, problem.arc_item, problem.n_items)
    never = problem.never if most is None else most
    arc_start, arc_item = kernels.merge_arcs(problem.arc_start, problem.arc_item, group, n_groups)
    costs = kernels.merge_costs(problem.costs, group, n_groups, never)
    merged = ClosureProblem(
        problem.gains, problem.requires, read_only(arc_start), read_only(arc_item), read_only(costs)
    )

    def share_out(flow: Flow) -> Flow:
        to_item = kernels.share_out(problem.arrays, group, merged.arrays, flow.to_item)
        return Flow(flow.to_required, to_item)

    return merged, _undo(flow=share_out)


def fold_private_items(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Charge an item that only one project needs to the gain of that project.

    Where twins are merged first a project has one such item at most, so its gain cannot wrap.
    """
    n_needers = np.bincount(problem.arc_item, minlength=problem.n_items)
    private = n_needers[problem.arc_item] == 1
    paid = problem.costs[problem.arc_item[private]]
    gains = problem.gains.copy()
    np.subtract.at(gains, problem.arc_project()[private], paid)

    def pay(flow: Flow) -> Flow:
        to_item = _spread(flow.to_item, ~private)
        to_item[private] = paid
        return Flow(flow.to_required, to_item)

    return replace(_with_arcs(problem, ~private), gains=read_only(gains)), _undo(flow=pay)


def drop_hopeless_projects(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Forget projects that cannot gain even if all items were free: zero-gain subtrees.

    Where losses come first and gains later, the later gains must make up for the losses: a project
    is worth its own gain and the worth, if positive, of those that require it.
    """
    worth, hopeful = kernels.best_alone(problem.gains, problem.requires)
    if hopeful.all():
        return problem, _undo()
    stays = np.repeat(hopeful, np.diff(problem.arc_start))

    def hand_on(flow: Flow) -> Flow:
        to_required = np.where(hopeful, 0, np.maximum(worth, 0))
        to_required[hopeful] = flow.to_required
        return Flow(to_required, _spread(flow.to_item, stays))

    return _with_projects(problem, hopeful, stays), _undo(
        kept=lambda kept: _spread(kept, hopeful), flow=hand_on
    )


def join_projects_without_items(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Join a project that gains and needs nothing new to the project that it requires."""
    stands_for = kernels.absorb_into_required(problem.arrays)
    itself = stands_for == np.arange(problem.n_projects)
    origin = np.flatnonzero(itself)
    number = np.cumsum(itself, dtype=np.int32) - 1
    unsure = stands_for != NOTHING
    gains = np.zeros(problem.n_projects, dtype=np.int64)
    np.add.at(gains, stands_for[unsure], problem.gains[unsure])
    required = problem.requires[origin]
    required = np.where(required == NOTHING, NOTHING, stands_for[required])
    smaller = ClosureProblem(
        gains=gains[origin],
        requires=np.where(required == NOTHING, NOTHING, number[required]),
        arc_start=problem.arc_start[np.append(origin, problem.n_projects)],
        arc_item=problem.arc_item,
        costs=problem.costs,
    )

    def keep_joined(kept: BoolArray) -> BoolArray:
        together = np.ones(problem.n_projects, dtype=np.bool_)
        together[unsure] = kept[number[stands_for[unsure]]]
        return together

    def hand_on(flow: Flow) -> Flow:
        to_required = _spread(flow.to_required, itself)
        kernels.hand_on_all(problem.arrays, stands_for, to_required)
        return Flow(to_required, flow.to_item)

    return smaller, _undo(keep_joined, hand_on)


def keep_sure_projects(problem: ClosureProblem) -> tuple[ClosureProblem, Undo]:
    """Keep projects that gain even if they pay all their items alone; the items become free.

    More company never makes a project cost more, so every best closed set contains these.
    """
    gains, requires, arc_start, arc_item, costs = problem.arrays
    _, sure = kernels.closure_at_prices(gains, requires, arc_start, costs[arc_item], problem.never)
    if not sure.any():
        return problem, _undo()
    unsure = ~sure
    stays = np.repeat(unsure, np.diff(arc_start)) & ~problem.needed_items(sure)[arc_item]

    def pay(flow: Flow) -> Flow:
        to_required, to_item = _spread(flow.to_required, unsure), _spread(flow.to_item, stays)
        kernels.pay_for_sure(problem.arrays, sure, to_required, to_item)
        return Flow(to_required, to_item)

    return _with_projects(problem, unsure, stays), _undo(
        kept=lambda kept: _spread(kept, unsure) | sure, flow=pay
    )


def _undo(
    kept: Callable[[BoolArray], BoolArray] = lambda kept: kept,
    flow: Callable[[Flow], Flow] = lambda flow: flow,
) -> Undo:
    """Return an undo made of what it does to the kept projects and to the flow, if there is one."""

    def undo(solution: ClosureSolution) -> ClosureSolution:
        carried = None if solution.flow is None else flow(solution.flow)
        return ClosureSolution(kept(solution.kept), carried)

    return undo


def _spread(values: NDArray[Any], where: BoolArray) -> NDArray[Any]:
    """Return the values at the marked places, and 0 elsewhere."""
    spread = np.zeros(len(where), dtype=values.dtype)
    spread[where] = values
    return spread


def _with_arcs(problem: ClosureProblem, stays: BoolArray) -> ClosureProblem:
    """Return the problem with some of its arcs; items that nobody needs then are left out."""
    arcs = kernels.leave_out(problem.arc_start, problem.arc_item, problem.costs, stays)
    arc_start, arc_item, costs = map(read_only, arcs)
    return replace(problem, arc_start=arc_start, arc_item=arc_item, costs=costs)


def _with_projects(
    problem: ClosureProblem, stays: BoolArray, arc_stays: BoolArray
) -> ClosureProblem:
    """Return the problem with some of its projects and of their arcs, numbered anew."""
    fewer = _with_arcs(problem, arc_stays)
    origin: IntArray = np.flatnonzero(stays)
    number = np.cumsum(stays, dtype=np.int32) - 1
    required = problem.requires[origin]
    is_root = (required == NOTHING) | ~stays[required]
    return replace(
        fewer,
        gains=problem.gains[origin],
        requires=np.where(is_root, NOTHING, number[required]),
        arc_start=fewer.arc_start[np.append(origin, problem.n_projects)],
    )
