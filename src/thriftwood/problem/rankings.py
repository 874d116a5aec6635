"""Scores of rankings: documents of a query, in the order of falling predictions.

Documents with equal predictions, of which pruned trees make many, come in every order alike: a
score is its mean over these orders (McSherry and Najork, ECIR 2008). A query without a relevant
document scores 0. So "ndcg@10" is scikit-learn's `ndcg_score`. Names that begin with "lightgbm_"
are what LightGBM prints: gains of 2**grade - 1, equal predictions in the order of the samples, and
1 for a query without a relevant document.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from thriftwood.errors import InputError
from thriftwood.forest import Forest, Places, discounts
from thriftwood.problem.pairs import MOST_GRADE, check_grades
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

NDCG = "ndcg@10"
LIGHTGBM = "lightgbm_"


@dataclass(frozen=True)
class RankingScore:
    """A score of rankings: `measure` is one of `MEASURES`, `k` how many documents count."""

    name: str
    measure: str
    k: float
    is_lightgbm: bool

    def of_queries(self, grades: FloatArray, values: FloatArray, query: IntArray) -> FloatArray:
        """Return the score of each query, which have numbers from 0 on."""
        places = Places.of(values, query, one_by_one=self.is_lightgbm)
        gains = self.gains(grades)
        found = MEASURES[self.measure](places, gains, self.k)
        has_relevant = np.bincount(query, gains) > 0
        return np.where(has_relevant, found, float(self.is_lightgbm))

    def gains(self, grades: FloatArray) -> FloatArray:
        """Return the gains of documents by their grades."""
        if self.measure == "ndcg":
            return np.exp2(grades) - 1 if self.is_lightgbm else grades
        return (grades > 0).astype(np.float64)


def read_ranking(name: Any) -> RankingScore | None:
    """Return the score of rankings that a name stands for, or None if it is none."""
    known = "|".join(MEASURES)
    found = re.fullmatch(
        rf"({LIGHTGBM})?({known})(?:@(.*))?", name if isinstance(name, str) else ""
    )
    if found is None or (found[1] and found[2] not in ("ndcg", "map")):
        return None
    if found[3] is not None and not re.fullmatch("[1-9][0-9]*", found[3]):
        raise InputError(
            f"`scoring` is {name!r}: behind @ stands how many documents count, such as {NDCG!r}.",
            "scoring",
        )
    return RankingScore(name, found[2], float(found[3] or np.inf), bool(found[1]))


def ranking_names() -> list[str]:
    """Return the names of scores of rankings, some of them with a number behind @."""
    return [NDCG, "map", "map@10", "mrr", f"{LIGHTGBM}{NDCG}", f"{LIGHTGBM}map@10"]


def grades_of(score: RankingScore, forest: Forest, target: NDArray[Any]) -> FloatArray:
    """Return the grades that targets stand for, or refuse what is no grade."""
    grades = _class_values(score, forest)[target] if forest.is_classifier else target
    check_grades(grades, repr(score.name), MOST_GRADE if score.is_lightgbm else np.inf)
    return np.asarray(grades, dtype=np.float64)


def ranking_values(score: RankingScore, forest: Forest) -> Callable[[FloatArray], FloatArray]:
    """Return the function from outputs to sort keys: numbers, or expected grades."""
    if not forest.is_classifier:
        return lambda outputs: outputs[:, -1]
    values = _class_values(score, forest)
    return lambda outputs: outputs @ values


def _class_values(score: RankingScore, forest: Forest) -> FloatArray:
    classes = np.asarray(forest.classes)
    if classes.dtype.kind not in "biuf":
        raise InputError(
            f"`scoring` is {score.name!r}, which judges by grades of relevance, and the classes of "
            f"this model are no numbers ({classes[0].item()!r}): train it on grades, 0 for what is "
            "not relevant.",
            "scoring",
        )
    return classes.astype(np.float64)


def ndcg(places: Places, gains: FloatArray, k: float) -> FloatArray:
    """Normalised discounted cumulative gain (Jarvelin and Kekalainen, 2002)."""
    discount = discounts(places.rank, k)
    mean = places.in_ties(gains) / places.size
    found = np.bincount(places.query, mean[places.tie] * discount)
    ideal = gains[places.order][np.lexsort((-gains[places.order], places.query))]
    best = np.bincount(places.query, ideal * discount)
    return np.divide(found, best, out=np.zeros_like(best), where=best > 0)


def average_precision(places: Places, relevant: FloatArray, k: float) -> FloatArray:
    """Mean precision at the relevant documents, those behind the first k with 0."""
    in_tie = places.in_ties(relevant)
    before = _sums_before(places, in_tie)
    size, found = places.size[places.tie], in_tie[places.tie]
    within = places.rank - places.first[places.tie]
    # Of the others of a tie, so many relevant ones are expected before a relevant one.
    beside = within * np.divide(found - 1, size - 1, out=np.zeros(len(size)), where=size > 1)
    precision = found / size * (before[places.tie] + 1 + beside) / (places.rank + 1)
    sums = np.bincount(places.query, np.where(places.rank < k, precision, 0.0))
    n_relevant = np.minimum(np.bincount(places.query, relevant), k)
    return np.divide(sums, n_relevant, out=np.zeros_like(sums), where=n_relevant > 0)


def reciprocal_rank(places: Places, relevant: FloatArray, k: float) -> FloatArray:
    """One divided by the place of the first relevant document, 0 behind the first k."""
    in_tie = places.in_ties(relevant)
    is_first = (_sums_before(places, in_tie) == 0) & (in_tie > 0)
    size, found = places.size[places.tie], in_tie[places.tie]
    left = size - 1 - (places.rank - places.first[places.tie])
    fits: BoolArray = is_first[places.tie] & (left >= found - 1)
    left, found, size = left[fits], found[fits], size[fits]
    # In how many of all orders of the tie is the first relevant document here?
    chance = np.exp(_log_ways(left, found - 1) - _log_ways(size, found))
    here = places.rank[fits]
    chance = np.where(here < k, chance / (here + 1), 0.0)
    return np.bincount(places.query[fits], chance, places.query.max() + 1).astype(np.float64)


def _sums_before(places: Places, in_tie: FloatArray) -> FloatArray:
    """Return the exclusive prefix sums over ties, within each query."""
    before = np.cumsum(in_tie) - in_tie
    begins = np.flatnonzero(places.first == 0)
    n_ties = np.diff(np.append(begins, len(in_tie)))
    return before - np.repeat(before[begins], n_ties)


def _log_ways(n: NDArray[Any], k: NDArray[Any]) -> FloatArray:
    """Logarithm of the binomial coefficient."""
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


MEASURES: dict[str, Callable[[Places, FloatArray, float], FloatArray]] = {
    "ndcg": ndcg,
    "map": average_precision,
    "ap": average_precision,  # whose mean over queries is MAP
    "mrr": reciprocal_rank,
}
