"""Tune how many documents of a query go on from stage to stage, for every budget of a query.

Counts that are tuned on observed grades alone overfit single documents. So half of the score is
expected: by the grades that the best stage expects, as isotonic regression makes grades of its
scores. All other stages lose where they rank documents in another order.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from thriftwood.cascade import kernels
from thriftwood.cascade.list_bills import ListBills
from thriftwood.cascade.rules import StoppingRules, not_beaten, whole_model
from thriftwood.forest import SKIPPED, discounts, weights_of_queries
from thriftwood.problem import RankingScore
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray

# How many documents may go on; infinity leaves the stage out.
COUNTS = (SKIPPED, 0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 25, 40, 70, 120)
# What a part of the score is worth that is as large as all of it, in bills of the last stage.
TRADEOFFS = np.geomspace(3.0, 3e-3, 16)
MOST_SWEEPS = 4
MOST_RULES = 60
# More queries take time and tune no better.
MOST_DOCUMENTS = 20_000
# By so much are expected grades held apart, so that those of a stage that ties are not.
APART = 1e-6
ROUNDING = 1e-12

# Documents, query after query, for the kernel.
#
#   start               where each query begins
#   scores, own         of documents at stages; what each pays for itself there
#   order               documents of each query by falling scores, at stages
#   needs, item_price   which cost items of its query a document needs, and their prices
#   gains               of documents, a row for each kind
#   discount_sum        how much the first places count together
#   per_ideal           1 / the best that each query can have, by each kind
Lists = namedtuple("Lists", "start scores order own needs item_price gains discount_sum per_ideal")


class ListResults(NamedTuple):
    """Predictions of stages for documents of a validation set, and their bills."""

    scores: FloatArray  # (n_documents, n_stages)
    grades: FloatArray  # (n_documents,)
    bills: ListBills
    weights: FloatArray  # (n_documents,); a query counts as its documents do on average
    score: RankingScore  # rules are tuned by NDCG of as many places
    # (n_stages,), paid once for a cascade that ends with a stage, per document
    model_costs: FloatArray


def tune_lists(results: ListResults) -> StoppingRules:
    """Return rules from cheap to dear, of which none is beaten by another that was tried.

    Costs are mean bills of queries, losses and errors what NDCG lacks.
    """
    tried = _Tried(results)
    full = tried.of(whole_model(tried.n_stages))[0]
    for tradeoff in TRADEOFFS / full if full > 0 else ():
        for start in _starts(tried.n_stages):
            _descend(tried, start, tradeoff)
    thresholds = np.array(list(tried.found))
    costs, losses = np.array(list(tried.found.values())).T
    best = not_beaten(costs, losses)
    best = best[np.unique(np.linspace(0, len(best) - 1, MOST_RULES).astype(int))]
    observed = np.array([tried.observed(rule) for rule in thresholds[best]])
    apart, weights = observed - observed[-1], tried.weights
    mean = apart @ weights
    return StoppingRules(
        thresholds=thresholds[best],
        costs=costs[best],
        losses=losses[best],
        errors=1.0 - observed @ weights,
        standard_errors=np.sqrt(((apart - mean[:, None]) ** 2) @ weights**2),
    )


def _starts(n_stages: int) -> Iterator[list[float]]:
    for first in (0.0, COUNTS[-1], SKIPPED):
        yield [*[first] * (n_stages - 1), 0.0]


def _descend(tried: _Tried, start: list[float], tradeoff: float) -> None:
    """Set the count of each stage in turn to the best for all others until nothing gets better."""

    def total(rule: list[float]) -> float:
        cost, loss = tried.of(rule)
        return loss + tradeoff * cost

    rule, now = start, total(start)
    for _ in range(MOST_SWEEPS):
        before = now
        for stage in range(tried.n_stages - 2, -1, -1):
            others = [[*rule[:stage], count, *rule[stage + 1 :]] for count in COUNTS]
            totals = [total(one) for one in others]
            best = int(np.argmin(totals))
            if totals[best] < now - ROUNDING:
                rule, now = others[best], totals[best]
        if now >= before - ROUNDING:
            return


class _Tried:
    """Rules that were tried: mean bill of a query, and what is lost of the score."""

    def __init__(self, results: ListResults) -> None:
        documents = _some(results.bills.query)
        start, query = np.unique(
            results.bills.query[documents], return_index=True, return_inverse=True
        )[1:]
        size = np.bincount(query)
        self.weights = weights_of_queries(query, results.weights[documents])
        self.weights /= self.weights.sum()
        self._model_costs = results.model_costs * float(self.weights @ size)
        self._lists = self._made(results, documents, query, start)
        self.found: dict[tuple[float, ...], tuple[float, float]] = {}

    def _made(
        self, results: ListResults, documents: IntArray, query: IntArray, start: IntArray
    ) -> Lists:
        scores, bills = results.scores[documents], results.bills
        observed = results.score.gains(results.grades[documents])
        of_stages = [
            results.score.of_queries(results.grades[documents], s, query) for s in scores.T
        ]
        best = scores[:, int(np.argmax(np.array(of_stages) @ self.weights))]
        gains = np.stack([observed, _expected(observed, best)])
        rank = np.arange(len(query)) - start[query]
        discount = discounts(rank, results.score.k)
        ideal = np.array(
            [np.bincount(query, own[np.lexsort((-own, query))] * discount) for own in gains]
        )
        longest = np.arange(rank.max() + 1)
        return Lists(
            start=np.append(start, len(query)),
            scores=scores,
            order=np.column_stack([np.lexsort((-own, query)) for own in scores.T]),
            own=bills.own[documents],
            needs=bills.needs[documents],
            item_price=bills.prices,
            gains=gains,
            discount_sum=np.append(0.0, np.cumsum(discounts(longest, results.score.k))),
            per_ideal=np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0),
        )

    @property
    def n_stages(self) -> int:
        return int(self._lists.scores.shape[1])

    def of(self, rule: Any) -> tuple[float, float]:
        """Return cost and loss of a rule."""
        key = tuple(map(float, rule))
        if key not in self.found:
            figures = self.weights @ self._figures(key)
            cost = figures[2] + self._model_costs[key.index(0.0)]
            self.found[key] = float(cost), float(1.0 - figures[:2].mean())
        return self.found[key]

    def observed(self, rule: Any) -> FloatArray:
        """Return the observed score of each query."""
        return self._figures(rule)[:, 0]

    def _figures(self, rule: Any) -> FloatArray:
        figures = np.empty((len(self._lists.start) - 1, 3))
        kernels.measure_lists(self._lists, np.asarray(rule, dtype=np.float64), figures)
        return figures


def _some(query: IndexArray) -> IntArray:
    """Return documents query after query, of some queries where there are very many."""
    size = np.bincount(query)
    drawn = np.random.default_rng(0).permutation(len(size))
    n_taken = np.searchsorted(np.cumsum(size[drawn]), MOST_DOCUMENTS, side="right")
    order = np.argsort(query, kind="stable")
    return order[np.isin(query[order], drawn[: max(n_taken, 1)])]


def _expected(gains: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the gains that scores let expect, with hardly any ties."""
    order = np.argsort(scores, kind="stable")
    expected = np.empty(len(scores))
    expected[order] = isotonic_regression(gains[order]).x
    rank = np.unique(scores, return_inverse=True)[1]
    return expected + APART * rank / max(int(rank.max()), 1)
