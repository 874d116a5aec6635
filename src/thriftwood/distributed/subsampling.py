"""Problems of a subsample: bills of some samples, losses of all.

What nodes lose is a number per node, however many samples there are, so losses are those of all
samples. Bills are what grows with the samples: who buys what at which split. They are those of a
subsample. What nested prunings of it cost and lose on all samples is measured block by block: what
a block loses is a sum per node, what it pays a sum per point, so that no more is ever held than one
block needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np

from thriftwood.billing import model_costs, paid_by_step
from thriftwood.closure import from_the_end
from thriftwood.distributed.dual import send_all
from thriftwood.distributed.partitioned import (
    BLOCK_SAMPLES,
    ReadPartition,
    read_shared,
    total_losses,
)
from thriftwood.distributed.partitions import Partition, open_partitions
from thriftwood.errors import InputError
from thriftwood.forest.table import Table
from thriftwood.problem import (
    PER_SAMPLE,
    SUM,
    NodeLosses,
    PruningProblem,
    SampleData,
    Subsample,
    nested_figures,
    times_counted,
)
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.parallel import for_each, n_threads
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import whole_number

# The same samples are drawn every time.
SEED = 20_150_501
# One sample says nothing about how samples differ.
LEAST_SAMPLES = 2
Sum = TypeVar("Sum", bound=Any)


def subsampled_problem(problem: PruningProblem, subsample: Any, seed: int = SEED) -> PruningProblem:
    """Draw from samples in memory; with as many as there are, return the problem as it is."""
    size = whole_number(subsample, "subsample", LEAST_SAMPLES)
    n_samples = problem.in_memory.table.n_samples
    if size >= n_samples:
        return problem
    _check_samples_are_alike(problem)
    losses, weight = losses_in_blocks(problem), float(problem.in_memory.weights.sum())

    def measure(drop_step: IndexArray, n_points: int) -> tuple[FloatArray, FloatArray]:
        paid = paid_in_blocks(problem, drop_step, n_points)
        return figures_from_sums(problem, losses, paid, weight, drop_step)

    drawn = replace(problem, data=problem.in_memory.take(draw_samples(n_samples, size, seed)))
    return _drawn_problem(drawn, losses, Subsample(size, n_samples, measure))


def subsampled_partitions(
    model: Any,
    X: Any,
    y: Any,
    subsample: Any,
    n_jobs: int | None,
    progress: bool | None,
    *,
    sample_weight: Any,
    **given: Any,
) -> PruningProblem | None:
    """Draw from samples in partitions; None where that would be all of them.

    No more than the subsample leaves its place. Samples are read twice. First every partition says
    what its nodes lose, and draws as many as the subsample could take from it; then it is known
    how many to take from each. When the subsample has said in which order splits drop, every
    partition adds up what its samples pay along that order.
    """
    if hasattr(X, "__next__"):
        raise InputError(
            "An iterator can be read only once, but a subsample is drawn from all samples and then "
            "measured on all: leave `subsample` out."
        )
    size = whole_number(subsample, "subsample", LEAST_SAMPLES)
    shared, read = read_shared(model, X, **given)
    source = (X, y, sample_weight, n_jobs, progress)
    with open_partitions(partial(_draw, size, read), *source) as partitions:
        counts = partitions.map(_count, [None] * partitions.n_partitions)
        numbers, weights, losses_of = zip(*counts, strict=True)
        if size >= sum(numbers):
            return None
        drawn = partitions.map(_send, _numbers_to_draw(list(numbers), size))
    losses = total_losses(shared.forest, losses_of)

    def measure(drop_step: IndexArray, n_points: int) -> tuple[FloatArray, FloatArray]:
        build = partial(_add_up_bills, drop_step, n_points, read)
        with open_partitions(build, *source) as partitions:
            paid = reduce(add, partitions.map(send_all, [None] * partitions.n_partitions))
        return figures_from_sums(shared, losses, paid, sum(weights), drop_step)

    data = _joined([part for part in drawn if part is not None])
    problem = replace(shared, model=model, data=data, n_jobs=n_jobs, progress=progress)
    return _drawn_problem(problem, losses, Subsample(size, sum(numbers), measure))


def draw_samples(n_samples: int, size: int, seed: int = SEED) -> IntArray:
    """Return `size` of the samples at random, each once, in their order."""
    rng = np.random.default_rng(seed)
    drawn: IntArray = rng.choice(n_samples, size, replace=False, shuffle=False)
    return np.sort(drawn)


def _drawn_problem(
    problem: PruningProblem, losses: NodeLosses, subsample: Subsample
) -> PruningProblem:
    if not problem.in_memory.weights.any():
        raise InputError(
            f"None of the {subsample.n_drawn} samples that were drawn has any weight: draw more, "
            "by a larger `subsample`."
        )
    problem.check_adds_up("leave `loss` or `subsample` out.")
    return replace(problem, all_losses=losses, subsample=subsample)


# What a partition counts: its samples, their weight, and what nodes lose on them, if it adds up.
_Counts = tuple[int, float, NodeLosses | None]


def _draw(size: int, read: ReadPartition, partition: Partition) -> tuple[_Counts, SampleData]:
    """Count, and draw in random order as many samples as could be needed."""
    problem = read(partition)
    data = problem.in_memory
    losses = losses_in_blocks(problem) if problem.loss.kind == SUM else None
    order = np.random.default_rng([SEED, partition.number]).permutation(data.table.n_samples)
    counts = (data.table.n_samples, float(data.weights.sum()), losses)
    return counts, data.take(order[:size])


def _count(state: tuple[_Counts, SampleData], _: None) -> _Counts:
    return state[0]


def _send(state: tuple[_Counts, SampleData], n_samples: int) -> SampleData | None:
    return state[1].take(slice(n_samples)) if n_samples else None


def _add_up_bills(
    drop_step: IndexArray, n_points: int, read: ReadPartition, partition: Partition
) -> FloatArray:
    return paid_in_blocks(read(partition), drop_step, n_points)


def _numbers_to_draw(n_samples: list[int], size: int) -> list[int]:
    """Return the sizes of a subsample by partition."""
    ends = np.cumsum(n_samples)
    drawn = np.random.default_rng(SEED).choice(ends[-1], size, replace=False, shuffle=False)
    partition_of = np.searchsorted(ends, drawn, side="right")
    return np.bincount(partition_of, minlength=len(n_samples)).tolist()


def _joined(parts: list[SampleData]) -> SampleData:
    """Return the samples of all partitions as one."""
    values = np.concatenate([part.table.values for part in parts])
    own = {
        name: read_only(np.concatenate([getattr(part, name) for part in parts]))
        for name in PER_SAMPLE
    }
    table = Table(read_only(values), parts[0].table.names)
    return SampleData(table, **own, times=times_counted(len(parts[0].times), len(values)))


def _check_samples_are_alike(problem: PruningProblem) -> None:
    """Refuse samples of which some would not pay or lose as all do."""
    if problem.samples != "all":
        raise InputError(
            "With `subsample`, all trees are judged on all samples that are drawn, so samples="
            f"{problem.samples!r} cannot be met: use samples='all', or leave `subsample` out."
        )
    if problem.prices.is_tied_to_samples or problem.prices.has_queries:
        raise InputError(
            "The prices belong to certain samples, know some of their values or are shared, so "
            "that a subsample would pay other prices: leave `subsample` out, or draw samples and "
            "their prices yourself."
        )


def losses_in_blocks(problem: PruningProblem) -> NodeLosses:
    """Return losses of nodes as leaves, on all samples in memory."""
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
    costs: FloatArray = from_the_end(paid) / weight + of_model
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
