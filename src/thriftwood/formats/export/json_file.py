"""Forests as JSON, after the schema in `forest.schema.json`."""

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import read_forest
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import LEAF, NO_SET, Forest
from thriftwood.support.files import File, write_whole

FORMAT = "thriftwood forest"
VERSION = 1


def to_json(model: object, file: File | None = None) -> str:
    """Return the trees of a model as JSON, and write them to a file if one is named.

    Every number is there to the last bit, and what inner nodes say as well, so that the forest can
    be pruned after `from_json`. `thriftwood/export/forest.schema.json` describes the format.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
    file : optional
        Where to write it; a file that is there is replaced.
    """
    forest = read_forest(model)
    text = _text(_document(forest))
    if file is not None:
        write_whole(file, text)
    return text


def _document(forest: Forest) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_features": forest.n_features,
        "feature_names": None if forest.feature_names is None else list(forest.feature_names),
        "input_dtype": forest.input_dtype.name,
        "combine": forest.combine,
        "bias": forest.bias.tolist(),
        "link": forest.link,
        "statistic": forest.statistic,
        "classes": None if forest.classes is None else _classes(forest.classes),
        "category_labels": {
            str(column): [_label(label) for label in labels]
            for column, labels in forest.category_labels.items()
        },
        "category_sets": [_set(forest, s) for s in range(len(forest.set_start) - 1)],
        "trees": [_tree(forest, tree) for tree in range(forest.n_trees)],
    }


TYPES = {"b": "boolean", "i": "integer", "u": "integer", "f": "number", "U": "string"}


def _classes(classes: NDArray[Any]) -> dict[str, Any]:
    labels = [_label(label) for label in classes.tolist()]
    kinds = {type(label) for label in labels}
    if len(kinds) != 1 or None in labels:
        raise UnsupportedModelError(
            "The classes of the model are of several types: JSON would mix them up."
        )
    return {"type": TYPES[np.array(labels).dtype.kind], "labels": labels}


def _label(label: Any) -> Any:
    """Return a label as JSON has it."""
    plain = label.item() if hasattr(label, "item") else label
    is_number = isinstance(plain, float) and math.isfinite(plain)
    if is_number or plain is None or isinstance(plain, (str, bool, int)):
        return plain
    raise UnsupportedModelError(f"The label {label!r} is neither a number nor text.")


def _set(forest: Forest, s: int) -> dict[str, Any]:
    mine = forest.in_set[forest.set_start[s] : forest.set_start[s + 1]]
    return {"size": len(mine), "members": np.flatnonzero(mine).tolist()}


def _tree(forest: Forest, tree: int) -> dict[str, Any]:
    """Return the arrays of a tree; children by their number in it."""
    first = forest.tree_start[tree]
    own = slice(first, forest.tree_start[tree + 1])
    left, right = forest.left[own], forest.right[own]
    found = {
        "feature": forest.feature[own].tolist(),
        "threshold": [_threshold(at) for at in forest.threshold[own].tolist()],
        "left": np.where(left == LEAF, LEAF, left - first).tolist(),
        "right": np.where(right == LEAF, LEAF, right - first).tolist(),
        "missing_left": forest.missing_left[own].tolist(),
        "values": forest.values[own].tolist(),
    }
    if forest.zero_is_missing[own].any():
        found["zero_is_missing"] = forest.zero_is_missing[own].tolist()
    if (forest.category_set[own] != NO_SET).any():
        found["category_set"] = forest.category_set[own].tolist()
    if forest.gains is not None:
        found["gains"] = forest.gains[own].tolist()
    return found


def _threshold(at: float) -> float | str:
    if math.isfinite(at):
        return at
    return "Infinity" if at > 0 else "-Infinity"


def _text(document: dict[str, Any]) -> str:
    """Return JSON with a line for each thing that one may want to look at."""
    lines = [f"  {_plain(key)}: {_plain(value)}" for key, value in document.items()][:-1]
    trees = [
        "    {"
        + ",\n     ".join(f"{_plain(key)}: {_plain(entries)}" for key, entries in tree.items())
        for tree in document["trees"]
    ]
    return "{\n" + ",\n".join(lines) + ',\n  "trees": [\n' + "},\n".join(trees) + "}\n  ]\n}\n"


def _plain(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
