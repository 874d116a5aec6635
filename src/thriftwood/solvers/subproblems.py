"""The pricing subproblems of the decomposition, in batches that can be sent to workers.

A *component* is a project that requires none, with all that follow from it: a tree of the ensemble.
Components are coupled only by the items that several of them need. Where each arc to an item has a
price of its own, every component finds its own best closed set in one linear pass.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from thriftwood.closure import ClosureProblem
from thriftwood.closure.kernels import closure_at_prices
from thriftwood.solvers import dantzig_wolfe_kernels as kernels
from thriftwood.support.arrays import BoolArray, IndexArray, IntArray
from thriftwood.support.parallel import joblib_workers

# The value of each project (its gain, less its prices, with the best of those that follow), and the
# smallest best closed sets: one column for each component.
Columns = tuple[IntArray, BoolArray]
# Gains, requires and arc_start of some components, and what is never paid.
Payload = tuple[IntArray, IndexArray, IntArray, int]


class Batch(NamedTuple):
    """Some components: their projects and arcs by their numbers in the problem, and the payload."""

    projects: IntArray
    arcs: IntArray
    payload: Payload


def batches_of(problem: ClosureProblem, n_batches: int = 1) -> list[Batch]:
    """Take a problem apart, into so many batches of whole components, or as many as there are.

    They are for one worker each, of about as many arcs.
    """
    root = kernels.roots(problem.requires)
    n_arcs = np.diff(problem.arc_start)
    work = np.bincount(root, weights=n_arcs + 1, minlength=problem.n_projects)
    middle = (np.cumsum(work) - work / 2) / max(work.sum(), 1)
    batch_of = (middle * n_batches).astype(np.int64)[root]
    order = np.argsort(batch_of, kind="stable")
    ends = np.flatnonzero(np.diff(batch_of[order])) + 1
    return [_batch(problem, projects) for projects in np.split(order, ends)]


@contextmanager
def subproblem_workers(
    problem: ClosureProblem, batches: list[Batch], n_jobs: int | None
) -> Iterator[Callable[[IntArray], Columns]]:
    """Yield a function by which workers solve all subproblems at prices of all arcs."""
    with joblib_workers(solve_batch, [batch.payload for batch in batches], n_jobs) as ask:

        def solve(prices: IntArray) -> Columns:
            values = np.empty(problem.n_projects, dtype=np.int64)
            kept = np.empty(problem.n_projects, dtype=np.bool_)
            answers = ask([prices[batch.arcs] for batch in batches])
            for batch, answer in zip(batches, answers, strict=True):
                values[batch.projects], kept[batch.projects] = answer
            return values, kept

        yield solve


def _batch(problem: ClosureProblem, projects: IntArray) -> Batch:
    """Return some components, with projects and arcs numbered anew in their payload."""
    number = np.empty(problem.n_projects, dtype=np.int32)
    number[projects] = np.arange(len(projects))
    requires = problem.requires[projects]
    requires = np.where(requires < 0, requires, number[requires])
    n_arcs = np.diff(problem.arc_start)[projects]
    arc_start = np.concatenate([[0], np.cumsum(n_arcs)])
    shift = np.repeat(problem.arc_start[projects] - arc_start[:-1], n_arcs)
    payload = (problem.gains[projects], requires, arc_start, problem.never)
    return Batch(projects, shift + np.arange(arc_start[-1]), payload)


def solve_batch(payload: Payload, prices: IntArray) -> Columns:
    """Return the best closed sets of components whose arcs have prices; see nothing else."""
    gains, requires, arc_start, never = payload
    return closure_at_prices(gains, requires, arc_start, prices, never)
