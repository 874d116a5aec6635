"""Scikit-learn models around a `Forest`, for forests that no other library can hold."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import LEAF, Forest, collapse, files, leaves, predict, scores
from thriftwood.forest.table import in_blocks, read_rows
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, log_of
from thriftwood.support.text import DOCUMENTS


def read(model: Any) -> Forest:
    forest: Forest = model if isinstance(model, Forest) else model.forest
    return forest


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    forest = read(model)
    forest = forest if values is None else replace(forest, values=values)
    collapsed = collapse(forest, kept)[0]
    return collapsed if isinstance(model, Forest) else forest_model(collapsed, model.n_jobs)


def with_columns(model: Any, columns: IntArray) -> Any:
    """Return a model that takes only these columns, none of them of categories."""
    forest = read(model)
    names = forest.feature_names
    narrow = replace(
        forest,
        feature=np.where(forest.is_split, np.searchsorted(columns, forest.feature), LEAF),
        n_features=len(columns),
        feature_names=None if names is None else tuple(names[k] for k in columns),
        category_labels={},
    )
    return narrow if isinstance(model, Forest) else forest_model(narrow, model.n_jobs)


def _has_classes(model: FittedModel) -> bool:
    return model._trees.is_classifier


class FittedModel(BaseEstimator):
    """A model of scikit-learn's kind that was made, not trained.

    It is a classifier where its trees predict classes, or else a regressor.
    """

    _doc_link_module = "thriftwood"
    _doc_link_template = f"{DOCUMENTS}reference.md"

    @property
    @abstractmethod
    def _trees(self) -> Forest:
        """The trees that know the columns and the classes."""

    @abstractmethod
    def _outputs(self, X: Any) -> FloatArray:
        """Return the probability of each class for each sample, or its number in one column."""

    def fit(self, *_data: Any, **_others: Any) -> NoReturn:
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

    @property
    def classes_(self) -> NDArray[Any]:
        if self._trees.classes is None:
            raise AttributeError("The forest predicts numbers: it has no classes.")
        return self._trees.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the number of each sample, or its most probable class, the first that tie."""
        outputs = self._in_blocks(self._outputs, X)
        if self._trees.classes is None:
            return outputs[:, 0]
        labels: NDArray[Any] = self.classes_[outputs.argmax(axis=1)]
        return labels

    @available_if(_has_classes)
    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class for each sample.

        Where each class has a score of its own against the rest they need not add up to 1.
        """
        return self._in_blocks(self._outputs, X)

    @available_if(_has_classes)
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the probability of each class for each sample."""
        return log_of(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of samples that are predicted right, or the R2 of numbers."""
        measure = accuracy_score if self._trees.is_classifier else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        if self._trees.is_classifier:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def _rows(self, X: Any) -> NDArray[Any]:
        return read_rows(X, self._trees).values

    def _in_blocks(self, what: Callable[[Any], NDArray[Any]], X: Any) -> NDArray[Any]:
        """Return what is said of samples, block by block where X is sparse."""
        found = [what(some) for some in in_blocks(X)]
        return found[0] if len(found) == 1 else np.concatenate(found)


class ForestModel(FittedModel):
    """A fitted model that predicts what a forest says.

    Made where the result of pruning is not of a kind that the library of the model can hold, and
    by `ForestModel.load`. It works wherever scikit-learn wants a fitted model: as the last step of
    a pipeline that is fitted, in `permutation_importance`, inside a `FrozenEstimator` and thereby
    in `CalibratedClassifierCV`. It cannot be trained.

    Parameters
    ----------
    forest : Forest
    n_jobs : int, optional
        Threads, as in scikit-learn.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        Of a classifier.
    n_features_in_ : int
    feature_names_in_ : array, shape (n_features,)
        Where the forest knows the names of its columns.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from thriftwood.adapters import read_forest
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = tw.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(heart.X, heart.y)
    >>> model = tw.ForestModel(read_forest(tree))
    >>> bool((model.predict(heart.X) == tree.predict(heart.X)).all())
    True
    """

    def __init__(self, forest: Forest, n_jobs: int | None = None) -> None:
        given: Any = forest
        if not isinstance(given, Forest):
            what = type(given).__name__
            raise InputError(f"A ForestModel is made of a Forest, not of a {what}.")
        self.forest = forest
        self.n_jobs = n_jobs

    @property
    def _trees(self) -> Forest:
        return self.forest

    def _outputs(self, X: Any) -> FloatArray:
        return predict(self.forest, self._rows(X), self.n_jobs)

    @available_if(_has_classes)
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class for each sample, before the link.

        For two classes one number: the score of the second, or by how much it is above the first.
        """
        found = self._in_blocks(lambda some: scores(self.forest, self._rows(some), self.n_jobs), X)
        if found.shape[1] == 1:
            return found[:, 0]
        if found.shape[1] == 2:
            difference: FloatArray = found[:, 1] - found[:, 0]
            return difference
        return found

    def apply(self, X: Any) -> IndexArray:
        """Return the leaf of each tree that each sample ends in, numbered within the tree."""
        found = self._in_blocks(lambda some: leaves(self.forest, self._rows(some), self.n_jobs), X)
        within: IndexArray = found - self.forest.tree_start[:-1].astype(np.int32)
        return within

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the forest to a file, all of it or nothing; `load` reads it.

        The file holds arrays and text, nothing that could be run.
        """
        files.save_forest(self.forest, file)

    @classmethod
    def load(cls, file: str | os.PathLike[str], n_jobs: int | None = None) -> ForestModel:
        """Read a model that `save` wrote; refuse a file that is damaged."""
        return forest_model(files.load_forest(file), n_jobs)


def forest_model(forest: Forest, n_jobs: int | None = None) -> ForestModel:
    """Return a model that predicts what a forest says, with so many threads."""
    return ForestModel(forest.check(), n_jobs=n_jobs)
