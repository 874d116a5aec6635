"""From one piece of the rows to a shard of the closure problem, and what all must know of it.

Law: the shards of all pieces, joined, are the items of the closure problem of all rows at once.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.arrays import FloatArray, handed_over
from thriftwood.closure import Shard, join_shards
from thriftwood.costs import MODEL, PriceList
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest
from thriftwood.formulation.build import required_splits
from thriftwood.formulation.losses import Loss, node_losses
from thriftwood.formulation.purchases import Purchases, list_purchases
from thriftwood.formulation.recorded_gain import RECORDED_GAIN
from thriftwood.formulation.scaling import NOISE, whole_numbers
from thriftwood.formulation.targets import checked_weights, read_target
from thriftwood.routing import Routes, route_examples
from thriftwood.table import Table, read_rows

# Rows are taken so many at a time: what they buy is merged before the next ones are looked at.
ROWS_AT_A_TIME = 50_000
# What all prices may add up to in whole numbers: a thousand million rows then still fit.
MOST_PRICE = 2**30
# How much of a price may be lost to rounding before it is refused.
LOST_DIGITS = 1e-6
# The weights of rows in pieces count in parts of 1 of this size: no piece knows the others' digits.
WEIGHT_UNIT = 1e-6


@dataclass(frozen=True, eq=False)
class ShardPlan:
    """What every worker must know to make a shard of its rows.

    Attributes
    ----------
    forest : Forest
    prices : PriceList
        In whole numbers, from `whole_prices`.
    loss : Loss
    loss_name : str
    class_weights : shape (n_classes,), optional
        How much the loss of a row counts by its class, in whole numbers.
    """

    forest: Forest
    prices: PriceList
    loss: Loss
    loss_name: str
    class_weights: FloatArray | None


@dataclass(frozen=True, eq=False)
class ShardReport:
    """What the coordinator must know of a shard: a few numbers for every node.

    Attributes
    ----------
    names : tuple of str, optional
        Of the columns.
    n_rows : int
    weight, loss_weight : float
        How much all rows count in bills, and in losses.
    losses : shape (n_nodes,)
        What each node would lose as a leaf, added up over rows.
    presence : shape (n_splits,)
    n_items, n_arcs, n_bytes : int
        The size of the shard.
    """

    names: tuple[str, ...] | None
    n_rows: int
    weight: float
    loss_weight: float
    losses: FloatArray
    presence: FloatArray
    n_items: int
    n_arcs: int
    n_bytes: int


def make_shard(
    plan: ShardPlan, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Shard, ShardReport]:
    """Route rows, and keep what they buy as a shard; the rows themselves are not kept."""
    forest, prices = plan.forest, plan.prices
    table = read_rows(X, forest)
    target = read_target(y, forest, table.n_rows)
    weights = read_piece_weights(sample_weight, table.n_rows)
    loss_weights = weights if plan.class_weights is None else weights * plan.class_weights[target]
    losses = np.zeros(forest.n_nodes)
    shards: list[Shard] = []
    for start in range(0, table.n_rows, ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        routes = route_examples(forest, Table(table.values[rows], table.names))
        if plan.loss_name != RECORDED_GAIN:
            losses += node_losses(forest, routes, target[rows], loss_weights[rows], plan.loss)
        bought = list_purchases(forest, routes, prices, weights[rows])
        shards = [join_shards([*shards, _as_shard(forest, routes, prices, bought)])]
    shard = shards[0]
    return shard, ShardReport(
        names=table.names,
        n_rows=table.n_rows,
        weight=float(weights.sum()),
        loss_weight=float(loss_weights.sum()),
        losses=losses,
        presence=shard.presence,
        n_items=shard.n_items,
        n_arcs=shard.n_arcs,
        n_bytes=shard.n_bytes,
    )


class WholePrices(NamedTuple):
    """Prices in whole numbers, what 1 stands for, and what a row may lose by that at most."""

    prices: PriceList
    unit: Fraction
    lost: float


def whole_prices(prices: PriceList, n_splits: int) -> WholePrices:
    """Return the prices of a forest with so many splits in whole numbers.

    All shards must count in the same unit, before any of them has seen its rows. What is paid for
    each prediction is multiplied by their number, so that everything is paid once.
    """
    often = prices.predictions
    times = np.where(prices.payer == MODEL, 1.0, often)
    exact = np.append(prices.prices * times, [prices.per_split * often, prices.per_node])
    whole, unit = whole_numbers(exact, MOST_PRICE)
    missed = np.abs(whole * float(unit) - exact)
    lost = np.flatnonzero(missed > LOST_DIGITS * exact)
    if len(lost):
        raise RangeError(
            f"The prices reach from {exact[lost[0]] / often:g} to {exact.max() / often:g}, too far "
            "apart to be exact in pieces. Give the smallest prices as 0, or raise them."
        )
    *of_charges, per_split, per_node = whole.astype(np.float64)
    counted = replace(
        prices,
        prices=handed_over(np.array(of_charges)),
        per_split=float(per_split),
        per_node=float(per_node),
        predictions=1.0,
    )
    matters = np.where(missed > NOISE * float(unit), missed, 0.0) / often
    most = float(matters[:-2].sum() + n_splits * matters[-2:].sum())
    return WholePrices(counted, unit / Fraction(often), most)


def read_piece_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return how much each row of a piece counts, as whole numbers in a unit that all share."""
    if sample_weight is None:
        return handed_over(np.ones(n_rows))
    weights = checked_weights(sample_weight, n_rows)
    whole = np.rint(weights / WEIGHT_UNIT)
    coarse = np.flatnonzero(np.abs(whole * WEIGHT_UNIT - weights) > LOST_DIGITS * weights)
    if len(coarse):
        raise InputError(
            f"`sample_weight` is {weights[coarse[0]]:g} in row {coarse[0]}: where rows come in "
            "pieces, weights count in millionths. Scale and round them to that."
        )
    return handed_over(whole)


def _as_shard(forest: Forest, routes: Routes, prices: PriceList, bought: Purchases) -> Shard:
    presence = routes.n_rows_of[forest.is_split].astype(np.float64)
    if prices.per_node or (prices.payer == MODEL).any():
        # What is paid once is paid in parts by all shards: also where no row passes the split.
        presence += routes.n_rows
    return Shard(
        requires=required_splits(forest),
        arc_start=bought.arc_start,
        arc_item=bought.arc_item,
        costs=bought.item_cost.astype(np.int64),
        presence=presence,
    ).without_free_items()
