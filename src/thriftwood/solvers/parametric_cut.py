"""The whole path of best closed sets, as exact as a single cut and hardly slower."""

from fractions import Fraction
from functools import partial

import numpy as np

from thriftwood.closure import (
    LARGEST_TOTAL,
    ClosureProblem,
    ParametricCut,
    exact_sum,
)
from thriftwood.errors import RangeError
from thriftwood.solvers import parametric_cut_kernels as kernels
from thriftwood.solvers.pseudoflow_kernels import NOTHING
from thriftwood.support.parallel import Progress, work_off


def parametric_cut(
    problem: ClosureProblem, n_jobs: int | None = None, progress: Progress | None = None
) -> ParametricCut:
    """Return all smallest best sets of projects, over all prices.

    Parameters
    ----------
    problem : ClosureProblem
    n_jobs : int, optional
        Threads, as in joblib. The path does not depend on it.
    progress : callable, optional
        Called now and then with the share of the work that is done.
    """
    total = exact_sum(problem.costs)
    if total > LARGEST_TOTAL:
        raise RangeError(
            f"The costs add up to {total:.3g}; up to {LARGEST_TOTAL:.3g} is exact. Use a coarser "
            "unit."
        )
    n_projects = problem.n_projects
    found = kernels.Found(
        gain=np.zeros(n_projects, dtype=np.int64),
        cost=np.zeros(n_projects, dtype=np.int64),
        slack=np.zeros(n_projects, dtype=np.float64),
    )
    whole = kernels.worth_having(_everything(problem))
    work_off(
        [whole], partial(_split_or_decide, found=found), n_jobs, size=_n_arcs, progress=progress
    )
    return _path_of(found)


def _everything(problem: ClosureProblem) -> kernels.Part:
    return kernels.Part(
        origin=np.arange(problem.n_projects, dtype=np.int32),
        gains=problem.gains.copy(),  # copies can be written to, like the parts to come:
        requires=problem.requires.copy(),  # nothing is compiled twice
        arc_start=problem.arc_start.copy(),
        arc_item=problem.arc_item.copy(),
        costs=problem.costs.copy(),
        parent=np.full(problem.n_projects + problem.n_items, NOTHING, dtype=np.int32),
    )


def _n_arcs(part: kernels.Part) -> int:
    return len(part.arc_item)


def _split_or_decide(part: kernels.Part, found: kernels.Found) -> list[kernels.Part]:
    """Return the halves of a large part; decide a small one."""
    if len(part.arc_item) < kernels.FEW_ARCS:
        kernels.decide(part, found)
        return []
    is_one, later, earlier = kernels.split(part, found)
    return [] if is_one else [later, earlier]


def _path_of(found: kernels.Found) -> ParametricCut:
    """Number the parts by the price at which they drop."""
    drops = np.flatnonzero(found.cost > 0)
    # Different parts drop at different prices, so gain and cost together tell them apart.
    together = drops[np.lexsort((found.cost[drops], found.gain[drops]))]
    is_first = np.ones(len(together), dtype=np.bool_)
    is_first[1:] = (np.diff(found.gain[together]) != 0) | (np.diff(found.cost[together]) != 0)
    first = together[is_first]
    gain, cost = found.gain[first], found.cost[first]
    by_price = sorted(range(len(first)), key=lambda k: Fraction(int(gain[k]), int(cost[k])))
    breakpoint_of_part = np.empty(len(first), dtype=np.int32)
    breakpoint_of_part[by_price] = np.arange(len(first))
    never_dropped = (found.cost == 0) & (found.gain > 0)
    breakpoint_of = np.where(never_dropped, len(first), -1).astype(np.int32)
    breakpoint_of[together] = breakpoint_of_part[np.cumsum(is_first) - 1]
    return ParametricCut(
        breakpoint_of, gain[by_price], cost[by_price], float(found.slack[first].sum())
    )
