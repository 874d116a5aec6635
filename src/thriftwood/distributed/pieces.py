"""Pieces of the rows, and what must hold for each of them."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thriftwood.errors import InputError, ThriftwoodError

State = TypeVar("State")


class Piece(NamedTuple):
    """Some of the rows, in memory, as the user's library gives them (NumPy, pandas).

    Attributes
    ----------
    number : int
        Its place among all pieces, from 0.
    X, y : array-like or data frame
        The rows and their labels.
    weight : array-like, optional
        What each row counts.
    """

    number: int
    X: Any
    y: Any
    weight: Any | None


def build_state(build: Callable[[Piece], State], piece: Piece) -> State:
    """Return `build(piece)`; refuse a piece that has no rows, or not one label for each."""
    n_samples = count_rows(piece.X)
    if n_samples == 0:
        raise InputError("X has no rows: leave it out, or repartition a Dask collection.")
    for name, values in (("y", piece.y), ("sample_weight", piece.weight)):
        if values is not None and getattr(piece.X, "ndim", 2) == 2:
            check_length(name, values, n_samples)
    return build(piece)


def count_rows(values: Any) -> int | None:
    """Return how many rows there are; None if they cannot be counted."""
    try:
        return len(values)
    except TypeError:
        return None


def check_length(name: str, values: Any, n_samples: int | None) -> None:
    """Refuse labels or weights, the user's argument `name`, that are not one for each row."""
    n_values = count_rows(values)
    if n_samples is not None and n_values != n_samples:
        has = "is one value" if n_values is None else f"has {n_values} values"
        raise InputError(f"`{name}` {has}, but X has {n_samples} rows: pass one per row.")


def cutter(values: Any) -> Callable[[int, int], Any]:
    """Return a function that cuts rows `start` to `stop` out of what the user has in memory."""
    if values is None:
        return lambda _start, _stop: None
    if hasattr(values, "iloc"):  # pandas
        return lambda start, stop: values.iloc[start:stop]
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    return lambda start, stop: array[start:stop]


def in_place(error: ThriftwoodError, place: str) -> ThriftwoodError:
    """Return the same error with a message that says first where it happened."""
    return type(error)(f"{place}: {error}")
