"""Read-only arrays, which the frozen dataclasses of this package are made of; parts of tables."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from thriftwood.errors import RangeError

IntArray = NDArray[np.int64]
IndexArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array that only the caller holds read-only, without copying it."""
    array.flags.writeable = False
    return array


def by_place(X: Any) -> Any:
    """Return the indexer of a table by row and column numbers."""
    return X.iloc if hasattr(X, "iloc") else X if hasattr(X, "shape") else np.asarray(X)


def log_of(probability: FloatArray) -> FloatArray:
    """Return logarithms of probabilities: minus infinity of 0."""
    with np.errstate(divide="ignore"):
        logarithms: FloatArray = np.log(probability)
    return logarithms


def read_only_copy(values: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return a contiguous read-only array that nobody else can write to; copy only if needed."""
    array = np.ascontiguousarray(values, dtype=dtype)
    changes = array.dtype.kind == "i" and array.dtype != np.asarray(values).dtype
    if changes and not np.array_equal(array, values):
        raise RangeError(f"A number does not fit into {array.dtype}, or is not whole.")
    if isinstance(values, np.ndarray) and np.may_share_memory(array, values):
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if array.flags.writeable or owner.flags.writeable:
            array = array.copy()
    return read_only(array)
