"""Cost and loss of nested points on many rows, block by block.

What a block of rows loses is a sum per node, what it pays a sum per point; the sums of all blocks
added up say all about all rows. So no more is ever held than one block needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple, TypeVar

import numpy as np

from thriftwood.billing import model_costs, paid_by_step
from thriftwood.distributed import sampling_kernels as kernels
from thriftwood.forest import Forest
from thriftwood.forest.routes import Routes
from thriftwood.problem import (
    SUM,
    NodeLosses,
    PruningProblem,
    from_the_end,
    losses_at,
)
from thriftwood.support.arrays import FloatArray, IndexArray
from thriftwood.support.parallel import Progress, for_each, n_threads
from thriftwood.support.progress import progress_bar

BLOCK_ROWS = 50_000
Sum = TypeVar("Sum")


class Measured(NamedTuple):
    """Mean bill of a row, and loss averaged over rows and trees, of every point."""

    costs: FloatArray
    losses: FloatArray


# Called with the step with which each node drops, shape (n_nodes,), and the number of points.
# Point `i` keeps the splits with a step of at least `i`.
Measure = Callable[[IndexArray, int], Measured]


@dataclass(frozen=True, eq=False)
class SamplesInBlocks:
    """Samples in memory, of which no more than a block goes through the trees at a time.

    All of them count alike in all trees and pay the same prices.
    """

    problem: PruningProblem

    @cached_property
    def losses(self) -> NodeLosses:
        """What each node would lose as a leaf."""
        if self.problem.loss_kind != SUM:
            return self.problem.node_losses
        return self._added_up("Counting", lambda block: block.node_losses)

    def measure(self, drop_step: IndexArray, n_points: int) -> Measured:
        """Measure nested points; a `Measure`."""
        paid = self.paid(drop_step, n_points)
        return measured_from(self.problem, self.losses, paid, drop_step)

    def paid(self, drop_step: IndexArray, n_points: int) -> Paid:
        """Add up what all samples pay along nested points."""
        return self._added_up("Measuring", lambda block: paid_by(block, drop_step, n_points))

    def _added_up(self, title: str, work: Callable[[PruningProblem], Sum]) -> Sum:
        with progress_bar(title, self.problem.progress) as bar:
            return reduce(add, self._results(work, bar))

    def _results(self, work: Callable[[PruningProblem], Sum], bar: Progress) -> Iterator[Sum]:
        """Yield what work on each block returns, in their order: threads change no rounding."""
        data, n_jobs = self.problem.in_memory, self.problem.n_jobs
        starts = range(0, data.table.n_samples, BLOCK_ROWS)
        at_once = n_threads(n_jobs)
        for first in range(0, len(starts), at_once):
            found: dict[int, Sum] = {}

            def one(start: int, found: dict[int, Sum] = found) -> None:
                block = data.take(slice(start, start + BLOCK_ROWS))
                found[start] = work(replace(self.problem, data=block, n_jobs=1))

            group = starts[first : first + at_once]
            for_each(one, group, n_jobs)
            for start in group:
                yield found[start]
            bar((first + len(group)) / len(starts))


@dataclass(frozen=True, eq=False)
class Paid:
    """What some rows pay along nested points, to be added to what other rows pay.

    Attributes
    ----------
    until : shape (n_points,)
        What they no longer pay, times their weights, when the splits of each step drop.
    weight : float
        Of these rows.
    """

    until: FloatArray
    weight: float

    def __add__(self, other: Paid) -> Paid:
        return Paid(self.until + other.until, self.weight + other.weight)


def paid_by(problem: PruningProblem, drop_step: IndexArray, n_points: int) -> Paid:
    """Send rows through the trees, and add up what they pay; parameters as for `Measure`."""
    weights = problem.in_memory.weights
    until = paid_by_step(
        problem.forest, problem.routes, problem.prices, weights, drop_step, n_points
    )
    return Paid(until, float(weights.sum()))


def measured_from(
    problem: PruningProblem, losses: NodeLosses, paid: Paid, drop_step: IndexArray
) -> Measured:
    """Return the means that sums over all rows stand for.

    Parameters
    ----------
    problem : PruningProblem
        Of any of the samples: only what is the same for all of them is looked at.
    losses, paid
        Of all rows.
    drop_step
        As for `Measure`.
    """
    forest, n_points = problem.forest, len(paid.until)
    of_model = model_costs(forest, problem.prices, drop_step, n_points)
    return Measured(
        costs=from_the_end(paid.until) / paid.weight + of_model,
        losses=losses_at(forest, losses.total, drop_step, n_points) / losses.weight,
    )


def passed_by(forest: Forest, routes: Routes) -> kernels.Passed:
    """Return who passes which split, as kernels want it."""
    return kernels.Passed(
        tree_of=forest.tree_of(np.arange(forest.n_nodes)),
        left=forest.left,
        right=forest.right,
        order=routes.order,
        start=routes.start,
        stop=routes.stop,
    )
