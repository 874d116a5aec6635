"""The parametric minimum cut: the best closed sets for all lambda at once.

As in G. Gallo, M. D. Grigoriadis and R. E. Tarjan (1989), the best sets are nested, so all of them
are as cheap as a few cuts. Here the projects are divided at the lambda at which their gains and
costs are equal, and each side is divided on its own, from the trees of the cut that made it.
"""

import math
from collections.abc import Iterable

import numpy as np

from thriftwood.closure import LARGEST_TOTAL, NOTHING, ClosureProblem, ParametricCut
from thriftwood.closure.kernels import best_alone
from thriftwood.errors import RangeError
from thriftwood.solvers import parametric_cut_kernels as kernels
from thriftwood.support.parallel import Progress, stopping, work_off


def parametric_cut(
    problem: ClosureProblem,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    deadline: float = math.inf,
) -> ParametricCut:
    """Return all smallest best sets of projects, for all lambda.

    Parameters
    ----------
    problem : ClosureProblem
    n_jobs : int, optional
        Threads, as in joblib. The answer does not depend on it.
    progress : callable, optional
        Called now and then with the share of the work that is done.
    deadline : float, optional
        The second of `time.monotonic` after which parts that are not finished drop as one; what
        this may miss of the optimum is in the slack.
    """
    total = float(problem.costs.sum(dtype=np.float64))  # near enough to tell whether it fits
    if total > LARGEST_TOTAL:
        raise RangeError(
            f"The costs add up to {total:.3g}; up to {LARGEST_TOTAL:.3g} is exact. Use a coarser "
            "unit."
        )
    drops = kernels.Drops(
        gain=np.zeros(problem.n_projects, dtype=np.int64),
        cost=np.zeros(problem.n_projects, dtype=np.int64),
        place=np.zeros(problem.n_projects, dtype=np.int64),
        slack=np.zeros(problem.n_projects, dtype=np.float64),
        stop=np.zeros(1, dtype=np.bool_),
    )

    def divide(part: kernels.Part) -> Iterable[kernels.Part]:
        """Return the two sides of a large part; solve a small one."""
        if len(part.arc_item) < kernels.FEW_ARCS:
            kernels.solve(part, drops)
            return ()
        drops_as_one, *halves = kernels.halve_large(part, drops)
        return () if drops_as_one else halves

    with stopping(drops.stop, deadline):
        work_off([_first_part(problem)], divide, n_jobs, lambda part: len(part.arc_item), progress)
    return _in_order(drops)


def _first_part(problem: ClosureProblem) -> kernels.Part:
    """Return all projects that ever pay and what they need, each paying from below what it can."""
    # Copies can be written to, like the parts to come: nothing is compiled twice.
    whole = kernels.Part(
        np.arange(problem.n_projects, dtype=np.int32),
        problem.gains.copy(),
        problem.requires.copy(),
        problem.arc_start.copy(),
        problem.arc_item.copy(),
        problem.costs.copy(),
        np.full(problem.n_projects + problem.n_items, NOTHING, dtype=np.int32),
        0,
    )
    _, hopeful = best_alone(whole.gains, whole.requires)
    wanted = np.concatenate([hopeful, whole.costs > 0])
    return kernels.first_part(whole, wanted)


def _in_order(drops: kernels.Drops) -> ParametricCut:
    """Number the parts by the lambda at which they drop."""
    some = np.flatnonzero(drops.cost > 0)
    # What drops first has the last place.
    _, first, part_of = np.unique(-drops.place[some], return_index=True, return_inverse=True)
    steps = _rising(drops.gain[some[first]].tolist(), drops.cost[some[first]].tolist())
    gain, cost, n_parts = np.array(steps, dtype=np.int64).reshape(-1, 3).T
    at_any_lambda = (drops.cost == 0) & (drops.gain > 0)
    breakpoint_of = np.where(at_any_lambda, len(steps), -1).astype(np.int32)
    breakpoint_of[some] = np.repeat(np.arange(len(steps)), n_parts)[part_of]
    slack = float(drops.slack.sum())
    return ParametricCut(breakpoint_of, gain, cost, slack, bool(drops.stop[0]))


def _rising(gains: list[int], costs: list[int]) -> list[list[int]]:
    """Return gain, cost and number of parts that drop together, at rising lambda.

    Parts that were cut by rounded shares may come in the wrong order by a little: such neighbours
    are pooled. The sets that remain are at any lambda as good as the best of all.
    """
    steps: list[list[int]] = []
    for gain, cost in zip(gains, costs, strict=True):
        step = [gain, cost, 1]
        while steps and steps[-1][0] * step[1] >= step[0] * steps[-1][1]:
            step = [one + other for one, other in zip(steps.pop(), step, strict=True)]
        steps.append(step)
    return steps
