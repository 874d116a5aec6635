"""Paths in files: arrays and one line of JSON in a zip, no pickle, so that reading is harmless."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.pruning.pruned import Figures

if TYPE_CHECKING:
    from thriftwood.pruning.path import PruningPath

FORMAT = "thriftwood pruning path"
VERSION = 1

FOREST_ARRAYS = (
    "tree_start",
    "feature",
    "threshold",
    "left",
    "right",
    "missing_left",
    "values",
)
PATH_ARRAYS = (
    "prices",
    "drop_step",
    "tradeoffs",
    "costs",
    "losses",
    "n_splits",
    "n_features",
)


def save_path(path: PruningPath, file: str | os.PathLike[str]) -> None:
    """Write a path, all of it or nothing."""
    forest = path.forest
    header = {
        "format": FORMAT,
        "version": VERSION,
        "loss": path.loss_name,
        "resolution": path.resolution,
        "original": vars(path.original),
        "feature_names": path.feature_names,
        "forest": {
            "n_features": forest.n_features,
            "combine": forest.combine,
            "classes": None if forest.classes is None else forest.classes.tolist(),
            "feature_names": forest.feature_names,
            "input_dtype": forest.input_dtype.name,
        },
    }
    arrays = {f"forest_{name}": getattr(forest, name) for name in FOREST_ARRAYS}
    arrays |= {name: getattr(path, name) for name in PATH_ARRAYS}
    try:
        text = json.dumps(header)
    except TypeError:
        raise InputError(
            "The classes of the model are neither numbers nor text, so no file can hold them."
        ) from None
    target = Path(file)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as stream:
            np.savez_compressed(stream, header=np.array(text), **arrays)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def load_path(
    kind: type[PruningPath], file: str | os.PathLike[str], model: Any = None
) -> PruningPath:
    """Read a path; parameters as in `PruningPath.load`."""
    header, arrays = _read(Path(file))
    about = header["forest"]
    forest = Forest(
        **{name: arrays[f"forest_{name}"] for name in FOREST_ARRAYS},
        n_features=about["n_features"],
        combine=about["combine"],
        classes=None if about["classes"] is None else np.array(about["classes"]),
        feature_names=_tuple_or_none(about["feature_names"]),
        input_dtype=np.dtype(about["input_dtype"]),
    ).check()
    if model is not None and not _is_of(forest, model):
        raise InputError(f"{file} holds the path of another model than this one.")
    return kind(
        model=forest if model is None else model,
        forest=forest,
        feature_names=_tuple_or_none(header["feature_names"]),
        loss_name=header["loss"],
        original=Figures(**header["original"]),
        resolution=header["resolution"],
        **{name: arrays[name] for name in PATH_ARRAYS},
    )


def _read(file: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        header = json.loads(str(arrays.pop("header")))
        assert header["format"] == FORMAT
    except FileNotFoundError:
        raise InputError(f"There is no file {file}.") from None
    except (OSError, ValueError, KeyError, TypeError, AssertionError, zipfile.BadZipFile):
        raise InputError(
            f"{file} is no path that `PruningPath.save` wrote, or is damaged."
        ) from None
    if header["version"] != VERSION:
        raise InputError(
            f"{file} has version {header['version']} of the format; this release reads {VERSION}."
        )
    return header, arrays


def _tuple_or_none(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _is_of(forest: Forest, model: Any) -> bool:
    """Say whether a model has exactly these trees."""
    other = read_forest(model)
    return all(
        np.array_equal(getattr(forest, name), getattr(other, name)) for name in FOREST_ARRAYS
    )
