"""Memory that a path takes, told before it is computed.

The large arrays have one entry for each of a few things, whose numbers are counted on some samples
and grow with the others: *arcs*, the (split, item) pairs, and *items*, one for each sample and cost
item that it buys; and what is left of both when items that the same splits need are merged.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thriftwood.billing import list_purchases
from thriftwood.closure.kernels import merge_arcs, twin_groups
from thriftwood.costs import SAMPLE, PriceList
from thriftwood.errors import InputError
from thriftwood.forest import route_samples
from thriftwood.forest.table import Table
from thriftwood.support.arrays import IntArray, read_only
from thriftwood.support.memory import amount_of_memory, available_memory, memory_in_words

if TYPE_CHECKING:
    from thriftwood.problem.problem import PruningProblem

# Arcs to count on, about, and how many samples at the least.
COUNTED_ARCS = 4_000_000
FEWEST_SAMPLES = 64
# How many batches of samples a draw must have room for, to be one of batches.
FEWEST_BATCHES = 32
# Bytes that are not worth asking the system about: it takes as long as pruning a small model.
SMALL = 2**24


class _Counts(NamedTuple):
    """How many there are of what the large arrays have entries for."""

    arcs: float
    paid_arcs: float  # to items that cost something
    items: float
    merged_arcs: float
    merged_items: float


def check_memory(problem: PruningProblem, memory_limit: Any = None) -> None:
    """Refuse a path that would take more than a limit, or else than the memory that is free."""
    most = _at_the_most(problem)
    if memory_limit is None and most <= SMALL:
        return
    if memory_limit is None:
        limit = available_memory()
    else:
        limit = amount_of_memory(memory_limit, "memory_limit")
    if most <= limit or problem.memory_estimate - _held(problem) <= limit:
        return
    there = "is free" if memory_limit is None else "is the `memory_limit`"
    raise InputError(
        f"Pruning needs about {memory_in_words(problem.memory_estimate)} of memory, and "
        f"{memory_in_words(limit)} {there}. Prune on fewer samples, by `tw.pruning_problem(..., "
        "subsample=...)`, or in partitions, by `decomposition=tw.DualDecomposition()` there; or "
        "raise `memory_limit`.",
        "memory_limit",
    )


def estimated_memory(problem: PruningProblem) -> int:
    """Return how many bytes the path of a problem takes at its peak, from counts on some samples.

    Model and samples are there already, so they are not counted.
    """
    return math.ceil(_peak(problem, _counts(problem)))


def _peak(problem: PruningProblem, n: _Counts) -> float:
    """Return the bytes of all large arrays at the peak, wherever that is: one entry each for

    - sample and tree: the order of samples, 4;
    - node and class, while losses are counted: weights, losses of classes, their products, 24;
    - node: slices of samples 8, parents 4, layout 21, losses 8;
    - split: gains, what it requires and where its arcs start, of the purchases, the closure, its
      copy for the cut and the first part of that, 113;
    - arc: of the closure and its copy 8, of the first part 4, and merged, twice, 8;
    - item: purchases 16, closure 8, copy 12, numbers in the first part 17, groups 4; and while
      twins are sought 8 more, and 28 for each kind of them.
    """
    forest, n_samples = problem.forest, problem.in_memory.table.n_samples
    n_nodes, n_splits = forest.n_nodes, forest.n_splits
    orders = 4 * forest.n_trees * n_samples
    table_of_classes = 24 * n_nodes * forest.n_outputs if forest.is_averaged else 0
    losses = 20 * n_nodes + (table_of_classes if forest.is_classifier else 90 * n_samples)
    cut = 41 * n_nodes + 113 * n_splits + 8 * n.arcs + 4 * n.paid_arcs
    grouping = 65 * n.items + 28 * n.merged_items
    merging = 57 * n.items + 4 * n.merged_items + 8 * n.merged_arcs
    return orders + max(losses, cut + max(grouping, merging))


def _at_the_most(problem: PruningProblem) -> float:
    """Return a bound that is known without counting: all items are apart, all trees full."""
    most = problem.in_memory.table.n_samples * _most_arcs(problem) + problem.forest.n_splits
    return _peak(problem, _Counts(most, most, most, most, most))


def _most_arcs(problem: PruningProblem) -> int:
    """Return how many items one sample needs at the most, all trees together."""
    forest, prices = problem.forest, problem.prices
    most_tests = min(int(forest.depth.max()), forest.n_features)
    return max(forest.n_trees * most_tests * int(np.diff(prices.start).max(initial=1)), 1)


def _held(problem: PruningProblem) -> int:
    """Return how many of these bytes a problem holds already from an earlier call."""
    done = vars(problem)
    order = problem.routes.order.nbytes if "routes" in done else 0
    return order + (problem.purchases.arc_item.nbytes if "purchases" in done else 0)


def _counts(problem: PruningProblem) -> _Counts:
    """Count on some samples, and on half of them to see how fast the counts grow."""
    n_samples = problem.in_memory.table.n_samples
    n_drawn = min(n_samples, max(COUNTED_ARCS // _most_arcs(problem), FEWEST_SAMPLES))
    drawn = _in_random_order(problem.prices, n_samples, n_drawn)[:n_drawn]
    some = _counts_on(problem, drawn)
    if n_drawn < n_samples:
        doublings = math.log2(n_samples / n_drawn)
        fewer = _counts_on(problem, drawn[: n_drawn // 2])
        growth = [
            math.log2(max(many / max(few, 1), 1)) for many, few in zip(some, fewer, strict=True)
        ]
        if (problem.prices.payer == SAMPLE).all():
            growth[:3] = 1.0, 1.0, 1.0  # every sample has its own
        some = _Counts(
            *(
                many * 2 ** (doublings * min(rate, 1.0))
                for many, rate in zip(some, growth, strict=True)
            )
        )
    prices = problem.prices
    own = problem.forest.n_splits if prices.per_split or prices.per_node else 0
    return _Counts(*(count + own for count in some))


def _in_random_order(prices: PriceList, n_samples: int, n_drawn: int) -> IntArray:
    """Return all samples in random order; those that pay together, where many do, stay so."""
    draw = np.random.default_rng(0)
    n_batches = prices.batch_of[0].max() + 1 if len(prices.batch_of) else 0
    if n_batches * n_drawn < FEWEST_BATCHES * n_samples:
        return draw.permutation(n_samples)
    return np.argsort(draw.permutation(n_batches)[prices.batch_of[0]], kind="stable")


def _counts_on(problem: PruningProblem, drawn: IntArray) -> _Counts:
    """Return the counts on some samples, without what belongs to splits alone."""
    data, forest = problem.in_memory, problem.forest
    prices = _prices_of(problem.prices, drawn)
    table = Table(read_only(data.table.values[drawn]), data.table.names)
    routes = route_samples(forest, table, problem.n_jobs)
    bought = list_purchases(forest, routes, prices, np.ones(len(drawn)))
    n_items = len(bought.item_cost)
    group, n_groups = twin_groups(bought.arc_start, bought.arc_item, n_items)
    _, merged = merge_arcs(bought.arc_start, bought.arc_item, group, n_groups)
    n_paid = int(np.count_nonzero(bought.item_cost[bought.arc_item]))
    return _Counts(len(bought.arc_item), n_paid, n_items, len(merged), n_groups)


def _prices_of(prices: PriceList, drawn: IntArray) -> PriceList:
    """Return the prices of some samples; what belongs to splits is left out."""
    batches = [np.unique(batch[drawn], return_inverse=True)[1] for batch in prices.batch_of]
    return replace(
        prices,
        per_split=0.0,
        per_node=0.0,
        own_prices=None if prices.own_prices is None else prices.own_prices[drawn],
        masks=prices.masks[:, drawn] if len(prices.masks) else prices.masks,
        batch_of=np.array(batches, dtype=np.int32) if batches else prices.batch_of,
    )
