"""How much losses and bills differ from row to row, at every point of a path.

The objective of a sample, loss + tradeoff * cost, is off that of all rows by chance. By how much
depends on the spread of the rows. Along a path it takes one sweep: from single leaves back to the
richest point, splits are put in, and only rows that pass them change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from thriftwood.costs import SAMPLE
from thriftwood.distributed import sampling_kernels as kernels
from thriftwood.distributed.measuring import passed_by
from thriftwood.forest import Forest
from thriftwood.problem import SUM, PruningProblem, loss_function
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray

# How many pairs of a split and a row that passes it are looked at together.
MOST_PAIRS = 2**20


@dataclass(frozen=True, eq=False)
class Spread:
    """The variances of mean loss and mean bill of rows drawn from many, and their covariance.

    Each has an entry per point. With weights the means are ratios of two sums, and the variances
    those of the ratios, to first order.
    """

    of_loss: FloatArray
    of_both: FloatArray
    of_bill: FloatArray

    def standard_error(self, point: int, tradeoff: float) -> float:
        """Return the standard error of loss + tradeoff * cost at a point."""
        variance = (
            self.of_loss[point]
            + 2 * tradeoff * self.of_both[point]
            + tradeoff**2 * self.of_bill[point]
        )
        return float(np.sqrt(max(variance, 0.0)))  # below 0 is only rounding


def spread_along(
    problem: PruningProblem,
    drop_step: IndexArray,
    n_points: int,
    *,
    losses_vary: bool = True,
) -> Spread:
    """Sweep over the points of a path, and return the spread of the rows at each.

    Parameters
    ----------
    problem : PruningProblem
        Of at least two samples, which count alike in all trees and pay the same prices.
    drop_step : shape (n_nodes,)
        Point `i` keeps the splits with a step of at least `i`.
    n_points : int
    losses_vary : bool
        Whether the losses are those of these rows. Otherwise only bills are off by chance.
    """
    passed = passed_by(problem.forest, problem.routes)
    losses = (
        _Losses.of(problem) if losses_vary else _Losses(problem.forest, problem.in_memory.target)
    )
    # Only items change where neither losses nor tests differ from row to row.
    all_change = losses.differ or problem.prices.per_split > 0
    steps = _steps(problem, drop_step, n_points, _sorted_by(drop_step)[: None if all_change else 0])
    standing = _single_leaves(problem, losses)
    sums = np.empty((n_points, kernels.N_SUMS))
    for first, last in _batches(steps.pair_start):
        splits = steps.splits[steps.split_start[first] : steps.split_start[last]]
        n_pairs = steps.pair_start[last] - steps.pair_start[first]
        changes = losses.changes(passed, splits, n_pairs) / problem.forest.n_trees
        kernels.sweep(passed, steps, first, last, changes, problem.prices.per_split, standing, sums)
    return _spread(sums, standing)


def _steps(
    problem: PruningProblem, drop_step: IndexArray, n_points: int, splits: IntArray
) -> kernels.Steps:
    """Return splits and what rows buy for themselves, sorted by the step with which they drop."""
    points = np.arange(n_points + 1)
    split_start = np.searchsorted(drop_step[splits], points)
    n_pairs = np.append(0, np.cumsum(problem.routes.n_samples_of[splits], dtype=np.int64))
    purchases, prices = problem.purchases, problem.prices
    item_step = purchases.last_needed(drop_step[problem.forest.is_split])
    # Tests are counted at the splits. What the model pays is the same for all rows.
    own = (purchases.cost_item >= 0) & (prices.payer[purchases.cost_item] == SAMPLE)
    item_step = np.where(own, item_step, -1)
    items = _sorted_by(item_step)
    return kernels.Steps(
        splits=splits,
        split_start=split_start,
        pair_start=n_pairs[split_start],
        item_row=purchases.item_payer[items],
        item_price=prices.prices[purchases.cost_item[items]],
        item_start=np.searchsorted(item_step[items], points),
    )


def _sorted_by(step: IndexArray) -> IntArray:
    """Return what has a step, in the order of the steps."""
    order = np.argsort(step, kind="stable")
    return order[np.searchsorted(step[order], 0) :]


@dataclass(frozen=True, eq=False)
class _Losses:
    """What rows lose at nodes: by a table of classes, by a function of numbers, or nothing."""

    forest: Forest
    target: IndexArray | FloatArray
    table: FloatArray | None = None
    function: Callable[..., FloatArray] | None = None

    @classmethod
    def of(cls, problem: PruningProblem) -> _Losses:
        if problem.loss_kind != SUM:  # gains were recorded once, and do not vary with rows
            return cls(problem.forest, problem.in_memory.target)
        function = loss_function(problem.loss, problem.forest)
        if problem.forest.is_classifier:
            return cls(
                problem.forest, problem.in_memory.target, table=function(problem.forest.values)
            )
        return cls(problem.forest, problem.in_memory.target, function=function)

    @property
    def differ(self) -> bool:
        return self.table is not None or self.function is not None

    def at(self, node: IntArray, row: IntArray) -> FloatArray:
        """Return what each row loses at the node beside it."""
        if self.table is not None:
            lost: FloatArray = self.table[node, self.target[row]]
            return lost
        if self.function is not None:
            return self.function(self.forest.values[node, 0], self.target[row])
        return np.zeros(len(row))

    def changes(self, passed: kernels.Passed, splits: IntArray, n_pairs: int) -> FloatArray:
        """Return by how much the loss of each row in a tree changes when a split is put in."""
        if self.table is not None:
            changes = np.empty(n_pairs)
            kernels.class_changes(passed, splits, self.target, self.table, changes)
            return changes
        child, row = np.empty((2, n_pairs), dtype=np.int64)
        kernels.list_pairs(passed, splits, child, row)
        changed: FloatArray = self.at(child, row)
        changed -= self.at(self.forest.parent[child].astype(np.int64), row)
        return changed


def _single_leaves(problem: PruningProblem, losses: _Losses) -> kernels.Standing:
    """Return the rows as they stand where every tree is a single leaf."""
    n_samples, roots = problem.in_memory.table.n_samples, problem.forest.tree_start[:-1]
    every = np.arange(n_samples)
    loss = np.zeros(n_samples)
    for root in roots:
        loss += losses.at(np.full(n_samples, root), every) / len(roots)
    a = problem.in_memory.loss_weights / problem.in_memory.loss_weights.mean()
    b = problem.in_memory.weights / problem.in_memory.weights.mean()
    sums = np.zeros(kernels.N_SUMS)
    sums[kernels.LOSS] = a @ loss
    sums[kernels.LOSS_2] = (a * loss) @ (a * loss)
    sums[kernels.LOSS_OWN] = (a * a) @ loss
    sums[kernels.LOSS_CROSS] = (a * b) @ loss
    return kernels.Standing(loss, np.zeros(n_samples), a, b, sums)


def _batches(pair_start: IntArray) -> Iterator[tuple[int, int]]:
    """Yield first and last points between which there are not too many pairs, from the end."""
    last = len(pair_start) - 1
    while last > 0:
        first = int(np.searchsorted(pair_start, pair_start[last] - MOST_PAIRS))
        first = min(first, last - 1)
        yield first, last
        last = first


def _spread(sums: FloatArray, standing: kernels.Standing) -> Spread:
    """Return variances of means: of what each row adds to a mean, summed over the rows."""
    n_samples = len(standing.loss)
    a, b = standing.loss_share, standing.bill_share
    loss, bill = sums[:, kernels.LOSS] / n_samples, sums[:, kernels.BILL] / n_samples
    squares = (
        sums[:, kernels.LOSS_2] - 2 * loss * sums[:, kernels.LOSS_OWN] + loss**2 * (a @ a),
        sums[:, kernels.LOSS_BILL]
        - bill * sums[:, kernels.LOSS_CROSS]
        - loss * sums[:, kernels.BILL_CROSS]
        + loss * bill * (a @ b),
        sums[:, kernels.BILL_2] - 2 * bill * sums[:, kernels.BILL_OWN] + bill**2 * (b @ b),
    )
    return Spread(*(square / (n_samples * (n_samples - 1)) for square in squares))
