"""The loss of rankings: logistic over pairs of documents of a query, weighed as LambdaRank does.

Of two documents with different grades the better one should have the higher score::

    sum over pairs  weight * log(1 + exp(score of the worse - score of the better))

The weight is by how much NDCG would change if the two changed places (Burges, Ragno and Le, NIPS
2006), in the ranking of the model before pruning: it stays what it is, so that the loss is convex.

A bound that adds up over documents, and touches the loss where they stand, has a slope and a
curvature for each: the logistic loss lies below a parabola (Jaakkola and Jordan, 2000), and the
square of the difference of two changes is at most twice the sum of their squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest import Forest, discounts, weights_of_queries
from thriftwood.problem import pairs_kernels as kernels
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, read_only

LAMBDARANK = "lambdarank"
Pairs = kernels.Pairs
Numbers = FloatArray | IndexArray
MOST_GRADE = 30  # of gains that are powers of two, as LightGBM has them


@dataclass(frozen=True, eq=False)
class RankingLoss:
    """The loss of rankings of some documents, summed over queries."""

    order: IntArray  # (n_documents,), the samples that count, query after query
    pairs: Pairs  # of documents in this order
    n_samples: int
    weight: float  # of all queries, each weighed as its documents are on average

    def total(self, scores: FloatArray) -> float:
        """Return the sum of the losses, given the scores of all samples."""
        return self._evaluated(scores)[0]

    def as_squares(self, scores: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return scores, targets and weights whose squared errors rise as the bound does."""
        slope, curvature = np.zeros(self.n_samples), np.zeros(self.n_samples)
        _, slope[self.order], curvature[self.order] = self._evaluated(scores)
        apart = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
        return apart[:, None], np.zeros_like(slope), curvature / 2

    def _evaluated(self, scores: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        own = np.ascontiguousarray(scores[self.order])
        slope, curvature = np.empty_like(own), np.empty_like(own)
        block = 0, len(own)
        total = kernels.pair_losses(self.pairs, own, block, slope, curvature, True)
        return float(total), slope[:, 0], curvature[:, 0]


def ranks(forest: Forest) -> bool:
    """Return True if scores of a forest, which are numbers, may be those of a ranking."""
    return not forest.is_classifier and forest.link == "identity"


def ranking_loss(
    grades: Numbers, query: IndexArray, weights: FloatArray, scores: FloatArray
) -> RankingLoss:
    """Return the loss of documents, weighed by the ranking that `scores` make."""
    check_grades(grades, f"the loss {LAMBDARANK!r}", MOST_GRADE)
    order = np.flatnonzero(weights > 0)
    order = order[np.lexsort((-scores[order], query[order]))]
    gain = np.exp2(grades[order]) - 1
    _, first, own = np.unique(query[order], return_index=True, return_inverse=True)
    discount = discounts(np.arange(len(order)) - first[own])
    best = np.bincount(own, gain[np.lexsort((-gain, own))] * discount)
    of_query = weights_of_queries(own, weights[order])
    pairs = Pairs(
        start=read_only(np.append(first, len(order))),
        gain=read_only(gain),
        discount=read_only(discount),
        weight=read_only(np.divide(of_query, best, out=np.zeros_like(best), where=best > 0)),
    )
    return RankingLoss(order, pairs, len(grades), float(of_query.sum()))


def take_documents(pairs: Pairs, documents: IntArray) -> Pairs:
    """Return the pairs of whole queries, of which all documents are taken."""
    query = np.repeat(np.arange(len(pairs.weight)), np.diff(pairs.start))[documents]
    queries, first = np.unique(query, return_index=True)
    return Pairs(
        start=read_only(np.append(first, len(documents))),
        gain=read_only(pairs.gain[documents]),
        discount=read_only(pairs.discount[documents]),
        weight=read_only(pairs.weight[queries]),
    )


def check_grades(grades: Numbers, judge: str, most: float = np.inf) -> None:
    """Refuse targets that are no grades of relevance, where something judges by these."""
    wrong = np.flatnonzero((grades < 0) | (grades > most))
    if len(wrong):
        reach = "at least 0" if most == np.inf else f"from 0 to {most:g}"
        raise InputError(
            f"`y` is {grades[wrong[0]]:g} in row {wrong[0]}, and {judge} judges by grades of "
            f"relevance: they are {reach}, 0 for what is not relevant.",
            "y",
        )
