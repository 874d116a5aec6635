"""The cells of a column as a model needs them: numbers, categories, labels, weights."""

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
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
LARGEST = 1e150  # of which the square is a number
# Gets sentences for the user.
Tell = Callable[[str], Any]


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


def dates_of(table: FileTable, column: Any) -> Any:
    """Return a column as dates and times."""
    import pandas as pd

    try:
        return pd.to_datetime(column)
    except (ValueError, TypeError) as error:
        why = "the pipeline was trained on dates there"
        raise table.refusal(column.name, f"is no column of dates, but {why}: {error}") from None


def categories_of(table: FileTable, column: Any, labels: tuple[Any, ...], tell: Tell) -> Any:
    """Return a column of categories; a label that the model does not know is missing."""
    import pandas as pd

    if any(isinstance(label, str) for label in labels):
        column = table.as_written(column)
    known = _label_finder(labels)
    told = column.dropna().tolist()
    found = [known(cell) for cell in told]
    strange = Counter(str(cell) for cell, label in zip(told, found, strict=True) if label is None)
    if told and strange.total() == len(told):
        first = next(iter(strange))
        says = f"holds {first!r} and the like, none of which is a category that the model knows"
        raise table.refusal(column.name, f"{says}: {some(labels)}")
    if strange:
        tell(
            f"{table.file}: the column {column.name!r} holds categories that the model does not "
            f"know in {strange.total()} of {len(column)} rows, which count as missing: "
            f"{some(strange)}."
        )
    categories = np.full(len(column), None, dtype=object)
    categories[column.notna().to_numpy()] = found
    return pd.Categorical(categories, categories=list(labels))


def target_for(table: FileTable, column: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels of a classifier's own classes, or the numbers that a regressor needs."""
    if classes is None:
        numbers = _finite_numbers(table, column, "the model predicts numbers")
        too_large = "errors are squared, which only numbers up to 1e150 allow"
        _refuse_first(table, column, np.abs(numbers) > LARGEST, too_large)
        return numbers
    if classes.dtype.kind in TEXT:
        column = table.as_written(column)
    known = _label_finder(classes.tolist())
    found = [known(cell) for cell in _present(table, column)]
    if None in found:
        raise _unknown_label(table, column, found.index(None), classes.tolist())
    labels: NDArray[Any] = np.array(found, dtype=classes.dtype)
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


def _label_finder(labels: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a function from a cell to the label that it means, None where that is in doubt.

    A cell is a label that is written as it is, or else the only one that means the same.
    """
    two = len(labels) == 2
    exact = {_plain(label): label for label in labels}
    alike: dict[str, list[Any]] = {}
    for text, label in exact.items():
        alike.setdefault(_meaning(text, two), []).append(label)
    means = {meaning: own[0] for meaning, own in alike.items() if len(own) == 1}

    @cache
    def find(text: str) -> Any:
        return exact.get(text, means.get(_meaning(text, two)))

    return lambda cell: find(_plain(cell))


def _meaning(text: str, two: bool) -> str:
    """Return a label as text that is the same for 1.0 and 1, TRUE and true, of two also for 1."""
    short = text.strip()
    if short.lower() in TRUTH:
        return str(TRUTH.index(short.lower())) if two else short.lower()
    return short.partition(".")[0] if re.fullmatch(r"-?\d+\.0*", short) else short


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


def _unknown_label(table: FileTable, column: Any, row: int, classes: list[Any]) -> InputError:
    value = column.tolist()[row]
    says = f"holds {reprlib.repr(value)}, but the classes of the model are {some(classes, 10)}"
    if isinstance(value, str) and classes == list(range(len(classes))):
        says += ". Put these numbers in place of text: boosters' files number classes from 0"
    return table.refusal(column.name, says, row)
