"""What is to be pruned, on which rows, at what prices: read and checked once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.billing.purchases import Purchases, list_purchases
from thriftwood.closure import ClosureProblem
from thriftwood.costs import AnyCosts, PriceList
from thriftwood.forest import Forest
from thriftwood.forest.routes import Routes, route_samples
from thriftwood.problem.build import ClosureIndex, build_closure
from thriftwood.problem.given import GivenRows, read_given
from thriftwood.problem.losses import Loss
from thriftwood.problem.node_losses import NodeLosses, node_losses_of, recorded_node_losses
from thriftwood.problem.targets import ClassWeight
from thriftwood.pruning.points import figures_of
from thriftwood.pruning.pruned import Figures
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    read_only,
)


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
    weights : shape (n_samples,)
        How much each row counts in the mean bill, in whole numbers.
    target : shape (n_samples,)
        What is right for each row: the number of its class, or a number.
    loss_weights : shape (n_samples,)
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
        return read_only(self.losses / self.weight_counted)

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
        needed = self.purchases.needed(kept[self.forest.is_split])
        cost = float(self.purchases.item_cost[needed].sum() / self.purchases.scale)
        return figures_of(self.forest, self.mean_losses, kept, cost)

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
    given = read_given(
        model,
        X,
        y,
        costs=costs,
        loss=loss,
        class_weight=class_weight,
        rows=rows,
        sample_weight=sample_weight,
    )
    return task_of(given, n_jobs)


def task_of(given: GivenRows, n_jobs: int | None, losses: NodeLosses | None = None) -> PruningTask:
    """Send the rows through the trees, and count what their nodes lose.

    Parameters
    ----------
    given : GivenRows
    n_jobs : int, optional
        Threads.
    losses : NodeLosses, optional
        Those to prune by, where they are not those of these rows.
    """
    routes = route_samples(given.forest, given.table, n_jobs)
    if losses is None:
        own = given.adds_up_losses
        losses = node_losses_of(given, routes) if own else recorded_node_losses(given)
    return PruningTask(
        forest=given.forest,
        routes=routes,
        rows=given.rows,
        prices=given.prices,
        weights=given.weights,
        target=given.target,
        loss_weights=given.loss_weights,
        loss_name=given.loss_name,
        losses=losses.total,
        weight_counted=losses.weight,
    )
