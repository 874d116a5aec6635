"""What is to be pruned, on which rows, at what prices: read and checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_forest, read_samples
from thriftwood.arrays import BoolArray, FloatArray
from thriftwood.closure import ClosureProblem
from thriftwood.costs import prices_per_feature
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.formulation import (
    ClosureIndex,
    CountArray,
    build_closure,
    loss_named,
    node_losses,
    read_target,
    read_weights,
    times_counted,
)
from thriftwood.pruning.pruned import Figures
from thriftwood.routing import route_examples
from thriftwood.table import read_table


@dataclass(frozen=True, eq=False)
class PruningTask:
    """A pruning problem, as trees and as a closure.

    Attributes
    ----------
    forest : Forest
        With the names of its columns, from the model or else from the table.
    rows : str
        On which rows each tree's loss counts.
    prices : shape (n_features,)
    loss_name : str
    losses : shape (n_nodes,)
        What each node would lose as a leaf, per row and tree.
    loss_unit : float
        What 1 stands for in the gains of the closure, as such a loss.
    lost_loss, lost_cost : float
        By how much whole numbers may misstate a loss, or a mean bill.
    bill_weights : shape (n_items,)
        What each item of the closure adds to the mean bill.
    problem, index : ClosureProblem, ClosureIndex
    """

    forest: Forest
    rows: str
    prices: FloatArray
    loss_name: str
    losses: FloatArray
    loss_unit: float
    lost_loss: float
    lost_cost: float
    bill_weights: FloatArray
    problem: ClosureProblem
    index: ClosureIndex

    def figures(self, kept: BoolArray) -> Figures:
        """Return cost and loss of the forest whose kept projects are given."""
        kept_nodes = self.index.kept_nodes(kept)
        parent = self.forest.parent
        is_leaf = ~kept_nodes & ((parent < 0) | kept_nodes[parent])
        return Figures(
            cost=float(self.bill_weights[self.problem.needed_items(kept)].sum()),
            loss=float(self.losses[is_leaf].sum()),
            n_splits=int(kept.sum()),
            n_features=len(np.unique(self.forest.feature[kept_nodes])),
        )

    def original(self) -> Figures:
        """Return cost and loss of the forest before pruning."""
        forest = self.forest
        return Figures(
            cost=float(self.bill_weights.sum()),  # somebody needs every item
            loss=float(self.losses[~forest.is_split].sum()),
            n_splits=forest.n_splits,
            n_features=len(np.unique(forest.feature[forest.is_split])),
        )


def read_task(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: ArrayLike | Mapping[str, float] | None,
    loss: str | None,
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
    samples = None if rows == "all" else read_samples(model)
    times = times_counted(rows, samples, forest.n_trees, table.n_rows)
    losses = node_losses(forest, routes, target, weights, loss_name, times)
    n_counted = _weight_counted(rows, times, weights)
    trees_per_row = Fraction(n_counted) / Fraction(float(weights.sum()))
    problem, index = build_closure(forest, routes, losses, prices, weights, trees_per_row)
    return PruningTask(
        forest=forest,
        rows=rows,
        prices=prices,
        loss_name=loss_name,
        losses=losses / n_counted,
        loss_unit=float(index.gain_unit) / n_counted,
        lost_loss=index.lost_gain / n_counted,
        lost_cost=index.lost_cost / float(weights.sum()),
        bill_weights=prices[index.item_feature] * weights[index.item_row] / weights.sum(),
        problem=problem,
        index=index,
    )


def _weight_counted(rows: str, times: CountArray, weights: FloatArray) -> float:
    """Return how much weight is counted in all trees together."""
    if rows == "all":
        return float(weights.sum()) * len(times)
    counted = float((times @ weights).sum())
    if counted == 0:
        raise InputError(f"With rows={rows!r} no row counts that has any weight.")
    return counted
