"""The pruning problem of samples in partitions: each becomes a subproblem where it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters import read_class_weight, read_forest
from thriftwood.closure import Certificate, ParametricCut, from_the_end
from thriftwood.costs import AnyCosts, Costs, PriceList, read_prices
from thriftwood.distributed.dual import (
    DecomposedClosure,
    DualDecomposition,
    DualRound,
    Subproblem,
    cost_by_breakpoint,
    decomposed_cut,
    decomposed_path,
    join_subproblems,
)
from thriftwood.distributed.partitions import Partition, open_partitions
from thriftwood.distributed.units import (
    MILLION,
    common_units,
    count_decimals,
    read_partition_weights,
    subproblem_of,
    whole_prices,
)
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import column_names, read_rows
from thriftwood.problem import (
    ERROR_COSTS,
    JOINT,
    SUM,
    AnyLoss,
    ClassWeight,
    ClosureIndex,
    NodeLosses,
    PruningProblem,
    SampleData,
    check_gains_count,
    in_whole_numbers,
    is_uniform,
    read_class_weights,
    read_loss,
    read_target,
    recorded_losses,
    times_counted,
)
from thriftwood.problem.closure import required_splits, whole_gains
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray

# Samples are taken so many at a time: what they buy is merged before the next ones are looked at.
BLOCK_SAMPLES = 50_000
# Turns a partition into the problem of its samples.
ReadPartition = Callable[[Partition], PruningProblem]


def partitioned_problem(
    model: Any,
    X: Any,
    y: Any,
    decomposition: DualDecomposition | None,
    n_jobs: int | None,
    progress: bool | None,
    *,
    sample_weight: Any,
    **given: Any,
) -> PruningProblem:
    """Make the problem of samples in partitions; parameters as in `pruning_problem`."""
    problem, read = read_shared(model, X, **given)
    prices, price_unit, lost_price = whole_prices(problem.prices, problem.forest.n_splits)
    build = partial(_build_subproblem, prices, read)
    with ExitStack() as opened:
        partitions = opened.enter_context(
            open_partitions(build, X, y, sample_weight, n_jobs, progress)
        )
        reports = partitions.map(_report, [None] * partitions.n_partitions)
        _check_alike(reports)
        losses = total_losses(problem.forest, (report.losses for report in reports))
        weight = sum(report.sample_weight for report in reports)
        if not weight or not losses.weight:
            raise InputError("No sample counts: `sample_weight` or `class_weight` is 0 everywhere.")
        per_unit, lost_units = common_units(
            sum(report.cost for report in reports),
            max(report.decimals for report in reports),
            sum(report.n_items for report in reports),
        )
        partitions.update(_in_units, float(per_unit))
        gains = whole_gains(problem.forest, losses.total)
        index = ClosureIndex(
            problem.forest,
            sum(report.n_items for report in reports),
            Fraction(losses.weight) / Fraction(weight),
            *gains[1:],
            cost_unit=price_unit / per_unit,
            lost_cost=lost_price * weight + lost_units * float(price_unit),
        )
        decomposed = DecomposedClosure(
            partitions,
            gains.whole,
            required_splits(problem.forest),
            weight=np.array([report.weight for report in reports]),
            n_arcs=sum(report.n_arcs for report in reports),
        )
        closure = ClosureInPartitions(
            index=index,
            closure=decomposed,
            sample_weight=Fraction(weight),
            options=decomposition or DualDecomposition(progress=progress),
            n_jobs=n_jobs,
            opened=opened.pop_all(),
        )
    shared = replace(problem, model=model, n_jobs=n_jobs, progress=progress)
    return replace(shared, all_losses=losses, partitions=closure)


@dataclass(frozen=True, eq=False)
class ClosureInPartitions:
    """The closure problem of samples in partitions, solved by dual decomposition."""

    index: ClosureIndex
    closure: DecomposedClosure
    sample_weight: Fraction
    options: DualDecomposition
    n_jobs: int | None
    opened: ExitStack

    def cut(self, lambda_: Fraction) -> tuple[BoolArray, Certificate, int, tuple[DualRound, ...]]:
        """Return the best closed set at a lambda, its certificate, its scale, and the rounds."""
        return decomposed_cut(self.closure, lambda_, self.options)

    def parametric_cut(self, deadline: float) -> tuple[ParametricCut, tuple[DualRound, ...]]:
        """Return the best closed sets at all lambdas, and the rounds."""
        return decomposed_path(self.closure, self.options, self.n_jobs, deadline)

    def mean_costs(self, drop_step: IndexArray, n_points: int) -> FloatArray:
        """Return the mean bill of a sample at nested points."""
        message = (drop_step[self.index.forest.is_split], n_points)
        paid = np.sum(self.closure.map(cost_by_breakpoint, message), axis=0)
        unit = self.index.cost_unit / self.sample_weight
        return np.array([float(total * unit) for total in from_the_end(paid).tolist()])

    def close(self) -> None:
        self.opened.close()


def read_shared(
    model: Any,
    X: Any,
    costs: AnyCosts,
    loss: AnyLoss,
    class_weight: ClassWeight,
    samples: str,
    qid: Any = None,
) -> tuple[PruningProblem, ReadPartition]:
    """Read what all partitions share: the problem without samples or model, and what reads one.

    Parameters as in `pruning_problem`.
    """
    if samples != "all":
        raise InputError(
            f"samples={samples!r} needs the samples in the order of the training, which partitions "
            "do not have. Use samples='all'."
        )
    forest = read_forest(model)
    forest = forest.named(column_names(X))
    counted = read_loss(loss, forest)
    if counted.kind == JOINT:
        raise InputError(
            f"The {counted.name.replace('_', ' ')} of a boosted model is descended on samples in "
            "memory, not in partitions: leave `loss` out."
        )
    if qid is not None or (isinstance(costs, Costs) and costs.per_query is not None):
        raise InputError(
            "Documents of a query may lie in several partitions, so that `qid`, and prices per "
            "query, need all samples in memory: pass arrays, or leave them out.",
            "qid",
        )
    if isinstance(costs, Costs) and costs.is_tied_to_samples:
        raise InputError(
            "`costs` belong to certain samples (`per_sample`, `known` or `shared_by`), which is "
            "not possible in partitions: give prices that are the same for all samples."
        )
    prices = read_prices(costs, forest.columns, n_samples=1)
    problem = PruningProblem(None, forest, prices, counted, samples, None, n_jobs=1)
    if counted.kind != SUM:
        check_gains_count(counted.name, class_weight, samples)
    if class_weight is None and counted.name != ERROR_COSTS:
        class_weight = read_class_weight(model, forest)
    class_weights = _class_weights(class_weight, forest)
    return problem, partial(_read_partition, problem, class_weights)


def _read_partition(
    problem: PruningProblem, class_weights: FloatArray | None, partition: Partition
) -> PruningProblem:
    forest = problem.forest
    table = read_rows(partition.X, forest)
    target = read_target(partition.y, forest, table.n_samples)
    weights = read_partition_weights(partition.weight, table.n_samples)
    data = SampleData(
        table=table,
        target=target,
        sample_weights=weights,
        weights=problem.prices.bill_weights(weights, MILLION),
        loss_weights=weights if class_weights is None else weights * class_weights[target],
        times=times_counted(forest.n_trees, table.n_samples),
    )
    return replace(problem, data=data, progress=False)


class _Report(NamedTuple):
    """Summary of a partition: a few numbers for every node."""

    names: tuple[str, ...] | None
    has_weights: bool
    sample_weight: float
    decimals: int
    cost: float
    n_items: int
    n_arcs: int
    losses: NodeLosses | None
    weight: FloatArray


def _build_subproblem(
    prices: PriceList, read: ReadPartition, partition: Partition
) -> tuple[Subproblem, _Report]:
    """Send samples through the trees, and keep what they buy; they themselves are not kept."""
    problem = read(partition)
    data = problem.in_memory
    losses = None
    parts: list[Subproblem] = []
    for start in range(0, data.table.n_samples, BLOCK_SAMPLES):
        some = replace(problem, data=data.take(slice(start, start + BLOCK_SAMPLES)))
        if problem.loss.kind == SUM:
            losses = some.node_losses if losses is None else losses + some.node_losses
        new = subproblem_of(problem.forest, some.routes, prices, some.in_memory.weights)
        parts = [join_subproblems([*parts, new])]
    subproblem = parts[0]
    report = _Report(
        names=data.table.names,
        has_weights=partition.weight is not None,
        sample_weight=float(data.weights.sum()),
        decimals=count_decimals(data.weights),
        cost=float(subproblem.costs.sum()),
        n_items=subproblem.n_items,
        n_arcs=subproblem.n_arcs,
        losses=losses,
        weight=subproblem.weight,
    )
    return subproblem, report


def _report(state: tuple[Subproblem, _Report], _: None) -> _Report:
    return state[1]


def _in_units(state: tuple[Subproblem, _Report], per_unit: float) -> Subproblem:
    return state[0].in_units(per_unit)


def total_losses(forest: Forest, parts: Iterable[NodeLosses | None]) -> NodeLosses:
    """Add up what nodes lose in all partitions; they have none where the model recorded it."""
    lost = [losses for losses in parts if losses is not None]
    return reduce(add, lost) if lost else recorded_losses(forest)


def _check_alike(reports: Sequence[_Report]) -> None:
    """Refuse partitions whose columns have different names or order, or only some have weights."""
    first = reports[0]
    for number, report in enumerate(reports):
        if report.names != first.names:
            raise InputError(
                f"The columns of partition {number} are {report.names}, but those of partition 0 "
                f"are {first.names}: pass the same columns in the same order."
            )
        if report.has_weights != first.has_weights:
            with_weights, without = (number, 0) if report.has_weights else (0, number)
            raise InputError(
                f"Partition {with_weights} has weights of samples, but partition {without} has "
                "none: pass them for all partitions or for none."
            )


def _class_weights(class_weight: ClassWeight, forest: Forest) -> FloatArray | None:
    if class_weight is None or is_uniform(class_weight):
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        raise InputError(
            "class_weight='balanced', by which this is pruned or was trained, needs all labels "
            "before the first loss is counted, which partitions do not give: pass a mapping from "
            "class to weight, or 'uniform'.",
            "class_weight",
        )
    return in_whole_numbers(read_class_weights(class_weight, forest))
