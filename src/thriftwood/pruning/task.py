"""What is to be pruned, on which rows, at what prices: read and checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_forest, read_samples
from thriftwood.arrays import BoolArray, FloatArray, handed_over
from thriftwood.closure import ClosureProblem
from thriftwood.costs import prices_per_feature
from thriftwood.errors import RangeError
from thriftwood.forest import Forest
from thriftwood.formulation import (
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
    times_counted,
    weight_counted,
)
from thriftwood.pruning.pruned import Figures
from thriftwood.routing import Routes, route_examples
from thriftwood.table import read_table


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
    prices : shape (n_features,)
    weights : shape (n_rows,)
        How much each row counts in the mean bill, in whole numbers.
    loss_name : str
    losses : shape (n_nodes,)
        What each node would lose as a leaf, added up over rows.
    weight_counted : float
        How much weight counts in `losses`, all trees together.
    """

    forest: Forest
    routes: Routes
    rows: str
    prices: FloatArray
    weights: FloatArray
    loss_name: str
    losses: FloatArray
    weight_counted: float

    @property
    def trees_per_row(self) -> Fraction:
        """In how many trees a row's loss counts, on average, times what its class weighs."""
        return Fraction(self.weight_counted) / Fraction(float(self.weights.sum()))

    @cached_property
    def mean_losses(self) -> FloatArray:
        """What each node would lose as a leaf, per row and tree."""
        return handed_over(self.losses / self.weight_counted)

    @cached_property
    def purchases(self) -> Purchases:
        return list_purchases(self.forest, self.routes)

    @cached_property
    def bill_weights(self) -> FloatArray:
        """What each item adds to the mean bill."""
        feature, row = self.purchases.item_feature, self.purchases.item_row
        return handed_over(self.prices[feature] * self.weights[row] / self.weights.sum())

    def closure(self) -> tuple[ClosureProblem, ClosureIndex]:
        """Return the pruning problem of the ensemble, in which trees share what rows bought."""
        return build_closure(
            self.forest, self.purchases, self.losses, self.prices, self.weights, self.trees_per_row
        )

    def figures(self, kept: BoolArray) -> Figures:
        """Return cost and loss of the forest with these splits, given as a mask over nodes."""
        forest, parent = self.forest, self.forest.parent
        is_leaf = ~kept & ((parent < 0) | kept[parent])
        needed = self.purchases.needed(kept[forest.is_split])
        return Figures(
            cost=float(self.bill_weights[needed].sum()),
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
    costs: ArrayLike | Mapping[str, float] | None,
    loss: Loss,
    class_weight: ClassWeight,
    rows: str,
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
) -> PruningTask:
    """Read what the user gave; parameters as in `prune`."""
    forest = read_forest(model)
    loss_name = loss_named(loss, forest)
    table = read_table(X, forest.input_dtype)
    routes = route_examples(forest, table, n_jobs)
    forest = replace(forest, feature_names=forest.feature_names or table.names)
    prices = prices_per_feature(costs, forest.n_features, forest.feature_names)
    target = read_target(y, forest, table.n_rows)
    weights = read_weights(sample_weight, table.n_rows)
    _check_bills(prices, weights)
    samples = None if rows == "all" else read_samples(model)
    times = times_counted(rows, samples, forest.n_trees, table.n_rows)
    loss_weights = read_loss_weights(class_weight, forest, target, weights)
    return PruningTask(
        forest=forest,
        routes=routes,
        rows=rows,
        prices=prices,
        weights=weights,
        loss_name=loss_name,
        losses=node_losses(forest, routes, target, loss_weights, loss, times),
        weight_counted=weight_counted(rows, times, loss_weights),
    )


def _check_bills(prices: FloatArray, weights: FloatArray) -> None:
    with np.errstate(over="ignore"):
        everything = (prices * weights.sum()).sum()
    if not np.isfinite(everything):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
