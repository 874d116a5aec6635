"""The noun: a table of rows from a file, of which a model gets what it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from thriftwood.adapters import read_stages
from thriftwood.forest.table import column_names
from thriftwood.formats.tables.columns import (
    check_different,
    column_named,
    columns_for,
    columns_to_learn,
    numbers_as_names,
)
from thriftwood.formats.tables.features import features_for, numbers_of
from thriftwood.formats.tables.labels import target_for, target_to_learn, weights_of
from thriftwood.support.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


class Rows(NamedTuple):
    """What a model is given: rows, what is right for them, and how much each counts.

    Notes are sentences for the user, on what the model cannot use.
    """

    X: Any
    y: NDArray[Any] | None
    weight: FloatArray | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RowTable:
    """Rows from a file.

    Attributes
    ----------
    file : Path
        Where they are from, for sentences.
    frame : pandas.DataFrame
        The rows. Columns are numbered from 0 where the file names none.
    beside : mapping from name to array
        What else the file has for each row, as in "y" of an .npz file.
    lines : shape (n_samples,), optional
        The line of each row in a text file.
    written : callable, optional
        Returns a column of a text file as it is written there: `frame` has 1234 for 01234, and
        nothing for NA.
    decimal : str
        What stands before the decimals of numbers that are written.
    """

    file: Path
    frame: pd.DataFrame
    beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    lines: IntArray | None = None
    written: Callable[[str], Any] | None = None
    decimal: str = "."

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, None where the file names none."""
        return column_names(self.frame)

    @property
    def n_samples(self) -> int:
        return len(self.frame)

    def place(self, row: int) -> str:
        """Return where a row is, for sentences."""
        where = f"row {row}" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.file}, {where}"

    def as_written(self, column: Any) -> Any:
        """Return a column whose cells are names, not numbers, as a pandas Series."""
        if self.written is None or column.name not in self.frame.columns:
            return column
        return self.written(column.name)

    def rows_for(
        self,
        model: object,
        *,
        target: str | None = None,
        weight: str | None = None,
        like: Sequence[str] | None = None,
        judged: bool = True,
    ) -> Rows:
        """Return the columns that a model asks for, in its order.

        Parameters
        ----------
        model : a fitted model
            Where it knows the names of its columns, these are taken and others ignored; otherwise
            all columns are, but for `target` and `weight`.
        target : str, optional
            The column with what is right for each row. None means the array "y" of an .npz file,
            and nothing in other files.
        weight : str, optional
            The column that says how much each row counts; None likewise, with "weight".
        like : sequence of str, optional
            The columns of rows that the model got before. Where it knows no names, these are
            taken, in this order.
        judged : bool
            Whether to return what is right for the rows, and how much they count. Else the two
            columns are only left out.

        Returns
        -------
        rows : Rows
            `X` is a data frame where the model knows names, else an array of numbers; `y` has the
            labels of the model's own classes, or numbers.
        """
        forest = read_stages(model).richest
        goal, counts = column_named(self, target, "y"), column_named(self, weight, "weight")
        check_different(self, target, weight)
        columns = columns_for(self, forest, (target, weight), like)
        notes: list[str] = []
        return Rows(
            features_for(self, columns, forest, notes),
            target_for(self, goal, forest.classes) if judged and goal is not None else None,
            weights_of(self, counts) if judged and counts is not None else None,
            tuple(notes),
        )

    def rows_to_learn(self, *, target: str | None = None, weight: str | None = None) -> Rows:
        """Return all columns of numbers but `target` and `weight`, where there is no model yet.

        Columns without names are called "0", "1", ..., so that prices can go by these.

        Parameters
        ----------
        target, weight : str, optional
            As in `rows_for`; the labels of `y` are those of the file.
        """
        goal, counts = column_named(self, target, "y"), column_named(self, weight, "weight")
        check_different(self, target, weight)
        X = self.frame[columns_to_learn(self, taken=(target, weight))].copy()
        for column in X.columns:
            X[column] = numbers_of(self, X[column], "features to learn from are numbers")
        return Rows(
            X.set_axis(numbers_as_names(X.shape[1]), axis=1) if self.names is None else X,
            None if goal is None else target_to_learn(self, goal),
            None if counts is None else weights_of(self, counts),
        )
