"""The oracle: try every set of projects."""

from itertools import product

import numpy as np

from thriftwood.closure import ClosureProblem, ClosureSolution
from thriftwood.errors import RangeError
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


def _is_closed(problem: ClosureProblem, kept: BoolArray) -> bool:
    return all(
        problem.requires[project] < 0 or kept[problem.requires[project]]
        for project in np.flatnonzero(kept)
    )
