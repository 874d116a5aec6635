"""Cost and loss of nested points on many rows, block by block.

What a block of rows pays and loses is a few sums, one per point and one per node; the sums of all
blocks added up say all about all rows. So no more is ever held than one block needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from thriftwood.arrays import FloatArray, IndexArray
from thriftwood.costs import MODEL, ROW, PriceList
from thriftwood.forest import Forest
from thriftwood.formulation import list_asks, node_losses, recorded_losses
from thriftwood.parallel import Progress, for_each, n_threads
from thriftwood.progress import progress_bar
from thriftwood.pruning import sampling_kernels as kernels
from thriftwood.pruning.given import GivenRows
from thriftwood.pruning.points import from_the_end, losses_at, splits_at, still_there
from thriftwood.routing import Routes, route_examples

BLOCK_ROWS = 50_000


class Measured(NamedTuple):
    """Mean bill of a row, and loss averaged over rows and trees, of every point."""

    costs: FloatArray
    losses: FloatArray


# Called with the step with which each node drops, shape (n_nodes,), and the number of points.
# Point `i` keeps the splits with a step of at least `i`.
Measure = Callable[[IndexArray, int], Measured]


@dataclass(frozen=True, eq=False)
class RowSums:
    """What some rows pay and lose, in sums that can be added to those of other rows.

    Attributes
    ----------
    paid : shape (n_points,)
        What they no longer pay, times their weights, when the splits of each step drop.
    losses : shape (n_nodes,)
        What each node would lose as a leaf; zeros where losses do not come from rows.
    weight, loss_weight : float
        Of all these rows, in bills and in losses.
    """

    paid: FloatArray
    losses: FloatArray
    weight: float
    loss_weight: float

    def __add__(self, other: RowSums) -> RowSums:
        return RowSums(
            self.paid + other.paid,
            self.losses + other.losses,
            self.weight + other.weight,
            self.loss_weight + other.loss_weight,
        )


def measure_in_blocks(
    given: GivenRows, n_jobs: int | None = None, progress: bool | None = None
) -> Measure:
    """Return what measures nested points on rows that lie in memory, one block after the other."""

    def measure(drop_step: IndexArray, n_points: int) -> Measured:
        with progress_bar("Measuring", progress) as bar:
            blocks = _sums_of_blocks(given, drop_step, n_points, n_jobs, bar)
            return measured_from(given, reduce(add, blocks), drop_step)

    return measure


def _sums_of_blocks(
    given: GivenRows, drop_step: IndexArray, n_points: int, n_jobs: int | None, bar: Progress
) -> Iterator[RowSums]:
    """Yield the sums of all blocks in their order, so that threads change no rounding."""
    starts = range(0, given.n_rows, BLOCK_ROWS)
    at_once = n_threads(n_jobs)
    for first in range(0, len(starts), at_once):
        found: dict[int, RowSums] = {}

        def sum_up(start: int, found: dict[int, RowSums] = found) -> None:
            block = given.take(slice(start, start + BLOCK_ROWS))
            found[start] = sums_of(block, drop_step, n_points)

        group = starts[first : first + at_once]
        for_each(sum_up, group, n_jobs)
        for start in group:
            yield found[start]
        bar((first + len(group)) / len(starts))


def sums_of(given: GivenRows, drop_step: IndexArray, n_points: int) -> RowSums:
    """Send rows through the trees, and add up what they pay and lose.

    Parameters
    ----------
    given : GivenRows
        All rows count alike in all trees and pay the same prices.
    drop_step, n_points
        As for `Measure`.
    """
    forest = given.forest
    routes = route_examples(forest, given.table, n_jobs=1)
    losses = np.zeros(forest.n_nodes)
    if given.adds_up_losses:
        losses = node_losses(
            forest, routes, given.target, given.loss_weights, given.loss, given.times
        )
    return RowSums(
        paid=_paid(given, routes, drop_step, n_points),
        losses=losses,
        weight=float(given.weights.sum()),
        loss_weight=float(given.loss_weights.sum()),
    )


def measured_from(given: GivenRows, total: RowSums, drop_step: IndexArray) -> Measured:
    """Return the means that sums over all rows stand for.

    Parameters
    ----------
    given : GivenRows
        Any of the rows: what is the same for all of them is read from it.
    total : RowSums
    drop_step
        As for `Measure`.
    """
    forest, n_points = given.forest, len(total.paid)
    losses, counted = total.losses, total.loss_weight * forest.n_trees
    if not given.adds_up_losses:
        losses, counted = recorded_losses(forest)
    of_model = _model_costs(forest, given.prices, drop_step, n_points)
    return Measured(
        costs=from_the_end(total.paid) / total.weight + of_model,
        losses=losses_at(forest, losses, drop_step, n_points) / counted,
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


def _paid(given: GivenRows, routes: Routes, drop_step: IndexArray, n_points: int) -> FloatArray:
    forest, prices = given.forest, given.prices
    passed = passed_by(forest, routes)
    asks = list_asks(forest, prices)
    asks = asks.take(np.argsort(asks.charge, kind="stable"))
    asks = asks.take(
        np.flatnonzero((prices.payer[asks.charge] == ROW) & (prices.prices[asks.charge] > 0))
    )
    paid = np.zeros(n_points)
    kernels.add_bills(passed, asks.node, asks.charge, prices.prices, drop_step, given.weights, paid)
    if prices.per_split > 0:
        tested = np.zeros(n_points)
        splits = np.flatnonzero(forest.is_split)
        kernels.add_tests(passed, splits, drop_step, given.weights, tested)
        paid += prices.per_split * tested
    return paid


def _model_costs(
    forest: Forest, prices: PriceList, drop_step: IndexArray, n_points: int
) -> FloatArray:
    """Return what is paid once for the model of each point, per prediction."""
    asks = list_asks(forest, prices)
    last = np.full(prices.n_charges, -1, dtype=np.int32)
    np.maximum.at(last, asks.charge, drop_step[asks.node])
    last[prices.payer != MODEL] = -1
    once = still_there(last, n_points, prices.prices)
    nodes = prices.per_node * splits_at(forest, drop_step, n_points)
    costs: FloatArray = (once + nodes) / prices.predictions
    return costs
