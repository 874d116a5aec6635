"""Paths in files: arrays and one line of JSON in a zip, no pickle, so that reading is harmless."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import forest_model, read_forest
from thriftwood.costs import price_parts, prices_from
from thriftwood.errors import InputError
from thriftwood.forest import files
from thriftwood.pruning.pruned import Figures
from thriftwood.support.arrays import read_only

if TYPE_CHECKING:
    from thriftwood.pruning.sequence import PruningSequence

Kind = TypeVar("Kind", bound="PruningSequence")
FORMAT = "thriftwood pruning path"
VERSION = 3

PATH_ARRAYS = (
    "costs",
    "losses",
    "n_splits",
    "n_features",
)


def save_path(path: PruningSequence, file: str | os.PathLike[str]) -> None:
    """Write a path, all of it or nothing."""
    about_forest, arrays = files.forest_parts(path.forest)
    about_prices, of_prices = price_parts(path.prices)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(path).__name__,
        "method": path.method,
        "numbers": {name: getattr(path, name) for name in path.own_numbers},
        "loss": path.loss_name,
        "original": vars(path.original),
        "rows": path.rows,
        "prices": about_prices,
        "forest": about_forest,
    }
    arrays |= of_prices
    arrays |= {name: getattr(path, name) for name in (*PATH_ARRAYS, *path.own_arrays)}
    optional = {name: getattr(path, name) for name in path.optional_arrays}
    arrays |= {name: np.asarray(array) for name, array in optional.items() if array is not None}
    files.save_arrays(file, header, arrays)


def load_path(kind: type[Kind], file: str | os.PathLike[str], model: Any = None) -> Kind:
    """Read a path; parameters as in `PruningSequence.load`."""
    header, arrays = _read(file, kind.__name__)
    try:
        forest = files.forest_from(header["forest"], arrays)
        own = {name: header["numbers"][name] for name in kind.own_numbers}
        path = kind(
            model=forest_model(forest) if model is None else model,
            forest=forest,
            rows=header["rows"],
            prices=prices_from(header["prices"], arrays),
            loss_name=header["loss"],
            method=header["method"],
            original=Figures(**header["original"]),
            **{name: read_only(arrays[name]) for name in (*PATH_ARRAYS, *kind.own_arrays)},
            **{name: _optional(arrays.get(name)) for name in kind.optional_arrays},
            **own,
        )
        if not path.fits():
            raise ValueError
    except files.DAMAGE:
        raise InputError(f"{file} is damaged.") from None
    if model is not None and not forest.has_same_trees(read_forest(model)):
        raise InputError(f"{file} holds the path of another model than this one.")
    return path


def _optional(array: NDArray[Any] | None) -> Any:
    """Return an array of doubles as it is, whole numbers as a tuple."""
    if array is None or array.dtype.kind == "f":
        return None if array is None else read_only(array)
    return tuple(array.tolist())


def _read(
    file: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    header, arrays = files.load_arrays(file, FORMAT, f"no path that `{kind}.save` wrote")
    files.check_version(file, header, VERSION)
    found = header.get("kind")
    if found != kind:
        raise InputError(f"{file} holds a {found}, not a {kind}: use `{found}.load`.")
    return header, arrays
