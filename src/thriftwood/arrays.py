"""Read-only arrays: the stuff our frozen nouns are made of."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from thriftwood.errors import InputError, RangeError

IntArray = NDArray[np.int64]
IndexArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


# Complex numbers, times and dates, text: NumPy would turn them into numbers, with or without sense.
COMPLEX_OR_TIME = "cmM"
TEXT = "SU"


def frozen(values: ArrayLike, dtype: DTypeLike | None) -> NDArray[Any]:
    """Return `values` as a contiguous read-only array that nobody else can write to."""
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
    return handed_over(array)


def handed_over(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array that only the caller holds read-only, without copying it."""
    array.flags.writeable = False
    return array


def numbers(values: object, name: str) -> FloatArray:
    """Return a copy of the user's argument `name` as doubles; refuse what is not a number."""
    try:
        array = np.array(values)
        if array.dtype.kind in COMPLEX_OR_TIME + TEXT:
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"`{name}` holds something that is not a number.") from None


def one_number(value: object, name: str) -> float:
    """Return the user's argument `name` as one double; refuse what is not exactly one number."""
    array = numbers(value, name)
    if array.ndim != 0:
        raise InputError(f"`{name}` is not one number.")
    return float(array)
