"""Paths in files: arrays and one line of JSON in a zip, no pickle, so that reading is harmless."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import read_forest
from thriftwood.arrays import handed_over
from thriftwood.costs import PriceList
from thriftwood.errors import InputError
from thriftwood.forest import ARRAYS, Forest
from thriftwood.pruning.pruned import Figures

if TYPE_CHECKING:
    from thriftwood.pruning.sequence import PruningSequence

Kind = TypeVar("Kind", bound="PruningSequence")
FORMAT = "thriftwood pruning path"
VERSION = 3

# What a file that is none of ours, or was cut or changed, makes the readers raise.
DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    RuntimeError,
    TypeError,
    zipfile.BadZipFile,
    zlib.error,
)

PRICE_ARRAYS = ("prices", "payer", "start", "charge", "gate")
PRICE_NUMBERS = ("names", "per_split", "per_node", "predictions", "unit", "is_tied_to_rows")
PATH_ARRAYS = (
    "costs",
    "losses",
    "n_splits",
    "n_features",
)


def save_path(path: PruningSequence, file: str | os.PathLike[str]) -> None:
    """Write a path, all of it or nothing."""
    forest = path.forest
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(path).__name__,
        "method": path.method,
        "numbers": {name: getattr(path, name) for name in path.own_numbers},
        "loss": path.loss_name,
        "original": vars(path.original),
        "rows": path.rows,
        "prices": {name: getattr(path.prices, name) for name in PRICE_NUMBERS},
        "forest": {
            "n_features": forest.n_features,
            "combine": forest.combine,
            "classes": None if forest.classes is None else forest.classes.tolist(),
            "feature_names": forest.feature_names,
            "input_dtype": forest.input_dtype.name,
            "link": forest.link,
            "category_labels": list(forest.category_labels.items()),
        },
    }
    arrays = {f"forest_{name}": getattr(forest, name) for name in ARRAYS}
    if forest.gains is not None:
        arrays["forest_gains"] = forest.gains
    arrays |= {f"prices_{name}": getattr(path.prices, name) for name in PRICE_ARRAYS}
    arrays |= {name: getattr(path, name) for name in (*PATH_ARRAYS, *path.own_arrays)}
    try:
        text = json.dumps(header)
    except TypeError:
        raise InputError(
            "The classes of the model are neither numbers nor text, so no file can hold them."
        ) from None
    target = _target(file)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as stream:
            np.savez_compressed(stream, header=np.array(text), **arrays)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _target(file: str | os.PathLike[str]) -> Path:
    """Return where to write, if that is a place for a file."""
    if not isinstance(file, (str, os.PathLike)) or not str(file):
        raise InputError(f"{file!r} is not the name of a file.")
    target = Path(file)
    if target.is_dir():
        raise InputError(f"{target} is a folder: pass the name of a file.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}: make it first.")
    return target


def load_path(kind: type[Kind], file: str | os.PathLike[str], model: Any = None) -> Kind:
    """Read a path; parameters as in `PruningSequence.load`."""
    header, arrays = _read(Path(file), kind.__name__)
    try:
        forest = _forest(header["forest"], arrays)
        own = {name: header["numbers"][name] for name in kind.own_numbers}
        path = kind(
            model=forest if model is None else model,
            forest=forest,
            rows=header["rows"],
            prices=_prices(header["prices"], arrays),
            loss_name=header["loss"],
            method=header["method"],
            original=Figures(**header["original"]),
            **{name: handed_over(arrays[name]) for name in (*PATH_ARRAYS, *kind.own_arrays)},
            **own,
        )
        if not path.fits():
            raise ValueError
    except DAMAGE:
        raise InputError(f"{file} is damaged.") from None
    if model is not None and not forest.has_same_trees(read_forest(model)):
        raise InputError(f"{file} holds the path of another model than this one.")
    return path


def _forest(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Forest:
    parts: dict[str, Any] = {name: arrays[f"forest_{name}"] for name in ARRAYS}
    return Forest(
        **parts,
        gains=arrays.get("forest_gains"),
        link=about["link"],
        category_labels={column: tuple(labels) for column, labels in about["category_labels"]},
        n_features=about["n_features"],
        combine=about["combine"],
        classes=None if about["classes"] is None else np.array(about["classes"]),
        feature_names=None if about["feature_names"] is None else tuple(about["feature_names"]),
        input_dtype=np.dtype(about["input_dtype"]),
    ).check()


def _prices(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PriceList:
    parts: dict[str, Any] = {name: handed_over(arrays[f"prices_{name}"]) for name in PRICE_ARRAYS}
    return PriceList(**parts | about | {"names": tuple(about["names"])}).check()


def _read(file: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != FORMAT:
            raise ValueError
        found = header["kind"]
    except FileNotFoundError:
        raise InputError(f"There is no file {file}.") from None
    except DAMAGE:
        raise InputError(f"{file} is no path that `{kind}.save` wrote, or is damaged.") from None
    if header["version"] != VERSION:
        raise InputError(
            f"{file} has version {header['version']} of the format; this release reads {VERSION}."
        )
    if found != kind:
        raise InputError(f"{file} holds a {found}, not a {kind}: use `{found}.load`.")
    return header, arrays
