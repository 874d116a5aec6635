"""Columns of numbers as ranks, so that growing compares small whole numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
)
from thriftwood.support.parallel import for_each


@dataclass(frozen=True, eq=False)
class RankedColumns:
    """Every column in increasing order, missing values last.

    Attributes
    ----------
    order : shape (n_features, n_samples)
        The rows in the order of each feature.
    is_new : shape (n_features, n_samples)
        In that order, whether a value differs from the one before. Counted up from -1 they give the
        rank of each value among the distinct ones; of a missing one it is `n_distinct`.
    n_distinct : shape (n_features,)
        How many known values each feature has.
    first : shape (n_features,)
        Where its values begin in `values`.
    values : shape (sum of n_distinct,)
        The known values of all features, each feature's in increasing order.
    """

    order: IndexArray
    is_new: BoolArray
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
    n_samples, n_features = X.shape
    order = np.empty((n_features, n_samples), dtype=np.int32)
    is_new = np.ones((n_features, n_samples), dtype=np.bool_)
    known: list[NDArray[np.float32]] = [X[:0, 0]] * n_features

    def rank(feature: int) -> None:
        order[feature] = np.argsort(X[:, feature], kind="stable")
        values = X[order[feature], feature]
        n_known = n_samples - np.count_nonzero(np.isnan(values))
        is_new[feature, 1:] = values[1:] != values[:-1]
        is_new[feature, n_known + 1 :] = False  # NaN differs from itself
        known[feature] = values[:n_known][is_new[feature, :n_known]]

    for_each(rank, range(n_features), n_jobs)
    n_distinct = np.array([len(values) for values in known], dtype=np.int32)
    return RankedColumns(
        order=read_only(order),
        is_new=read_only(is_new),
        n_distinct=read_only(n_distinct),
        first=read_only(np.cumsum(n_distinct, dtype=np.int64) - n_distinct),
        values=read_only(np.concatenate(known).astype(np.float64)),
    )
