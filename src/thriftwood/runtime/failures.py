"""What could not be got, and what becomes of rows that needed it."""

from __future__ import annotations

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
            f"Failure(row {self.row!r}, feature {self.feature!r}, asked {times}: "
            f"{type(self.error).__name__}: {self.error})"
        )
