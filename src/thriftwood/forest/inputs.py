"""Columns of the user's samples, and the features that a pipeline makes of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.support.columns import Columns
from thriftwood.support.libraries import frame_of, library
from thriftwood.support.validation import is_missing

PANDAS, POLARS = "pandas", "polars"


@dataclass(frozen=True, eq=False)
class Inputs:
    """The columns that samples come with, where trees test features that are made of them.

    Prices, bills and requests speak of columns; trees test features.
    """

    columns: Columns
    transform: Callable[[Any], Any]  # makes the table of features of a table of columns
    # A value for each column with which `transform` works, for values that nobody has bought; all
    # labels of a column of categories.
    blanks: Sequence[Any]
    # columns in which None is missing, NaN in others: encoders tell them apart
    nones: frozenset[int] = frozenset()
    # columns that `transform` does without: samples may lack them
    dropped: frozenset[int] = frozenset()
    frames: str = PANDAS  # the library of data frames for `transform`: functions may know but one

    def features(self, bought: Sequence[Mapping[int, Any]]) -> Any:
        """Return the features of samples that have bought some columns.

        Those that need other columns, too, have no meaning.
        """
        cells = [[self._cell(one, k) for one in bought] for k in range(len(self.blanks))]
        table = table_of(cells, self.columns.names, self.blanks, self.frames)
        try:
            return self.transform(table)
        except Exception as error:  # of any transformer
            raise InputError(
                f"The pipeline cannot transform samples that have bought only some columns: "
                f"{error} Predict a table of all values, without a source. Where the pipeline "
                "takes no missing value, let the source raise, and pass on_failure='node'."
            ) from error

    def _cell(self, bought: Mapping[int, Any], column: int) -> Any:
        value = bought.get(column, self.blanks[column])
        if is_missing(value):
            return None if column in self.nones else np.nan
        return value


def table_of(
    cells: Sequence[Any],
    names: Sequence[str] | None,
    blanks: Sequence[Any],
    frames: str = PANDAS,
) -> Any:
    """Return a table of the cells of each column: a data frame where they have names."""
    if names is None:
        return np.array([column_of(*one) for one in zip(cells, blanks, strict=True)]).T
    columns = [column_of(*one, frames) for one in zip(cells, blanks, strict=True)]
    return table_with(dict(zip(names, columns, strict=True)), frames)


def table_with(columns: Mapping[str, Any], frames: str) -> Any:
    """Return a data frame of a library of columns by name."""
    return frame_of(columns) if frames == PANDAS else library(POLARS).DataFrame(columns)


def column_of(cells: Sequence[Any], blank: Any, frames: str = PANDAS) -> Any:
    """Return a column as its blank is: of categories, of numbers, or else of objects.

    Objects because a lone missing value would be a number, not what encoders have among their text.
    """
    if frames == POLARS:
        return _polars_column(cells, blank)
    if isinstance(blank, tuple):
        return library("pandas").Categorical(_labels(cells, blank), categories=list(blank))
    is_number = isinstance(blank, Number) and not isinstance(blank, bool)
    return cells if is_number else np.array(cells, dtype=object)


def _polars_column(cells: Sequence[Any], blank: Any) -> Any:
    """Return a column of polars, which has one missing value for all types."""
    polars = library(POLARS)
    if isinstance(blank, tuple):
        return polars.Series(_labels(cells, blank), dtype=polars.Enum(list(map(str, blank))))
    values = [None if is_missing(cell) else _plain(cell) for cell in cells]
    return polars.Series(values, strict=False)


def _labels(cells: Sequence[Any], blank: tuple[Any, ...]) -> list[Any]:
    return [blank[0] if cell is blank else cell for cell in cells]


def _plain(cell: Any) -> Any:
    """Return a date of NumPy as one of Python's; anything else as it is."""
    return cell.astype("datetime64[us]").item() if isinstance(cell, np.datetime64) else cell
