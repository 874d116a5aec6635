"""Tables as text: CSV, and the same with tabs."""

import csv
import gzip
import io
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.formats.tables.row_table import RowTable
from thriftwood.support.arrays import IntArray
from thriftwood.support.libraries import library

UTF_8_MARK = b"\xef\xbb\xbf"
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def read_csv(place: Path, content: bytes) -> RowTable:
    """Read cells between commas, or as spreadsheets write them where commas are for decimals."""
    content = _unpacked(place, content)
    if _is_continental(content):
        return _read(place, _continental_text(place, content), ";", decimal=",")
    return _read(place, _decoded(place, content), ",")


def read_tsv(place: Path, content: bytes) -> RowTable:
    return _read(place, _decoded(place, _unpacked(place, content)), "\t")


def _unpacked(place: Path, content: bytes) -> bytes:
    if place.suffix.lower() != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{place} is no whole gzip file: {error}.") from None


def _is_continental(content: bytes) -> bool:
    """Say whether the header has semicolons and no comma, as in much of Europe."""
    header = content.removeprefix(UTF_8_MARK).lstrip().partition(b"\n")[0]
    return b";" in header and b"," not in header


def _continental_text(place: Path, content: bytes) -> str:
    """Return text that is UTF-8 or what spreadsheets write on Windows."""
    try:
        return _decoded(place, content)
    except InputError:
        try:
            return content.decode("cp1252")
        except UnicodeDecodeError:
            pass
        raise


def _read(place: Path, text: str, separator: str, decimal: str = ".") -> RowTable:
    """Return a table; pandas reads the cells, after each line was seen to have all of them."""
    pandas = library("pandas", "cli")
    names, lines = _shape(place, text, separator)
    cells = partial(
        pandas.read_csv,
        sep=separator,
        decimal=decimal,
        header=0,
        names=range(len(names)),
        index_col=False,
        skip_blank_lines=True,
        low_memory=False,
    )
    frame = cells(io.StringIO(text), **_precision(pandas))
    frame.columns = names
    # Spreadsheets write commas for columns that nobody filled.
    frame = frame.loc[
        :, [name != "" or not frame.iloc[:, n].isna().all() for n, name in enumerate(names)]
    ]

    def written(name: str) -> Any:
        column = names.index(name)
        # Only nothing at all is missing: NA and None may be names.
        found = cells(
            io.StringIO(text), usecols=[column], dtype=str, keep_default_na=False, na_values=[""]
        )
        return found[column].rename(name)

    return RowTable(
        place,
        frame,
        lines=lines if len(lines) == len(frame) else None,
        written=written,
        decimal=decimal,
    )


def _precision(pandas: Any) -> dict[str, str]:
    """Return what makes pandas read numbers to the last bit, as it does by itself since 3.1."""
    release = tuple(map(int, pandas.__version__.split(".")[:2]))
    return {"float_precision": "round_trip"} if release < (3, 1) else {}


def _decoded(place: Path, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{place}, line {line}: this is not UTF-8. Save it as UTF-8.") from None
    if not text.strip():
        raise InputError(f"{place} is empty.")
    return text


def _shape(place: Path, text: str, separator: str) -> tuple[list[str], IntArray]:
    """Return the names of the columns, and the line of every row; refuse rows of other lengths."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    names: list[str] = []
    lines = []
    line = 1
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                if not names:
                    names = [cell.strip() for cell in cells]
                    _check_separator(place, names, separator)
                else:
                    _check_cells(place, line, cells, names)
                    lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{place}, line {line}: the cells cannot be told apart: {error}."
        ) from None
    return names, np.array(lines, dtype=np.int64)


def _check_separator(place: Path, names: list[str], separator: str) -> None:
    for other, word in SEPARATORS.items():
        if len(names) == 1 and other in names[0]:
            raise InputError(
                f"{place}: the cells are separated by {word}, not by {SEPARATORS[separator]}. Save "
                f"it with {SEPARATORS[separator]}, and decimals with a point."
            )


def _check_cells(place: Path, line: int, cells: list[str], names: list[str]) -> None:
    if len(cells) != len(names):
        raise InputError(
            f"{place}, line {line}: the number of cells is {len(cells)}, but the first line names "
            f"{len(names)} columns. Put text with commas in quotes, and write 5.17 instead of 5,17."
        )
