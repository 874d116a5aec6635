"""The best closed set by decomposition, after the paper's Dantzig-Wolfe: each tree prunes itself.

A *component* is a project that requires none, with all that follow from it: a tree of the ensemble.
Components are coupled only by the items that several of them need. The master shares the cost of
each item out among the arcs that lead to it; with these shares as prices each component finds its
own best closed set in one linear pass. The values of all components add up to a bound, whatever the
shares, and whatever closed set the master finds is within the bound.

The plain master mixes whole closed sets of a component. Ours is that of Bienstock and Zuckerberg
(2010), for problems with precedences: the closed sets proposed so far cut each component into
connected *pieces*, and the master mixes pieces. It can form every mixture of the proposals and many
more, has one variable per piece, and is itself a closure problem. Where the bound is not reached
yet, some component proposes a set that is not made of pieces, so every round cuts: it ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thriftwood.arrays import BoolArray, IndexArray, IntArray, handed_over
from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    reduce_until_stable,
    smallest_optimum,
)
from thriftwood.closure import kernels as closure_kernels
from thriftwood.closure.problem import exact_sum
from thriftwood.closure.reductions import merge_twin_items
from thriftwood.errors import CertificateError, InputError
from thriftwood.solvers import decomposition_kernels as kernels
from thriftwood.solvers.min_cut import min_cut

MOST_ROUNDS = 1000


@dataclass(frozen=True)
class Round:
    """What one round of the decomposition came to.

    Attributes
    ----------
    n_pieces : int
        Variables of the master.
    n_columns : int
        Proposals of components that cut a piece, in this round.
    profit : int
        Of the best closed set found so far.
    bound : int
        No closed set has a larger profit; the least of all rounds so far.
    """

    n_pieces: int
    n_columns: int
    profit: int
    bound: int

    @property
    def gap(self) -> int:
        return self.bound - self.profit


@dataclass(frozen=True, eq=False)
class DecomposedSolution(ClosureSolution):
    """The kept projects, the flow that proves them, and how the rounds went.

    Rounds speak of what the reductions left to decide: the profit of what is sure is not in them.
    """

    rounds: tuple[Round, ...]


def dantzig_wolfe(
    problem: ClosureProblem,
    *,
    tolerance: int = 0,
    max_rounds: int = MOST_ROUNDS,
    master: Callable[[ClosureProblem], ClosureSolution] = min_cut,
) -> DecomposedSolution:
    """Return the smallest best set of projects, with the flow that proves it.

    Parameters
    ----------
    tolerance : int
        Stop as soon as no closed set can be better by more than this. With more than 0 the kept
        projects are the best that were found, and the flow proves only that much.
    max_rounds : int
        Give up after so many rounds.
    master : callable
        What solves the master, a closure problem of pieces, and returns a flow with it.
    """
    if tolerance < 0:
        raise InputError(f"`tolerance` is {tolerance}: it must be at least 0.")
    if max_rounds < 1:
        raise InputError(f"`max_rounds` is {max_rounds}: at least one round is needed.")
    smaller, undo = reduce_until_stable(problem)
    components = components_of(smaller)
    best, pieces = _start(smaller, components)
    rounds: list[Round] = []
    while True:
        kept, prices = _solve_master(smaller, pieces, master)
        answers = [respond(component, prices[component.arcs]) for component in components]
        best = best.improved_by(smaller, kept, prices, components, answers)
        n_pieces = int(pieces.sum())
        pieces, n_columns = _cut(pieces, components, answers)
        rounds.append(Round(n_pieces, n_columns, best.profit, best.bound))
        if rounds[-1].gap <= tolerance:
            break
        if n_columns == 0:
            raise CertificateError("The flow that the master returned does not prove its answer.")
        if len(rounds) >= max_rounds:
            raise CertificateError(
                f"After {max_rounds} rounds the answer is proven only up to a gap of "
                f"{rounds[-1].gap}. Allow more rounds, a larger tolerance, or use the solver "
                "'min_cut'."
            )
    if rounds[-1].gap == 0:
        best = best._replace(kept=smallest_optimum(smaller, best.flow))
    solution = undo(ClosureSolution(best.kept, best.flow))
    return DecomposedSolution(solution.kept, solution.flow, tuple(rounds))


class Component(NamedTuple):
    """One tree of projects, as it could be sent to a worker once: all it needs to answer prices.

    Projects and arcs are numbered anew; `projects` and `arcs` are their numbers in the problem.
    """

    projects: IntArray
    arcs: IntArray
    gains: IntArray
    requires: IndexArray
    arc_start: IntArray
    largest_charge: int


class Answer(NamedTuple):
    """What a component answers to prices: values of its projects, and its smallest best set."""

    values: IntArray
    chosen: BoolArray

    @property
    def profit(self) -> int:
        return max(int(self.values[0]), 0)


def components_of(problem: ClosureProblem) -> tuple[Component, ...]:
    """Take the problem apart into its components, in the order of their first projects."""
    root = kernels.roots(problem.requires)
    order = np.argsort(root, kind="stable").astype(np.int64)
    ends = np.flatnonzero(np.diff(root[order], append=-1)) + 1
    number = np.empty(problem.n_projects, dtype=np.int32)
    n_arcs = np.diff(problem.arc_start)
    largest_charge = exact_sum(np.maximum(problem.gains, 0)) + 1
    components = []
    for projects in np.split(order, ends[:-1]) if len(order) else ():
        number[projects] = np.arange(len(projects))
        requires = problem.requires[projects]
        own = n_arcs[projects]
        arc_start = np.concatenate([[0], np.cumsum(own)])
        shift = np.repeat(problem.arc_start[projects] - arc_start[:-1], own)
        component = Component(
            projects=projects,
            arcs=shift + np.arange(arc_start[-1]),
            gains=problem.gains[projects],
            requires=np.where(requires < 0, requires, number[requires]),
            arc_start=arc_start,
            largest_charge=largest_charge,
        )
        components.append(component)
    return tuple(components)


def respond(component: Component, prices: IntArray) -> Answer:
    """Return the best closed set of a component whose arcs have prices; depends on nothing else."""
    return Answer(
        *kernels.best_response(
            component.gains,
            component.requires,
            component.arc_start,
            prices,
            component.largest_charge,
        )
    )


class _State(NamedTuple):
    """The best set found, and the best proof."""

    kept: BoolArray
    profit: int
    flow: Flow
    bound: int

    def improved_by(
        self,
        problem: ClosureProblem,
        kept: BoolArray,
        prices: IntArray,
        components: tuple[Component, ...],
        answers: list[Answer],
    ) -> "_State":
        better = self
        union = np.zeros(problem.n_projects, dtype=np.bool_)
        for component, answer in zip(components, answers, strict=True):
            union[component.projects] = answer.chosen
        for found in (kept, union):
            profit = problem.profit(found)
            if profit > better.profit:
                better = better._replace(kept=found, profit=profit)
        bound = sum(answer.profit for answer in answers)
        if bound < better.bound:
            to_required = np.zeros(problem.n_projects, dtype=np.int64)
            for component, answer in zip(components, answers, strict=True):
                to_required[component.projects[1:]] = np.maximum(answer.values[1:], 0)
            better = better._replace(bound=bound, flow=Flow(to_required, prices))
        return better


def _start(problem: ClosureProblem, components: tuple[Component, ...]) -> tuple[_State, BoolArray]:
    """Ask components for what they want alone: everything free, shared equally, all to be paid."""
    costs = problem.costs[problem.arc_item]
    free = np.zeros_like(costs)
    shared = _prices(problem, np.arange(problem.n_arcs, dtype=np.int32), free)
    nothing = np.zeros(problem.n_projects, dtype=np.bool_)
    no_flow = Flow(np.zeros(problem.n_projects, dtype=np.int64), free)
    best = _State(nothing, 0, no_flow, exact_sum(np.maximum(problem.gains, 0)))
    pieces = problem.requires < 0
    for prices in (free, shared, costs):
        answers = [respond(component, prices[component.arcs]) for component in components]
        pieces, _ = _cut(pieces, components, answers)
        if prices is not costs:  # who all pay the whole cost pay too much together: no bound
            best = best.improved_by(problem, nothing, prices, components, answers)
    return best, pieces


def _cut(
    pieces: BoolArray,
    components: tuple[Component, ...],
    answers: list[Answer],
) -> tuple[BoolArray, int]:
    """Start a piece wherever a proposal ends; return how many proposals were new, too."""
    pieces = pieces.copy()
    n_columns = 0
    for component, answer in zip(components, answers, strict=True):
        ends = answer.chosen[component.requires] & ~answer.chosen
        ends[0] = False
        starts = component.projects[ends]
        n_columns += not pieces[starts].all()
        pieces[starts] = True
    return pieces, n_columns


def _solve_master(
    problem: ClosureProblem,
    pieces: BoolArray,
    master: Callable[[ClosureProblem], ClosureSolution],
) -> tuple[BoolArray, IntArray]:
    """Return the best set made of pieces, and prices for all arcs from the flow that proves it."""
    gains, requires, arc_start, arc_item, piece, part_of = kernels.contract(
        problem.gains,
        problem.requires,
        problem.arc_start,
        problem.arc_item,
        problem.n_items,
        pieces,
    )
    whole = ClosureProblem(
        gains, requires, handed_over(arc_start), handed_over(arc_item), problem.costs
    )
    merged, _ = merge_twin_items(whole)
    group, _ = closure_kernels.twin_groups(arc_start, arc_item, problem.n_items)
    solution = master(merged)
    assert solution.flow is not None
    shares = kernels.share_evenly(
        problem.costs,
        arc_start,
        arc_item,
        group,
        merged.arc_start,
        merged.arc_item,
        solution.flow.to_item,
    )
    return solution.kept[piece], _prices(problem, part_of, shares)


def _prices(problem: ClosureProblem, part_of: IndexArray, shares: IntArray) -> IntArray:
    """Return prices of arcs: what the pieces they are part of pay, and what nobody pays."""
    prices: IntArray = kernels.prices_of_arcs(
        problem.costs,
        problem.arc_start,
        problem.arc_item,
        part_of,
        shares,
        exact_sum(np.maximum(problem.gains, 0)) + 1,
    )
    return prices
