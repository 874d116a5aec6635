"""Costs and losses of nested prunings on many samples, block by block.

What a block of samples loses is a sum per node, what it pays a sum per point; the sums of all
blocks added up say all about all samples. So no more is ever held than one block needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np

from thriftwood.billing import model_costs, paid_by_step
from thriftwood.problem import SUM, NodeLosses, PruningProblem, nested_figures
from thriftwood.support.arrays import FloatArray, IndexArray
from thriftwood.support.parallel import for_each, n_threads
from thriftwood.support.progress import progress_bar

BLOCK_SAMPLES = 50_000
Sum = TypeVar("Sum", bound=Any)


def losses_in_blocks(problem: PruningProblem) -> NodeLosses:
    """Return what each node would lose as a leaf, on all samples in memory."""
    if problem.loss.kind != SUM:
        return problem.node_losses
    return _sum_over_blocks(problem, "Counting", lambda block: block.node_losses)


def paid_in_blocks(problem: PruningProblem, drop_step: IndexArray, n_points: int) -> FloatArray:
    """Return what samples in memory, times their weights, no longer pay from each step on.

    Point `i` keeps the splits with a step of at least `i`.
    """

    def paid(block: PruningProblem) -> FloatArray:
        weights = block.in_memory.weights
        return paid_by_step(block.forest, block.routes, block.prices, weights, drop_step, n_points)

    return _sum_over_blocks(problem, "Measuring", paid)


def figures_from_sums(
    problem: PruningProblem,
    losses: NodeLosses,
    paid: FloatArray,
    weight: float,
    drop_step: IndexArray,
) -> tuple[FloatArray, FloatArray]:
    """Return mean bill, and loss averaged over samples and trees, of every nested point.

    Losses, payments and weight are sums over all samples; the problem may be that of any of them.
    """
    forest, n_points = problem.forest, len(paid)
    of_model = model_costs(forest, problem.prices, drop_step, n_points)
    costs: FloatArray = np.cumsum(paid[::-1])[::-1] / weight + of_model
    lost, _, _ = nested_figures(forest, problem.prices, losses.total, drop_step, n_points)
    return costs, lost / losses.weight


def _sum_over_blocks(
    problem: PruningProblem, title: str, work: Callable[[PruningProblem], Sum]
) -> Sum:
    """Add up what work on each block returns, in their order: threads change no rounding."""
    data, at_once = problem.in_memory, n_threads(problem.n_jobs)

    def work_on(start: int) -> Sum:
        block = data.take(slice(start, start + BLOCK_SAMPLES))
        return work(replace(problem, data=block, n_jobs=1))

    starts = range(0, data.table.n_samples, BLOCK_SAMPLES)
    total: list[Sum] = []
    with progress_bar(title, problem.progress) as bar:
        for first in range(0, len(starts), at_once):
            group = starts[first : first + at_once]
            total = [reduce(add, total + for_each(work_on, group, at_once))]
            bar((first + len(group)) / len(starts))
    return total[0]
