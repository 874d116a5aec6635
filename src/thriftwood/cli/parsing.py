"""Options that are numbers or one of some words, as they are typed."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import typer

Value = TypeVar("Value")
Word = TypeVar("Word", bound=StrEnum)


class WrongValueError(typer.BadParameter):
    """An option has a value that it cannot have."""

    def __init__(self, value: str, advice: str) -> None:
        super().__init__(f"{value!r}: {advice}.")

    def format_message(self) -> str:
        """Return the whole sentence."""
        name = "This" if self.param is None else self.param.opts[0]
        return f"{name} is {self.message}"


def number(text: str) -> float:
    """Return the number that was typed."""
    return _read(text, float, "pass a number")


def whole(text: str) -> int:
    """Return the whole number that was typed."""
    return _read(text, int, "pass a whole number")


def word_of(words: type[Word]) -> Callable[[str], Word]:
    """Return what reads one of some words."""
    return lambda text: _read(text, words, f"choose one of {', '.join(words)}")


def _read(text: str, read: Callable[[str], Value], advice: str) -> Value:
    try:
        return read(text)
    except ValueError:
        raise WrongValueError(str(text), advice) from None
