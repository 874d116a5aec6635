"""Pruning on a subsample, with figures of all samples and an estimate of what it misses.

What nodes lose is a number per node, however many samples there are, so losses are those of all
samples. Bills are what grows with the samples: who buys what at which split. They are those of a
subsample. So its optimum, x_s, has the least F_s = loss of all samples + tradeoff * cost of the
subsample. Of any one pruning F_s is right on average; its minimum is too low, if anything: the
sample average approximation of Mak, Morton and Wood (1999)::

    E[F_s(x_s)] <= F* <= F(x_s)        F with the cost of all samples, F* its least

So F(x_s) - F_s(x_s) is on average at least what x_s misses. F_s is off its mean by chance, the more
the more bills differ; 1.96 standard errors are added for that. It is an estimate, not a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from thriftwood.costs import PriceList
from thriftwood.distributed.hull import lower_hull, slopes_of
from thriftwood.distributed.measuring import Measure, Measured, Paid, SamplesInBlocks, measured_from
from thriftwood.distributed.opening import is_iterator, open_partitions
from thriftwood.distributed.partition import Partition
from thriftwood.distributed.partitioned import ReadPartition, read_shared
from thriftwood.distributed.spread import Spread, spread_along
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import Table
from thriftwood.problem import (
    SUM,
    Figures,
    NodeLosses,
    PruningProblem,
    SampleData,
    features_at,
    once,
    recorded_losses,
    splits_at,
)
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.validation import whole_number

# The same samples are drawn every time.
SEED = 20_150_501
# Standard errors that chance stays within, 39 times out of 40 on one side.
STANDARD_ERRORS = 1.96
# One sample says nothing about how samples differ.
LEAST_SAMPLES = 2


class BestOnAll(NamedTuple):
    """The prunings of a subsample that are the best of them on all samples."""

    drop_step: IndexArray
    tradeoffs: FloatArray
    costs: FloatArray
    losses: FloatArray
    errors: FloatArray
    original: Figures


@dataclass(frozen=True, eq=False)
class Subsample:
    """How many samples were drawn, from how many, and how to measure prunings on all of them."""

    n_drawn: int
    n_samples: int
    measure: Measure

    def best_on_all(
        self,
        problem: PruningProblem,
        drop_step: IndexArray,
        tradeoffs: FloatArray,
        costs: FloatArray,
        losses: FloatArray,
    ) -> BestOnAll:
        """Measure the optima of the subsample on all samples, and return the best of them.

        The whole forest is measured, too: it may be better than what the subsample thinks is as
        good.
        """
        forest, n_points = problem.forest, len(costs)
        step, n_steps = _after_the_whole_forest(problem, drop_step, n_points), n_points + 1
        all_costs, all_losses = self.measure(step, n_steps)
        chosen = lower_hull(all_costs, all_losses)
        original = Figures(
            float(all_costs[0]),
            float(all_losses[0]),
            int(splits_at(forest, step, n_steps)[0]),
            int(features_at(forest, step, n_steps)[0]),
        )
        best_costs, best_losses = all_costs[chosen], all_losses[chosen]
        from_tradeoff = np.append(0.0, slopes_of(best_costs, best_losses))
        ends = np.append(from_tradeoff[1:], max(from_tradeoff[-1], tradeoffs[-1]))
        spread = spread_along(problem, drop_step, n_points, losses_vary=problem.all_losses is None)
        optima = _Optima(tradeoffs, costs, losses, spread, 1 - self.n_drawn / self.n_samples)
        errors = [
            max(optima.estimate(loss + tradeoff * cost, tradeoff) for tradeoff in around)
            for cost, loss, *around in zip(
                best_costs, best_losses, from_tradeoff, ends, strict=True
            )
        ]
        kept_step = (np.searchsorted(chosen, step, side="right") - 1).astype(np.int32)
        return BestOnAll(
            kept_step, from_tradeoff, best_costs, best_losses, np.array(errors), original
        )


class _Optima(NamedTuple):
    """The optimal prunings of a subsample, and what they say about those of all samples."""

    tradeoffs: FloatArray
    costs: FloatArray
    losses: FloatArray
    spread: Spread
    share_left: float

    def estimate(self, objective: float, tradeoff: float) -> float:
        """Estimate how much better the best pruning may be than one with this objective."""
        point = int(np.searchsorted(self.tradeoffs, tradeoff, side="right")) - 1
        least = float(self.losses[point] + tradeoff * self.costs[point])
        chance = self.spread.standard_error(point, tradeoff) * float(np.sqrt(self.share_left))
        return max(objective - least + STANDARD_ERRORS * chance, 0.0)


def subsampled_problem(problem: PruningProblem, subsample: Any) -> PruningProblem:
    """Draw from samples in memory; with as many as there are, return the problem as it is."""
    size = whole_number(subsample, "subsample", LEAST_SAMPLES)
    n_samples = problem.in_memory.table.n_samples
    if size >= n_samples:
        return problem
    _check_samples_are_alike(problem)
    drawn = problem.in_memory.take(drawn_rows(n_samples, size))
    every = SamplesInBlocks(problem)
    return _drawn_problem(
        replace(problem, data=drawn), every.losses, Subsample(size, n_samples, every.measure)
    )


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
    if is_iterator(X):
        raise InputError(
            "A subsample is drawn from all samples and measured on all, but an iterator can be "
            "read only once: draw while you read it, or leave `subsample` out."
        )
    size = whole_number(subsample, "subsample", LEAST_SAMPLES)
    problem, reader = read_shared(model, X, **given)
    read = (X, y, sample_weight, n_jobs, progress)
    with open_partitions(partial(_draw, size, reader), *read) as partitions:
        counts = partitions.map(_count, [None] * partitions.n_partitions)
        n_samples = sum(count.n_samples for count in counts)
        if size >= n_samples:
            return None
        drawn = partitions.map(_send, _numbers_to_draw([count.n_samples for count in counts], size))
    data = _joined([piece for piece in drawn if piece is not None])
    lost = [count.losses for count in counts if count.losses is not None]
    losses = reduce(add, lost) if lost else recorded_losses(problem.forest)

    def measure(drop_step: IndexArray, n_points: int) -> Measured:
        build = partial(_add_up_bills, drop_step, n_points, reader)
        with open_partitions(build, *read) as partitions:
            paid = reduce(add, partitions.map(_paid, [None] * partitions.n_partitions))
        return measured_from(problem, losses, paid, drop_step)

    problem = replace(problem, model=model, data=data, n_jobs=n_jobs, progress=progress)
    return _drawn_problem(problem, losses, Subsample(size, n_samples, measure))


def drawn_rows(n_samples: int, size: int, seed: int = SEED) -> IntArray:
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


class _Counted(NamedTuple):
    """How many samples a partition has, and what nodes lose on them, if that is a sum over them."""

    n_samples: int
    losses: NodeLosses | None


class _Drawn(NamedTuple):
    """Samples of a partition in random order, as many as could be needed."""

    counted: _Counted
    data: SampleData


def _draw(size: int, read: ReadPartition, partition: Partition) -> _Drawn:
    problem = read(partition)
    data = problem.in_memory
    losses = SamplesInBlocks(problem).losses if problem.loss_kind == SUM else None
    order = np.random.default_rng([SEED, partition.number]).permutation(data.table.n_samples)
    return _Drawn(_Counted(data.table.n_samples, losses), data.take(order[:size]))


def _count(state: _Drawn, _: None) -> _Counted:
    return state.counted


def _send(state: _Drawn, n_samples: int) -> SampleData | None:
    return state.data.take(slice(n_samples)) if n_samples else None


def _add_up_bills(
    drop_step: IndexArray, n_points: int, read: ReadPartition, partition: Partition
) -> Paid:
    problem = read(partition)
    return SamplesInBlocks(problem).paid(drop_step, n_points)


def _paid(state: Paid, _: None) -> Paid:
    return state


def _numbers_to_draw(n_samples: list[int], size: int) -> list[int]:
    """Return how many samples of each partition are among `size` drawn from all of them."""
    ends = np.cumsum(n_samples)
    drawn = np.random.default_rng(SEED).choice(ends[-1], size, replace=False, shuffle=False)
    piece_of = np.searchsorted(ends, drawn, side="right")
    numbers: list[int] = np.bincount(piece_of, minlength=len(n_samples)).tolist()
    return numbers


def _joined(pieces: list[SampleData]) -> SampleData:
    """Return the samples of all partitions as one."""
    values = np.concatenate([piece.table.values for piece in pieces])
    return SampleData(
        table=Table(read_only(values), pieces[0].table.names),
        target=read_only(np.concatenate([piece.target for piece in pieces])),
        weights=read_only(np.concatenate([piece.weights for piece in pieces])),
        loss_weights=read_only(np.concatenate([piece.loss_weights for piece in pieces])),
        times=once(len(pieces[0].times), len(values)),
    )


def _after_the_whole_forest(
    problem: PruningProblem, drop_step: IndexArray, n_points: int
) -> IndexArray:
    """Return steps with which splits drop if the whole forest is the first point."""
    step, last = drop_step.copy(), n_points - 1
    # What no sample of the subsample passes costs nothing there, whatever its price.
    stays = _free(problem.forest, problem.prices)
    step[(step == last) & ~stays] = last - 1
    return np.where(problem.forest.is_split, step + 1, -1).astype(np.int32)


def _free(forest: Forest, prices: PriceList) -> BoolArray:
    """Return the splits that cost nothing, with all above them."""
    free: BoolArray = forest.is_split & (prices.bundle_prices()[forest.feature] == 0)
    for nodes in list(forest.levels())[1:]:
        free[nodes] &= free[forest.parent[nodes]]
    return free


def _check_samples_are_alike(problem: PruningProblem) -> None:
    """Refuse samples of which some would not pay or lose as all do."""
    if problem.samples != "all":
        raise InputError(
            "With `subsample`, all trees are judged on all samples that are drawn, so samples="
            f"{problem.samples!r} cannot be met: use samples='all', or leave `subsample` out."
        )
    if problem.prices.is_tied_to_samples:
        raise InputError(
            "The prices belong to certain samples, know some of their values or are shared, so "
            "that a subsample would pay other prices: leave `subsample` out, or draw samples and "
            "their prices yourself."
        )
