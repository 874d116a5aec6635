"""Purchases of samples at splits: the items of the closure problem, and the arcs to them."""

from dataclasses import dataclass

import numpy as np

from thriftwood.billing import kernels
from thriftwood.costs import MODEL, NO_MASK, SAMPLE, PriceList
from thriftwood.errors import RangeError
from thriftwood.forest import Forest, Routes, first_tests, first_uses
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, read_only

# The cost item of what the price list does not name: one split, its tests and its place.
OF_SPLIT = -1
# The arrays of `Purchases`, up to `item_cost`.
Items = tuple[IntArray, IndexArray, IndexArray, IndexArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Purchases:
    """The items of a forest, each paid once, and the splits that need each.

    Split number `s`, in the order of the nodes, needs `arc_item[arc_start[s]:arc_start[s + 1]]`:
    the cost items of its feature for every sample that passes it, unless a split above needs them
    already; and its own tests, where these cost something.
    """

    arc_start: IntArray  # (n_splits + 1,)
    arc_item: IndexArray  # (n_arcs,)
    # What each item is: this cost item for this sample, batch of samples, or the model (payer 0);
    # or `OF_SPLIT` and the number of the split. (Where each tree pays for itself, an item may be
    # all that is paid at a split, and its cost item one of them.)
    cost_item: IndexArray
    item_payer: IndexArray
    item_cost: FloatArray  # (n_items,), for all samples together, as often as there are predictions
    cost_item_price: FloatArray  # (n_cost_items,), for messages
    scale: float  # the weight of all samples times the predictions: costs by it are means


@np.errstate(over="ignore", invalid="ignore")  # what is infinite is refused in the end
def list_purchases(
    forest: Forest,
    routes: Routes,
    prices: PriceList,
    weights: FloatArray,
    *,
    each_tree: bool = False,
) -> Purchases:
    """Find out what the samples of each split buy there.

    With `each_tree` every tree pays for itself, so that no item is shared by two of them.
    """
    uses, group = _first_uses(forest, routes, prices, each_tree)
    pays_alone = not prices.is_tied_to_samples and (prices.payer == SAMPLE).all()
    if each_tree and pays_alone:
        arrays = _one_item_each(forest, routes, prices, weights, uses)
    else:
        arrays = _shared_items(forest, routes, prices, weights, uses, group)
    if not np.isfinite(arrays[-1].sum()):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
    for array in arrays:
        read_only(array)
    return Purchases(*arrays, prices.prices, float(weights.sum()) * prices.predictions)


def count_purchases(forest: Forest, routes: Routes, prices: PriceList) -> tuple[int, int]:
    """Return the number of arcs of `list_purchases`, and an upper bound on its items."""
    uses, _ = _first_uses(forest, routes, prices, each_tree=False)
    arcs_of = np.bincount(uses.cost_item, kernels.count_arcs(uses), prices.n_cost_items)
    unknown = np.append(prices.masks.sum(axis=1), routes.n_samples)[prices.mask]  # NO_MASK is last
    payers = np.bincount(prices.cost_item, unknown, prices.n_cost_items)
    payers = np.minimum(payers, routes.n_samples)
    payers[prices.payer == MODEL] = 1
    for number, batch_of in enumerate(prices.batch_of):
        payers[prices.payer == number] = batch_of.max() + 1
    own = forest.n_splits if prices.per_split or prices.per_node else 0
    return int(arcs_of.sum()) + own, int(np.minimum(arcs_of, payers).sum()) + own


def passing_weights(forest: Forest, routes: Routes, weights: FloatArray) -> FloatArray:
    """Return the weight of the samples that pass each node; whole weights are not rounded."""
    passing: FloatArray = np.empty(forest.n_nodes)
    before = np.zeros(routes.n_samples + 1)
    for tree, order in enumerate(routes.order):
        nodes = slice(*forest.tree_start[tree : tree + 2])
        np.cumsum(weights[order], out=before[1:])
        passing[nodes] = before[routes.stop[nodes]] - before[routes.start[nodes]]
    return passing


def _first_uses(
    forest: Forest, routes: Routes, prices: PriceList, each_tree: bool
) -> tuple[kernels.FirstUses, IntArray]:
    """Return the splits at which samples may need a cost item that they did not need above.

    They come sorted by groups, the second result: by cost item, and by tree where each pays for
    itself. Where samples know values, the first split that needs an item differs from sample to
    sample: then each first use of a feature counts. Counting twice on the same way costs nothing.
    """
    uses = first_uses(forest)
    start = np.searchsorted(forest.feature[uses], np.arange(forest.n_features + 1))
    of_feature = np.split(uses, start[1:-1])
    feature = np.repeat(np.arange(forest.n_features), np.diff(prices.start))
    is_masked = bool((prices.mask != NO_MASK).any())
    used = np.flatnonzero(np.diff(start)[feature] > 0)
    by_item = used[np.argsort(prices.cost_item[used], kind="stable")]
    borders = np.flatnonzero(np.diff(prices.cost_item[by_item])) + 1
    found = [(np.empty(0, uses.dtype), np.empty(0, np.int64))]
    for entries in np.split(by_item, borders) if len(by_item) else ():
        if len(entries) == 1 or is_masked:
            nodes = np.concatenate([of_feature[k] for k in feature[entries]])
            beside = np.repeat(entries, [len(of_feature[k]) for k in feature[entries]])
            order = np.argsort(nodes, kind="stable")
            found.append((nodes[order], beside[order]))
        else:
            entry_of = np.full(forest.n_features, -1)
            entry_of[feature[entries]] = entries
            group_of = np.minimum(entry_of, 0)  # all of them are one group
            nodes = np.flatnonzero(first_tests(group_of, forest.feature, forest.parent))
            found.append((nodes, entry_of[forest.feature[nodes]]))
    node, entry = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    tree, group = forest.tree_of(node), prices.cost_item[entry].astype(np.int64)
    if each_tree:
        group += tree * prices.n_cost_items
        order = np.argsort(group, kind="stable")
        node, entry, tree, group = node[order], entry[order], tree[order], group[order]
    bundle = kernels.FirstUses(
        node=node,
        cost_item=prices.cost_item[entry],
        mask=prices.mask[entry],
        tree=tree,
        payer=prices.payer,
        order=routes.order,
        start=routes.start,
        stop=routes.stop,
        masks=prices.masks,
        batch_of=prices.batch_of,
    )
    return bundle, group


def _shared_items(
    forest: Forest,
    routes: Routes,
    prices: PriceList,
    weights: FloatArray,
    uses: kernels.FirstUses,
    group: IntArray,
) -> Items:
    """Return one item for each payer of a cost item, whatever trees ask for it, and their costs."""
    split = np.flatnonzero(forest.is_split)
    has_own = bool(prices.per_split or prices.per_node)
    of_split = np.searchsorted(split, uses.node)
    n_arcs = kernels.count_arcs(uses)
    arc_start = np.zeros(len(split) + 1, dtype=np.int64)
    np.cumsum(np.bincount(of_split, n_arcs, len(split)) + has_own, out=arc_start[1:])
    if arc_start[-1] >= 2**31:
        raise RangeError(
            f"The forest buys features at {arc_start[-1]} (split, sample) pairs; up to 2**31 fit. "
            "Prune on a subsample."
        )
    # The arcs of a split are neighbours: those of its first uses, and the one to its own costs.
    by_split = np.argsort(of_split, kind="stable")
    first_arc = np.empty(len(n_arcs), dtype=np.int64)
    first_arc[by_split] = np.cumsum(n_arcs[by_split]) - n_arcs[by_split]
    first_arc += of_split * has_own
    arc_item = np.empty(arc_start[-1], dtype=np.int32)
    most_items = min(len(arc_item), len(np.unique(group)) * len(weights))
    cost_item, item_payer = kernels.number_items(uses, group, first_arc, arc_item, most_items)
    who, item_cost = prices.payer[cost_item], prices.prices[cost_item]
    own = np.flatnonzero(who == SAMPLE)
    if prices.own_prices is not None:
        item_cost[own] = prices.price_of(cost_item[own], item_payer[own])
    item_cost[own] *= weights[item_payer[own]]
    for number, weight in enumerate(prices.batch_weights(weights)):
        of_batch = np.flatnonzero(who == number)
        item_cost[of_batch] *= weight[item_payer[of_batch]]
    item_cost[who == MODEL] *= weights.sum()
    item_cost[who != MODEL] *= prices.predictions
    if has_own:
        each = np.arange(len(split), dtype=np.int32)
        arc_item[arc_start[1:] - 1] = len(cost_item) + each
        cost_item = np.append(cost_item, np.full_like(each, OF_SPLIT))
        item_payer = np.append(item_payer, each)
        passing = passing_weights(forest, routes, weights)
        item_cost = np.append(item_cost, _split_costs(prices, weights, passing)[split])
    return arc_start, arc_item, cost_item, item_payer, item_cost


def _one_item_each(
    forest: Forest,
    routes: Routes,
    prices: PriceList,
    weights: FloatArray,
    uses: kernels.FirstUses,
) -> Items:
    """Return one item for each split, all that its samples pay there: nobody shares it."""
    node, used_item = uses.node, uses.cost_item
    split = np.flatnonzero(forest.is_split)
    number = np.arange(len(split), dtype=np.int32)
    passing = passing_weights(forest, routes, weights)
    cost = _split_costs(prices, weights, passing)
    np.add.at(cost, node, prices.prices[used_item] * passing[node] * prices.predictions)
    every = np.arange(len(split) + 1)
    cost_item = np.full_like(number, OF_SPLIT)
    cost_item[np.searchsorted(split, node)] = used_item
    return every, number, cost_item, number.copy(), cost[split]


def _split_costs(prices: PriceList, weights: FloatArray, passing: FloatArray) -> FloatArray:
    """Return the cost of each node as a split, its feature aside."""
    tests = prices.per_split * passing * prices.predictions
    return tests + prices.per_node * weights.sum()
