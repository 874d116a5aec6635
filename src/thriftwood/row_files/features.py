"""The features of a table as a model compares them: numbers, and labels of categories."""

from __future__ import annotations

import math
import re
import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from thriftwood.arguments import COMPLEX_OR_TIME
from thriftwood.arrays import FloatArray
from thriftwood.errors import InputError
from thriftwood.forest import Forest

if TYPE_CHECKING:
    from thriftwood.row_files.row_table import RowTable

NUMBERS = "biuf"


def features_for(table: RowTable, columns: list[Any], forest: Forest) -> Any:
    """Return columns of a table as the model was trained on them.

    A data frame where the model knows names, else an array.
    """
    import pandas as pd

    made = {
        column: _categories_of(table, table.frame[column], forest.category_labels[place])
        if place in forest.category_labels
        else numbers_of(table, table.frame[column])
        for place, column in enumerate(columns)
    }
    X = pd.DataFrame(made, columns=columns)
    # Names that a library invented are no names: the model does not ask for them.
    return X if forest.feature_names is not None and _names_fit(columns, forest) else X.to_numpy()


def numbers_of(table: RowTable, column: Any) -> FloatArray:
    """Return a column as doubles, missing values as NaN; say where it holds something else."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in NUMBERS:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in COMPLEX_OR_TIME:
        raise InputError(
            f"{table.file}: the column {column.name!r} is of the type {column.dtype}, but the "
            "model compares numbers there: encode it as the model was trained on it."
        )
    return np.array(
        [_number(table, column.name, row, value) for row, value in enumerate(column)],
        dtype=np.float64,
    )


def is_missing(value: Any) -> bool:
    """Say whether a cell is empty: None, NaN, or pandas' own marks."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _number(table: RowTable, name: object, row: int, value: Any) -> float:
    if is_missing(value):
        return math.nan
    try:
        if not isinstance(value, str) or "_" not in value:  # Python reads 1_000 as a number
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        f"{table.place(row)}: the column {name!r} holds {reprlib.repr(value)}, but the model "
        f"compares numbers there: {_advice(value)}."
    )


def _advice(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d+(\.\d{3})*,\d+\s*", value):
        return "write decimals with a point, 5.17 instead of 5,17"
    return "encode text as the model was trained on it, and leave cells of missing values empty"


def _categories_of(table: RowTable, column: Any, labels: tuple[Any, ...]) -> Any:
    """Return a column of categories; a label that the model does not know is missing."""
    import pandas as pd

    known = {_spelled(label): label for label in labels}
    found = [None if is_missing(value) else _spelled(value) for value in column]
    told = [spelled for spelled in found if spelled is not None]
    if told and not any(spelled in known for spelled in told):
        raise InputError(
            f"{table.file}: the column {column.name!r} holds {told[0]!r} and the like, none of "
            f"which is a category that the model knows: {', '.join(map(repr, labels[:5]))}."
        )
    return pd.Categorical(
        [None if spelled is None else known.get(spelled) for spelled in found],
        categories=list(labels),
    )


def _spelled(label: Any) -> str:
    """Return a label as text, whole numbers without a point: a gap makes 3 a 3.0 in a table."""
    plain = label.item() if hasattr(label, "item") else label
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    return str(plain)


def _names_fit(columns: list[Any], forest: Forest) -> bool:
    names = forest.feature_names or ()
    return all(
        known in (own, str(own).replace(" ", "_"))
        for own, known in zip(columns, names, strict=True)
    )
