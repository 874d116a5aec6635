"""Read a table of samples from a file; its suffix says what it is."""

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.formats.tables.arrow_sizes import unpacked_bytes
from thriftwood.formats.tables.table import FileTable
from thriftwood.support.arrays import IntArray
from thriftwood.support.files import (
    CUT_OFF,
    File,
    check_unpacked,
    decoded,
    place_of,
    read_whole,
    unpacked_gzip,
)
from thriftwood.support.libraries import library
from thriftwood.support.parallel import aside
from thriftwood.support.text import said_by

CELL = 8  # bytes of a number
TIGHTER = 10  # times that Arrow and Parquet pack cells of one bit tighter than others
OLD_FEATHER = b"FEA1"


def read_table(file: File) -> FileTable:
    """Return the samples of a file.

    Parameters
    ----------
    file
        A table with the names of its columns in the first line (.csv or .tsv, also with .gz), a
        Parquet or a Feather file (.parquet, .feather, .arrow), or arrays of NumPy (.npz): `X`, and
        `y`, `weight` and `feature_names` if they are there.
    """
    place = place_of(file)
    suffix = place.suffix.lower()
    if suffix == ".gz":
        suffix = "".join(place.suffixes[-2:]).lower()
    content = read_whole(place)
    if suffix not in READERS:
        raise InputError(
            f"{place} is no table of samples, by its name: they end in {', '.join(READERS)}. Save "
            "a spreadsheet as CSV."
        )
    if not content:
        raise InputError(f"{place} is empty.")
    if suffix.endswith(".gz"):
        content = unpacked_gzip(place, content)
    table = aside(READERS[suffix], place, content)
    for what, n_there in zip(("rows", "columns"), table.frame.shape, strict=True):
        if not n_there:
            raise InputError(f"{place} has no {what}.")
    for name, number in Counter(table.frame.columns).items():
        if number > 1:
            raise InputError(f"{place} has two columns that are named {name!r}: rename one.")
    return table


def _read_csv(place: Path, content: bytes) -> FileTable:
    """Read cells between commas, or as spreadsheets write them where commas are for decimals."""
    header = content.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    if b";" not in header or b"," in header:
        return _read_text(place, decoded(place, content), ",")
    try:
        text = decoded(place, content)
    except InputError:  # the encoding of spreadsheets on Windows
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError:
            text = ""
        if not text:
            raise
    return _read_text(place, text, ";", decimal=",")


def _read_tsv(place: Path, content: bytes) -> FileTable:
    return _read_text(place, decoded(place, content), "\t")


def _read_text(place: Path, text: str, separator: str, decimal: str = ".") -> FileTable:
    """Let pandas read the cells, after each line was seen to have all of them."""
    pandas = library("pandas", "cli")
    names, lines = _names_and_lines(place, text, separator)
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
    release = tuple(map(int, pandas.__version__.split(".")[:2]))
    # Numbers to the last bit, as pandas reads them by itself since 3.1.
    exact = {"float_precision": "round_trip"} if release < (3, 1) else {}
    frame = cells(io.StringIO(text), **exact)
    frame.columns = names
    # Spreadsheets write commas for columns that nobody filled.
    filled = [name != "" or not frame.iloc[:, n].isna().all() for n, name in enumerate(names)]

    def written(name: str) -> Any:
        column = names.index(name)
        # Only nothing at all is missing: NA and None may be names.
        found = cells(
            io.StringIO(text), usecols=[column], dtype=str, keep_default_na=False, na_values=[""]
        )
        return found[column].rename(name)

    return FileTable(
        place,
        frame.loc[:, filled],
        lines=lines if len(lines) == len(frame) else None,
        written=written,
        decimal=decimal,
    )


def _names_and_lines(place: Path, text: str, separator: str) -> tuple[list[str], IntArray]:
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
                elif len(cells) == len(names):
                    lines.append(line)
                else:
                    raise InputError(
                        f"{place}, line {line}: the number of cells is {len(cells)}, but the first "
                        f"line names {len(names)} columns. Put text with commas in quotes, and "
                        "write 5.17 instead of 5,17."
                    )
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{place}, line {line}: the cells cannot be told apart: {error}."
        ) from None
    return names, np.array(lines, dtype=np.int64)


def _read_arrow(place: Path, content: bytes) -> FileTable:
    """Read a file of Parquet or Feather; one of Arrow is one of Feather, or a stream."""
    pandas, _ = library("pandas", "cli"), library("pyarrow", "cli")
    kind, stream = "Arrow", io.BytesIO(content)
    if place.suffix.lower() == ".parquet":
        kind = "Parquet"
    elif place.suffix.lower() == ".feather" or content.startswith(b"ARROW1"):
        kind = "Feather"
    try:
        if kind == "Parquet":  # a few bytes can stand for a million equal cells
            about = library("pyarrow.parquet", "cli").read_metadata(stream)
            unpacked = CELL * about.num_rows * about.num_columns
        else:
            is_packed = not content.startswith(OLD_FEATHER)
            unpacked = unpacked_bytes(content) if is_packed else 0
        check_unpacked(place, TIGHTER * len(content), unpacked)
        if kind == "Parquet":
            frame = pandas.read_parquet(stream)
        else:
            if kind == "Arrow":
                table = library("pyarrow.ipc", "cli").open_stream(stream).read_all()
            else:
                table = library("pyarrow.feather", "cli").read_table(stream)
            table.validate(full=True)  # lengths of cells may lead out of the file
            frame = table.to_pandas()
    except InputError:
        raise
    except (OSError, ValueError):
        raise InputError(f"{place} is no whole {kind} file: {CUT_OFF}.") from None
    except Exception as error:  # it is whole, but not for pandas; or it asks for terabytes
        raise InputError(f"{place} cannot be read as a {kind} file: {said_by(error)}.") from None
    # Columns that pandas used as names of rows, unless it kept them as columns, too.
    others = [one for one in frame.index.names if one is not None and one not in frame.columns]
    frame = (frame.reset_index(others) if others else frame).reset_index(drop=True)
    frame.columns = [str(name).strip() for name in frame.columns]
    return FileTable(place, frame)


def _read_npz(place: Path, content: bytes) -> FileTable:
    """Read X; other arrays stand beside it, and count where they are asked for."""
    pandas = library("pandas", "cli")
    arrays = _arrays(place, content)
    X = arrays.pop("X", None)
    if X is None or X.ndim != 2:
        has = f"it has {', '.join(arrays) or 'none'}" if X is None else f"X has shape {X.shape}"
        raise InputError(
            f"{place} must hold an array X with a row for each sample and a column for each "
            f"feature; {has}."
        )
    names = arrays.pop("feature_names", None)
    if names is not None and names.size != X.shape[1]:
        raise InputError(
            f"{place}: feature_names has {names.size} names, but X has {X.shape[1]} columns."
        )
    columns = None if names is None else [str(name).strip() for name in names.ravel().tolist()]
    return FileTable(place, pandas.DataFrame(X, columns=columns), beside=arrays)


def _arrays(place: Path, content: bytes) -> dict[str, NDArray[Any]]:
    if not content.startswith(b"PK"):
        raise InputError(f"{place} is no .npz file, as its name would have it.")
    arrays: dict[str, NDArray[Any]] = {}
    name = ""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            for name in found.files:
                arrays[name] = found[name]
                if not arrays[name].itemsize:  # any number of cells take no place in a file
                    raise ValueError
    except Exception as error:  # whatever a damaged file leads NumPy to
        if "allow_pickle" not in str(error):
            raise InputError(f"{place} is no whole .npz file: {CUT_OFF}.") from None
        raise InputError(
            f"{place}: the array {name!r} holds objects of Python, which are not read. Save "
            f"numbers or text: np.array({name}.tolist())."
        ) from None
    for name, array in arrays.items():
        if array.dtype.kind == "U" and not _is_text(array):
            raise InputError(
                f"{place}: the array {name!r} holds characters that are none: copy the file again, "
                "or name them anew."
            )
    if "header" in arrays:
        raise InputError(f"{place} holds a model or a path of Thriftwood, no samples.")
    return arrays


def _is_text(array: NDArray[Any]) -> bool:
    """Say whether all characters are some: lone surrogates are none, nor is what is too large."""
    codes = np.frombuffer(array.astype(array.dtype.newbyteorder("=")).tobytes(), np.uint32)
    is_half = (codes >= 0xD800) & (codes <= 0xDFFF)
    return not (is_half | (codes > sys.maxunicode)).any()


READERS: dict[str, Callable[[Path, bytes], FileTable]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_tsv,
    ".tsv.gz": _read_tsv,
    ".parquet": _read_arrow,
    ".feather": _read_arrow,
    ".arrow": _read_arrow,
    ".npz": _read_npz,
}
