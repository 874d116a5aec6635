"""What the paper's formulations are written for: trees, examples, losses and prices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_bootstrap, read_forest
from thriftwood.costs import AnyCosts, PriceList, read_prices
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.routes import Routes, route_samples
from thriftwood.forest.table import read_rows
from thriftwood.paper.numbering import Numbering, number_nodes
from thriftwood.paper.uses import Uses, list_uses
from thriftwood.problem.counting import times_counted, weight_counted
from thriftwood.problem.losses import Loss, node_losses
from thriftwood.problem.targets import (
    ClassWeight,
    read_loss_weights,
    read_target,
    read_weights,
)
from thriftwood.support.arrays import FloatArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class PaperInstance:
    """An ensemble with examples routed through it, in the paper's numbers and names.

    The paper counts nodes, features, examples and trees from 1: feature k is column k - 1, example
    i is row i - 1. Nodes are numbered in pre-order, on through all trees, as in its Figure 1.

    Attributes
    ----------
    forest, routes
        The trees, and S_h: the examples that reach or pass each node.
    losses : shape (n_nodes,)
        e_h: what each node would lose as a leaf, from `node_losses`.
    prices : shape (n_features,)
        c_k.
    weights : shape (n_samples,)
        How much each example counts in the mean feature cost; the paper's are all 1.
    weight_counted : float
        How much weight counts in `losses`, all trees together; the paper's N times T.
    """

    forest: Forest
    routes: Routes
    losses: FloatArray
    prices: FloatArray
    weights: FloatArray
    weight_counted: float

    @cached_property
    def numbering(self) -> Numbering:
        return number_nodes(self.forest)

    @cached_property
    def uses(self) -> Uses:
        return list_uses(self.forest, self.routes)

    @cached_property
    def mean_losses(self) -> FloatArray:
        """What z_h weighs in every objective, e_h / (N T)."""
        return read_only(self.losses / self.weight_counted)

    @cached_property
    def mean_prices(self) -> FloatArray:
        """What w_{k,i} adds to the mean feature cost, c_k / N."""
        share = self.weights[self.uses.pair_row] / self.weights.sum()
        return read_only(self.prices[self.uses.pair_feature] * share)

    @cached_property
    def z_names(self) -> list[str]:
        """The name of every node's z, in the order of the forest's arrays."""
        return [f"z_{number}" for number in self.numbering.number]

    @cached_property
    def w_names(self) -> list[str]:
        """The names of w_{k,i}, for every pair that some tree uses."""
        features, rows = self.uses.pair_feature, self.uses.pair_row
        return [f"w_{k + 1},{i + 1}" for k, i in zip(features, rows, strict=True)]

    @cached_property
    def tree_w_names(self) -> list[str]:
        """The names of w^(t)_{k,i}, for every use."""
        uses = zip(self.uses.tree, self.uses.feature, self.uses.row, strict=True)
        return [f"w({t + 1})_{k + 1},{i + 1}" for t, k, i in uses]

    def nodes_of(self, tree: int) -> IntArray:
        """Return the nodes of a tree in pre-order."""
        first, last = self.forest.tree_start[tree : tree + 2]
        nodes: IntArray = first + np.argsort(self.numbering.number[first:last])
        return nodes


def read_instance(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: AnyCosts = None,
    loss: Loss = None,
    class_weight: ClassWeight = None,
    rows: str = "all",
    sample_weight: ArrayLike | None = None,
) -> PaperInstance:
    """Read a model with examples; parameters as in `prune`."""
    forest = read_forest(model)
    if not forest.is_averaged:
        raise InputError(
            "The paper's programs add up the losses of trees, but boosted trees predict only "
            "together: pass a forest, a bagged ensemble or a tree."
        )
    table = read_rows(X, forest)
    routes = route_samples(forest, table)
    weights = read_weights(sample_weight, table.n_samples)
    samples = None if rows == "all" else read_bootstrap(model)
    times = times_counted(rows, samples, forest.n_trees, table.n_samples)
    target = read_target(y, forest, table.n_samples)
    loss_weights = read_loss_weights(class_weight, forest, target, weights)
    names = forest.feature_names or table.names
    return PaperInstance(
        forest=forest,
        routes=routes,
        losses=node_losses(forest, routes, target, loss_weights, loss, times),
        prices=_plain_prices(read_prices(costs, forest.n_features, names, table.n_samples)),
        weights=weights,
        weight_counted=weight_counted(rows, times, loss_weights),
    )


def _plain_prices(prices: PriceList) -> FloatArray:
    if not prices.is_plain:
        raise InputError(
            "The paper's programs know one price per feature and nothing else: pass an array or a "
            "mapping as `costs`, or use `prune`."
        )
    return prices.prices
