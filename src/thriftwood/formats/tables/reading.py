"""Read a table of rows from a file; its suffix says what it is."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from thriftwood.errors import InputError
from thriftwood.formats.tables.arrow import read_arrow, read_feather, read_parquet
from thriftwood.formats.tables.npz import read_npz
from thriftwood.formats.tables.row_table import RowTable
from thriftwood.formats.tables.text import read_csv, read_tsv
from thriftwood.support.files import File, place_of, read_whole

READERS: dict[str, Callable[[Path, bytes], RowTable]] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".tsv": read_tsv,
    ".tsv.gz": read_tsv,
    ".parquet": read_parquet,
    ".feather": read_feather,
    ".arrow": read_arrow,
    ".npz": read_npz,
}

# How files begin that somebody may have renamed; no text does, whatever its columns are called.
BEGINNINGS = {
    b"PAR1\x15": (".parquet", "a Parquet file"),
    b"ARROW1\0\0": (".feather", "a Feather file"),
    b"PK\x03\x04": (".npz", "a zip, as .npz or .xlsx files are"),
}
MODELS = (".skops", ".pkl", ".pickle", ".joblib", ".json", ".ubj", ".cbm", ".tw", ".onnx")


def read_table(file: File) -> RowTable:
    """Return the rows of a file.

    Parameters
    ----------
    file
        A table with the names of its columns in the first line (.csv or .tsv, also with .gz), a
        Parquet or a Feather file (.parquet, .feather, .arrow), or arrays of NumPy (.npz): `X`, and
        `y`, `weight` and `feature_names` if they are there.
    """
    place = place_of(file)
    read = READERS.get(_suffix(place))
    content = read_whole(place)
    if read is None:
        raise InputError(f"{place} {_no_table(place)}")
    if not content:
        raise InputError(f"{place} is empty.")
    for begins, (suffix, what) in BEGINNINGS.items():
        if content.startswith(begins) and not _suffix(place).startswith((suffix, ".arrow")):
            raise InputError(f"{place} is {what}, not what its name says: give it its own suffix.")
    table = read(place, content)
    _check(table)
    return table


def _suffix(place: Path) -> str:
    own = [suffix.lower() for suffix in place.suffixes]
    return "".join(own[-2:]) if own[-1:] == [".gz"] else "".join(own[-1:])


def _no_table(place: Path) -> str:
    known = ", ".join(READERS)
    if place.suffix.lower() in (".xlsx", ".xls", ".ods"):
        return f"is a spreadsheet: save it as CSV. Tables of rows end in one of {known}."
    if place.suffix.lower() in MODELS:
        return (
            "looks like a model, not like a table of rows: is the order of the files right? Tables "
            f"of rows end in one of {known}."
        )
    return f"does not say what it is: tables of rows end in one of {known}."


def _check(table: RowTable) -> None:
    if not table.n_samples:
        raise InputError(f"{table.file} has no rows.")
    if not len(table.frame.columns):
        raise InputError(f"{table.file} has no columns.")
    twice = [name for name, number in Counter(table.frame.columns).items() if number > 1]
    if twice:
        raise InputError(
            f"{table.file} has two columns that are named {twice[0]!r}: rename one of them."
        )
