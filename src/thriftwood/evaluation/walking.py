"""Rows on their way along a path: which leaves they are in at each point, and what they bought."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from thriftwood.billing.asks import list_asks
from thriftwood.costs import PriceList
from thriftwood.evaluation import kernels
from thriftwood.forest import LEAF, LINKS, Forest
from thriftwood.forest.routes import Routes
from thriftwood.problem.counting import CountArray
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    read_only,
)

# Values of nodes are added in whole numbers of this many bits.
VALUE_BITS = 44
NO_PRICES = read_only(np.empty((0, 0)))


def walk_of(
    forest: Forest, prices: PriceList, routes: Routes, times: CountArray
) -> tuple[kernels.Walk, kernels.Scale]:
    """Return the trees as the kernels walk them, and what makes predictions of their values.

    Parameters
    ----------
    forest, prices, routes
        The trees, what features cost, and who passes where.
    times : shape (n_trees, n_samples)
        0 where a tree does not predict a row; it buys what it meets there all the same.
    """
    value, unit = _whole_values(forest)
    asks = list_asks(forest, prices)
    paid_by_batches = prices.payer >= 0
    rows = prices.samples
    walk = kernels.Walk(
        tree_of=forest.tree_of(np.arange(forest.n_nodes)),
        left=forest.left,
        right=forest.right,
        value=value,
        winner=value.argmax(axis=1),
        order=routes.order,
        start=routes.start,
        stop=routes.stop,
        times=times,
        ask_start=np.searchsorted(asks.node, np.arange(forest.n_nodes + 1)),
        ask_cost_item=asks.cost_item,
        ask_mask=asks.mask,
        prices=prices.prices,
        payer=prices.payer,
        own_prices=NO_PRICES if rows is None or rows.own_prices is None else rows.own_prices,
        masks=prices.masks,
        batch_of=prices.batch_of,
        line=np.cumsum(paid_by_batches) - 1,
        per_split=prices.per_split,
    )
    scale = kernels.Scale(
        unit=unit,
        is_mean=forest.combine == "mean",
        bias=forest.bias,
        link=LINKS.index(forest.link),
        n_classes=0 if forest.classes is None else len(forest.classes),
    )
    return walk, scale


def nothing_yet(forest: Forest, prices: PriceList, n_samples: int) -> kernels.State:
    """Return the state of rows that are nowhere and bought nothing."""
    n_lines = np.count_nonzero(prices.payer >= 0)
    n_batches = int(prices.batch_of.max(initial=-1)) + 1
    return kernels.State(
        total=np.zeros((n_samples, forest.n_outputs), dtype=np.int64),
        votes=np.zeros((n_samples, forest.n_outputs), dtype=np.int32),
        n_trees=np.zeros(n_samples, dtype=np.int32),
        # Trees ask once for each cost item, but where rows know values, more often.
        n_askers=np.zeros(
            (n_samples, prices.n_cost_items), np.int32 if len(prices.masks) else np.uint16
        ),
        bill=np.zeros(n_samples),
        n_paid=np.zeros(n_samples, dtype=np.int32),
        n_payers=np.zeros((n_lines, n_batches), dtype=np.int32),
        changed=np.zeros(n_samples, dtype=np.bool_),
    )


def bills_now(walk: kernels.Walk, state: kernels.State) -> FloatArray:
    """Return what every row pays, equal parts of what its batches pay included."""
    bill: FloatArray = state.bill.copy()
    for cost_item in np.flatnonzero(walk.payer >= 0):
        batch_of = walk.batch_of[walk.payer[cost_item]]
        part = walk.prices[cost_item] / np.bincount(batch_of)
        pays = state.n_payers[walk.line[cost_item], : len(part)] > 0
        bill += np.where(pays, part, 0.0)[batch_of]
    return bill


def mean_cost(
    forest: Forest, prices: PriceList, kept: BoolArray, bill: FloatArray, weights: FloatArray
) -> float:
    """Return what a row costs on average, its part of what the model costs included."""
    used = np.bincount(forest.feature[kept], minlength=forest.n_features) > 0
    of_model = prices.model_cost(used, int(np.count_nonzero(kept)))
    return float(bill @ weights / weights.sum()) + of_model


def visit(
    forest: Forest, masks: Iterable[BoolArray], walk: kernels.Walk, state: kernels.State
) -> Iterator[BoolArray]:
    """Bring the state from nothing to one point after the other.

    Parameters
    ----------
    forest
    masks : iterable of bool arrays, shape (n_nodes,)
        The kept splits of each point; they come back when the state is there.
    walk, state
    """
    before = np.zeros(forest.n_nodes, dtype=np.bool_)
    kernels.enter(walk, state, forest.tree_start[:-1])
    for after in masks:
        kernels.change(walk, state, _tops(forest, before, after), before, after)
        yield after
        before = after


def _tops(forest: Forest, before: BoolArray, after: BoolArray) -> IntArray:
    """Return the highest nodes that are a split before or after, but not both."""
    changed = np.flatnonzero(before != after)
    parent = forest.parent[changed]
    is_top: BoolArray = (parent == LEAF) | (before[parent] & after[parent])
    return changed[is_top]


def _whole_values(forest: Forest) -> tuple[IntArray, float]:
    """Return the values of all nodes in whole numbers, and their unit."""
    size = math.frexp(float(np.abs(forest.values).max(initial=0.0)))[1]
    whole = np.rint(np.ldexp(forest.values, VALUE_BITS - size)).astype(np.int64)
    return whole, math.ldexp(1.0, size - VALUE_BITS)
