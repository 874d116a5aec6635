"""Samples as the user has them: arrays, lists, sparse matrices, pandas or polars data frames."""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError, OutOfMemoryError
from thriftwood.forest.forest import Forest
from thriftwood.forest.inputs import Inputs
from thriftwood.support.arrays import BoolArray, by_place, read_only
from thriftwood.support.columns import in_own_words
from thriftwood.support.libraries import library
from thriftwood.support.memory import available_memory, memory_in_words
from thriftwood.support.validation import COMPLEX_OR_TIME, some

# What libraries of boosted trees keep samples in.
CONTAINERS = (("catboost", "Pool"), ("lightgbm", "Dataset"), ("xgboost", "DMatrix"))
# How the types of columns begin that may hold text, in small letters, and those of times.
OBJECTS = ("object", "str")
CATEGORIES = ("category", "categorical", "enum", "dictionary")
TIMES = ("date", "time", "duration", "period")
NO_ROWS = "X has no rows: at least one sample is needed."
# Numbers of a sparse matrix that are made dense at a time, where samples are taken in blocks.
BLOCK = 2**24


@dataclass(frozen=True, eq=False)
class Table:
    """Samples of numbers (missing values are NaN), with the names of columns, if any.

    `raw` is the table of columns, where `values` are features that a pipeline made of them.
    The values may lie in an array of the user, who can change it later. Who keeps a table for
    longer than a call keeps a `copy`.
    """

    values: NDArray[Any]
    names: tuple[str, ...] | None
    raw: Any = None

    @property
    def n_samples(self) -> int:
        return int(self.values.shape[0])

    def cell(self, sample: int, column: int) -> Any:
        """Return a value of the table of columns as people read it, None where it is missing."""
        value = by_place(self.raw)[sample, column]
        value = value.item() if hasattr(value, "item") else value
        return None if value is None or value != value else value

    @property
    def columns(self) -> Any:
        """The table of columns, which are the features unless a pipeline makes these."""
        return self.values if self.raw is None else self.raw

    @property
    def missing(self) -> BoolArray:
        """Mask of the cells of the table of columns that hold nothing."""
        raw: Any = self.columns
        cells: Any
        if hasattr(raw, "isna"):
            cells = raw.isna().to_numpy()
        elif hasattr(raw, "tocsr"):  # sparse, as below
            cells = np.zeros(raw.shape, np.bool_)
        else:
            cells = np.asarray(raw.to_numpy() if hasattr(raw, "to_numpy") else raw)
            cells = (cells != cells) | (cells == None)  # noqa: E711  element by element
        return np.asarray(cells, dtype=np.bool_)

    def copy(self) -> "Table":
        """Return the same table with values that nobody else can change."""
        is_own = self.values.flags.owndata and not self.values.flags.writeable
        values = self.values if is_own else read_only(self.values.copy())
        return Table(values, self.names, copy(self.raw))


def read_table(
    X: Any,
    dtype: np.dtype[Any],
    labels: Mapping[int, tuple[Any, ...]] | None = None,
    absent: float = 0.0,
) -> Table:
    """Read samples into an array of `dtype`; refuse what is not a table of numbers.

    Text and categorical types in the columns of `labels` become the number of their label; a label
    that is not known is missing. `absent` is what a sparse matrix means where it holds nothing.
    """
    given, names = X, column_names(X)
    if hasattr(X, "tocsr"):
        return Table(_dense(X, dtype, absent), names)
    X = readable(X)
    X = _with_numbers_for(labels, X) if labels else X
    # Pandas has types and missing values of its own.
    is_pandas = type(X).__module__.startswith("pandas")
    try:
        for name in columns_of_type(X, TIMES) if names else ():
            raise TypeError(f"the type {X[name].dtype} in the column {name!r}")
        if not is_pandas:
            X = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
        for found in X.dtypes if is_pandas and X.ndim == 2 else [X.dtype]:
            if getattr(found, "kind", "O") in COMPLEX_OR_TIME:
                raise TypeError(f"the type {found}")
        with np.errstate(over="ignore"):  # beyond float32 a value becomes infinite, as in the model
            array = np.asarray(X.to_numpy(dtype=dtype, na_value=np.nan)) if is_pandas else X
            values = np.require(array, dtype, ["C", "ALIGNED", "ENSUREARRAY"])
    except (TypeError, ValueError) as error:
        raise _refusal(given, error) from None
    if values.ndim != 2:
        raise _refusal(given, values.ndim)
    if not len(values):
        raise InputError(NO_ROWS)
    return Table(read_only(values.view()), names)


def read_rows(X: object, forest: Forest) -> Table:
    """Read samples for a model; refuse those with other columns than it was trained on."""
    given, X = X, readable(X)
    names = column_names(X)
    how = forest.input_dtype, forest.category_labels, forest.absent
    if forest.inputs is not None:
        raw = _columns(X, names, forest.inputs)
        if X is not given and hasattr(given, "__arrow_c_stream__"):
            raw = _with_nones(raw, forest.inputs.nones)
        return Table(read_table(_features(raw, forest.inputs), *how).values, names, raw)
    if names is not None:  # before what is in them, which may be no numbers in the wrong place
        _check_columns(len(names), names, forest)
    table = read_table(X, *how)
    if names is None:
        _check_columns(table.values.shape[1], None, forest)
    return table


def in_blocks(X: Any) -> Iterator[Any]:
    """Yield samples as they are, or those of a sparse matrix in blocks that are small if dense."""
    if not hasattr(X, "tocsr"):
        yield X
        return
    X = X.tocsr()
    size = max(1, BLOCK // max(1, X.shape[1]))
    for first in range(0, max(1, X.shape[0]), size):
        yield X[first : first + size]


def _dense(X: Any, dtype: np.dtype[Any], absent: float) -> NDArray[Any]:
    """Return a sparse matrix as a read-only array, if there is memory for it."""
    size = np.prod(X.shape, dtype=float) * dtype.itemsize
    if size > BLOCK and size > available_memory():
        raise OutOfMemoryError(
            f"X is a sparse matrix that would take {memory_in_words(size)} when dense, and "
            f"{memory_in_words(available_memory())} is free. Pass fewer samples at a time: to "
            "prune, an iterator of chunks (X, y)."
        )
    if X.dtype.kind in COMPLEX_OR_TIME:
        raise _refusal(X, f"the type {X.dtype}")
    if not X.shape[0]:
        raise InputError(NO_ROWS)
    X = X.tocsr(copy=not getattr(X, "has_canonical_format", True))
    X.sum_duplicates()
    values = np.full(X.shape, absent, dtype) if absent else np.zeros(X.shape, dtype)
    with np.errstate(over="ignore"):
        values[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = X.data
    return read_only(values)


def refuse_containers(X: Any, argument: str = "X") -> None:
    """Refuse what a library keeps samples in, of which no values come out again."""
    for kind in type(X).__mro__:
        if (kind.__module__.split(".")[0], kind.__name__) in CONTAINERS:
            name = f"{kind.__module__.split('.')[0]}.{type(X).__name__}"
            made_of = "array or the data frame" if argument == "X" else "array of targets"
            raise InputError(
                f"{argument} is a {name}, in which the library keeps samples its own way: pass the "
                f"{made_of} that it was made of."
            )


def _columns(X: Any, names: tuple[str, ...] | None, inputs: Inputs) -> Any:
    """Return the columns that a pipeline was trained on, in its order; what it drops may lack."""
    columns = inputs.columns
    if names is not None and columns.names is not None:
        missing = {k: name for k, name in enumerate(columns.names) if name not in names}
        needed = [name for k, name in missing.items() if k not in inputs.dropped]
        if needed:
            raise InputError(
                f"X lacks {some(needed)}: pass all columns that the pipeline was trained on and "
                "does not drop."
            )
        if missing:  # pandas or polars
            added = X.assign if hasattr(X, "assign") else X.with_columns
            X = added(**dict.fromkeys(missing.values()))
        return X if names == columns.names else X[list(columns.names)]
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) == 2 and X.shape[1] != columns.n_columns:
        raise InputError(
            f"X has {X.shape[1]} columns, but the pipeline was trained on {columns.n_columns}."
        )
    return X


def _with_nones(frame: Any, columns: Iterable[int]) -> Any:
    """Return a frame of pandas in which None is what is missing in some columns."""
    frame = frame.copy(deep=False)
    for column in columns:
        cells = frame.iloc[:, column].astype(object)
        frame.isetitem(column, cells.where(cells.notna(), None))
    return frame


def _features(X: Any, inputs: Inputs) -> Any:
    """Transform columns of samples by a pipeline."""
    try:
        made = inputs.transform(X)
    except InputError:
        raise
    except Exception as error:  # of any transformer
        raise InputError(f"The pipeline cannot transform X: {error}") from error
    return made


def _check_columns(n_columns: int, names: tuple[str, ...] | None, forest: Forest) -> None:
    """Refuse columns that are not those that a model was trained on."""
    if n_columns != forest.n_features:
        raise InputError(
            f"X has {n_columns} columns, but the model was trained on {forest.n_features} "
            "features: pass the same columns in the same order."
        )
    if names is None or forest.feature_names is None:
        return
    own = in_own_words(forest.feature_names, names)
    for column, (given, known) in enumerate(zip(names, own, strict=True)):
        if known != given:
            raise InputError(
                f"Column {column} of X is named {given!r}, but the model was trained with "
                f"{known!r} there: pass the same columns in the same order."
            )


def _with_numbers_for(labels: Mapping[int, tuple[Any, ...]], X: Any) -> Any:
    """Return a table in which the labels of some columns are replaced by their numbers."""
    if hasattr(X, "isetitem"):  # pandas
        numbered = X.copy(deep=False)
        for column, known in _in_table(labels, X):
            if X.dtypes.iloc[column].kind == "O":  # categorical types and text
                numbered.isetitem(column, _numbers_of(X.iloc[:, column].tolist(), known))
        return numbered
    if hasattr(X, "replace_column"):  # polars
        numbered = X.clone()
        for column, known in _in_table(labels, X):
            texts = X.to_series(column)
            if not texts.dtype.is_numeric():
                numbers = _numbers_of(texts.to_list(), known)
                numbered.replace_column(column, type(texts)(texts.name, numbers))
        return numbered
    array = np.array(X)
    if array.dtype.kind not in "OU" or array.ndim != 2:
        return X
    numbered = array.astype(object)
    for column, known in _in_table(labels, array):
        numbered[:, column] = _numbers_of(array[:, column].tolist(), known)
    return numbered


def _in_table(labels: Mapping[int, tuple[Any, ...]], X: Any) -> list[tuple[int, tuple[Any, ...]]]:
    return [(column, known) for column, known in labels.items() if column < X.shape[1]]


def _numbers_of(texts: list[Any], known: tuple[Any, ...]) -> NDArray[np.float64]:
    number = {label: place for place, label in enumerate(known)}
    return np.array([number.get(text, np.nan) for text in texts], dtype=np.float64)


def readable(X: Any) -> Any:
    """Return samples in which what NumPy masks is missing: NaN; Arrow tables as data frames."""
    refuse_containers(X)
    is_known = type(X).__module__.startswith(("pandas", "polars")) or hasattr(X, "collect")
    if hasattr(X, "__arrow_c_stream__") and not is_known:  # of pyarrow, a relation of DuckDB, ...
        return library("pyarrow", "cli", "An Arrow table").table(X).to_pandas()
    if not isinstance(X, np.ma.MaskedArray):
        return X
    kind = X.dtype.kind
    array: Any = X.astype(X.dtype if kind == "f" else float if kind in "biu" else object)
    return array.filled(np.nan)


def _refusal(X: Any, reason: object) -> InputError:
    """Return the error for samples that are no table of numbers."""
    first = X[0] if isinstance(X, list) and X else None
    if X is None:
        words = "X is None: pass the samples."
    elif hasattr(X, "collect"):
        words = "X is a lazy frame: call its .collect() first."
    elif type(X).__module__.startswith(("dask.bag", "dask.delayed")):
        words = f"X is a Dask {type(X).__name__}: pass a Dask array or data frame."
    elif hasattr(X, "__dataframe__") and not hasattr(X, "to_numpy"):
        words = (
            f"X is a {type(X).__name__}, which is no table of pandas, polars or Arrow: make one of "
            "it, or of `__arrow_c_stream__`, by which any table of Arrow is read."
        )
    elif callable(X):
        words = "X is a function: pass what it returns, X=chunks() for chunks of samples."
    elif isinstance(first, tuple) and first and getattr(first[0], "ndim", 0) == 2:
        words = "X is a list of chunks of samples: pass an iterator of them, iter(X)."
    elif "inhomogeneous" in str(reason):
        words = "The rows of X have different lengths."
    elif isinstance(reason, int):
        words = (
            f"X has {reason} dimension(s), but rows and columns are needed: "
            "pass an array of shape (n_samples, n_features), for one row X.reshape(1, -1)."
        )
    else:
        texts = columns_of_text(X)
        where = f": text in the column{'s' * (len(texts) > 1)} {some(texts)}" if texts else ""
        words = (
            f"X holds something that is not a number{where or f' ({reason})'}: the model "
            "was trained on numbers there. Encode text and categories as for the training, or pass "
            "the whole Pipeline that encodes them in place of its last step; use NaN for missing "
            "values."
        )
    return InputError(words)


def columns_of_text(X: Any, categories: bool = True) -> tuple[Any, ...]:
    """Return the names, or the numbers, of the columns that hold text which is no number.

    Without `categories` those of a categorical type are left out.
    """
    of_text = OBJECTS + CATEGORIES * categories
    names = tuple(name for name in columns_of_type(X, of_text) if any(map(_is_text, X[name])))
    if getattr(X, "ndim", 0) == 2 and getattr(X, "dtype", np.dtype(float)).kind in "OU":
        return tuple(k for k in range(X.shape[1]) if any(map(_is_text, X[:, k])))
    return names


def columns_of_type(X: Any, begins: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns of a data frame whose type begins so."""
    names = column_names(X)
    if names is None or len(set(names)) < len(names):
        return ()
    return tuple(name for name in names if str(X[name].dtype).lower().startswith(begins))


def _is_text(cell: Any) -> bool:
    try:
        float(cell if isinstance(cell, str) else 0)
    except ValueError:
        return True
    return False


def column_names(X: object) -> tuple[str, ...] | None:
    """Return the names of the columns, where X has some and all are text."""
    columns = None if hasattr(X, "collect") else getattr(X, "columns", None)  # not of lazy frames
    if columns is None:
        return None
    names = tuple(columns)
    return names if all(isinstance(name, str) for name in names) else None
