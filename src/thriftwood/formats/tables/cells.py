"""The cells of a column as a model needs them: numbers, categories, labels, weights."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.formats.tables.table import FileTable
from thriftwood.support.arrays import BoolArray, FloatArray
from thriftwood.support.validation import COMPLEX_OR_TIME, some

NUMBERS = "biuf"
TEXT = "UO"
TRUTH = ("false", "true")
DIGITS = ("0", "1")
LARGEST = 1e150  # of which the square is a number


def numbers_of(
    table: FileTable, column: Any, why: str = "the model compares numbers there"
) -> FloatArray:
    """Return a column as doubles, missing values as NaN; say where it holds something else."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in NUMBERS:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in COMPLEX_OR_TIME:
        raise table.refusal(column.name, f"is of the type {column.dtype}, but {why}")
    numbers = np.full(len(column), np.nan)
    values = column.tolist()
    for row in np.flatnonzero(column.notna()).tolist():
        number = _number(values[row], table.decimal)
        if number is None:
            advice = _advice(values[row], table.decimal)
            says = f"holds {reprlib.repr(values[row])}, but {why}: {advice}"
            raise table.refusal(column.name, says, row)
        numbers[row] = number
    _check_decimals(table, column)
    return numbers


def categories_of(table: FileTable, column: Any, labels: tuple[Any, ...], notes: list[str]) -> Any:
    """Return a column of categories; a label that the model does not know is missing."""
    import pandas as pd

    known = {_spelled(label): label for label in labels}
    if any(isinstance(label, str) for label in labels):
        column = table.as_written(column)
    told = [_name_in(known, value) for value in column.dropna()]
    strange = Counter(name for name in told if name not in known)
    if told and strange.total() == len(told):
        says = f"holds {told[0]!r} and the like, none of which is a category that the model knows"
        raise table.refusal(column.name, f"{says}: {some(labels)}")
    if strange:
        notes.append(
            f"{table.file}: the column {column.name!r} holds categories that the model does not "
            f"know in {strange.total()} of {len(column)} rows, which count as missing: "
            f"{some(strange)}."
        )
    found = np.full(len(column), None, dtype=object)
    found[column.notna().to_numpy()] = [known.get(name) for name in told]
    return pd.Categorical(found, categories=list(labels))


def target_for(table: FileTable, column: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels of a classifier's own classes, or the numbers that a regressor needs."""
    if classes is None:
        numbers = _finite_numbers(table, column, "the model predicts numbers")
        too_large = "errors are squared, which only numbers up to 1e150 allow"
        _refuse_first(table, column, np.abs(numbers) > LARGEST, too_large)
        return numbers
    if classes.dtype.kind in TEXT:
        column = table.as_written(column)
    class_of = _spellings(classes)
    found: dict[str, int] = {}
    texts = [_plain(label) for label in _present(table, column)]
    for row, text in enumerate(texts):
        if text not in found:
            number = next((class_of[way] for way in _ways(text) if way in class_of), None)
            if number is None:
                raise _unknown_label(table, column, row, classes.tolist())
            found[text] = number
    labels: NDArray[Any] = classes[[found[text] for text in texts]]
    return labels


def target_to_learn(table: FileTable, column: Any) -> NDArray[Any]:
    """Return labels or numbers that a model can be trained to predict."""
    labels = np.array(_present(table, column))
    if column.dtype.kind in COMPLEX_OR_TIME or labels.dtype.kind in COMPLEX_OR_TIME:
        says = f"is of the type {column.dtype}, but what is to be learnt are classes or numbers"
        raise table.refusal(column.name, says)
    if labels.dtype.kind == "f":
        _refuse_first(table, column, ~np.isfinite(labels), "no model can predict that")
    return labels


def weights_of(table: FileTable, column: Any) -> FloatArray:
    """Return how much each sample counts."""
    why = "weights are finite numbers of at least 0"
    weights = _finite_numbers(table, column, why)
    _refuse_first(table, column, weights < 0, why)
    if not weights.any():
        raise table.refusal(column.name, "holds zeros only: no sample counts")
    return weights


def _number(value: Any, decimal: str) -> float | None:
    if isinstance(value, str):
        if "_" in value:  # Python reads 1_000 as a number
            return None
        value = value.replace(decimal, ".")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _advice(value: Any, decimal: str) -> str:
    has_comma = re.fullmatch(r"\s*[-+]?\d+(\.\d{3})*,\d+\s*", str(value))
    if decimal == "." and has_comma:
        return "write decimals with a point, 5.17 instead of 5,17"
    return "encode text as numbers, as for the training, and leave missing cells empty"


def _check_decimals(table: FileTable, column: Any) -> None:
    """Refuse points beside decimal commas, where they may stand for thousands."""
    cells = column.astype(str)
    with_comma = np.flatnonzero(cells.str.contains(",", regex=False))
    with_point = np.flatnonzero(cells.str.contains(".", regex=False))
    if len(with_comma) and len(with_point):
        point, comma = cells.iloc[with_point[0]], cells.iloc[with_comma[0]]
        says = (
            f"holds {point!r}, and in another line {comma!r}. Write all decimals in the same way, "
            "and thousands without any sign"
        )
        raise table.refusal(column.name, says, int(with_point[0]))


def _name_in(known: Mapping[str, Any], value: Any) -> str:
    """Return how a category is spelled: as it is, or else as a whole number."""
    name = _spelled(value)
    if name not in known and re.fullmatch(r"-?\d+\.0+", name):
        return name.partition(".")[0]
    return name


def _spelled(label: Any) -> str:
    """Return a label as text, whole numbers without a point: a gap makes 3 a 3.0 in a table."""
    is_whole = isinstance(label, (float, np.floating)) and float(label).is_integer()
    return str(int(label) if is_whole else _plain(label))


def _plain(label: Any) -> str:
    return str(label.item() if hasattr(label, "item") else label)


def _present(table: FileTable, column: Any) -> list[Any]:
    """Return the labels or numbers of a column as they are; refuse an empty cell."""
    for row in np.flatnonzero(column.isna()).tolist():
        cell = table.as_written(column).iloc[row]
        says = "is empty there: leave out rows for which it is not known"
        if isinstance(cell, str) and cell.strip():
            says = (
                f"says {cell!r}, which stands for a missing value: leave out rows for which it is "
                "not known. If it is a class, give it another name"
            )
        raise table.refusal(column.name, says, row)
    labels: list[Any] = column.tolist()
    return labels


def _finite_numbers(table: FileTable, column: Any, why: str) -> FloatArray:
    _present(table, column)
    numbers = numbers_of(table, column, why)
    _refuse_first(table, column, ~np.isfinite(numbers), why)
    return numbers


def _refuse_first(table: FileTable, column: Any, wrong: BoolArray, why: str) -> None:
    for row in np.flatnonzero(wrong).tolist():
        raise table.refusal(column.name, f"holds {column.iloc[row]}, but {why}", row)


def _spellings(classes: NDArray[Any]) -> dict[str, int]:
    """Return every way to write a class that is without doubt, with the number of the class."""
    exact = {_plain(label): number for number, label in enumerate(classes.tolist())}
    found: dict[str, set[int]] = {}
    for label, number in exact.items():
        for way in _ways(label):
            found.setdefault(way, set()).add(number)
    class_of = {way: numbers.pop() for way, numbers in found.items() if len(numbers) == 1} | exact
    for these, others in ((TRUTH, DIGITS), (DIGITS, TRUTH)):
        if len(classes) == 2 and set(others) <= set(class_of):
            class_of |= {own: class_of[other] for own, other in zip(these, others, strict=True)}
    return class_of


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


def _unknown_label(table: FileTable, column: Any, row: int, classes: list[Any]) -> InputError:
    value = column.tolist()[row]
    says = f"holds {reprlib.repr(value)}, but the classes of the model are {some(classes, 10)}"
    if isinstance(value, str) and classes == list(range(len(classes))):
        says += ". Put these numbers in place of text: boosters' files number classes from 0"
    return table.refusal(column.name, says, row)
