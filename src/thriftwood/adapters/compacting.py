"""Models that take only the columns that their trees still look at."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline

from thriftwood.adapters.common import is_a
from thriftwood.adapters.registry import narrow_model, read_forest, unwrapped
from thriftwood.errors import InputError
from thriftwood.forest import NO_SET, Forest, column_of
from thriftwood.forest.table import column_names
from thriftwood.support.arrays import IntArray
from thriftwood.support.libraries import frame_of
from thriftwood.support.validation import some

# What stands in a column of numbers that no split looks at.
NOTHING = 0.0


class ColumnFiller(TransformerMixin, BaseEstimator):
    """Make the table that a model was trained on of the columns that it still looks at.

    Parameters
    ----------
    kept : list of int
        The columns that samples come with, by their numbers in the whole table.
    blanks : list
        For every column of the whole table what stands there if it is not kept: a value, or a tuple
        of labels for a column of categories.
    names : list of str, optional
        Of all columns, where the model knows them.
    """

    def __init__(self, kept: list[int], blanks: list[Any], names: list[str] | None = None) -> None:
        self.kept = kept
        self.blanks = blanks
        self.names = names

    def fit(self, _X: Any = None, _y: Any = None) -> Self:
        """Return the transformer: there is nothing to learn."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def n_features_in_(self) -> int:
        return len(self.kept)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The columns that samples come with, where they have names."""
        if self.names is None:
            raise AttributeError("These columns have no names.")
        return np.array([self.names[k] for k in self.kept], dtype=object)

    def get_feature_names_out(self, _input_features: Any = None) -> NDArray[Any]:
        """Return the names of all columns of the whole table."""
        names = self.names or [f"feature {k}" for k in range(len(self.blanks))]
        return np.array(names, dtype=object)

    def transform(self, X: Any) -> Any:
        """Return the whole table of samples."""
        names = column_names(X)
        if self.names is None or names is None:
            return self._whole_array(np.asarray(X))
        missing = [self.names[k] for k in self.kept if self.names[k] not in names]
        if missing:
            raise InputError(f"X lacks {some(missing)}.")
        return frame_of(
            {
                name: X[name]
                if k in self.kept
                else column_of([self.blanks[k]] * len(X), self.blanks[k])
                for k, name in enumerate(self.names)
            }
        )

    def _whole_array(self, table: NDArray[Any]) -> NDArray[Any]:
        if table.ndim != 2 or table.shape[1] != len(self.kept):
            raise InputError(
                f"X has the shape {table.shape}, but the model takes {len(self.kept)} columns."
            )
        whole = np.empty((len(table), len(self.blanks)), dtype=np.result_type(table, np.float32))
        whole[:] = [NOTHING if isinstance(one, tuple) else one for one in self.blanks]
        whole[:, self.kept] = table
        return whole


def required_columns(forest: Forest) -> IntArray:
    """Return the columns that any split of a forest looks at, or needs for what it looks at."""
    features = np.unique(forest.feature[forest.is_split])
    of_features = forest.columns.of_features
    if of_features is None:
        return features.astype(np.int64)
    columns = {column for feature in features.tolist() for column in of_features[feature]}
    return np.array(sorted(columns), dtype=np.int64)


def compact_model(model: Any) -> Any:
    """Return a model that takes only the columns that a model looks at.

    It has the model's type; but where a pipeline, CatBoost, or columns of categories are to take
    less, or a model that looks at nothing, it is a pipeline that fills in the other columns.
    """
    forest, model = read_forest(model), unwrapped(model)
    columns, kept = forest.columns, required_columns(forest)
    if kept.size and not _looks_at_categories(forest, kept):
        narrow = narrow_model(model, kept)
        if narrow is not None:
            return narrow
    if forest.inputs is not None:
        blanks = list(forest.inputs.blanks)
    else:
        blanks = [forest.category_labels.get(k, NOTHING) for k in range(forest.n_features)]
    names = None if columns.names is None else list(columns.names)
    filler = ColumnFiller(kept.tolist(), blanks, names)
    if not is_a(model, "sklearn", "Pipeline"):
        return make_pipeline(filler, model)
    filled = copy(model)  # its last step stays the model
    filled.steps = [("columnfiller", filler), *model.steps]
    return filled


def _looks_at_categories(forest: Forest, kept: IntArray) -> bool:
    by_set = (forest.category_set != NO_SET).any()
    return bool(by_set or forest.category_labels.keys() & set(kept.tolist()))
