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


@dataclass(frozen=True, eq=False)
class Inputs:
    """The columns that samples come with, where trees test features that are made of them.

    Prices, bills and requests speak of columns; trees test features.

    Attributes
    ----------
    columns : Columns
    transform : callable
        Makes the table of features of a table of columns.
    blanks : sequence
        A value for each column with which `transform` works, for values that nobody has bought; all
        labels of a column of categories.
    nones : frozenset of int
        The columns in which None is what is missing, NaN in the others: encoders tell them apart.
    dropped : frozenset of int
        The columns that `transform` does without: samples may lack them.
    """

    columns: Columns
    transform: Callable[[Any], Any]
    blanks: Sequence[Any]
    nones: frozenset[int] = frozenset()
    dropped: frozenset[int] = frozenset()

    def features(self, bought: Sequence[Mapping[int, Any]]) -> Any:
        """Return the features of samples that have bought some columns.

        Those that need other columns, too, have no meaning.
        """
        cells = [[self._cell(one, k) for one in bought] for k in range(len(self.blanks))]
        table = table_of(cells, self.columns.names, self.blanks)
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


def table_of(cells: Sequence[Any], names: Sequence[str] | None, blanks: Sequence[Any]) -> Any:
    """Return a table of the cells of each column, as `column_of` makes it."""
    columns = [column_of(own, blank) for own, blank in zip(cells, blanks, strict=True)]
    if names is None:
        return np.array(columns).T
    return frame_of(dict(zip(names, columns, strict=True)))


def column_of(cells: Sequence[Any], blank: Any) -> Any:
    """Return a column as its blank is: of categories, of numbers, or else of objects.

    Objects because a lone missing value would be a number, not what encoders have among their text.
    """
    if isinstance(blank, tuple):
        labels = [blank[0] if cell is blank else cell for cell in cells]
        pandas = library("pandas", "cli", "A categorical column")
        return pandas.Categorical(labels, categories=list(blank))
    is_number = isinstance(blank, Number) and not isinstance(blank, bool)
    return cells if is_number else np.array(cells, dtype=object)
