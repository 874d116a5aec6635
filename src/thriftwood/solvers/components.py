"""The trees of a closure problem, in batches that can be sent away: at prices they prune alone.

A *component* is a project that requires none, with all that follow from it: a tree of the ensemble.
Components are coupled only by the items that several of them need. Where each arc to an item has a
price of its own, every component finds its own best closed set in one linear pass.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thriftwood.closure import ClosureProblem, exact_sum
from thriftwood.solvers import dantzig_wolfe_kernels as kernels
from thriftwood.support.arrays import BoolArray, IndexArray, IntArray
from thriftwood.support.workers import workers


class Answer(NamedTuple):
    """What components answer to prices: values of their projects, and their smallest best sets.

    The value of a project is what it gains, less its prices, with the best of those that follow.
    """

    values: IntArray
    chosen: BoolArray


class Load(NamedTuple):
    """What a worker needs of some components; projects and arcs are numbered anew.

    What a project is charged stops at `largest_charge`.
    """

    gains: IntArray
    requires: IndexArray
    arc_start: IntArray
    largest_charge: int


class Batch(NamedTuple):
    """Some components: their projects and arcs by their numbers in the problem, and the load."""

    projects: IntArray
    arcs: IntArray
    load: Load


@dataclass(frozen=True, eq=False)
class Components:
    """All components of a problem.

    Attributes
    ----------
    problem : ClosureProblem
    root : shape (n_projects,)
        The first project of the component that each project belongs to.
    batches : tuple of Batch
        For one worker each, of about as many arcs.
    """

    problem: ClosureProblem
    root: IntArray
    batches: tuple[Batch, ...]

    @contextmanager
    def at_work(self, n_jobs: int | None) -> Iterator[Callable[[IntArray], Answer]]:
        """Yield a function that lets workers answer prices of all arcs, for all components."""
        with workers(best_response, [batch.load for batch in self.batches], n_jobs) as ask:

            def answer(prices: IntArray) -> Answer:
                return self._together(ask([prices[batch.arcs] for batch in self.batches]))

            yield answer

    def _together(self, answers: list[Answer]) -> Answer:
        n_projects = self.problem.n_projects
        values, chosen = np.empty(n_projects, np.int64), np.empty(n_projects, np.bool_)
        for batch, answer in zip(self.batches, answers, strict=True):
            values[batch.projects] = answer.values
            chosen[batch.projects] = answer.chosen
        return Answer(values, chosen)


def components_of(problem: ClosureProblem, n_batches: int = 1) -> Components:
    """Take a problem apart, into so many batches of whole components, or as many as there are."""
    root = kernels.roots(problem.requires)
    n_arcs = np.diff(problem.arc_start)
    work = np.bincount(root, weights=n_arcs + 1, minlength=problem.n_projects)
    middle = (np.cumsum(work) - work / 2) / max(work.sum(), 1)
    batch_of = (middle * n_batches).astype(np.int64)[root]
    order = np.argsort(batch_of, kind="stable")
    ends = np.flatnonzero(np.diff(batch_of[order])) + 1
    batches = tuple(_batch(problem, projects) for projects in np.split(order, ends))
    return Components(problem, root, batches)


def _batch(problem: ClosureProblem, projects: IntArray) -> Batch:
    number = np.empty(problem.n_projects, dtype=np.int32)
    number[projects] = np.arange(len(projects))
    requires = problem.requires[projects]
    n_arcs = np.diff(problem.arc_start)[projects]
    arc_start = np.concatenate([[0], np.cumsum(n_arcs)])
    shift = np.repeat(problem.arc_start[projects] - arc_start[:-1], n_arcs)
    load = Load(
        gains=problem.gains[projects],
        requires=np.where(requires < 0, requires, number[requires]),
        arc_start=arc_start,
        largest_charge=largest_charge(problem),
    )
    return Batch(projects, shift + np.arange(arc_start[-1]), load)


def largest_charge(problem: ClosureProblem) -> int:
    """Return more than all gains together: nobody keeps what is charged as much."""
    return exact_sum(np.maximum(problem.gains, 0)) + 1


def best_response(load: Load, prices: IntArray) -> Answer:
    """Return the best closed sets of components whose arcs have prices; see nothing else."""
    return Answer(
        *kernels.best_response(
            load.gains, load.requires, load.arc_start, prices, load.largest_charge
        )
    )
