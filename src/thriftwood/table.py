"""Rows as the user has them: arrays, lists, pandas or polars data frames."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.arguments import COMPLEX_OR_TIME
from thriftwood.arrays import handed_over
from thriftwood.errors import InputError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers (missing values are NaN), with the names of the columns if they have some."""

    values: NDArray[Any]
    names: tuple[str, ...] | None

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.values.shape[1])


def read_table(X: object, dtype: np.dtype[Any]) -> Table:
    """Read rows into an array of `dtype`; refuse what is not a table of numbers.

    Parameters
    ----------
    X : array-like or data frame, shape (n_rows, n_columns)
        Anything NumPy can read, a pandas or a polars data frame.
    dtype : numpy dtype
        What the model casts its input to before it compares.
    """
    if X is None:
        raise InputError("X is None: pass the rows.")
    if hasattr(X, "tocsr"):
        raise InputError("X is a sparse matrix: pass dense rows, for example X.toarray().")
    if hasattr(X, "collect"):
        raise InputError("X is a lazy frame: call its .collect() first.")
    values = _as_numbers(X, dtype)
    if values.ndim != 2:
        raise InputError(
            f"X has {values.ndim} dimension(s), but rows and columns are needed: "
            "pass an array of shape (n_rows, n_features), for one row X.reshape(1, -1)."
        )
    if values.shape[0] == 0:
        raise InputError("X has no rows: at least one example is needed.")
    return Table(handed_over(values), _column_names(X))


def _as_numbers(X: object, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        with np.errstate(over="ignore"):  # beyond float32 a value becomes infinite, as in the model
            return np.array(_as_array(X, dtype), dtype=dtype, order="C")
    except (TypeError, ValueError) as error:
        if "inhomogeneous" in str(error):
            raise InputError("The rows of X have different lengths.") from None
        raise InputError(
            f"X holds something that is not a number ({error}): encode text and categories "
            "as the model was trained on them, and use NaN for missing values."
        ) from None


def _as_array(X: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    if type(X).__module__.startswith("pandas"):  # it has types and missing values of its own
        _refuse_complex_or_time(X.dtypes if X.ndim == 2 else [X.dtype])
        return np.asarray(X.to_numpy(dtype=dtype, na_value=np.nan))
    array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    _refuse_complex_or_time([array.dtype])
    return array


def _refuse_complex_or_time(types: Iterable[Any]) -> None:
    for found in types:
        if getattr(found, "kind", "O") in COMPLEX_OR_TIME:
            raise TypeError(f"the type {found}")


def _column_names(X: object) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    return names if all(isinstance(name, str) for name in names) else None
