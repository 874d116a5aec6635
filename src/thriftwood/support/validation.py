"""Arguments as the user passes them, checked; every refusal carries the name of the argument."""

import math
import reprlib
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.support.arrays import FloatArray, IndexArray

# Complex numbers, times and dates, text: NumPy would turn them into numbers, with or without sense.
COMPLEX_OR_TIME = "cmM"
TEXT = "SU"


def numbers(values: object, name: str) -> FloatArray:
    """Return a copy of the argument as doubles; refuse what is not a number, or is masked."""
    check_mask(values, name)
    try:
        array = np.array(values)
        if array.dtype.kind in COMPLEX_OR_TIME + TEXT:
            raise TypeError
        if array.dtype == object and any(isinstance(one, str) for one in array.flat):
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"`{name}` holds something that is not a number.") from None


def check_mask(values: object, name: str) -> None:
    """Refuse an array in which something is masked, where every entry counts."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        where = f" at {place}" if place else ""
        raise InputError(
            f"`{name}` is masked{where}: pass a value for every entry; only in `X` what is "
            "masked is a missing value."
        )


def numbered(ids: Any, n_samples: int, name: str) -> IndexArray:
    """Return the number of each sample's id, in the order of their first samples, from 0."""
    # A list is not made an array, which would turn numbers beside text or NaN into something else.
    given = ids.tolist() if hasattr(ids, "tolist") else ids
    given = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
    if len(given) != n_samples or any(isinstance(one, list) for one in given):
        raise InputError(f"`{name}` must be {n_samples} ids, one for each of the samples.", name)
    number_of: dict[Any, int] = {}
    number = np.empty(n_samples, dtype=np.int32)
    for sample, one in enumerate(given):
        if is_missing(one):
            raise InputError(f"`{name}` is missing in row {sample}: every sample has an id.", name)
        number[sample] = number_of.setdefault((type(one), one), len(number_of))
    return number


def one_number(value: object, name: str) -> float:
    """Return the argument as one double; refuse what is not exactly one number, or a truth."""
    array = numbers(value, name)
    if array.ndim != 0 or np.asarray(value).dtype == np.bool_:
        raise InputError(f"`{name}` is not one number.")
    return float(array)


def one_number_from_zero(value: object, name: str, advice: str) -> float:
    """Return the argument as one finite double of at least 0, or refuse it."""
    try:
        number = one_number(value, name)
    except InputError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise InputError(
            f"`{name}` is {reprlib.repr(value)}: it must be one finite number of at least 0. "
            f"{advice}",
        )
    return abs(number)  # minus zero is zero


def shares_of_one(values: object, name: str) -> tuple[float, ...]:
    """Return the argument as numbers between 0 and 1, or refuse it."""
    shares = np.atleast_1d(numbers(values, name))
    if shares.ndim > 1:
        raise InputError(f"`{name}` must be a list of numbers.")
    if not ((shares >= 0) & (shares <= 1)).all():
        raise InputError(f"`{name}` is {values!r}: each must lie between 0 and 1.")
    return tuple(shares.tolist())


def is_whole(value: object) -> bool:
    """Return True for one whole number; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole_number(value: Any, name: str, least: int) -> int:
    """Return the argument as a whole number of at least `least`, or refuse it."""
    if not is_whole(value) or value < least:
        raise InputError(
            f"`{name}` is {reprlib.repr(value)}: pass a whole number of at least {least}."
        )
    return int(value)


def truth(value: Any, name: str) -> bool:
    """Return the argument if it is True or False, or refuse it."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"`{name}` is {reprlib.repr(value)}: pass True or False.")
    return bool(value)


def chosen(value: Any, names: Collection[str], name: str) -> str:
    """Return the argument if it is one of these names, or refuse it with the names to choose."""
    if not isinstance(value, str) or value not in names:
        raise InputError(
            f"`{name}` is {reprlib.repr(value)}: choose {listed(map(repr, names))}."
            f"{did_you_mean(value, names) if isinstance(value, str) else ''}",
        )
    return value


def listed(words: Iterable[str], last: str = "or") -> str:
    """Return words as people list them: `a, b or c`."""
    *first, final = words
    return f"{', '.join(first)} {last} {final}" if first else final


def some(names: Collection[object], most: int = 5) -> str:
    """Return the first names as Python writes them, and how many more there are."""
    shown = ", ".join(map(repr, islice(names, most)))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def did_you_mean(word: object, words: Iterable[object]) -> str:
    """Return a suggestion with a space before it, or nothing."""
    by_case = {str(one).lower(): str(one) for one in words}
    near = get_close_matches(str(word).lower(), by_case, n=1)
    return f" Did you mean {by_case[near[0]]!r}?" if near else ""


def six_digits(value: float) -> str:
    """Return a number with six digits; sums that were added up in another order look the same.

    These differ in the last bits, which may tip the sixth digit: so bits that mean nothing are
    rounded off before.
    """
    return f"{float(f'{value:.12g}'):.6g}"


def is_missing(value: Any) -> bool:
    """Return True for the missing values of Python, NumPy or pandas."""
    is_nan = isinstance(value, float | np.floating) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")
