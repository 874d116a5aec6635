"""Tables in the formats of Apache Arrow: Parquet, Feather, and its own."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thriftwood.errors import InputError
from thriftwood.formats.tables.row_table import RowTable
from thriftwood.support.files import CUT_OFF
from thriftwood.support.libraries import library

BEGINNINGS = (b"PAR1", b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")


def read_parquet(place: Path, content: bytes) -> RowTable:
    return _read(place, content, "Parquet", library("pandas", "cli").read_parquet)


def read_feather(place: Path, content: bytes) -> RowTable:
    return _read(place, content, "Feather", library("pandas", "cli").read_feather)


def read_arrow(place: Path, content: bytes) -> RowTable:
    """Read a file of Arrow, which is one of Feather, or a stream of it."""
    if content.startswith(b"ARROW1"):
        return read_feather(place, content)
    ipc = library("pyarrow.ipc", "cli")
    return _read(place, content, "Arrow", lambda stream: ipc.open_stream(stream).read_pandas())


def _read(place: Path, content: bytes, name: str, read: Callable[[Any], Any]) -> RowTable:
    library("pyarrow", "cli")
    try:
        frame = read(io.BytesIO(content))
    except (OSError, ValueError):
        said = CUT_OFF if content.startswith(BEGINNINGS) else "it does not begin like one"
        raise InputError(f"{place} is no whole {name} file: {said}.") from None
    except (TypeError, KeyError, NotImplementedError) as error:  # whole, but not for pandas
        said = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{place} cannot be read as a {name} file: {said}.") from None
    # Columns that pandas used as names of rows, unless it kept them as columns, too.
    others = [one for one in frame.index.names if one is not None and one not in frame.columns]
    frame = (frame.reset_index(others) if others else frame).reset_index(drop=True)
    frame.columns = [str(name).strip() for name in frame.columns]
    return RowTable(place, frame)
