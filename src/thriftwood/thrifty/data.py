"""Samples to learn from, as arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest import weights_of_queries
from thriftwood.problem import NDCG, read_ranking
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray


class LabelledData(NamedTuple):
    """Samples with their targets and weights.

    Attributes
    ----------
    X : shape (n_samples, n_features)
        Missing values are NaN.
    y : shape (n_samples,)
        Numbers of classes, or numbers.
    weights : shape (n_samples,)
        By which models are trained and compared.
    n_classes : int
        0 for numbers.
    query : shape (n_samples,), optional
        Of documents, whose grades are to be ranked; those of a query are neighbours.
    """

    X: FloatArray
    y: NDArray[Any]
    weights: FloatArray
    n_classes: int
    query: IndexArray | None = None

    def take(self, samples: IntArray) -> LabelledData:
        return self._replace(
            X=self.X[samples],
            y=self.y[samples],
            weights=self.weights[samples],
            query=None if self.query is None else self.query[samples],
        )

    @property
    def units(self) -> IntArray:
        """The numbers of what folds are made of: of queries, or else of samples."""
        return np.arange(len(self.y)) if self.query is None else np.unique(self.query)

    def samples_of(self, units: IntArray) -> IntArray:
        """Return the samples of units."""
        return units if self.query is None else np.flatnonzero(np.isin(self.query, units))

    def columns(self, features: list[int]) -> FloatArray:
        return np.ascontiguousarray(self.X[:, features])

    def constant(self) -> FloatArray:
        """Return what to predict without any feature: shares of classes, or the mean."""
        total = self.weights.sum()
        if self.n_classes:
            shares: FloatArray = np.bincount(self.y, self.weights, self.n_classes) / total
            return shares
        return np.array([self.weights @ self.y / total])

    def perfect(self) -> FloatArray:
        """Return predictions that are right for every sample."""
        return np.eye(self.n_classes)[self.y] if self.n_classes else self.y[:, None]

    @property
    def has_weights(self) -> bool:
        """True where samples do not all count the same."""
        return bool(np.ptp(self.weights) > 0)

    @property
    def is_constant(self) -> bool:
        """True where all samples are of one class, or all documents of one grade."""
        return (self.n_classes > 0 or self.query is not None) and len(np.unique(self.y)) < 2

    def losses(self, outputs: FloatArray) -> FloatArray:
        """Return the log loss of each sample, or its squared error."""
        if self.n_classes:
            chance = outputs[np.arange(len(outputs)), self.y]
            losses: FloatArray = -np.log(np.maximum(chance, LEAST_CHANCE))
        else:
            losses = (outputs[:, 0] - self.y) ** 2
        return losses

    def mean_loss(self, outputs: FloatArray) -> float:
        if self.query is not None:
            query = np.unique(self.query, return_inverse=True)[1]
            weights = weights_of_queries(query, self.weights)
            return 1.0 - float(
                np.average(JUDGE.of_queries(self.y, outputs[:, 0], query), weights=weights)
            )
        return float(np.average(self.losses(outputs), weights=self.weights))

    def mean_square(self, outputs: FloatArray) -> float:
        """Return the mean Brier score, or squared error; of documents, what NDCG lacks of 1."""
        if self.query is not None:
            return self.mean_loss(outputs)
        squares = ((outputs - self.perfect()) ** 2).sum(axis=1)
        return float(np.average(squares, weights=self.weights))


JUDGE: Any = read_ranking(NDCG)
# A forest may be quite sure and wrong; more than this is not held against it.
LEAST_CHANCE = 1e-3
