"""Forests in files: arrays and a line of JSON in a zip, no pickle, so that reading is harmless."""

import json
import zipfile
import zlib
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.forest.forest import ARRAYS, Forest
from thriftwood.forest.inputs import Inputs
from thriftwood.support.files import File, read_whole, write_whole
from thriftwood.support.validation import listed

FORMAT = "thriftwood forest"
VERSION = 2
LENGTH = 32  # of the checksum
WORDS = ("n_features", "combine", "link", "statistic")  # of a forest, as they are in the header

# Raised by readers of a file that is none of ours, or was cut or changed.
DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    RuntimeError,
    TypeError,
    AttributeError,
    OverflowError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)

Arrays = dict[str, NDArray[Any]]
# By format and version, what changes a header and its arrays into those of the next version: so
# every release reads the files of the one before. The first that is kept is that of 2.0.0.
UPDATES: dict[tuple[str, int], Callable[[dict[str, Any], Arrays], None]] = {}


def save_forest(forest: Forest, file: File) -> None:
    """Write a forest, all of it or nothing."""
    if forest.inputs is not None:
        raise InputError(
            "A file of a forest would lose the transformers that make its features: write the "
            "whole pipeline by skops or pickle."
        )
    about, arrays = forest_parts(forest)
    save_arrays(file, {"format": FORMAT, "version": VERSION, "forest": about}, arrays)


def load_forest(file: File) -> Forest:
    """Read a forest that `save_forest` wrote; refuse files that are damaged."""
    header, arrays = load_arrays(file, FORMAT, VERSION, "no forest that `ForestModel.save` wrote")
    try:
        return forest_from(header["forest"], arrays)
    except DAMAGE:
        raise InputError(f"{file} is damaged: copy it again.") from None


def forest_parts(forest: Forest, name: str = "forest") -> tuple[dict[str, Any], Arrays]:
    """Return the header entry of a forest, and its arrays, named after it."""
    about = {own: getattr(forest, own) for own in WORDS} | {
        "feature_names": forest.feature_names,
        "classes": None if forest.classes is None else forest.classes.tolist(),
        "input_dtype": forest.input_dtype.name,
        "category_labels": list(forest.category_labels.items()),
        "absent_is_missing": bool(np.isnan(forest.absent)),
        "columns": None if forest.inputs is None else forest.inputs.columns,
    }
    arrays = {f"{name}_{own}": getattr(forest, own) for own in ARRAYS}
    if forest.gains is not None:
        arrays[f"{name}_gains"] = forest.gains
    return about, arrays


def forest_from(about: dict[str, Any], arrays: Arrays, name: str = "forest") -> Forest:
    """Return the forest of these parts, checked."""
    parts: dict[str, Any] = {own: arrays[f"{name}_{own}"] for own in ARRAYS}
    parts |= {own: about[own] for own in WORDS}
    return Forest(
        **parts,
        gains=arrays.get(f"{name}_gains"),
        category_labels={column: tuple(labels) for column, labels in about["category_labels"]},
        classes=None if about["classes"] is None else np.array(about["classes"]),
        feature_names=None if about["feature_names"] is None else tuple(about["feature_names"]),
        input_dtype=np.dtype(about["input_dtype"]),
        absent=np.nan if about.get("absent_is_missing") else 0.0,
    ).check()


def inputs_from(about: dict[str, Any], pipeline: Forest | None, file: File) -> Inputs | None:
    """Return the transformers of the user's pipeline, for a forest in a file."""
    if about["columns"] is None:
        return None
    if pipeline is None or pipeline.inputs is None:
        raise InputError(
            f"{file} holds the trees of a pipeline without its transformers: pass the pipeline, "
            "too, `load(file, pipeline)`.",
            "model",
        )
    if json.loads(json.dumps(pipeline.inputs.columns)) != about["columns"]:
        raise InputError(f"{file} holds trees of another pipeline than this one.", "model")
    return pipeline.inputs


def save_arrays(file: File, header: dict[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays to a file that appears when it is whole."""
    try:
        text = json.dumps(header)
    except TypeError:
        raise InputError(
            "The classes of the model, or labels of its categories, are neither numbers nor text, "
            "so no file can hold them."
        ) from None
    named: dict[str, Any] = {"header": np.array(text), **arrays}
    content = BytesIO()
    np.savez_compressed(content, **named)
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = bytes(LENGTH)  # the end of the file, for the checksum of all before
    body = content.getvalue()[:-LENGTH]
    write_whole(file, body + sha256(body).digest())


def load_arrays(
    file: File, file_format: str, version: int, otherwise: str
) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file; `otherwise` says what it is if not that."""
    content = read_whole(file)
    try:
        with np.load(BytesIO(content), allow_pickle=False) as found:
            header: dict[str, Any] = json.loads(str(found["header"]))
        if header["format"] != file_format or not isinstance(header["version"], int):
            raise ValueError
    except Exception:  # whatever a file that is none of ours, or damaged, leads NumPy to
        raise InputError(f"{file} is {otherwise}, or is damaged: copy it again.") from None
    readable = [version, *(older for name, older in UPDATES if name == file_format)]
    if header["version"] not in readable:
        raise InputError(
            f"{file} has version {header['version']} of the format; this release reads "
            f"{listed(map(str, sorted(readable)), 'and')}."
        )
    damaged = f"{file} is damaged: copy it again."
    if sha256(content[:-LENGTH]).digest() != content[-LENGTH:]:
        raise InputError(damaged)
    try:  # somebody else may have made the checksum
        with np.load(BytesIO(content), allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files if name != "header"}
    except Exception:
        raise InputError(damaged) from None
    if not all(isinstance(one, np.ndarray) and one.itemsize for one in arrays.values()):
        raise InputError(damaged)
    for older in range(header["version"], version):
        UPDATES[file_format, older](header, arrays)
    return header, arrays
