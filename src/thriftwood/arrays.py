"""Read-only arrays: the stuff our frozen nouns are made of."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

IntArray = NDArray[np.int64]
IndexArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def frozen(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """Return `values` as a contiguous read-only array that nobody else can write to."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.flags.writeable:
        if array is values or array.base is not None:
            array = array.copy()
        array.flags.writeable = False
    return array


def handed_over(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array that only the caller holds read-only, without copying it."""
    array.flags.writeable = False
    return array
