"""What our own fitted models have in common: they predict like any of scikit-learn's."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Forest
from thriftwood.forest.table import read_rows
from thriftwood.support.arrays import FloatArray


class FittedModel(BaseEstimator):
    """A model of scikit-learn's kind that was made, not trained."""

    @property
    @abstractmethod
    def _trees(self) -> Forest:
        """The trees that know the columns and the classes."""

    def fit(self, *_rows: Any, **_others: Any) -> NoReturn:
        """Refuse: the trees are grown already, and a search over folds would not be honest."""
        raise UnsupportedModelError(
            f"A {type(self).__name__} is fitted already and cannot be trained: where a tool calls "
            "`fit`, pass it inside scikit-learn's FrozenEstimator."
        )

    @property
    def n_features_in_(self) -> int:
        return self._trees.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        if self._trees.feature_names is None:
            raise AttributeError("The forest does not know the names of its columns.")
        return np.array(self._trees.feature_names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _rows(self, X: Any) -> NDArray[Any]:
        return read_rows(X, self._trees).values


class FittedClassifier(ClassifierMixin, FittedModel):
    """One that predicts classes."""

    @property
    def classes_(self) -> NDArray[Any]:
        if self._trees.classes is None:
            raise AttributeError("The forest predicts numbers: it has no classes.")
        return self._trees.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row: the most probable, the first of those that tie."""
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class for each row."""

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the probability of each class for each row."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
