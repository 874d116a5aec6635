"""The pruning problem: a model, samples, prices and a loss, read and checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_bootstrap, read_forest
from thriftwood.billing import Purchases, list_purchases
from thriftwood.closure import Certificate, ClosureProblem, ParametricCut
from thriftwood.costs import AnyCosts, PriceList, read_prices
from thriftwood.errors import InputError
from thriftwood.forest import Forest, Routes, route_samples
from thriftwood.forest.table import Table, read_rows
from thriftwood.problem.closure import ClosureIndex, build_closure
from thriftwood.problem.frontier import Figures, figures_of, still_there
from thriftwood.problem.losses import (
    JOINT,
    RECORDED_GAIN,
    SUM,
    Loss,
    NodeLosses,
    loss_kind,
    loss_named,
    node_losses,
    recorded_losses,
)
from thriftwood.problem.targets import (
    ClassWeight,
    CountArray,
    once,
    read_loss_weights,
    read_target,
    read_weights,
    times_counted,
)
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class SampleData:
    """Samples in memory, with their targets and weights.

    Attributes
    ----------
    table : Table
    target : shape (n_samples,)
        Class numbers, or numbers.
    weights, loss_weights : shape (n_samples,)
        How much each sample counts in the mean bill and in the loss, in whole numbers.
    times : shape (n_trees, n_samples)
        How often each sample counts in each tree.
    """

    table: Table
    target: IndexArray | FloatArray
    weights: FloatArray
    loss_weights: FloatArray
    times: CountArray

    def take(self, rows: IntArray | slice) -> SampleData:
        """Return some of the samples, where all count alike in all trees."""
        table = Table(read_only(self.table.values[rows]), self.table.names)
        return SampleData(
            table=table,
            target=read_only(self.target[rows]),
            weights=read_only(self.weights[rows]),
            loss_weights=read_only(self.loss_weights[rows]),
            times=once(len(self.times), table.n_samples),
        )


class PartitionedClosure(Protocol):
    """The closure problem of samples in partitions: no item lies in two of them."""

    @property
    def index(self) -> ClosureIndex: ...

    def cut(self, lambda_: Fraction) -> tuple[BoolArray, Certificate, int, tuple[Any, ...]]:
        """Return the best closed set at a lambda, its certificate, its scale, and the rounds."""

    def parametric_cut(self) -> tuple[ParametricCut, tuple[Any, ...]]:
        """Return the best closed sets at all lambdas, and the rounds."""

    def mean_costs(self, drop_step: IndexArray, n_points: int) -> FloatArray:
        """Return the mean bill of a sample at nested points."""

    def close(self) -> None: ...


class Subsample(Protocol):
    """How many samples were drawn, and how to measure prunings on all of them."""

    @property
    def n_drawn(self) -> int: ...

    @property
    def n_samples(self) -> int: ...

    def best_on_all(
        self,
        problem: PruningProblem,
        drop_step: IndexArray,
        tradeoffs: FloatArray,
        costs: FloatArray,
        losses: FloatArray,
    ) -> Any:
        """Return those of some nested prunings that are the best of them on all samples."""


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
    loss : str or callable, optional
    loss_name : str
    loss_kind : {"sum", "recorded_gain", "joint"}
        A sum over samples and trees; the gains that trees recorded; or a loss of all trees
        together, which is no sum over them.
    samples : {"all", "in_bag", "out_of_bag"}
        On which samples each tree's loss counts.
    data : SampleData, optional
        The samples; None where they lie in partitions.
    n_jobs, progress
        Threads, and whether to show a progress bar.
    all_losses : NodeLosses, optional
        Those to prune by, where they are not those of `data`.
    partitions : PartitionedClosure, optional
        The closure problem where samples lie in partitions.
    subsample : Subsample, optional
        Where `data` was drawn from more samples.
    """

    model: Any
    forest: Forest
    prices: PriceList
    loss: Loss
    loss_name: str
    loss_kind: str
    samples: str
    data: SampleData | None
    n_jobs: int | None = None
    progress: bool | None = None
    all_losses: NodeLosses | None = None
    partitions: PartitionedClosure | None = None
    subsample: Subsample | None = None

    def __repr__(self) -> str:
        where = "in partitions" if self.data is None else f"on {self.data.table.n_samples} samples"
        kind = type(self.model).__name__
        return f"PruningProblem: {kind} of {self.forest.n_splits} splits {where}, {self.loss_name}"

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
        if self.loss_kind == JOINT:
            raise InputError(
                f"The {self.loss_name.replace('_', ' ')} of a boosted model is no sum over its "
                "trees, so it can be descended at one tradeoff, but has no exact path: "
                f"{instead}",
                "loss",
            )

    @cached_property
    def routes(self) -> Routes:
        """Which samples pass which node."""
        return route_samples(self.forest, self.in_memory.table, self.n_jobs)

    @cached_property
    def node_losses(self) -> NodeLosses:
        """What each node would lose as a leaf, summed over samples."""
        if self.all_losses is not None:
            return self.all_losses
        if self.loss_kind != SUM:
            return recorded_losses(self.forest, needed=self.loss_kind == RECORDED_GAIN)
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
    def mean_losses(self) -> FloatArray:
        """What each node would lose as a leaf, per sample and tree."""
        return read_only(self.node_losses.total / self.node_losses.weight)

    @cached_property
    def purchases(self) -> Purchases:
        """What samples buy at which splits."""
        weights = self.in_memory.weights
        return list_purchases(self.forest, self.routes, self.prices, weights)

    @cached_property
    def closure(self) -> tuple[ClosureProblem, ClosureIndex]:
        """The closure problem of the ensemble, and the way back from it to the forest."""
        return closure_of(self, self.purchases)

    def mean_costs(self, drop_step: IndexArray, n_points: int) -> FloatArray:
        """Return the mean bill of a sample at nested points.

        Point `i` keeps the splits with a step of at least `i`.
        """
        if self.partitions is not None:
            return self.partitions.mean_costs(drop_step, n_points)
        bought = self.purchases
        last = bought.last_needed(drop_step[self.forest.is_split])
        # Divided once, at the end, so that whole prices make exact bills.
        return still_there(last, n_points, bought.item_cost) / bought.scale

    def figures(self, kept: BoolArray) -> Figures:
        """Return cost and loss of the forest with these splits, given as a mask over nodes."""
        cost = self.mean_costs(np.where(kept, 0, -1).astype(np.int32), 1)[0]
        return figures_of(self.forest, self.mean_losses, kept, float(cost))

    @cached_property
    def original(self) -> Figures:
        """Cost and loss of the model before pruning."""
        return self.figures(self.forest.is_split)


def check_problem(problem: Any) -> PruningProblem:
    """Return what a user passed as a problem, or refuse it."""
    if isinstance(problem, PruningProblem):
        return problem
    raise InputError(
        f"`problem` is a {type(problem).__name__}: pass a problem, made by "
        "`tw.pruning_problem(model, X, y, costs=...)`.",
        "problem",
    )


def closure_of(
    problem: PruningProblem, purchases: Purchases, n_payers: int = 1
) -> tuple[ClosureProblem, ClosureIndex]:
    """Return a closure problem in which each of `n_payers` pays for its own purchases."""
    weight = Fraction(problem.node_losses.weight)
    loss_per_cost = weight / Fraction(purchases.scale) / n_payers
    return build_closure(problem.forest, purchases, problem.node_losses.total, loss_per_cost)


def read_problem(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: AnyCosts = None,
    loss: Loss = None,
    class_weight: ClassWeight = None,
    sample_weight: ArrayLike | None = None,
    samples: str = "all",
) -> PruningProblem:
    """Make the problem of samples in memory; parameters as in `pruning_problem`."""
    forest = read_forest(model)
    loss_name = loss_named(loss, forest)
    table = read_rows(X, forest)
    forest = replace(forest, feature_names=forest.feature_names or table.names)
    prices = read_prices(costs, forest.n_features, forest.feature_names, table.n_samples)
    target = read_target(y, forest, table.n_samples)
    weights = read_weights(sample_weight, table.n_samples)
    bootstrap = None if samples == "all" else read_bootstrap(model)
    data = SampleData(
        table=table,
        target=target,
        weights=weights,
        loss_weights=(
            weights
            if class_weight is None
            else read_loss_weights(class_weight, forest, target, weights)
        ),
        times=times_counted(samples, bootstrap, forest.n_trees, table.n_samples),
    )
    kind = loss_kind(loss_name, forest)
    if kind != SUM:
        _check_gains_count(loss_name, class_weight, samples)
    return PruningProblem(model, forest, prices, loss, loss_name, kind, samples, data)


def _check_gains_count(loss_name: str, class_weight: ClassWeight, samples: str) -> None:
    """Refuse what gains that were recorded long ago cannot know."""
    if samples != "all":
        raise InputError(
            f"The gains of splits are recorded on the training samples, so samples={samples!r} has "
            "no meaning for them. Use samples='all'."
        )
    if class_weight is not None and loss_name == RECORDED_GAIN:
        raise InputError(
            "The gains of splits were recorded with the weights of the training, so `class_weight` "
            "changes nothing: leave it out, or train with it."
        )
