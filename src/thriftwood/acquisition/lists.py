"""Rank the documents of one query, buying features only for those that may be among the first.

Two ways: stage by stage, where the best of a stage go on to the next; or one value of each document
at a time, until bounds of their scores tell which documents are the first, and in which order.
Documents that surely are not stop then, and so do those whose place is sure (top-k by bounds, as in
Fagin, Lotem and Naor, 2003).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thriftwood.acquisition.answer import LazyAnswer
from thriftwood.acquisition.buying import Buyer, Calls, Coroutine, Request, value_or_error
from thriftwood.acquisition.kernels import NodeArrays
from thriftwood.acquisition.traversal import PlainTuple
from thriftwood.billing import shown_value
from thriftwood.forest import Forest, ListPredictions, ListRule, walk_lists
from thriftwood.forest.table import Table
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray
from thriftwood.support.text import unit_behind


@dataclass(frozen=True, eq=False, repr=False)
class LazyRanking:
    """The first documents of a query, and what was bought to find them.

    Attributes
    ----------
    query
        Its id.
    documents : tuple
        Ids of the first k documents, the best first.
    scores : shape (k,)
        Of these, by the stage where each stopped; of those that stopped because their place was
        sure, the middle of what it may be.
    stages : shape (n_documents,)
        At which stage each of the documents that were passed stopped; -1 where a limit kept it from
        the first, and 0 for models without stages.
    answer : LazyAnswer
        Of all documents that were passed, with their bill, receipts and failures.
    """

    query: Any
    documents: tuple[Any, ...]
    scores: FloatArray
    stages: IntArray
    answer: LazyAnswer

    @property
    def cost(self) -> float:
        """The bill of the query, that of all its documents together."""
        return float(self.answer.bill.per_sample.sum())

    def __repr__(self) -> str:
        answer = self.answer
        return (
            f"LazyRanking of {len(answer)} documents, the first {len(self.documents)}: "
            f"{answer.n_requests} requests in {answer.n_rounds} rounds, "
            f"{self.cost:.6g}{unit_behind(answer.bill.unit)}"
        )


def buy_by_stages(buyer: Buyer, rule: ListRule) -> Calls:
    """Send documents from stage to stage, and buy what each asks for."""
    everyone = _begin(buyer)
    walk = walk_lists(rule, np.zeros(len(everyone), dtype=np.int64))
    try:
        _, here = next(walk)
        while True:
            yield from buyer.until_scored(here, everyone)
            scores = buyer.traversal.state.scores[here, 0]
            scores[np.isin(here, list(buyer.dropped))] = -np.inf
            _, here = walk.send(scores)
            buyer.traversal.send_on(here)
    except StopIteration as end:
        _end(buyer, end.value)


def buy_until_decided(buyer: Buyer, k: int, nodes: PlainTuple, bounds: PlainTuple) -> Calls:
    """Buy one value of each document whose place among the first k is open, until none is."""
    everyone = _begin(buyer)
    is_done = np.zeros(len(everyone), dtype=np.bool_)
    while True:
        least, most = _score_bounds(buyer, nodes, bounds)
        is_done[list(buyer.dropped)] = True
        going = np.flatnonzero(undecided(least, most, k) & ~is_done)
        if not len(going):
            break
        samples, features = buyer.advance(going, everyone)
        is_done[np.setdiff1d(going, samples)] = True
        if len(samples):
            yield from buyer.buy(samples, features)
    middle = (least + most) / 2
    middle[list(buyer.dropped)] = -np.inf
    above = np.argsort(np.argsort(-middle, kind="stable"))
    _end(buyer, ListPredictions(np.zeros(len(middle), np.int64), middle, -above.astype(float)))


def undecided(least: FloatArray, most: FloatArray, k: int) -> BoolArray:
    """Mark documents whose place among the first k is not sure; the first of equal ones is above.

    Those that k others surely are above are out; others are sure of their place where their bounds
    do not overlap with those of any that may be above them or below.
    """
    number = np.arange(len(least))
    is_first = number[:, None] < number
    above = (least[:, None] > most) | ((least[:, None] == most) & is_first)
    is_out = above.sum(axis=0) >= k
    is_open = ~(above | above.T) & ~np.eye(len(least), dtype=np.bool_)
    return (is_open & ~is_out).any(axis=1) & ~is_out


def _begin(buyer: Buyer) -> IntArray:
    buyer.traversal.clear(slice(len(buyer.ids)))
    return np.arange(len(buyer.ids))


def _end(buyer: Buyer, ranking: ListPredictions) -> None:
    for i in range(len(buyer.ids)):
        buyer.traversal.finish(i, i)
    buyer.ranking = ranking


def _score_bounds(
    buyer: Buyer, nodes: PlainTuple, bounds: PlainTuple
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest score that each document may have.

    They are added up tree after tree, as scores are: see `decided_kernels`.
    """
    arrays, (low, high, _) = NodeArrays(*nodes), bounds
    reached = buyer.traversal.state.node
    is_lost = reached < 0
    node = np.where(is_lost, -1 - reached, reached)
    found = []
    for ends in (low[:, 0], high[:, 0]):
        of_trees = np.where(is_lost, arrays.values[node, 0], ends[node])
        total = np.zeros(len(node))
        for of_tree in of_trees.T:
            total += of_tree
        found.append(total / arrays.divisor[0] + arrays.bias[0, 0])
    return found[0], found[1]


def values_of(
    table: Table, names: Sequence[Any], forest: Forest
) -> Callable[[tuple[Request, ...]], list[Any]]:
    """Return a source that reads what it is asked for in a table; documents are its rows."""
    column_of = {name: number for number, name in enumerate(names)}

    def cell(row: int, column: int) -> Any:
        if table.raw is not None:
            return table.cell(row, column)
        return shown_value(forest, column, table.values[row, column])

    def read(requests: tuple[Request, ...]) -> list[Any]:
        return [cell(row, column_of[name]) for (_, row), name in requests]

    return read


def many_from_one(acquire: Callable[[Any, Any], Any]) -> Callable[[tuple[Request, ...]], list[Any]]:
    """Return a source of many values that asks for one after the other."""

    def acquire_many(requests: tuple[Request, ...]) -> list[Any]:
        found = []
        for request in requests:
            try:
                found.append(acquire(*request))
            except Exception as error:
                found.append(error)
        return found

    return acquire_many


def many_at_a_time(acquire: Coroutine, max_in_flight: int) -> Coroutine:
    """Return a coroutine source of many values, of which some are asked for at a time."""

    async def acquire_many(requests: tuple[Request, ...]) -> list[Any]:
        free = asyncio.Semaphore(max_in_flight)

        async def one(request: Request) -> Any:
            async with free:
                return await value_or_error(acquire, *request)

        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(one(request)) for request in requests]
        return [task.result() for task in waiting]

    return acquire_many
