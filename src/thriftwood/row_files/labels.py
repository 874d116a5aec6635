"""What is right for each row, in the labels of the model, and how much each row counts."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.arrays import FloatArray
from thriftwood.errors import InputError
from thriftwood.row_files.features import is_missing

if TYPE_CHECKING:
    from thriftwood.row_files.row_table import RowTable

TRUTH = {"true": "1", "false": "0"}
FEW = 10


def target_for(table: RowTable, column: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels of a classifier's own classes, or the numbers that a regressor needs."""
    if classes is None:
        return _finite_numbers(table, column, "the model predicts numbers")
    values = _values(table, column)
    number_of = _spellings(classes)
    numbers: dict[Any, int] = {}
    for row, value in enumerate(values):
        if value not in numbers:
            found = [number_of[way] for way in _ways(value) if way in number_of]
            if not found:
                raise _unknown_label(table, column.name, row, value, classes)
            numbers[value] = found[0]
    labels: NDArray[Any] = classes[[numbers[value] for value in values]]
    return labels


def target_of(table: RowTable, column: Any) -> NDArray[Any]:
    """Return the labels or numbers of a column as they are, where no cell is empty."""
    return np.array(_values(table, column))


def weights_of(table: RowTable, column: Any) -> FloatArray:
    """Return how much each row counts."""
    weights = _finite_numbers(table, column, "weights are numbers of at least 0")
    wrong = np.flatnonzero(weights < 0)
    if len(wrong):
        raise InputError(
            f"{table.place(int(wrong[0]))}: the column {column.name!r} holds "
            f"{weights[wrong[0]]:g}, but weights are numbers of at least 0."
        )
    return weights


def _values(table: RowTable, column: Any) -> list[Any]:
    """Return the cells of a column; refuse an empty one."""
    values: list[Any] = column.tolist()
    for row, value in enumerate(values):
        if is_missing(value):
            raise InputError(
                f"{table.place(row)}: the column {column.name!r} is empty there: leave out rows "
                "for which it is not known."
            )
    return values


def _finite_numbers(table: RowTable, column: Any, why: str) -> FloatArray:
    numbers = []
    for row, value in enumerate(_values(table, column)):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = np.nan
        if not np.isfinite(number):
            raise InputError(
                f"{table.place(row)}: the column {column.name!r} holds {reprlib.repr(value)}, but "
                f"{why}."
            )
        numbers.append(number)
    return np.array(numbers)


def _spellings(classes: NDArray[Any]) -> dict[str, int]:
    """Return every way to write a class that is without doubt, with the number of the class."""
    number_of: dict[str, int] = {}
    doubtful = set()
    for number, label in enumerate(classes.tolist()):
        for way in _ways(label):
            if number_of.setdefault(way, number) != number:
                doubtful.add(way)
    # Exactly as the model has it is never in doubt.
    exact = {_plain(label): number for number, label in enumerate(classes.tolist())}
    return {way: own for way, own in number_of.items() if way not in doubtful} | exact


def _ways(label: Any) -> Iterable[str]:
    """Return how a label may be written, the closest first: 1.0 is 1, and True may be."""
    plain = _plain(label)
    yield plain
    short = plain.strip()
    try:
        number = float(short)
    except ValueError:
        if short.lower() in TRUTH:
            yield short.lower()
            yield TRUTH[short.lower()]
        elif short != plain:
            yield short
    else:
        if np.isfinite(number):
            yield str(int(number)) if number.is_integer() else repr(number)


def _plain(label: Any) -> str:
    return str(label.item() if hasattr(label, "item") else label)


def _unknown_label(
    table: RowTable, name: object, row: int, value: Any, classes: NDArray[Any]
) -> InputError:
    known = ", ".join(repr(label) for label in classes.tolist()[:FEW])
    more = f" and {len(classes) - FEW} more" if len(classes) > FEW else ""
    advice = ""
    if isinstance(value, str) and np.array_equal(classes, np.arange(len(classes))):
        advice = (
            " A booster's file keeps no labels, it numbers its classes from 0: put these numbers "
            "into the column."
        )
    return InputError(
        f"{table.place(row)}: the column {name!r} holds {reprlib.repr(value)}, but the classes of "
        f"the model are {known}{more}.{advice}"
    )
