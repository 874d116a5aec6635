"""What users pass to a lazy predictor, read and checked."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

from thriftwood.acquisition.course import Course
from thriftwood.acquisition.values import ValueReader
from thriftwood.errors import InputError
from thriftwood.support.validation import one_number_from_zero


def read_source(acquire: Any, acquire_many: Any) -> Callable[..., Any]:
    if (acquire is None) == (acquire_many is None):
        raise InputError(
            "Pass either `acquire`, for one value at a time, or `acquire_many`, for the needs of "
            "all rows together."
        )
    name = "acquire" if acquire_many is None else "acquire_many"
    function = acquire if acquire_many is None else acquire_many
    if not callable(function):
        raise InputError(f"`{name}` is {reprlib.repr(function)}: pass a function.")
    source: Callable[..., Any] = function
    return source


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Say so of functions, and of objects that are called like one."""
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


def read_timeout(timeout: Any) -> float | None:
    if timeout is None:
        return None
    advice = "It is the seconds that a call may take; pass None where there is no limit."
    seconds = one_number_from_zero(timeout, "timeout", advice)
    if seconds == 0:
        raise InputError(f"`timeout` is 0, which no call could keep. {advice}")
    return seconds


def read_names(course: Course) -> ValueReader:
    names = course.forest.feature_names or ()
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"The model has two columns named {name!r}, which a source could not tell apart: "
                "train it on columns with different names."
            )
    return ValueReader(course.forest)


def read_stop(stop: Any, course: Course) -> bool:
    if stop is None:
        return False
    if not isinstance(stop, str) or stop != "decided":
        raise InputError(f"`stop` is {reprlib.repr(stop)}: choose None or 'decided'.")
    if not course.forest.is_classifier:
        raise InputError(
            "`stop` is 'decided', but the model predicts numbers: any value may still change them. "
            "Leave `stop` out."
        )
    return True


def _is_of_numpys_numbers(rows: Any) -> bool:
    """Say whether ids are better made Python's own: a database does not expect NumPy's numbers.

    Times are left alone: as numbers they would be nanoseconds.
    """
    kind = getattr(getattr(rows, "dtype", None), "kind", "")
    return hasattr(rows, "tolist") and getattr(rows, "ndim", 1) == 1 and kind not in "mM"


def read_ids(rows: Any) -> list[Any]:
    if rows is None or isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise InputError(f"`rows` is {reprlib.repr(rows)}: pass a list of ids, one for each row.")
    if hasattr(rows, "columns"):
        raise InputError("`rows` is a data frame: pass the ids of its rows, such as its index.")
    given: Any = rows
    ids: list[Any] = given.tolist() if _is_of_numpys_numbers(given) else list(given)
    if not ids:
        raise InputError("`rows` is empty: at least one row is needed.")
    return ids
