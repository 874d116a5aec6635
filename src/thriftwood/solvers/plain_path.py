"""The path by the book: one exact cut after another, in Python. The twin of `closure_path`."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from thriftwood.closure import ClosurePath, ClosureProblem
from thriftwood.solvers.min_cut import min_cut
from thriftwood.solvers.registry import Solver
from thriftwood.support.arrays import BoolArray


def plain_path(problem: ClosureProblem, solver: Solver = min_cut) -> ClosurePath:
    """Return all smallest best sets of projects, over all prices, with any solver.

    The price of a set between a smaller and a larger best set is its gain over its cost; the best
    set at that price either lies in between, or there is none in between.
    """
    sets = [_best_at(problem, Fraction(0), solver)]
    sets += _between(problem, _kept_at_any_price(problem, solver), sets[0], solver)
    step_of = np.full(problem.n_projects, -1, dtype=np.int32)
    for step, kept in enumerate(sets):
        step_of[kept] = step
    points = [(_gain(problem, kept), _cost(problem, kept)) for kept in sets]
    return ClosurePath(
        step_of=step_of,
        gain=np.array([a[0] - b[0] for a, b in pairwise(points)], dtype=np.int64),
        cost=np.array([a[1] - b[1] for a, b in pairwise(points)], dtype=np.int64),
        slack=0.0,
    )


def _between(
    problem: ClosureProblem, small: BoolArray, large: BoolArray, solver: Solver
) -> list[BoolArray]:
    """Return the best sets smaller than `large`, down to `small` itself, largest first."""
    gain = _gain(problem, large) - _gain(problem, small)
    cost = _cost(problem, large) - _cost(problem, small)
    if cost == 0:
        return []
    middle = _best_at(problem, Fraction(gain, cost), solver)
    if (middle == small).all():
        return [small]
    return [
        *_between(problem, middle, large, solver),
        *_between(problem, small, middle, solver),
    ]


def _best_at(problem: ClosureProblem, price: Fraction, solver: Solver) -> BoolArray:
    priced = replace(
        problem,
        gains=problem.gains * price.denominator,
        costs=problem.costs * price.numerator,
    )
    return solver(priced.check()).kept


def _kept_at_any_price(problem: ClosureProblem, solver: Solver) -> BoolArray:
    too_dear = int(np.abs(problem.gains).sum()) + 1
    return solver(replace(problem, costs=np.where(problem.costs > 0, too_dear, 0))).kept


def _gain(problem: ClosureProblem, kept: BoolArray) -> int:
    return int(problem.gains[kept].sum())


def _cost(problem: ClosureProblem, kept: BoolArray) -> int:
    return int(problem.costs[problem.needed_items(kept)].sum())
