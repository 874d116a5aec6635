"""What is to be pruned, on which rows, at what prices: read and checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_forest, read_samples
from thriftwood.arrays import BoolArray, FloatArray, IndexArray, handed_over
from thriftwood.closure import ClosureProblem
from thriftwood.costs import AnyCosts, PriceList, read_prices
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest
from thriftwood.formulation import (
    RECORDED_GAIN,
    ClassWeight,
    ClosureIndex,
    Loss,
    Purchases,
    build_closure,
    list_purchases,
    loss_named,
    node_losses,
    read_loss_weights,
    read_target,
    read_weights,
    recorded_losses,
    times_counted,
    weight_counted,
)
from thriftwood.pruning.pruned import Figures
from thriftwood.routing import Routes, route_examples
from thriftwood.table import read_rows


@dataclass(frozen=True, eq=False)
class PruningTask:
    """A forest with what its nodes lose and its rows pay, before anything is optimised.

    Attributes
    ----------
    forest : Forest
        With the names of its columns, from the model or else from the table.
    routes : Routes
    rows : str
        On which rows each tree's loss counts.
    prices : PriceList
    weights : shape (n_rows,)
        How much each row counts in the mean bill, in whole numbers.
    target : shape (n_rows,)
        What is right for each row: the number of its class, or a number.
    loss_weights : shape (n_rows,)
        How much the loss of each row counts.
    loss_name : str
    losses : shape (n_nodes,)
        What each node would lose as a leaf, added up over rows. Of boosted trees the gains that
        they recorded.
    weight_counted : float
        How much weight counts in `losses`, all trees together.
    """

    forest: Forest
    routes: Routes
    rows: str
    prices: PriceList
    weights: FloatArray
    target: IndexArray | FloatArray
    loss_weights: FloatArray
    loss_name: str
    losses: FloatArray
    weight_counted: float

    @cached_property
    def mean_losses(self) -> FloatArray:
        """What each node would lose as a leaf, per row and tree."""
        return handed_over(self.losses / self.weight_counted)

    @cached_property
    def purchases(self) -> Purchases:
        return list_purchases(self.forest, self.routes, self.prices, self.weights)

    def closure(self) -> tuple[ClosureProblem, ClosureIndex]:
        """Return the pruning problem of the ensemble, in which trees share what rows bought."""
        return self._closure(self.purchases, 1)

    def closure_of_each_tree(self) -> tuple[ClosureProblem, ClosureIndex]:
        """Return the pruning problems of all trees, each alone, as one; each pays for itself."""
        purchases = list_purchases(
            self.forest, self.routes, self.prices, self.weights, each_tree=True
        )
        return self._closure(purchases, self.forest.n_trees)

    def _closure(self, purchases: Purchases, n_payers: int) -> tuple[ClosureProblem, ClosureIndex]:
        loss_per_cost = Fraction(self.weight_counted) / Fraction(purchases.scale) / n_payers
        return build_closure(self.forest, purchases, self.losses, loss_per_cost)

    def figures(self, kept: BoolArray) -> Figures:
        """Return cost and loss of the forest with these splits, given as a mask over nodes."""
        forest, parent = self.forest, self.forest.parent
        is_leaf = ~kept & ((parent < 0) | kept[parent])
        needed = self.purchases.needed(kept[forest.is_split])
        return Figures(
            cost=float(self.purchases.item_cost[needed].sum() / self.purchases.scale),
            loss=float(self.mean_losses[is_leaf].sum()),
            n_splits=int(kept.sum()),
            n_features=len(np.unique(forest.feature[kept])),
        )

    def original(self) -> Figures:
        """Return cost and loss of the forest before pruning."""
        return self.figures(self.forest.is_split)


def read_task(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: AnyCosts,
    loss: Loss,
    class_weight: ClassWeight,
    rows: str,
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
) -> PruningTask:
    """Read what the user gave; parameters as in `prune`."""
    forest = read_forest(model)
    loss_name = loss_named(loss, forest)
    table = read_rows(X, forest)
    routes = route_examples(forest, table, n_jobs)
    forest = replace(forest, feature_names=forest.feature_names or table.names)
    prices = read_prices(costs, forest.n_features, forest.feature_names, table.n_rows)
    target = read_target(y, forest, table.n_rows)
    weights = read_weights(sample_weight, table.n_rows)
    _check_bills(prices, weights)
    samples = None if rows == "all" else read_samples(model)
    times = times_counted(rows, samples, forest.n_trees, table.n_rows)
    loss_weights = read_loss_weights(class_weight, forest, target, weights)
    if forest.is_averaged and loss_name != RECORDED_GAIN:
        losses = node_losses(forest, routes, target, loss_weights, loss, times)
        counted = weight_counted(rows, times, loss_weights)
    else:
        _check_gains_count(loss_name, class_weight, rows)
        losses, counted = recorded_losses(forest, needed=loss_name == RECORDED_GAIN)
    return PruningTask(
        forest=forest,
        routes=routes,
        rows=rows,
        prices=prices,
        weights=weights,
        target=target,
        loss_weights=loss_weights,
        loss_name=loss_name,
        losses=losses,
        weight_counted=counted,
    )


def _check_gains_count(loss_name: str, class_weight: ClassWeight, rows: str) -> None:
    """Refuse what gains that were recorded long ago cannot know."""
    if rows != "all":
        raise InputError(
            f"The gains of splits are recorded on the rows of the training, so rows={rows!r} has "
            "no meaning for them. Use rows='all'."
        )
    if class_weight is not None and loss_name == RECORDED_GAIN:
        raise InputError(
            "The gains of splits were recorded with the weights of the training, so `class_weight` "
            "changes nothing: leave it out, or train with it."
        )


def _check_bills(prices: PriceList, weights: FloatArray) -> None:
    with np.errstate(over="ignore"):
        everything = (prices.prices * weights.sum() * prices.predictions).sum()
    if not np.isfinite(everything):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
