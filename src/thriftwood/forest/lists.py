"""Lists: the documents of queries, sent from stage to stage, of each query the best first.

The margin of a document at a stage is how many documents of its query, of those that came that far,
are strictly better there. It stops at the first stage where this is at least the threshold: at a
threshold of 5 the best five go on, and those that tie with them. Documents that come further stand
above those that stop before; they are ranked by the stage where they stop.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

# Of documents that were not even sent to the first stage.
NOWHERE = -1


def weights_of_queries(query: NDArray[np.integer], weights: FloatArray) -> FloatArray:
    """Return the weight of each query, numbered from 0 on: that of its documents on average."""
    return np.bincount(query, weights) / np.bincount(query)


def discounts(rank: IntArray, k: float = math.inf) -> FloatArray:
    """Discounts of NDCG by rank, from 0 on; 0 behind the first k."""
    return np.where(rank < k, 1 / np.log2(rank + 2), 0.0)


class Places(NamedTuple):
    """Places of documents, query after query, and the ties that they are part of."""

    order: IntArray  # the document of each place, if ties are in the order of documents
    query: IntArray  # of each place
    rank: IntArray  # from 0 in each query
    tie: IntArray  # the number of the tie of each place
    first: IntArray  # the first rank of each tie
    size: IntArray  # of each tie

    @classmethod
    def of(cls, values: FloatArray, query: NDArray[np.integer], one_by_one: bool = False) -> Places:
        """Rank documents of queries by falling values; `one_by_one` makes no ties."""
        order = np.lexsort((-values, query))
        own, falling = query[order].astype(np.int64), values[order]
        changes = _changes(own)
        first = np.flatnonzero(changes)
        sizes = np.diff(np.append(first, len(own)))
        rank = np.arange(len(own)) - np.repeat(first, sizes)
        begins = np.flatnonzero(changes | _changes(falling) | one_by_one)
        size = np.diff(np.append(begins, len(own)))
        tie = np.repeat(np.arange(len(begins)), size)
        return cls(order, own, rank, tie, rank[begins], size)

    def in_ties(self, amounts: FloatArray) -> FloatArray:
        """Return the sum of amounts of documents over each tie."""
        return np.bincount(self.tie, amounts[self.order]).astype(np.float64)

    @property
    def n_better(self) -> IntArray:
        """Number of documents of its query that are strictly above each document."""
        found = np.empty(len(self.order), dtype=np.int64)
        found[self.order] = self.first[self.tie]
        return found


class ListRule(NamedTuple):
    """Rule by which documents go on."""

    in_use: Sequence[int]  # the stages, from cheap to rich
    thresholds: FloatArray  # (n_stages,)
    max_cost: float = math.inf  # what a query may pay at the most
    per_document: FloatArray = np.empty(0)  # what a document pays at the most that stops at a stage
    per_query: FloatArray = np.empty(0)  # and its query for all of them


class ListPredictions(NamedTuple):
    """Predictions of documents by the stages where they stop.

    Attributes
    ----------
    stage : shape (n_documents,)
        Where each stops; -1 where a limit kept it from the first stage.
    scores : shape (n_documents,)
        What this stage says of it.
    predictions : shape (n_documents,)
        Minus the number of documents of its query that are above it: what to sort by.
    """

    stage: IntArray
    scores: FloatArray
    predictions: FloatArray


# Asks for the scores of documents at a stage.
ListWalk = Generator[tuple[int, IntArray], FloatArray, ListPredictions]


def walk_lists(rule: ListRule, query: NDArray[np.integer]) -> ListWalk:
    """Send documents through stages: yield a stage and who is there, to be sent their scores."""
    stage, found = np.full(len(query), NOWHERE), np.zeros(len(query))
    here = np.arange(len(query))
    here = here[_affordable(rule, query, stage, here, rule.in_use[0])]
    for number, after in pairwise([*rule.in_use, None]):
        if not len(here):
            break
        assert number is not None
        stage[here] = number
        found[here] = yield number, here
        if after is None:
            break
        n_better = Places.of(found[here], query[here]).n_better
        here = here[n_better < rule.thresholds[number]]
        here = here[np.argsort(-found[here], kind="stable")]
        here = np.sort(here[_affordable(rule, query, stage, here, after)])
    above = np.lexsort((found, stage))
    height = np.empty(len(query))
    height[above] = np.cumsum(_changes(stage[above]) | _changes(found[above]))
    return ListPredictions(stage, found, -Places.of(height, query).n_better.astype(np.float64))


def _affordable(
    rule: ListRule, query: NDArray[np.integer], stage: IntArray, here: IntArray, after: int
) -> BoolArray:
    """Mark those of some documents, the best first, that a query can send on to a stage."""
    if rule.max_cost == math.inf or not len(here):
        return np.ones(len(here), dtype=np.bool_)
    n_queries = int(query.max()) + 1
    per_document = np.append(rule.per_document, 0.0)  # the last for those who are nowhere
    spent = np.bincount(query, per_document[stage], n_queries)
    furthest = np.full(n_queries, NOWHERE)
    np.maximum.at(furthest, query, stage)
    per_query = np.append(rule.per_query, 0.0)
    left = rule.max_cost - spent - per_query[np.maximum(furthest, after)]
    more = per_document[after] - per_document[stage[here]]
    own = query[here].astype(np.int64)
    order = np.argsort(own, kind="stable")
    total = np.cumsum(more[order])
    first = np.flatnonzero(_changes(own[order]))  # of each query
    before = np.repeat((total - more[order])[first], np.diff(np.append(first, len(own))))
    fits = np.empty(len(here), dtype=np.bool_)
    fits[order] = total - before <= left[own[order]]
    return fits


def _changes(values: NDArray[Any]) -> BoolArray:
    """Mark the first value, and those that differ from the one before."""
    return np.append(True, values[1:] != values[:-1])
