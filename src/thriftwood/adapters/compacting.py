"""Models that take only the columns that their trees still look at."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.utils import _safe_indexing

from thriftwood.adapters import forest_models
from thriftwood.adapters.common import is_a
from thriftwood.adapters.pipelines import last_step, with_last_step, with_steps_before
from thriftwood.adapters.registry import narrow_model, read_forest, unwrapped
from thriftwood.errors import InputError
from thriftwood.forest import NO_SET, PANDAS, Forest, column_of, table_with
from thriftwood.forest.table import column_names
from thriftwood.support.arrays import IntArray
from thriftwood.support.validation import some

# What stands in a column of numbers that no split looks at.
NOTHING = 0.0


class _Fitted(TransformerMixin, BaseEstimator):
    """A transformer that has nothing to learn."""

    def fit(self, _X: Any = None, _y: Any = None) -> Self:
        """Return the transformer."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(eq=False, repr=False)
class ColumnFiller(_Fitted):
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
    frames : str
        The library of the data frames that the model takes.
    """

    kept: list[int]
    blanks: list[Any]
    names: list[str] | None = None
    frames: str = PANDAS

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
        columns = {
            name: X[name]
            if k in self.kept
            else column_of([self.blanks[k]] * len(X), self.blanks[k], self.frames)
            for k, name in enumerate(self.names)
        }
        return table_with(columns, self.frames)

    def _whole_array(self, table: NDArray[Any]) -> NDArray[Any]:
        if table.ndim != 2 or table.shape[1] != len(self.kept):
            raise InputError(
                f"X has the shape {table.shape}, but the model takes {len(self.kept)} columns."
            )
        whole = np.empty((len(table), len(self.blanks)), dtype=np.result_type(table, np.float32))
        whole[:] = [NOTHING if isinstance(one, tuple) else one for one in self.blanks]
        whole[:, self.kept] = table
        return whole


@dataclass(eq=False, repr=False)
class FeaturePicker(_Fitted):
    """Pass on the features that a compact model still looks at, of those that transformers make.

    Parameters
    ----------
    kept : list of int
        These features, by their numbers.
    n_features : int
        How many the transformers make.
    """

    kept: list[int]
    n_features: int

    @property
    def n_features_in_(self) -> int:
        return self.n_features

    def get_feature_names_out(self, input_features: Any) -> NDArray[Any]:
        """Return the names of these features among all."""
        return np.asarray(input_features, dtype=object)[self.kept]

    def transform(self, X: Any) -> Any:
        """Return these features of samples."""
        return _safe_indexing(X, self.kept, axis=1)


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

    It has the model's type; but where CatBoost, or columns of categories are to take less, or a
    model that looks at nothing, it is a pipeline that fills in the other columns. So does that of a
    pipeline, in front of its transformers; its last step takes the features that it looks at.
    """
    forest, model = read_forest(model), unwrapped(model)
    columns, kept = forest.columns, required_columns(forest)
    narrow = _narrow(model, forest, kept)
    if narrow is not None:
        return narrow
    frames = PANDAS
    if forest.inputs is not None:
        blanks, frames = list(forest.inputs.blanks), forest.inputs.frames
    else:
        blanks = [forest.category_labels.get(k, NOTHING) for k in range(forest.n_features)]
    names = None if columns.names is None else list(columns.names)
    filler = ColumnFiller(kept.tolist(), blanks, names, frames)
    if not is_a(model, "sklearn", "Pipeline"):
        return make_pipeline(filler, model)
    filled = _with_narrow_model(model)  # its last step stays the model
    filled.steps = [("columnfiller", filler), *filled.steps]
    return filled


def trees_of_columns(model: Any) -> Forest:
    """Return the trees of a model, those of a compact one over the columns that it takes."""
    forest, model = read_forest(model), unwrapped(model)
    if not is_a(model, "sklearn", "Pipeline") or len(model.steps) > 2:
        return forest
    filler, inside = model[0], read_forest(last_step(model))
    if not isinstance(filler, ColumnFiller) or not filler.kept or inside.inputs is not None:
        return forest
    kept = np.array(filler.kept)
    if _looks_at_categories(inside, kept):
        return forest
    narrow: Forest = forest_models.with_columns(inside, kept)
    return replace(narrow, feature_names=forest.columns.names)


def _narrow(model: Any, forest: Forest, kept: IntArray) -> Any | None:
    """Return a model of the same type that takes these features, where there is one."""
    if not kept.size or _looks_at_categories(forest, kept):
        return None
    return narrow_model(model, kept)


def _with_narrow_model(pipeline: Any) -> Any:
    """Return a pipeline whose last step takes the features that it looks at, where it can."""
    last = last_step(pipeline)
    forest = read_forest(last)
    kept = np.unique(forest.feature[forest.is_split]).astype(np.int64)
    narrow = None if len(kept) == forest.n_features else _narrow(last, forest, kept)
    if narrow is None:
        return with_last_step(pipeline, last)
    picker = ("featurepicker", FeaturePicker(kept.tolist(), forest.n_features))
    return with_steps_before(with_last_step(pipeline, narrow), [picker])


def _looks_at_categories(forest: Forest, kept: IntArray) -> bool:
    by_set = (forest.category_set != NO_SET).any()
    return bool(by_set or forest.category_labels.keys() & set(kept.tolist()))
