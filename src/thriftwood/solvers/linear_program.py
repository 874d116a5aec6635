"""The linear relaxation through HiGHS: the paper's way, and our independent cross-check.

Every row of the program is a difference of two variables, so the matrix is totally unimodular: all
vertices are integral, and so are all basic dual solutions when the objective is integral. The duals
of the rows are the flow; rounding them to whole numbers removes nothing but floating-point noise,
as long as gains and costs stay well below 2**53.
"""

from functools import partial

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    check_certificate,
    smallest_optimum,
)
from thriftwood.errors import CertificateError
from thriftwood.support.arrays import IntArray
from thriftwood.support.parallel import aside


def linear_program(problem: ClosureProblem) -> ClosureSolution:
    """Return the smallest best set of projects, with the flow that proves it.

    Maximises gains times x minus costs times w over 0 <= x, w <= 1, where x of a project is at most
    x of the one it requires and at most w of each item it needs.
    """
    n_projects, n_items = problem.n_projects, problem.n_items
    below = np.flatnonzero(problem.requires >= 0)
    if len(below) + problem.n_arcs == 0:
        flow = Flow(np.zeros(n_projects, dtype=np.int64), np.zeros(0, dtype=np.int64))
        return ClosureSolution(smallest_optimum(problem, flow), flow)
    smaller = np.concatenate([below, problem.arc_project()])
    larger = np.concatenate([problem.requires[below], n_projects + problem.arc_item])
    rows = np.arange(len(smaller))
    differences = csr_array(
        (
            np.repeat([1.0, -1.0], len(rows)),
            (np.tile(rows, 2), np.concatenate([smaller, larger])),
        ),
        shape=(len(rows), n_projects + n_items),
    )
    objective, unit = _in_doubles(np.concatenate([-problem.gains, problem.costs]))
    solve = partial(
        linprog,
        A_ub=differences,
        b_ub=np.zeros(len(rows)),
        bounds=(0, 1),
        method="highs-ds",
        options={"dual_feasibility_tolerance": 1e-10},
    )
    result = aside(solve, objective)
    if result.status != 0:
        raise CertificateError(f"HiGHS did not solve the linear program: {result.message}")
    dual = np.rint(-result.ineqlin.marginals * unit).astype(np.int64)
    to_required = np.zeros(n_projects, dtype=np.int64)
    to_required[below] = dual[: len(below)]
    flow = Flow(to_required, dual[len(below) :])
    solution = ClosureSolution(smallest_optimum(problem, flow), flow)
    try:
        check_certificate(problem, solution)
    except CertificateError as reason:
        raise CertificateError(
            "HiGHS works with doubles, which are too coarse for the numbers of this problem: "
            f"its answer could not be proven ({reason}). Use the solver 'min_cut'."
        ) from None
    return solution


def _in_doubles(weights: IntArray) -> tuple[np.ndarray, float]:
    """Scale by a power of two, which is exact, to numbers of the size that HiGHS expects."""
    largest = int(np.abs(weights).max(initial=0))
    unit = 2.0 ** max(largest.bit_length() - 20, 0)
    return weights / unit, unit
