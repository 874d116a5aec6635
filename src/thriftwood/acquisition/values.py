"""Ids, names and single values as sources and users have them: numbers, labels, missing ones."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import read_table
from thriftwood.support.arrays import BoolArray
from thriftwood.support.validation import did_you_mean, is_missing

# What samples know beforehand: for each a mapping from feature to value, or None.
Known = Sequence[Mapping[Any, Any] | None]

# Whole numbers up to here are doubles too.
MOST_WHOLE = 2**53


def read_ids(samples: Any, name: str = "samples") -> list[Any]:
    """Return the ids of samples, or of documents, in a list, or refuse what is none."""
    if samples is None or isinstance(samples, str | bytes) or not isinstance(samples, Iterable):
        raise InputError(
            f"`{name}` is {reprlib.repr(samples)}: pass a list of ids, one for each of them.",
            name,
        )
    if hasattr(samples, "columns"):
        raise InputError(
            f"`{name}` is a data frame: pass the ids of its rows, such as its index.", name
        )
    given: Any = samples
    # Python's own numbers, which databases expect; times would become nanoseconds.
    kind = getattr(getattr(given, "dtype", None), "kind", "")
    is_flat = hasattr(given, "tolist") and getattr(given, "ndim", 1) == 1
    ids: list[Any] = given.tolist() if is_flat and kind not in "mM" else list(given)
    if not ids:
        raise InputError(f"`{name}` is empty: at least one is needed.", name)
    return ids


class ValueReader:
    """Reads the values of a forest's columns, one by one, as `read_rows` reads tables.

    Attributes
    ----------
    names : tuple
        Of the columns: as the forest has them, or else their numbers.
    """

    names: tuple[Any, ...]

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.names = forest.columns.names or tuple(range(forest.columns.n_columns))
        self._dtype = forest.input_dtype
        self._column = {name: column for column, name in enumerate(self.names)}
        if len(self._column) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(
                f"The model has two columns named {twice!r}, which a source could not tell apart: "
                "train it on columns with different names."
            )
        self._most = float(np.finfo(forest.input_dtype).max)
        self._labels = forest.category_labels
        self._number_of = {
            column: {label: self._read(column, label) for label in labels}
            for column, labels in forest.category_labels.items()
        }

    def number(self, column: int, value: Any) -> Any:
        """Return a value as the model compares it; refuse what is no number and no label.

        What goes through a pipeline stays as it is.
        """
        kind = type(value)
        if self.forest.inputs is not None:
            return value
        if column not in self._number_of:
            if kind is float:
                if not abs(value) > self._most:  # NaN is missing
                    return value
            elif kind is int and -MOST_WHOLE < value < MOST_WHOLE:
                return value
        elif kind in (str, int, float, bool) and value in self._number_of[column]:
            return self._number_of[column][value]
        return self._read(column, value)

    def known(self, known: Known, n_samples: int) -> tuple[BoolArray, NDArray[Any]]:
        """Return a mask of the values that samples know beforehand, and these values."""
        is_list = hasattr(known, "__len__") and not isinstance(known, Mapping | str)
        if not is_list or hasattr(known, "columns"):
            raise InputError(
                "`known` is no list: pass one mapping from feature to value for each sample, and "
                "None for those that know nothing; of a data frame, frame.to_dict('records')."
            )
        if len(known) != n_samples:
            raise InputError(
                f"`known` has {len(known)} entries, but there are {n_samples} samples: one mapping "
                "for each, and None for those that know nothing."
            )
        mask = np.zeros((n_samples, len(self.names)), np.bool_)
        is_raw = self.forest.inputs is not None
        values = np.full(mask.shape, np.nan, object if is_raw else self._dtype)
        for i, of_sample in enumerate(known):
            if of_sample is None:
                continue
            if not isinstance(of_sample, Mapping):
                raise InputError(
                    f"`known` has {reprlib.repr(of_sample)} for sample number {i}: pass a mapping "
                    "from feature to value, such as {'age': 63}, or None."
                )
            for name, value in of_sample.items():
                if name not in self._column:
                    raise InputError(
                        f"`known` of sample number {i} names {reprlib.repr(name)}, which is no "
                        f"feature of the model.{did_you_mean(name, self.names)}"
                    )
                column = self._column[name]
                mask[i, column] = True
                values[i, column] = self.number(column, value)
        return mask, values

    def _read(self, column: int, value: Any) -> Any:
        """Read a value as a table of one."""
        if inspect.iscoroutine(value):
            value.close()
            raise InputError(
                f"The value of {self.names[column]!r} is a coroutine, not a number: pass a "
                "function made by `async def` itself, and await `predict_async`."
            )
        if is_missing(value):
            value = None
        labels = self._labels.get(column, ())
        # Beside labels that are all text a number is that of a category, as it is in an array.
        is_label = isinstance(value, str) or not all(isinstance(one, str) for one in labels)
        try:
            if labels and is_label:
                cell = np.empty((1, 1), dtype=object)
                cell[0, 0] = value
                return read_table(cell, self._dtype, {0: labels}).values[0, 0]
            return read_table([[value]], self._dtype).values[0, 0]
        except (InputError, OverflowError):
            raise InputError(
                f"The value of {self.names[column]!r} is {reprlib.repr(value)}, which is no "
                "number: give numbers, None or NaN where a value is missing, and labels for "
                "categories that the model knows by labels."
            ) from None
