"""What is right for each row, in the labels of the model, and how much each row counts."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.formats.tables.features import numbers_of
from thriftwood.support.arrays import BoolArray, FloatArray
from thriftwood.support.validation import COMPLEX_OR_TIME

if TYPE_CHECKING:
    from thriftwood.formats.tables.row_table import RowTable

TRUTH = ("false", "true")
DIGITS = ("0", "1")
TEXT = "UO"
FEW = 10
LARGEST = 1e150  # of which the square is a number


def target_for(table: RowTable, column: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels of a classifier's own classes, or the numbers that a regressor needs."""
    if classes is None:
        goals = _finite_numbers(table, column, "the model predicts numbers")
        too_large = "errors are squared, which only numbers up to 1e150 allow"
        _refuse_first(table, column, np.abs(goals) > LARGEST, too_large)
        return goals
    if classes.dtype.kind in TEXT:
        column = table.as_written(column)
    number_of = _spellings(classes)
    numbers: dict[str, int] = {}
    texts = [_plain(label) for label in target_of(table, column)]
    for row, text in enumerate(texts):
        if text not in numbers:
            found = [number_of[way] for way in _ways(text) if way in number_of]
            if not found:
                raise _unknown_label(table, column, row, classes)
            numbers[text] = found[0]
    labels: NDArray[Any] = classes[[numbers[text] for text in texts]]
    return labels


def target_of(table: RowTable, column: Any) -> list[Any]:
    """Return the labels or numbers of a column as they are; refuse an empty cell."""
    for row in np.flatnonzero(column.isna()).tolist():
        cell = table.as_written(column).iloc[row]
        says, advice = "is empty there", ""
        if isinstance(cell, str) and cell.strip():
            says = f"says {cell!r}, which stands for a missing value"
            advice = " If it is a class, give it another name."
        raise InputError(
            f"{table.place(row)}: the column {column.name!r} {says}: leave out rows for which it "
            f"is not known.{advice}"
        )
    labels: list[Any] = column.tolist()
    return labels


def target_to_learn(table: RowTable, column: Any) -> NDArray[Any]:
    """Return labels or numbers that a model can be trained to predict."""
    labels = np.array(target_of(table, column))
    if column.dtype.kind in COMPLEX_OR_TIME or labels.dtype.kind in COMPLEX_OR_TIME:
        raise InputError(
            f"{table.file}: the column {column.name!r} is of the type {column.dtype}, but what is "
            "to be learnt are classes or numbers."
        )
    if labels.dtype.kind == "f":
        _refuse_first(table, column, ~np.isfinite(labels), "no model can predict that")
    return labels


def weights_of(table: RowTable, column: Any) -> FloatArray:
    """Return how much each row counts."""
    why = "weights are finite numbers of at least 0"
    weights = _finite_numbers(table, column, why)
    _refuse_first(table, column, weights < 0, why)
    if not weights.any():
        raise InputError(
            f"{table.file}: the column {column.name!r} holds zeros only: no row counts."
        )
    return weights


def _finite_numbers(table: RowTable, column: Any, why: str) -> FloatArray:
    target_of(table, column)
    numbers = numbers_of(table, column, why)
    _refuse_first(table, column, ~np.isfinite(numbers), why)
    return numbers


def _refuse_first(table: RowTable, column: Any, wrong: BoolArray, why: str) -> None:
    for row in np.flatnonzero(wrong).tolist():
        raise InputError(
            f"{table.place(row)}: the column {column.name!r} holds {column.iloc[row]}, but {why}."
        )


def _spellings(classes: NDArray[Any]) -> dict[str, int]:
    """Return every way to write a class that is without doubt, with the number of the class."""
    exact = {_plain(label): number for number, label in enumerate(classes.tolist())}
    found: dict[str, set[int]] = {}
    for label, number in exact.items():
        for way in _ways(label):
            found.setdefault(way, set()).add(number)
    number_of = {way: numbers.pop() for way, numbers in found.items() if len(numbers) == 1} | exact
    for these, others in ((TRUTH, DIGITS), (DIGITS, TRUTH)):
        if len(classes) == 2 and set(others) <= set(number_of):
            number_of |= {own: number_of[other] for own, other in zip(these, others, strict=True)}
    return number_of


def _ways(text: str) -> Iterable[str]:
    """Return how a label may be written, the closest first: 1.0 is 1, TRUE is true."""
    yield text
    short = text.strip()
    yield short
    if short.lower() in TRUTH:
        yield short.lower()
    try:
        number = float(short)
    except ValueError:
        return
    if number.is_integer():
        yield str(int(number))


def _plain(label: Any) -> str:
    return str(label.item() if hasattr(label, "item") else label)


def _unknown_label(table: RowTable, column: Any, row: int, classes: NDArray[Any]) -> InputError:
    known = ", ".join(repr(label) for label in classes.tolist()[:FEW])
    more = f" and {len(classes) - FEW} more" if len(classes) > FEW else ""
    value = column.tolist()[row]
    advice = ""
    if isinstance(value, str) and np.array_equal(classes, np.arange(len(classes))):
        advice = (
            " Put these numbers into the column, in place of text: the file of a booster numbers "
            "its classes from 0 and keeps no labels."
        )
    return InputError(
        f"{table.place(row)}: the column {column.name!r} holds {reprlib.repr(value)}, but the "
        f"classes of the model are {known}{more}.{advice}"
    )
