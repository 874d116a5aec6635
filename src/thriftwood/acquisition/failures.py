"""What could not be got, and what becomes of rows that needed it."""

from __future__ import annotations

import reprlib
from typing import Any, Literal, NamedTuple

OnFailure = Literal["raise", "missing", "node"]
CHOICES = ("raise", "missing", "node")


class Failure(NamedTuple):
    """A value that the source could not be got to give.

    Attributes
    ----------
    row : object
        The id of the row.
    feature : str or int
        Its name, or its column where the model knows no names.
    error : Exception
        The last one.
    attempts : int
        How often the source was asked.
    place : int
        The place of the row among those that were passed.
    """

    row: Any
    feature: Any
    error: Exception
    attempts: int
    place: int

    def __repr__(self) -> str:
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        return (
            f"Failure(row {reprlib.repr(self.row)}, feature {self.feature!r}, asked {times}: "
            f"{in_words(self.error)})"
        )


def in_words(error: Exception) -> str:
    """Return what an error of somebody else says, if it can say anything."""
    try:
        said = str(error)
    except Exception:
        said = "it has no words"
    return f"{type(error).__name__}: {said}"
