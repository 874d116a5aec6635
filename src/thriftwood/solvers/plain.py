"""Plain twins of the fast solvers: every set tried, and the parametric cut one cut at a time."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from thriftwood.closure import ClosureProblem, ClosureSolution, ParametricCut, Solver
from thriftwood.errors import RangeError
from thriftwood.solvers.min_cut import min_cut
from thriftwood.support.arrays import BoolArray

MOST_PROJECTS = 20


def brute_force(problem: ClosureProblem) -> ClosureSolution:
    """Return the smallest best set of projects of a tiny problem, without a flow."""
    if problem.n_projects > MOST_PROJECTS:
        raise RangeError(
            f"Brute force tries 2**{problem.n_projects} sets of projects; "
            f"it is meant for at most {MOST_PROJECTS}."
        )
    closed = (
        kept
        for flags in product((False, True), repeat=problem.n_projects)
        if _is_closed(problem, kept := np.array(flags, dtype=np.bool_))
    )
    best = max(closed, key=lambda kept: (problem.profit(kept), -int(kept.sum())))
    return ClosureSolution(best, flow=None)


def plain_parametric_cut(problem: ClosureProblem, solver: Solver = min_cut) -> ParametricCut:
    """Return all smallest best sets of projects, over all lambda, with any solver.

    Between a smaller and a larger best set, lambda is the ratio of their differences in gain and
    cost; the best set at that lambda either lies in between, or there is none in between.
    """
    sets = [_best_at(problem, Fraction(0), solver)]
    sets += _between(problem, _kept_at_any_lambda(problem, solver), sets[0], solver)
    breakpoint_of = np.full(problem.n_projects, -1, dtype=np.int32)
    for number, kept in enumerate(sets):
        breakpoint_of[kept] = number
    drops = [_difference(problem, large, small) for large, small in pairwise(sets)]
    gain, cost = np.array(drops, dtype=np.int64).reshape(-1, 2).T
    return ParametricCut(breakpoint_of, gain, cost, slack=0.0)


def _is_closed(problem: ClosureProblem, kept: BoolArray) -> bool:
    return all(
        problem.requires[project] < 0 or kept[problem.requires[project]]
        for project in np.flatnonzero(kept)
    )


def _between(
    problem: ClosureProblem, small: BoolArray, large: BoolArray, solver: Solver
) -> list[BoolArray]:
    """Return the best sets smaller than `large`, down to `small` itself, largest first."""
    gain, cost = _difference(problem, large, small)
    if cost == 0:
        return []
    middle = _best_at(problem, Fraction(gain, cost), solver)
    if (middle == small).all():
        return [small]
    return [
        *_between(problem, middle, large, solver),
        *_between(problem, small, middle, solver),
    ]


def _best_at(problem: ClosureProblem, lambda_: Fraction, solver: Solver) -> BoolArray:
    gains, costs = problem.gains * lambda_.denominator, problem.costs * lambda_.numerator
    return solver(replace(problem, gains=gains, costs=costs).check()).kept


def _kept_at_any_lambda(problem: ClosureProblem, solver: Solver) -> BoolArray:
    too_dear = int(np.abs(problem.gains).sum()) + 1
    return solver(replace(problem, costs=np.where(problem.costs > 0, too_dear, 0))).kept


def _difference(problem: ClosureProblem, large: BoolArray, small: BoolArray) -> tuple[int, int]:
    """Return by how much two sets differ in gain and in cost."""
    gain = problem.gains[large].sum() - problem.gains[small].sum()
    needed = problem.needed_items(large).astype(int) - problem.needed_items(small)
    return int(gain), int((problem.costs * needed).sum())
