"""Single values as sources and users have them: numbers, labels, missing ones."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import read_table
from thriftwood.support.arrays import BoolArray
from thriftwood.support.validation import did_you_mean

# Whole numbers up to here are doubles too.
MOST_WHOLE = 2**53


def _is_sized(known: object) -> bool:
    return hasattr(known, "__len__")


class ValueReader:
    """Reads the values of a forest's columns, one by one, as `read_rows` reads tables.

    Attributes
    ----------
    names : tuple
        What columns are called: by the forest, or else by their numbers.
    """

    names: tuple[Any, ...]

    def __init__(self, forest: Forest) -> None:
        self.names = forest.feature_names or tuple(range(forest.n_features))
        self.dtype = forest.input_dtype
        self._column = {name: column for column, name in enumerate(self.names)}
        self._most = float(np.finfo(forest.input_dtype).max)
        self._labels = forest.category_labels
        self._number_of = {
            column: {label: self._read(column, label) for label in labels}
            for column, labels in forest.category_labels.items()
        }

    def column(self, name: Any, where: str) -> int:
        """Return the column of a feature, or refuse its name."""
        try:
            return self._column[name]
        except (KeyError, TypeError):
            raise InputError(
                f"{where} names {reprlib.repr(name)}, which is no feature of the model."
                f"{did_you_mean(name, self.names)}"
            ) from None

    def number(self, column: int, value: Any) -> Any:
        """Return a value as the model compares it; refuse what is no number and no label."""
        kind = type(value)
        if column not in self._number_of:
            if kind is float:
                if not abs(value) > self._most:  # NaN is missing
                    return value
            elif kind is int and -MOST_WHOLE < value < MOST_WHOLE:
                return value
        elif kind in (str, int, float, bool) and value in self._number_of[column]:
            return self._number_of[column][value]
        return self._read(column, value)

    def known(
        self, known: Sequence[Mapping[Any, Any] | None], n_samples: int
    ) -> tuple[BoolArray, NDArray[Any]]:
        """Return which values rows know beforehand, and these values.

        Parameters
        ----------
        known : sequence of mappings from feature to value
            One for each row; None where nothing is known.
        n_samples : int
        """
        if isinstance(known, Mapping | str) or hasattr(known, "columns") or not _is_sized(known):
            raise InputError(
                "`known` is no list: pass one mapping from feature to value for each row, and None "
                "for rows that know nothing; of a data frame, frame.to_dict('records')."
            )
        if len(known) != n_samples:
            raise InputError(
                f"`known` has {len(known)} entries, but there are {n_samples} rows: one mapping "
                "for each row, and None for rows that know nothing."
            )
        mask = np.zeros((n_samples, len(self.names)), np.bool_)
        values = np.full(mask.shape, np.nan, self.dtype)
        for row, of_row in enumerate(known):
            if of_row is None:
                continue
            if not isinstance(of_row, Mapping):
                raise InputError(
                    f"`known` has {reprlib.repr(of_row)} for row number {row}: pass a mapping from "
                    "feature to value, such as {'age': 63}, or None."
                )
            for name, value in of_row.items():
                column = self.column(name, f"`known` of row number {row}")
                mask[row, column] = True
                values[row, column] = self.number(column, value)
        return mask, values

    def _read(self, column: int, value: Any) -> Any:
        """Read a value as a table of one."""
        if inspect.iscoroutine(value):
            value.close()
            raise InputError(
                f"The value of {self.names[column]!r} is a coroutine, not a number: pass a "
                "function made by `async def` itself, and await `predict_async`."
            )
        if type(value).__name__ in ("NAType", "NaTType"):
            value = None
        labels = self._labels.get(column, ())
        # Beside labels that are all text a number is that of a category, as it is in an array.
        is_label = isinstance(value, str) or not all(isinstance(one, str) for one in labels)
        try:
            if labels and is_label:
                cell = np.empty((1, 1), dtype=object)
                cell[0, 0] = value
                return read_table(cell, self.dtype, {0: labels}).values[0, 0]
            return read_table([[value]], self.dtype).values[0, 0]
        except (InputError, OverflowError):
            raise InputError(
                f"The value of {self.names[column]!r} is {reprlib.repr(value)}, which is no "
                "number: give numbers, None or NaN where a value is missing, and labels for "
                "categories that the model knows by labels."
            ) from None
