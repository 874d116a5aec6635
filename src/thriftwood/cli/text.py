"""Numbers and tables as text, and values fit for JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import thriftwood as tw
from thriftwood.support.text import shown, unit_behind
from thriftwood.support.validation import six_digits

WIDTH = 100  # columns of a terminal that is not narrow


def aligned(values: Sequence[float]) -> list[str]:
    """Return the numbers of a column with as many decimals in each line."""
    largest = max(map(abs, values), default=0)
    digits_in_front = math.floor(math.log10(largest)) + 1 if largest > 0 else 1
    decimals = 2 if largest >= 10 else 4 - min(digits_in_front, 0)
    return [f"{value:,.{decimals}f}" for value in values]


def amount(value: float, unit: str) -> str:
    """Return a number with its unit, if it has one."""
    return six_digits(value) + unit_behind(unit)


def share(value: float) -> str:
    """Return a part of one as percent, with a digit after the point where it is needed."""
    return f"{100 * value:.3g} %"


def count(value: int, noun: str) -> str:
    """Return so many of something, such as "3 trees"."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of text in columns, the header first; the first column is to the left."""
    rows = [tuple(map(shown, line)) for line in (header, *lines)]
    padded: list[list[str]] = []
    for column in zip(*rows, strict=True):
        width = max(map(len, column))
        padded.append([cell.rjust(width) if padded else cell.ljust(width) for cell in column])
    return ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]


def in_words(scoring: str) -> tuple[str, int]:
    """Return how a score is called, and its sign: losses are told as they are, not negative."""
    if not scoring.startswith("neg_"):
        return scoring, 1
    name = scoring.removeprefix("neg_").replace("_", " ")
    return name.replace("brier", "Brier"), -1


def score_columns(measured: tw.Evaluation, points: Sequence[int]) -> list[tuple[str, list[str]]]:
    """Return columns of the score before pruning and of some points, with its standard error.

    There are none where the score says nothing that errors do not.
    """
    if not measured.score_beside_error:
        return []
    name, sign = in_words(measured.scoring)
    scores = [sign * one for one in (measured.original.score, *measured.score[points].tolist())]
    spread = [math.hypot(*measured.deviations[0]), *measured.score_error[points].tolist()]
    both = aligned([*scores, *spread])
    return [(name, both[: len(scores)]), ("+-", both[len(scores) :])]


def total_column(measured: tw.Evaluation, points: Sequence[int]) -> list[tuple[str, list[str]]]:
    """Return what bills and errors cost together, where errors have costs."""
    if measured.total_cost is None:
        return []
    before = measured.original
    sums = [before.cost - before.score, *measured.total_cost[points].tolist()]
    return [("tests + errors", aligned(sums))]


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names with commas between them, of many only the first."""
    first = ", ".join(map(shown, names[:most]))
    return f"{first} and {len(names) - most} more" if len(names) > most else first


def wrapped(text: str, indent: str = "") -> str:
    """Return text in lines that are not too long, each after the indent."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,  # names of files stay whole, to be copied
        break_on_hyphens=False,
    )


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: no NumPy types; null for what is no finite number."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
