"""Columns of numbers as ranks, so that growing compares small whole numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thriftwood.arrays import FloatArray, IndexArray, IntArray, handed_over
from thriftwood.parallel import for_each


@dataclass(frozen=True, eq=False)
class RankedColumns:
    """For every value its rank among the distinct values of its column.

    Attributes
    ----------
    codes : shape (n_features, n_rows)
        Ranks from 0; a missing value has the number of distinct known ones.
    n_distinct : shape (n_features,)
        How many known values each feature has.
    first : shape (n_features,)
        Where its values begin in `values`.
    values : shape (sum of n_distinct,)
        The known values of all features, each feature's in increasing order.
    """

    codes: IndexArray
    n_distinct: IndexArray
    first: IntArray
    values: FloatArray

    def thresholds(self, features: IndexArray, below: IndexArray, above: IndexArray) -> FloatArray:
        """Return the midpoints between two ranks of features; infinity where `above` is negative.

        Values are single precision, so their midpoint in double precision lies between them.
        """
        low = self.values[self.first[features] + below]
        high = self.values[self.first[features] + np.maximum(above, below)]
        return np.where(above < 0, np.inf, (low + high) / 2)


def rank_columns(X: NDArray[np.float32], n_jobs: int | None = None) -> RankedColumns:
    """Rank the columns of a table; NaN is missing."""
    n_rows, n_features = X.shape
    codes = np.empty((n_features, n_rows), dtype=np.int32)
    known: list[NDArray[np.float32]] = [X[:0, 0]] * n_features

    def rank(feature: int) -> None:
        values, codes[feature] = np.unique(X[:, feature], return_inverse=True)
        known[feature] = values[~np.isnan(values)]

    for_each(rank, range(n_features), n_jobs)
    n_distinct = np.array([len(values) for values in known], dtype=np.int32)
    return RankedColumns(
        codes=handed_over(codes),
        n_distinct=handed_over(n_distinct),
        first=handed_over(np.cumsum(n_distinct, dtype=np.int64) - n_distinct),
        values=handed_over(np.concatenate(known).astype(np.float64)),
    )
