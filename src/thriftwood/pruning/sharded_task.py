"""Pruning where rows come in pieces: each becomes a shard where it lies, and no row travels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters import read_forest
from thriftwood.arrays import BoolArray, FloatArray, handed_over
from thriftwood.closure import Shard
from thriftwood.costs import AnyCosts, Costs, PriceList, read_prices
from thriftwood.crews import Crew, Piece, hire, is_dask
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.formulation import (
    RECORDED_GAIN,
    ClassWeight,
    ClosureIndex,
    Loss,
    ShardPlan,
    ShardReport,
    in_whole_numbers,
    loss_named,
    make_shard,
    read_class_weights,
    recorded_losses,
    whole_gains,
    whole_prices,
)
from thriftwood.progress import progress_line
from thriftwood.pruning.pruned import Figures
from thriftwood.solvers.shards import Order, Projects, bills
from thriftwood.table import column_names


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
    n_rows, n_arcs : int
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
    n_rows: int
    n_arcs: int
    index: ClosureIndex
    projects: Projects
    crew: ShardCrew
    scale: Fraction

    rows = "all"

    @cached_property
    def mean_losses(self) -> FloatArray:
        """What each node would lose as a leaf, per row and tree."""
        return handed_over(self.losses / self.weight_counted)

    def mean_cost(self, whole: int) -> float:
        """Return what a row pays on average, of what all pay in the units of the shards."""
        return float(whole * self.index.cost_unit / self.scale)

    def figures(self, kept: BoolArray) -> Figures:
        """Return cost and loss of the forest with these splits, given as a mask over nodes."""
        forest, parent = self.forest, self.forest.parent
        is_leaf = ~kept & ((parent < 0) | kept[parent])
        step_of = np.where(kept[self.index.split], 0, -1).astype(np.int32)
        paid = self.crew.ask(bills, [Order(step_of, 1)] * self.crew.n_shards)
        return Figures(
            cost=self.mean_cost(sum(int(one[0]) for one in paid)),
            loss=float(self.mean_losses[is_leaf].sum()),
            n_splits=int(kept.sum()),
            n_features=len(np.unique(forest.feature[kept])),
        )

    def original(self) -> Figures:
        """Return cost and loss of the forest before pruning."""
        return self.figures(self.forest.is_split)


class ShardCrew:
    """A crew whose states hold a shard, asked for what shards can do."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew

    @property
    def n_shards(self) -> int:
        return self._crew.n_shards

    @property
    def bytes_moved(self) -> int:
        return self._crew.bytes_sent + self._crew.bytes_received

    def ask(self, work: Callable[[Any, Any], Any], news: Sequence[Any]) -> list[Any]:
        """Return `work(shard, news)` of every shard, in their order."""
        return self._crew.ask(partial(_with_shard, work), news)


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
    if rows != "all":
        raise InputError(
            f"rows={rows!r} needs the rows in the order of the training, which pieces do not have. "
            "Use rows='all'."
        )
    forest = read_forest(model)
    forest = replace(forest, feature_names=forest.feature_names or column_names(X))
    loss_name = loss_named(loss, forest)
    if not forest.is_averaged and loss_name != RECORDED_GAIN:
        raise InputError(
            f"The {loss_name.replace('_', ' ')} of a boosted model is descended on rows in memory, "
            "not in pieces: leave `loss` out."
        )
    prices = _read_prices(costs, forest)
    counted = whole_prices(prices, forest.n_splits)
    class_weights = _read_class_weights(class_weight, forest, loss_name)
    plan = ShardPlan(forest, counted.prices, loss, loss_name, class_weights)
    with (
        _building(plan, X, progress) as build,
        hire(build, X, y, sample_weight, n_jobs) as crew,
    ):
        reports = crew.ask(_report, [None] * crew.n_shards)
        _check_names(reports)
        weight = sum(report.weight for report in reports)
        if loss_name == RECORDED_GAIN:
            losses, weight_counted = recorded_losses(forest)
        else:
            losses = np.sum([report.losses for report in reports], axis=0)
            weight_counted = sum(report.loss_weight for report in reports) * forest.n_trees
        if not weight or not weight_counted:
            raise InputError("No row counts: `sample_weight` or `class_weight` is 0 everywhere.")
        worth = whole_gains(forest, losses)
        scale = Fraction(weight)
        index = ClosureIndex(
            worth.split,
            worth.unit,
            counted.unit,
            forest.n_nodes,
            Fraction(weight_counted) / scale,
            worth.lost,
            counted.lost * weight,
        )
        presence = np.array([report.presence for report in reports])
        yield ShardedTask(
            forest=forest,
            prices=prices,
            loss_name=loss_name,
            losses=handed_over(losses),
            weight_counted=weight_counted,
            n_rows=sum(report.n_rows for report in reports),
            n_arcs=sum(report.n_arcs for report in reports),
            index=index,
            projects=Projects(worth.gains, worth.requires, presence),
            crew=ShardCrew(crew),
            scale=scale,
        )


class _State(NamedTuple):
    """What a worker keeps of its piece of the rows."""

    shard: Shard
    report: ShardReport


def _build(plan: ShardPlan, piece: Piece) -> _State:
    return _State(*make_shard(plan, piece.X, piece.y, piece.weight))


def _with_shard(work: Callable[[Shard, Any], Any], state: _State, news: Any) -> Any:
    return work(state.shard, news)


def _report(state: _State, _: None) -> ShardReport:
    return state.report


@contextmanager
def _building(
    plan: ShardPlan, X: Any, progress: bool | None
) -> Iterator[Callable[[Piece], _State]]:
    """Yield what builds a state; in this process it says how far it has come."""
    if is_dask(X):
        yield partial(_build, plan)
        return
    with progress_line("Reading rows:", progress) as line:

        def build(piece: Piece) -> _State:
            state = _build(plan, piece)
            line(f"{piece.number + 1} pieces")
            return state

        yield build


def _read_prices(costs: AnyCosts, forest: Forest) -> PriceList:
    if isinstance(costs, Costs) and costs.is_tied_to_rows:
        raise InputError(
            "`costs` belong to certain rows (`per_example`, `known` or `shared_by`), which is not "
            "possible where rows come in pieces: give prices that are the same for all rows."
        )
    return read_prices(costs, forest.n_features, forest.feature_names, n_rows=1)


def _read_class_weights(
    class_weight: ClassWeight, forest: Forest, loss_name: str
) -> FloatArray | None:
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
            "pieces do not give: pass a mapping from class to weight."
        )
    return in_whole_numbers(read_class_weights(class_weight, forest))


def _check_names(reports: Sequence[ShardReport]) -> None:
    """Refuse pieces whose columns have different names, or another order."""
    first = reports[0].names
    for number, report in enumerate(reports):
        if report.names != first:
            raise InputError(
                f"The columns of piece {number} are {report.names}, but those of piece 0 are "
                f"{first}: pass the same columns in the same order."
            )
