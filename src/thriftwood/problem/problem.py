"""The pruning problem: a model, samples, prices and a loss, read and checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_bootstrap, read_class_weight, read_forest
from thriftwood.billing import Purchases, count_purchases, list_purchases
from thriftwood.closure import (
    ClosureProblem,
    from_the_end,
    last_needed,
)
from thriftwood.costs import AnyCosts, PriceList, read_prices
from thriftwood.errors import InputError
from thriftwood.forest import Forest, Routes, route_samples, scores
from thriftwood.forest.table import Table, read_rows
from thriftwood.problem.closure import ClosureIndex, build_closure
from thriftwood.problem.error_costs import ERROR_COSTS
from thriftwood.problem.frontier import Figures, nested_figures
from thriftwood.problem.losses import (
    JOINT,
    RECORDED_GAIN,
    SUM,
    AnyLoss,
    Loss,
    NodeLosses,
    node_losses,
    read_loss,
    recorded_losses,
)
from thriftwood.problem.pairs import LAMBDARANK, RankingLoss, ranking_loss
from thriftwood.problem.targets import (
    ClassWeight,
    CountArray,
    is_uniform,
    read_loss_weights,
    read_queries,
    read_target,
    read_weights,
    times_counted,
)
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.memory import amount_of_memory, available_memory, memory_in_words

# Bytes that are not worth asking the system about: it takes as long as pruning a small model. With
# those below, for each split and for each purchase of a sample in a tree, a path is surely smaller.
SMALL, PER_SPLIT, PER_PURCHASE = 2**24, 200, 80


PER_SAMPLE = ("target", "sample_weights", "weights", "loss_weights")  # of `SampleData`


@dataclass(frozen=True, eq=False)
class SampleData:
    """Samples in memory, with their targets and weights."""

    table: Table
    target: IndexArray | FloatArray  # (n_samples,), class numbers, or numbers
    # (n_samples,), how much each counts in errors, by itself, in whole numbers
    sample_weights: FloatArray
    weights: FloatArray  # how much it counts in the mean bill
    loss_weights: FloatArray  # and in the loss
    times: CountArray  # (n_trees, n_samples), how often each sample counts in each tree
    # the number of each sample's query, where samples are documents of queries
    query: IndexArray | None = None

    def counted(self, weights: FloatArray) -> FloatArray:
        """Return weights of the samples that some tree counts, 0 for the others."""
        return np.where(self.times.any(axis=0), weights, 0.0)

    def take(self, rows: IntArray | slice) -> SampleData:
        """Return some of the samples, where all count alike in all trees."""
        table = Table(read_only(self.table.values[rows]), self.table.names)
        own = {name: read_only(getattr(self, name)[rows]) for name in PER_SAMPLE}
        query = None if self.query is None else read_only(self.query[rows])
        times = times_counted(len(self.times), table.n_samples)
        return SampleData(table, **own, times=times, query=query)


@dataclass(frozen=True, eq=False)
class Subsample:
    """Numbers of samples drawn and given, and how to measure prunings on all of them.

    `measure` is called with the step with which each node drops and the number of points. It
    returns costs and losses of nested points on all samples; point `i` keeps the splits with a step
    of at least `i`.
    """

    n_drawn: int
    n_samples: int
    measure: Callable[[IndexArray, int], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class PruningProblem:
    """A model to prune, samples to count on, prices and a loss.

    `tw.pruning_problem` makes one; `prune`, `prune_path`, `PruningPath.certify`, `verify_pruning`,
    the baselines and the report take it. Routes, losses and the closure problem are computed when
    they are first asked for, and once.

    Attributes
    ----------
    model
        The model that is pruned.
    forest : Forest
        Its trees, with the names of their columns, from the model or else from the samples.
    prices : PriceList
    loss : Loss
        Its name, its kind and its function.
    samples : {"all", "in_bag", "out_of_bag"}
        On which samples each tree's loss counts.
    data : SampleData, optional
        The samples; None where they lie in partitions.
    n_jobs, progress
        Threads, and whether to show a progress bar.
    all_losses : NodeLosses, optional
        Those to prune by, where they are not those of `data`.
    partitions : ClosureInPartitions, optional
        The closure problem where samples lie in partitions: no item lies in two of them.
    subsample : Subsample, optional
        Where `data` was drawn from more samples.
    """

    model: Any
    forest: Forest
    prices: PriceList
    loss: Loss
    samples: str
    data: SampleData | None
    n_jobs: int | None = None
    progress: bool | None = None
    all_losses: NodeLosses | None = None
    partitions: Any = None
    subsample: Subsample | None = None

    def __repr__(self) -> str:
        where = "in partitions" if self.data is None else f"on {self.data.table.n_samples} samples"
        kind = type(self.model).__name__
        return f"PruningProblem: {kind} of {self.forest.n_splits} splits {where}, {self.loss.name}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Free what partitions hold; nothing where samples are in memory."""
        if self.partitions is not None:
            self.partitions.close()

    @property
    def in_memory(self) -> SampleData:
        """The samples, or an error where they lie in partitions."""
        if self.data is None:
            raise InputError(
                "This needs all samples in memory, and here they lie in partitions: draw some and "
                "pass them as arrays."
            )
        return self.data

    def check_adds_up(self, instead: str) -> None:
        """Raise where the loss is no sum over trees; `instead` says what to do."""
        if self.loss.kind == JOINT:
            raise InputError(
                f"The {self.loss.name.replace('_', ' ')} of a boosted model is no sum over its "
                "trees, so it can be descended at one tradeoff, but has no exact path: "
                f"{instead}",
                "loss",
            )

    @cached_property
    def routes(self) -> Routes:
        """Routes: the samples that pass each node."""
        return route_samples(self.forest, self.in_memory.table, self.n_jobs)

    @cached_property
    def ranking(self) -> RankingLoss:
        """The loss of rankings, weighed by the ranking of the model before pruning."""
        data = self.in_memory
        assert data.query is not None
        before = scores(self.forest, data.table.values, self.n_jobs)[:, 0]
        return ranking_loss(data.target, data.query, data.loss_weights, before)

    @cached_property
    def node_losses(self) -> NodeLosses:
        """The loss of each node if it were a leaf, summed over samples."""
        if self.all_losses is not None:
            return self.all_losses
        if self.loss.kind != SUM:
            return recorded_losses(self.forest, needed=self.loss.kind == RECORDED_GAIN)
        data = self.in_memory
        total = node_losses(
            self.forest, self.routes, data.target, data.loss_weights, self.loss, data.times
        )
        if self.samples == "all":
            return NodeLosses(total, float(data.loss_weights.sum()) * self.forest.n_trees)
        weight = float((data.times @ data.loss_weights).sum())
        if weight == 0:
            raise InputError(
                f"With samples={self.samples!r} no sample counts that has any weight.", "samples"
            )
        return NodeLosses(total, weight)

    @cached_property
    def purchases(self) -> Purchases:
        """The items that samples buy, and the splits where they do."""
        weights = self.in_memory.weights
        return list_purchases(self.forest, self.routes, self.prices, weights)

    @cached_property
    def closure(self) -> tuple[ClosureProblem, ClosureIndex]:
        """The closure problem of the ensemble, and the way back from it to the forest."""
        lost, bought = self.node_losses, self.purchases
        loss_per_cost = Fraction(lost.weight) / Fraction(bought.scale)
        return build_closure(self.forest, bought, lost.total, loss_per_cost)

    @cached_property
    def memory_estimate(self) -> int:
        """Bytes that `prune_path` takes at its peak, beyond the model and the samples.

        The large arrays have entries for *arcs*, the (split, item) pairs, and *items*, one for each
        sample and cost item that it buys, which are counted once samples are routed. Items that the
        same splits need are merged: how many is not known before, so that less may be enough.
        """
        forest, routes, n_samples = self.forest, self.routes, len(self.in_memory.target)
        arcs, items = count_purchases(forest, routes, self.prices)
        # Weights and losses of classes, and their products; or a few numbers for each sample.
        losses = 24 * forest.n_outputs * forest.n_nodes if forest.is_classifier else 90 * n_samples
        # Purchases, the closure, its copy for the cut and the first part of that; twins are sought
        # among its items. What each takes is measured, in benchmarks/memory.py: how many are merged
        # differs. Splits that no sample passes are left out.
        passed = np.count_nonzero(routes.stop[forest.is_split] > routes.start[forest.is_split])
        cut = int(95 * passed + 9.6 * arcs + max(60 * items, 17 * items + 8 * arcs))
        return 4 * forest.n_trees * n_samples + max(losses * forest.is_averaged, cut)

    def fits(self, memory_limit: Any = None) -> bool:
        """Return True if the memory estimate is within a limit, or else within the free memory."""
        if "closure" in vars(self):
            return True  # what is large is there already
        forest, n_visits = self.forest, self.forest.n_trees * len(self.in_memory.target)
        at_most = PER_PURCHASE * n_visits * (1 + len(self.prices.cost_item))
        at_most += (PER_SPLIT + 24 * forest.n_outputs) * forest.n_nodes
        if memory_limit is None and at_most <= SMALL:
            return True
        of_routes = 4 * n_visits  # alone, and first
        if memory_limit is None and of_routes <= SMALL and self.memory_estimate <= SMALL:
            return True
        limit = _bytes_allowed(memory_limit)
        return of_routes <= limit and self.memory_estimate <= limit

    def check_memory(self, memory_limit: Any = None) -> None:
        """Refuse a path that would take more than a limit, or else than the memory that is free."""
        if not self.fits(memory_limit):
            limit = _bytes_allowed(memory_limit)
            there = "is free" if memory_limit is None else "is the `memory_limit`"
            raise InputError(
                f"Pruning needs about {memory_in_words(self.memory_estimate)} of memory, and "
                f"{memory_in_words(limit)} {there}. Prune on fewer samples, or raise "
                "`memory_limit`; in Python also on a subsample, by "
                "`tw.pruning_problem(..., subsample=...)`, or in partitions, by "
                "`decomposition=tw.DualDecomposition()`.",
                "memory_limit",
            )

    def mean_costs(self, drop_step: IndexArray, n_points: int) -> FloatArray:
        """Return the mean bill of a sample at nested points.

        Point `i` keeps the splits with a step of at least `i`.
        """
        if self.partitions is not None:
            return self.partitions.mean_costs(drop_step, n_points)
        bought, step = self.purchases, drop_step[self.forest.is_split]
        last = last_needed(step, bought.arc_start, bought.arc_item, len(bought.item_cost))
        saved = np.bincount(last + 1, bought.item_cost, n_points + 1)[1:]
        # Divided once, at the end, so that whole prices make exact bills.
        return from_the_end(saved) / bought.scale

    def figures(self, kept: BoolArray) -> Figures:
        """Return cost and loss of the forest with these splits, given as a mask over nodes."""
        lost, step = self.node_losses, np.where(kept, 0, -1).astype(np.int32)
        loss, n_splits, n_features = nested_figures(self.forest, self.prices, lost.total, step, 1)
        return Figures(
            cost=float(self.mean_costs(step, 1)[0]),
            loss=float(loss[0] / lost.weight),
            n_splits=int(n_splits[0]),
            n_features=int(n_features[0]),
        )


def check_problem(problem: Any) -> PruningProblem:
    """Return the user's argument `problem`, or refuse it."""
    if isinstance(problem, PruningProblem):
        return problem
    raise InputError(
        f"`problem` is a {type(problem).__name__}: pass a problem, made by "
        "`tw.pruning_problem(model, X, y, costs=...)`.",
    )


def read_problem(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: AnyCosts = None,
    loss: AnyLoss = None,
    class_weight: ClassWeight = None,
    sample_weight: ArrayLike | None = None,
    samples: str = "all",
    qid: ArrayLike | None = None,
) -> PruningProblem:
    """Make the problem of samples in memory; parameters as in `pruning_problem`."""
    forest = read_forest(model)
    counted = read_loss(loss, forest)
    table = read_rows(X, forest)
    n_samples = len(table.values)
    forest = forest.named(table.names)
    query = None
    if qid is not None:
        query = read_queries(qid, n_samples)
    elif counted.name == LAMBDARANK:
        raise InputError(
            f"`loss` is {LAMBDARANK!r}, which compares the documents of each query: pass `qid`, "
            "the query of each sample.",
            "qid",
        )
    prices = read_prices(costs, forest.columns, n_samples, query)
    target = read_target(y, forest, n_samples)
    weights = read_weights(sample_weight, n_samples)
    of_classes = class_weight
    if class_weight is None and counted.name != ERROR_COSTS:  # costs of errors weigh classes, too
        of_classes = read_class_weight(model, forest)
    bootstrap = None if samples == "all" else read_bootstrap(model)
    data = SampleData(
        table=table,
        target=target,
        sample_weights=weights,
        weights=prices.bill_weights(weights),
        loss_weights=read_loss_weights(of_classes, forest, target, weights),
        times=times_counted(forest.n_trees, n_samples, samples, bootstrap),
        query=query,
    )
    if counted.kind != SUM:
        check_gains_count(counted.name, class_weight, samples)
    return PruningProblem(model, forest, prices, counted, samples, data)


def _bytes_allowed(memory_limit: Any) -> float:
    if memory_limit is None:
        return available_memory()
    return amount_of_memory(memory_limit, "memory_limit")


def check_gains_count(loss_name: str, class_weight: ClassWeight, samples: str) -> None:
    """Refuse what gains that were recorded long ago cannot know."""
    if samples != "all":
        raise InputError(
            f"The gains of splits are recorded on the training samples, so samples={samples!r} has "
            "no meaning for them. Use samples='all'."
        )
    is_given = class_weight is not None and not is_uniform(class_weight)
    if is_given and loss_name == RECORDED_GAIN:
        raise InputError(
            "The gains of splits were recorded with the weights of the training, so `class_weight` "
            "changes nothing: leave it out, or train with it."
        )
