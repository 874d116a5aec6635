"""Pruning where rows come in pieces: each becomes a shard where it lies, and no row travels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from thriftwood.costs import AnyCosts, PriceList
from thriftwood.distributed.crew import Crew
from thriftwood.distributed.dual.rounds import Projects
from thriftwood.distributed.dual.shard import Shard, join_shards
from thriftwood.distributed.dual.works import Order, bills
from thriftwood.distributed.pieces import Piece
from thriftwood.distributed.plan import PiecePlan, hired, read_plan
from thriftwood.distributed.shards import (
    Digits,
    WholePrices,
    common_units,
    digits_of,
    shard_of,
    whole_prices,
)
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.routes import route_samples
from thriftwood.problem.build import ClosureIndex, whole_gains
from thriftwood.problem.losses import Loss
from thriftwood.problem.node_losses import NodeLosses, node_losses_of
from thriftwood.problem.recorded_gain import recorded_losses
from thriftwood.problem.targets import ClassWeight
from thriftwood.pruning.points import figures_of
from thriftwood.pruning.pruned import Figures
from thriftwood.support.arrays import BoolArray, FloatArray, read_only

# Rows are taken so many at a time: what they buy is merged before the next ones are looked at.
ROWS_AT_A_TIME = 50_000


@dataclass(frozen=True, eq=False)
class ShardedTask:
    """A forest with what its nodes lose and its rows pay, added up over shards.

    Attributes
    ----------
    forest : Forest
    prices : PriceList
    loss_name : str
    losses : shape (n_nodes,)
        What each node would lose as a leaf, added up over the rows of all shards.
    weight_counted : float
        How much weight counts in `losses`, all trees together.
    n_samples, n_arcs : int
        Of all shards together.
    index : ClosureIndex
        The way back from projects to the forest.
    projects : Projects
    crew : ShardCrew
        Who holds the shards.
    scale : Fraction
        The weight of all rows: costs divided by it are means.
    """

    forest: Forest
    prices: PriceList
    loss_name: str
    losses: FloatArray
    weight_counted: float
    n_samples: int
    n_arcs: int
    index: ClosureIndex
    projects: Projects
    crew: ShardCrew
    scale: Fraction

    rows = "all"

    @cached_property
    def mean_losses(self) -> FloatArray:
        """What each node would lose as a leaf, per row and tree."""
        return read_only(self.losses / self.weight_counted)

    def mean_cost(self, whole: int) -> float:
        """Return what a row pays on average, of what all pay in the units of the shards."""
        return float(whole * self.index.cost_unit / self.scale)

    def figures(self, kept: BoolArray) -> Figures:
        """Return cost and loss of the forest with these splits, given as a mask over nodes."""
        step_of = np.where(kept[self.index.split], 0, -1).astype(np.int32)
        paid = self.crew.ask(bills, [Order(step_of, 1)] * self.crew.n_shards)
        cost = self.mean_cost(sum(int(one[0]) for one in paid))
        return figures_of(self.forest, self.mean_losses, kept, cost)

    def original(self) -> Figures:
        """Return cost and loss of the forest before pruning."""
        return self.figures(self.forest.is_split)


class ShardCrew:
    """A crew whose states hold a shard, asked for what shards can do, in units that all share."""

    def __init__(self, crew: Crew, per_unit: float) -> None:
        self._crew = crew
        self._per_unit = per_unit

    @property
    def n_shards(self) -> int:
        return self._crew.n_shards

    @property
    def bytes_moved(self) -> int:
        return self._crew.bytes_sent + self._crew.bytes_received

    def ask(self, work: Callable[[Any, Any], Any], news: Sequence[Any]) -> list[Any]:
        """Return `work(shard, news)` of every shard, in their order."""
        return self._crew.ask(partial(_with_shard, work, self._per_unit), news)


@contextmanager
def sharded_task(
    model: Any,
    X: Any,
    y: Any,
    *,
    costs: AnyCosts,
    loss: Loss,
    class_weight: ClassWeight,
    rows: str,
    sample_weight: Any,
    n_jobs: int | None,
    progress: bool | None,
) -> Iterator[ShardedTask]:
    """Make shards of all pieces of the rows, and yield what they come to; parameters as in `prune`.

    The shards are freed at the end.
    """
    plan = read_plan(model, X, costs, loss, class_weight, rows)
    counted = whole_prices(plan.prices, plan.forest.n_splits)
    build = partial(_make_shard, counted.prices)
    with hired(build, plan, X, y, sample_weight, n_jobs, progress) as crew:
        reports = crew.ask(_report, [None] * crew.n_shards)
        _check_alike(reports)
        yield _task_of(plan, counted, reports, crew)


class _Report(NamedTuple):
    """What the coordinator must know of a shard: a few numbers for every node.

    Attributes
    ----------
    names : tuple of str, optional
        Of the columns.
    n_samples, n_arcs : int
    weighs : bool
        Whether rows came with weights.
    weight : float
        How much all rows count in bills.
    digits : Digits
        Of weights and costs.
    losses : NodeLosses, optional
        None where the loss is no sum over rows.
    presence : shape (n_splits,)
    """

    names: tuple[str, ...] | None
    n_samples: int
    n_arcs: int
    weighs: bool
    weight: float
    digits: Digits
    losses: NodeLosses | None
    presence: FloatArray


class _State(NamedTuple):
    """What a worker keeps of its piece of the rows."""

    shard: Shard
    report: _Report


def _make_shard(prices: PriceList, plan: PiecePlan, piece: Piece) -> _State:
    """Send rows through the trees, and keep what they buy; the rows themselves are not kept."""
    given = plan.read(piece)
    losses = None
    shards: list[Shard] = []
    for start in range(0, given.n_samples, ROWS_AT_A_TIME):
        some = given.take(slice(start, start + ROWS_AT_A_TIME))
        routes = route_samples(plan.forest, some.table, n_jobs=1)
        if given.adds_up_losses:
            lost = node_losses_of(some, routes)
            losses = lost if losses is None else losses + lost
        new = shard_of(plan.forest, routes, prices, some.weights)
        shards = [join_shards([*shards, new])]
    shard = shards[0]
    report = _Report(
        names=given.table.names,
        n_samples=given.n_samples,
        n_arcs=shard.n_arcs,
        weighs=piece.weight is not None,
        weight=float(given.weights.sum()),
        digits=digits_of(given.weights, shard),
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


def _task_of(
    plan: PiecePlan, counted: WholePrices, reports: Sequence[_Report], crew: Crew
) -> ShardedTask:
    """Add up what all shards report."""
    forest = plan.forest
    scale = Fraction(sum(report.weight for report in reports))
    lost = [report.losses for report in reports if report.losses is not None]
    losses = reduce(add, lost) if lost else NodeLosses(*recorded_losses(forest))
    if not scale or not losses.weight:
        raise InputError("No row counts: `sample_weight` or `class_weight` is 0 everywhere.")
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
    return ShardedTask(
        forest=forest,
        prices=plan.prices,
        loss_name=plan.loss_name,
        losses=read_only(losses.total),
        weight_counted=losses.weight,
        n_samples=sum(report.n_samples for report in reports),
        n_arcs=sum(report.n_arcs for report in reports),
        index=index,
        projects=Projects(worth.gains, worth.requires, presence),
        crew=ShardCrew(crew, units.per_one),
        scale=scale,
    )


def _check_alike(reports: Sequence[_Report]) -> None:
    """Refuse pieces whose columns have different names or order, or of which some have weights."""
    first = reports[0]
    for number, report in enumerate(reports):
        if report.names != first.names:
            raise InputError(
                f"The columns of piece {number} are {report.names}, but those of piece 0 are "
                f"{first.names}: pass the same columns in the same order."
            )
        if report.weighs != first.weighs:
            with_weights, without = (number, 0) if report.weighs else (0, number)
            raise InputError(
                f"Piece {with_weights} has weights of rows, but piece {without} has none: pass "
                "them for all pieces or for none."
            )
