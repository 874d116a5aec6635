"""A table of samples from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.forest.table import column_names
from thriftwood.support.arrays import IntArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FileTable:
    """Samples from a file."""

    file: Path  # for sentences
    frame: pd.DataFrame  # columns are numbered from 0 where the file names none
    # Arrays with an entry for each sample, as "y" of an .npz file.
    beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    lines: IntArray | None = None  # of a text file, the line of each sample
    # Returns a column as it is written there: `frame` has 1234 for 01234, and nothing for NA.
    written: Callable[[str], Any] | None = None
    decimal: str = "."  # before the decimals of numbers that are written

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, None where the file names none."""
        return column_names(self.frame)

    @property
    def n_samples(self) -> int:
        return len(self.frame)

    def refusal(self, column: object, says: str, row: int | None = None) -> InputError:
        """Return the error about a column, or about its cell in a row."""
        where = self.file if row is None else self.place(row)
        return InputError(f"{where}: the column {column!r} {says}.")

    def place(self, row: int) -> str:
        """Return where a sample is, for sentences."""
        where = f"row {row}" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.file}, {where}"

    def as_written(self, column: Any) -> Any:
        """Return a column whose cells are names, not numbers, as a pandas Series."""
        if self.written is None or column.name not in self.frame.columns:
            return column
        return self.written(column.name)
