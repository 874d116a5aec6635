"""What rows buy at which splits, and what it costs."""

from dataclasses import dataclass

import numpy as np

from thriftwood.billing import purchase_kernels as kernels
from thriftwood.billing.asks import Asks, list_asks
from thriftwood.closure import last_needed
from thriftwood.costs import MODEL, SAMPLE, PriceList
from thriftwood.errors import RangeError
from thriftwood.forest import Forest
from thriftwood.forest.routes import Routes
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
)

# The cost item of what the price list does not name: one split, its tests and its place.
OF_SPLIT = -1


@dataclass(frozen=True, eq=False)
class Purchases:
    """The items of a forest, each paid once, and the splits that ask for each.

    Split number `s`, in the order of the nodes, asks for `arc_item[arc_start[s]:arc_start[s + 1]]`:
    the cost items of its feature for every row that passes it, unless a split above has asked it
    already; and for its own tests, where these cost something.

    Attributes
    ----------
    arc_start : shape (n_splits + 1,)
    arc_item : shape (n_arcs,)
    cost_item, item_payer : shape (n_items,)
        What each item is: this cost item for this row, batch of rows, or the model (payer 0); or
        `OF_SPLIT` and the number of the split. (Where each tree pays for itself, an item may be
        all that is paid at a split, and its cost item one of them.)
    item_cost : shape (n_items,)
        What it costs for all rows together, as often as there are predictions.
    cost_item_price : shape (n_cost_items,)
        What cost items cost, for messages.
    scale : float
        The weight of all rows times the predictions: costs divided by it are means.
    """

    arc_start: IntArray
    arc_item: IndexArray
    cost_item: IndexArray
    item_payer: IndexArray
    item_cost: FloatArray
    cost_item_price: FloatArray
    scale: float

    @property
    def n_items(self) -> int:
        return len(self.cost_item)

    def last_needed(self, step_of: IndexArray) -> IndexArray:
        """Return for each item the last step among the splits that ask for it.

        Parameters
        ----------
        step_of : shape (n_splits,)
            With which step of a path each split drops; -1 if it is never kept.
        """
        return last_needed(step_of, self.arc_start, self.arc_item, self.n_items)

    def needed(self, kept: BoolArray) -> BoolArray:
        """Return the items that the kept splits ask for."""
        mask: BoolArray = self.last_needed(np.where(kept, 0, -1).astype(np.int32)) == 0
        return mask


@np.errstate(over="ignore", invalid="ignore")  # what is infinite is refused in the end
def list_purchases(
    forest: Forest,
    routes: Routes,
    prices: PriceList,
    weights: FloatArray,
    *,
    each_tree: bool = False,
) -> Purchases:
    """Find out what the rows of each split buy there.

    Parameters
    ----------
    forest, routes, prices
    weights : shape (n_samples,)
        How much each row counts.
    each_tree : bool
        Whether every tree pays for itself, so that no item is shared by two of them.
    """
    asks = list_asks(forest, prices)
    if each_tree and prices.samples is None and not (prices.payer == MODEL).any():
        return _one_item_each(forest, routes, prices, weights, asks)
    group = asks.cost_item.astype(np.int64)
    if each_tree:
        group += forest.tree_of(asks.node) * prices.n_cost_items
    order = np.argsort(group, kind="stable")
    asks, group = asks.take(order), group[order]

    split = np.flatnonzero(forest.is_split)
    has_own = bool(prices.per_split or prices.per_node)
    of_split = np.searchsorted(split, asks.node)
    asked = _asked(forest, routes, prices, asks)
    n_arcs = kernels.count_arcs(asked)
    arc_start = np.zeros(len(split) + 1, dtype=np.int64)
    np.cumsum(np.bincount(of_split, n_arcs, len(split)) + has_own, out=arc_start[1:])
    if arc_start[-1] >= 2**31:
        raise RangeError(
            f"The forest buys features at {arc_start[-1]} (split, row) pairs; up to 2**31 fit. "
            "Prune on a sample of the rows."
        )
    arc_item = np.empty(arc_start[-1], dtype=np.int32)
    cost_item, item_payer = kernels.number_items(
        asked,
        group,
        _first_arcs(of_split, n_arcs, has_own),
        arc_item,
        min(len(arc_item), len(np.unique(group)) * routes.n_samples),
    )
    item_cost = _item_costs(prices, weights, cost_item, item_payer)
    if has_own:
        number = np.arange(len(split), dtype=np.int32)
        arc_item[arc_start[1:] - 1] = len(cost_item) + number
        cost_item = np.append(cost_item, np.full_like(number, OF_SPLIT))
        item_payer = np.append(item_payer, number)
        passing = _passing(forest, routes, weights)
        item_cost = np.append(item_cost, _split_costs(prices, weights, passing)[split])
    return _checked(arc_start, arc_item, cost_item, item_payer, item_cost, prices, weights)


def _one_item_each(
    forest: Forest, routes: Routes, prices: PriceList, weights: FloatArray, asks: Asks
) -> Purchases:
    """Return one item for each split, all that its rows pay there: nobody else pays for that."""
    split = np.flatnonzero(forest.is_split)
    number = np.arange(len(split), dtype=np.int32)
    passing = _passing(forest, routes, weights)
    cost = _split_costs(prices, weights, passing)
    amounts = prices.prices[asks.cost_item] * passing[asks.node] * prices.predictions
    np.add.at(cost, asks.node, amounts)
    every = np.arange(len(split) + 1)
    cost_item = np.full_like(number, OF_SPLIT)
    cost_item[np.searchsorted(split, asks.node)] = asks.cost_item
    return _checked(every, number, cost_item, number.copy(), cost[split], prices, weights)


def _checked(
    arc_start: IntArray,
    arc_item: IndexArray,
    cost_item: IndexArray,
    item_payer: IndexArray,
    item_cost: FloatArray,
    prices: PriceList,
    weights: FloatArray,
) -> Purchases:
    if not np.isfinite(item_cost.sum()):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
    return Purchases(
        read_only(arc_start),
        read_only(arc_item),
        read_only(cost_item),
        read_only(item_payer),
        read_only(item_cost),
        prices.prices,
        float(weights.sum()) * prices.predictions,
    )


def _asked(forest: Forest, routes: Routes, prices: PriceList, asks: Asks) -> kernels.Asked:
    return kernels.Asked(
        node=asks.node,
        cost_item=asks.cost_item,
        mask=asks.mask,
        payer=prices.payer,
        tree_of=forest.tree_of(asks.node),
        order=routes.order,
        start=routes.start,
        stop=routes.stop,
        masks=prices.masks,
        batch_of=prices.batch_of,
    )


def _first_arcs(of_split: IntArray, n_arcs: IntArray, has_own: bool) -> IntArray:
    """Return where the arcs of each ask begin, if those of each split follow each other."""
    by_split = np.argsort(of_split, kind="stable")
    first = np.empty(len(n_arcs), dtype=np.int64)
    first[by_split] = np.cumsum(n_arcs[by_split]) - n_arcs[by_split]
    return first + of_split * has_own


def _item_costs(
    prices: PriceList, weights: FloatArray, cost_item: IndexArray, payer: IndexArray
) -> FloatArray:
    """Return what items cost for all rows together, as often as there are predictions."""
    who = prices.payer[cost_item]
    cost = prices.prices[cost_item]
    of_row = np.flatnonzero(who == SAMPLE)
    cost[of_row] = prices.price_of(cost_item[of_row], payer[of_row]) * weights[payer[of_row]]
    for number, weight in enumerate(prices.batch_weights(weights)):
        of_batch = np.flatnonzero(who == number)
        cost[of_batch] *= weight[payer[of_batch]]
    cost[who == MODEL] *= weights.sum()
    cost[who != MODEL] *= prices.predictions
    return cost


def _passing(forest: Forest, routes: Routes, weights: FloatArray) -> FloatArray:
    """Return the weight of the rows that pass each node; whole numbers, so nothing is rounded."""
    before = np.zeros((forest.n_trees, routes.n_samples + 1))
    np.cumsum(weights[routes.order], axis=1, out=before[:, 1:])
    tree = forest.tree_of(np.arange(forest.n_nodes))
    passing: FloatArray = before[tree, routes.stop] - before[tree, routes.start]
    return passing


def _split_costs(prices: PriceList, weights: FloatArray, passing: FloatArray) -> FloatArray:
    """Return what every node costs as a split, its feature aside."""
    tests = prices.per_split * passing * prices.predictions
    costs: FloatArray = tests + prices.per_node * weights.sum()
    return costs
