"""The pruning problem of samples in partitions: each becomes part of the closure where it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters import read_forest
from thriftwood.closure import Certificate, ParametricCut
from thriftwood.costs import AnyCosts, Costs, PriceList, read_prices
from thriftwood.distributed.dual import Order, Projects, RowShards, bills, sharded_cut, sharded_path
from thriftwood.distributed.dual.shard import Shard, join_shards
from thriftwood.distributed.hiring import hire, is_chunked, is_dask
from thriftwood.distributed.pieces import Piece
from thriftwood.distributed.shards import (
    Digits,
    WholePrices,
    common_units,
    digits_of,
    read_piece_weights,
    shard_of,
    whole_prices,
)
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import column_names, read_rows
from thriftwood.problem import (
    RECORDED_GAIN,
    ClassWeight,
    ClosureIndex,
    Loss,
    NodeLosses,
    PruningProblem,
    SampleData,
    in_whole_numbers,
    loss_named,
    once,
    read_class_weights,
    read_target,
    recorded_losses,
)
from thriftwood.problem.closure import whole_gains
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray
from thriftwood.support.progress import progress_line

# Samples are taken so many at a time: what they buy is merged before the next ones are looked at.
ROWS_AT_A_TIME = 50_000


def comes_in_partitions(
    model: Any,
    X: Any,
    given: dict[str, Any],
    decomposition: RowShards | None,
    subsample: int | None,
) -> bool:
    """Say whether samples are to be pruned in partitions.

    A memory map is read as a whole where something needs all samples at once: joblib hands arrays
    to its processes as memory maps, and what works on arrays must work there.
    """
    if decomposition is not None and not isinstance(decomposition, RowShards):
        raise InputError(
            f"`decomposition` is {decomposition!r}: pass None or an object DualDecomposition(...)."
        )
    if decomposition is not None or not isinstance(X, np.memmap):
        return decomposition is not None or is_chunked(X)
    costs, loss = given["costs"], given["loss"]
    return not (
        subsample is not None
        or given["samples"] != "all"
        or isinstance(given["class_weight"], str)
        or (isinstance(costs, Costs) and costs.is_tied_to_samples)
        or (loss is not None and not read_forest(model).is_averaged)
    )


def partitioned_problem(
    model: Any,
    X: Any,
    y: Any,
    decomposition: RowShards | None,
    n_jobs: int | None,
    progress: bool | None,
    *,
    sample_weight: Any,
    **given: Any,
) -> PruningProblem:
    """Make the problem of samples in partitions; parameters as in `pruning_problem`."""
    options = decomposition or RowShards(progress=progress)
    reader = read_partitions(model, X, **given)
    problem = reader.problem
    counted = whole_prices(problem.prices, problem.forest.n_splits)
    with ExitStack() as until_closed:
        opened = open_partitions(
            partial(_make_shard, counted.prices, reader), X, y, sample_weight, n_jobs, progress
        )
        crew = until_closed.enter_context(opened)
        reports = crew.ask(_report, [None] * crew.n_shards)
        _check_alike(reports)
        losses = _losses(problem, reports)
        closure = _closure(problem.forest, counted, reports, losses, crew, options, n_jobs)
        closure.until_closed.push(until_closed.pop_all())
    return replace(
        problem,
        model=model,
        n_jobs=n_jobs,
        progress=progress,
        all_losses=losses,
        partitions=closure,
    )


@dataclass(frozen=True, eq=False)
class PartitionReader:
    """What every worker must know to read its partition: the problem without samples or model."""

    problem: PruningProblem
    class_weights: FloatArray | None

    def __call__(self, piece: Piece) -> PruningProblem:
        """Return the problem of one partition."""
        forest = self.problem.forest
        table = read_rows(piece.X, forest)
        target = read_target(piece.y, forest, table.n_samples)
        weights = read_piece_weights(piece.weight, table.n_samples)
        by_class = self.class_weights
        data = SampleData(
            table=table,
            target=target,
            weights=weights,
            loss_weights=weights if by_class is None else weights * by_class[target],
            times=once(forest.n_trees, table.n_samples),
        )
        return replace(self.problem, data=data)


def read_partitions(
    model: Any, X: Any, costs: AnyCosts, loss: Loss, class_weight: ClassWeight, samples: str
) -> PartitionReader:
    """Read what is the same for all samples; parameters as in `pruning_problem`."""
    if samples != "all":
        raise InputError(
            f"samples={samples!r} needs the samples in the order of the training, which partitions "
            "do not have. Use samples='all'."
        )
    forest = read_forest(model)
    forest = replace(forest, feature_names=forest.feature_names or column_names(X))
    loss_name = loss_named(loss, forest)
    if not forest.is_averaged and loss_name != RECORDED_GAIN:
        raise InputError(
            f"The {loss_name.replace('_', ' ')} of a boosted model is descended on samples in "
            "memory, not in partitions: leave `loss` out."
        )
    problem = PruningProblem(None, forest, _prices(costs, forest), loss, loss_name, samples, None)
    return PartitionReader(problem, _class_weights(class_weight, forest, loss_name))


@contextmanager
def open_partitions(
    build: Callable[[Piece], Any],
    X: Any,
    y: Any,
    sample_weight: Any,
    n_jobs: int | None,
    progress: bool | None,
) -> Iterator[Any]:
    """Build the state of all partitions, and yield the crew that holds them.

    In this process a line says how far it has come; a cluster has its own ways to show that.
    """
    if is_dask(X):
        with hire(build, X, y, sample_weight, n_jobs) as crew:
            yield crew
        return
    with ExitStack() as until_the_end:
        with progress_line("Reading samples:", progress) as line:

            def build_and_tell(piece: Piece) -> Any:
                state = build(piece)
                line(f"{piece.number + 1} partitions")
                return state

            crew = until_the_end.enter_context(hire(build_and_tell, X, y, sample_weight, n_jobs))
        yield crew


@dataclass(frozen=True, eq=False)
class ShardedClosure:
    """The closure problem of samples in partitions; see `PartitionedClosure`."""

    index: ClosureIndex
    projects: Projects
    n_arcs: int
    crew: ShardCrew
    scale: Fraction
    options: RowShards
    n_jobs: int | None
    until_closed: ExitStack

    def cut(self, lambda_: Fraction) -> tuple[BoolArray, Certificate, int, tuple[Any, ...]]:
        """Return the best closed set at a lambda, its certificate, its scale, and the rounds."""
        found = sharded_cut(self.crew, self.projects, lambda_, self.options)
        return found.kept, found.certificate, found.scale, found.rounds

    def parametric_cut(self) -> tuple[ParametricCut, tuple[Any, ...]]:
        """Return the best closed sets at all lambdas, and the rounds."""
        found = sharded_path(self.crew, self.projects, self.n_arcs, self.options, self.n_jobs)
        return found.path, found.rounds

    def mean_costs(self, drop_step: IndexArray, n_points: int) -> FloatArray:
        """Return the mean bill of a sample at nested points."""
        order = Order(drop_step[self.index.split], n_points)
        paid = np.sum(self.crew.ask(bills, [order] * self.crew.n_shards), axis=0)
        totals = np.cumsum(paid[::-1])[::-1].tolist()
        return np.array([float(total * self.index.cost_unit / self.scale) for total in totals])

    def close(self) -> None:
        self.until_closed.close()


class ShardCrew:
    """A crew whose states hold a shard, asked for what shards can do, in units that all share."""

    def __init__(self, crew: Any, per_unit: float) -> None:
        self._crew = crew
        self._per_unit = per_unit

    @property
    def n_shards(self) -> int:
        return int(self._crew.n_shards)

    @property
    def bytes_moved(self) -> int:
        return int(self._crew.bytes_sent + self._crew.bytes_received)

    def ask(self, work: Callable[[Any, Any], Any], news: Sequence[Any]) -> list[Any]:
        """Return `work(shard, news)` of every shard, in their order."""
        answers: list[Any] = self._crew.ask(partial(_with_shard, work, self._per_unit), news)
        return answers


class _Report(NamedTuple):
    """What the coordinator must know of a shard: a few numbers for every node."""

    names: tuple[str, ...] | None
    n_arcs: int
    weighs: bool
    weight: float
    digits: Digits
    losses: NodeLosses | None
    presence: FloatArray


class _State(NamedTuple):
    """What a worker keeps of its partition."""

    shard: Shard
    report: _Report


def _make_shard(prices: PriceList, reader: PartitionReader, piece: Piece) -> _State:
    """Send samples through the trees, and keep what they buy; they themselves are not kept."""
    problem = reader(piece)
    data = problem.in_memory
    losses = None
    shards: list[Shard] = []
    for start in range(0, data.table.n_samples, ROWS_AT_A_TIME):
        some = replace(problem, data=data.take(slice(start, start + ROWS_AT_A_TIME)), n_jobs=1)
        if problem.adds_up_losses:
            losses = some.node_losses if losses is None else losses + some.node_losses
        new = shard_of(problem.forest, some.routes, prices, some.in_memory.weights)
        shards = [join_shards([*shards, new])]
    shard = shards[0]
    report = _Report(
        names=data.table.names,
        n_arcs=shard.n_arcs,
        weighs=piece.weight is not None,
        weight=float(data.weights.sum()),
        digits=digits_of(data.weights, shard),
        losses=losses,
        presence=shard.presence,
    )
    return _State(shard, report)


def _with_shard(
    work: Callable[[Shard, Any], Any], per_unit: float, state: _State, news: Any
) -> Any:
    return work(state.shard.in_units(per_unit), news)


def _report(state: _State, _: None) -> _Report:
    return state.report


def _losses(problem: PruningProblem, reports: Sequence[_Report]) -> NodeLosses:
    lost = [report.losses for report in reports if report.losses is not None]
    losses = reduce(add, lost) if lost else recorded_losses(problem.forest)
    if not any(report.weight for report in reports) or not losses.weight:
        raise InputError("No sample counts: `sample_weight` or `class_weight` is 0 everywhere.")
    return losses


def _closure(
    forest: Forest,
    counted: WholePrices,
    reports: Sequence[_Report],
    losses: NodeLosses,
    crew: Any,
    options: RowShards,
    n_jobs: int | None,
) -> ShardedClosure:
    """Add up what all shards report."""
    scale = Fraction(sum(report.weight for report in reports))
    worth = whole_gains(forest, losses.total)
    units = common_units([report.digits for report in reports])
    index = ClosureIndex(
        worth.split,
        worth.unit,
        counted.unit / Fraction(units.per_one),
        forest.n_nodes,
        Fraction(losses.weight) / scale,
        worth.lost,
        counted.lost * float(scale) + units.lost * float(counted.unit),
    )
    presence = np.array([report.presence for report in reports])
    return ShardedClosure(
        index=index,
        projects=Projects(worth.gains, worth.requires, presence),
        n_arcs=sum(report.n_arcs for report in reports),
        crew=ShardCrew(crew, units.per_one),
        scale=scale,
        options=options,
        n_jobs=n_jobs,
        until_closed=ExitStack(),
    )


def _check_alike(reports: Sequence[_Report]) -> None:
    """Refuse partitions whose columns have different names or order, or only some have weights."""
    first = reports[0]
    for number, report in enumerate(reports):
        if report.names != first.names:
            raise InputError(
                f"The columns of partition {number} are {report.names}, but those of partition 0 "
                f"are {first.names}: pass the same columns in the same order."
            )
        if report.weighs != first.weighs:
            with_weights, without = (number, 0) if report.weighs else (0, number)
            raise InputError(
                f"Partition {with_weights} has weights of samples, but partition {without} has "
                "none: pass them for all partitions or for none."
            )


def _prices(costs: AnyCosts, forest: Forest) -> PriceList:
    if isinstance(costs, Costs) and costs.is_tied_to_samples:
        raise InputError(
            "`costs` belong to certain samples (`per_sample`, `known` or `shared_by`), which is "
            "not possible in partitions: give prices that are the same for all samples."
        )
    return read_prices(costs, forest.n_features, forest.feature_names, n_samples=1)


def _class_weights(class_weight: ClassWeight, forest: Forest, loss_name: str) -> FloatArray | None:
    if class_weight is None:
        return None
    if loss_name == RECORDED_GAIN:
        raise InputError(
            "The gains of splits were recorded with the weights of the training, so `class_weight` "
            "changes nothing: leave it out, or train with it."
        )
    if isinstance(class_weight, str) and class_weight == "balanced":
        raise InputError(
            "class_weight='balanced' needs all labels before the first loss is counted, which "
            "partitions do not give: pass a mapping from class to weight."
        )
    return in_whole_numbers(read_class_weights(class_weight, forest))
