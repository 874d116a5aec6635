"""Rows as arrays of NumPy."""

import io
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.formats.tables.row_table import RowTable
from thriftwood.support.files import CUT_OFF
from thriftwood.support.libraries import library

DAMAGE = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


def read_npz(place: Path, content: bytes) -> RowTable:
    """Read X; other arrays stand beside it, and count where they are asked for."""
    pandas = library("pandas", "cli")
    arrays = _arrays(place, content)
    X = arrays.pop("X", None)
    if X is None or X.ndim != 2:
        has = f"it has {', '.join(arrays) or 'none'}" if X is None else f"X has shape {X.shape}"
        raise InputError(
            f"{place} must hold an array X with a row for each example and a column for each "
            f"feature; {has}."
        )
    names = _names(place, arrays.pop("feature_names", None), X.shape[1])
    return RowTable(place, pandas.DataFrame(X, columns=names), beside=arrays)


def _arrays(place: Path, content: bytes) -> dict[str, NDArray[Any]]:
    if not content.startswith(b"PK"):
        raise InputError(f"{place} is no .npz file, as its name would have it.")
    arrays = {}
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            for name in found.files:
                arrays[name] = _array(place, found, name)
    except InputError:
        raise
    except DAMAGE:
        raise InputError(f"{place} is no whole .npz file: {CUT_OFF}.") from None
    if "header" in arrays:
        raise InputError(f"{place} holds a model or a path of Thriftwood, no rows.")
    return arrays


def _array(place: Path, found: Any, name: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = found[name]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise InputError(
            f"{place}: the array {name!r} holds objects of Python, which are not read. Save "
            f"numbers or text: np.array({name}.tolist())."
        ) from None
    return array


def _names(place: Path, found: NDArray[Any] | None, n_columns: int) -> list[str] | None:
    if found is None:
        return None
    names = [str(name).strip() for name in found.ravel().tolist()]
    if len(names) != n_columns:
        raise InputError(
            f"{place}: feature_names has {len(names)} names, but X has {n_columns} columns."
        )
    return names
