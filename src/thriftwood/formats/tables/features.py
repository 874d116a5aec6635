"""The features of a table as a model compares them: numbers, and labels of categories."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.support.arrays import FloatArray
from thriftwood.support.validation import COMPLEX_OR_TIME

if TYPE_CHECKING:
    from thriftwood.formats.tables.columns import Columns
    from thriftwood.formats.tables.row_table import RowTable

NUMBERS = "biuf"
FEW = 5


def features_for(table: RowTable, columns: Columns, forest: Forest, notes: list[str]) -> Any:
    """Return columns of a table as the model was trained on them.

    A data frame with the model's names where it knows some, else an array. What the user should
    know about them is added to the notes.
    """
    import pandas as pd

    X = pd.DataFrame(
        {
            place: _categories_of(table, table.frame[column], forest.category_labels[place], notes)
            if place in forest.category_labels
            else numbers_of(table, table.frame[column])
            for place, column in enumerate(columns.own)
        }
    )
    return X.to_numpy() if columns.names is None else X.set_axis(columns.names, axis=1)


def numbers_of(
    table: RowTable, column: Any, why: str = "the model compares numbers there"
) -> FloatArray:
    """Return a column as doubles, missing values as NaN; say where it holds something else.

    Parameters
    ----------
    table : RowTable
        For sentences.
    column : pandas.Series
    why : str
        Why numbers are needed.
    """
    kind = getattr(column.dtype, "kind", "O")
    if kind in NUMBERS:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in COMPLEX_OR_TIME:
        raise InputError(
            f"{table.file}: the column {column.name!r} is of the type {column.dtype}, but {why}."
        )
    numbers = np.full(len(column), np.nan)
    values = column.tolist()
    for row in np.flatnonzero(column.notna()).tolist():
        number = _number(values[row], table.decimal)
        if number is None:
            raise InputError(
                f"{table.place(row)}: the column {column.name!r} holds "
                f"{reprlib.repr(values[row])}, but {why}: {_advice(values[row], table.decimal)}."
            )
        numbers[row] = number
    _check_decimals(table, column)
    return numbers


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
    if (
        decimal == "."
        and isinstance(value, str)
        and re.fullmatch(r"\s*[-+]?\d+(\.\d{3})*,\d+\s*", value)
    ):
        return "write decimals with a point, 5.17 instead of 5,17"
    return "encode text as numbers, as for the training, and leave missing cells empty"


def _check_decimals(table: RowTable, column: Any) -> None:
    """Refuse points beside decimal commas, where they may stand for thousands."""
    cells = column.astype(str)
    with_comma = np.flatnonzero(cells.str.contains(",", regex=False))
    with_point = np.flatnonzero(cells.str.contains(".", regex=False))
    if len(with_comma) and len(with_point):
        raise InputError(
            f"{table.place(int(with_point[0]))}: the column {column.name!r} holds "
            f"{cells.iloc[with_point[0]]!r}, and in another line {cells.iloc[with_comma[0]]!r}. "
            "Write all decimals in the same way, and thousands without any sign."
        )


def _categories_of(table: RowTable, column: Any, labels: tuple[Any, ...], notes: list[str]) -> Any:
    """Return a column of categories; a label that the model does not know is missing."""
    import pandas as pd

    known = {_spelled(label): label for label in labels}
    if any(isinstance(label, str) for label in labels):
        column = table.as_written(column)
    told = [_name_in(known, value) for value in column.dropna()]
    strange = Counter(name for name in told if name not in known)
    if told and strange.total() == len(told):
        raise InputError(
            f"{table.file}: the column {column.name!r} holds {told[0]!r} and the like, none of "
            f"which is a category that the model knows: {', '.join(map(repr, labels[:FEW]))}."
        )
    if strange:
        named = ", ".join(map(repr, list(strange)[:FEW])) + (" ..." if len(strange) > FEW else "")
        notes.append(
            f"{table.file}: the column {column.name!r} holds categories that the model does not "
            f"know in {strange.total()} of {len(column)} rows, which count as missing: {named}."
        )
    found = np.full(len(column), None, dtype=object)
    found[column.notna().to_numpy()] = [known.get(name) for name in told]
    return pd.Categorical(found, categories=list(labels))


def _name_in(known: Mapping[str, Any], value: Any) -> str:
    """Return how a category is spelled: as it is, or else as a whole number."""
    name = _spelled(value)
    if name not in known and re.fullmatch(r"-?\d+\.0+", name):
        return name.partition(".")[0]
    return name


def _spelled(label: Any) -> str:
    """Return a label as text, whole numbers without a point: a gap makes 3 a 3.0 in a table."""
    plain = label.item() if hasattr(label, "item") else label
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    return str(plain)
