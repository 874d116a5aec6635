"""Documents of queries, rankers trained on them, and scores by their plain definitions."""

from functools import cache
from itertools import pairwise, permutations
from typing import NamedTuple

import lightgbm
import numpy as np
from hypothesis import strategies as st

import thriftwood as tw

N_FEATURES = 6


class Documents(NamedTuple):
    """Documents of queries: three features tell the grade, of which one is the query's own."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray


@cache
def documents(n_queries=40, seed=0, most=14):
    """Return documents of queries, of which some have none that is relevant; in no order."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, most, n_queries))
    X = rng.normal(size=(len(qid), N_FEATURES))
    X[:, 0] = rng.normal(size=n_queries)[qid]
    score = X[:, 1] + 0.7 * X[:, 2] + 0.5 * X[:, 3] + X[:, 0] * X[:, 4] / 3
    y = np.digitize(score + rng.normal(scale=0.5, size=len(qid)), [0.8, 1.8])
    y[qid % 7 == 3] = 0
    mixed = rng.permutation(len(qid))
    return Documents(X[mixed], y[mixed], qid[mixed] * 10 + 3)


@cache
def ranker(n_estimators=20, objective="lambdarank", seed=0):
    """Return a ranker of LightGBM on `documents()`."""
    X, y, qid = documents()
    order = np.argsort(qid, kind="stable")
    model = lightgbm.LGBMRanker(
        objective=objective,
        n_estimators=n_estimators,
        num_leaves=7,
        min_child_samples=5,
        random_state=seed,
        n_jobs=1,
        verbose=-1,
    )
    return model.fit(X[order], y[order], group=np.unique(qid, return_counts=True)[1])


@cache
def ranker_path():
    X, y, _ = documents()
    return tw.prune_path(ranker(), X, y)


@st.composite
def lists(draw, most_queries=4, most=5):
    """Draw grades, predictions with ties, and queries, some with one document, in no order."""
    sizes = draw(st.lists(st.integers(1, most), min_size=1, max_size=most_queries))
    qid = np.array(draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist())))
    n = len(qid)
    grades = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3]), min_size=n, max_size=n))
    values = draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=n, max_size=n))
    return np.array(grades), np.array(values), qid


def mean_over_orders(of_list, grades, values):
    """Return the mean of a score over all orders of documents that are predicted alike."""
    found = [
        of_list([grades[i] for i in order])
        for order in permutations(range(len(grades)))
        if all(values[a] >= values[b] for a, b in pairwise(order))
    ]
    return np.mean(found)


def plain_ndcg(grades, k):
    def dcg(listed):
        return sum(grade / np.log2(place + 2) for place, grade in enumerate(listed[:k]))

    best = dcg(sorted(grades, reverse=True))
    return dcg(grades) / best if best > 0 else 0.0


def plain_average_precision(grades, k):
    found, total = 0, 0.0
    for place, grade in enumerate(grades[:k], 1):
        if grade > 0:
            found += 1
            total += found / place
    n_relevant = min(sum(grade > 0 for grade in grades), len(grades[:k]))
    return total / n_relevant if n_relevant else 0.0


def plain_reciprocal_rank(grades, k):
    return next((1 / place for place, grade in enumerate(grades[:k], 1) if grade > 0), 0.0)


PLAIN = {
    "ndcg": plain_ndcg,
    "map": plain_average_precision,
    "ap": plain_average_precision,
    "mrr": plain_reciprocal_rank,
}
