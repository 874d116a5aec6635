"""Forests as JSON, after the schema in `forest.schema.json`; every number to the last bit."""

import json
import math
import os
import reprlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import ForestModel, read_forest
from thriftwood.errors import ForestError, InputError, RangeError, UnsupportedModelError
from thriftwood.forest import LEAF, NO_SET, Forest
from thriftwood.formats.content import Content
from thriftwood.formats.schema import check_schema
from thriftwood.support.arrays import IntArray
from thriftwood.support.files import File, read_whole, write_whole

FORMAT = "thriftwood forest"
VERSION = 1

# The arrays of a tree; some trees have all of them.
TREE = ("feature", "threshold", "left", "right", "missing_left", "values")
SOMETIMES = ("zero_is_missing", "category_set", "gains")
# The types of class labels: their kinds of NumPy, types of JSON, and what they are read as.
LABELS: dict[str, tuple[str, tuple[type, ...], Any]] = {
    "boolean": ("b", (bool,), np.bool_),
    "integer": ("iu", (int,), np.int64),
    "number": ("f", (int, float), np.float64),
    "string": ("U", (str,), np.str_),
}
INFINITIES = {"Infinity": np.inf, "-Infinity": -np.inf}


def recognise(content: Content) -> bool:
    return {"format", "trees"} <= content.json_keys


def read(content: Content) -> Forest:
    return from_json(content.place)


def holds(model: object) -> bool:
    return isinstance(model, (Forest, ForestModel))


def write(model: Any, place: Path) -> None:
    to_json(model, place)


def to_json(model: object, file: File | None = None) -> str:
    """Return the trees of a model as JSON, and write them to a file if one is named.

    Every number is there to the last bit, and what inner nodes say as well, so that the forest can
    be pruned after `from_json`. `thriftwood/formats/forest.schema.json` describes the format.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
    file : optional
        Where to write it; a file that is there is replaced.
    """
    text = _text(_document(read_forest(model)))
    if file is not None:
        write_whole(file, text)
    return text


def from_json(file_or_text: File) -> Forest:
    """Return the forest that `to_json` wrote, or say what is wrong with the file and where.

    `ForestModel(forest)` predicts with it.

    Parameters
    ----------
    file_or_text
        The name of a file, or the text itself, which begins with a brace.
    """
    if isinstance(file_or_text, str) and file_or_text.lstrip().startswith("{"):
        source, content = "The text", file_or_text.encode(errors="surrogatepass")
    else:
        content = read_whole(file_or_text)
        source = os.fspath(file_or_text)
    try:
        return _forest(_parsed(content)).check()
    except (ForestError, RangeError) as error:
        raise InputError(f"{source} is damaged. {error}") from None
    except (OverflowError, MemoryError):
        raise InputError(f"{source} is damaged: it has a number that is far too large.") from None
    except InputError as damage:
        raise InputError(f"{source} is not a forest that this version reads: {damage}.") from None


# --- writing


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
        "classes": None if forest.classes is None else _written_classes(forest.classes),
        "category_labels": {
            str(column): [_label(label) for label in labels]
            for column, labels in forest.category_labels.items()
        },
        "category_sets": [
            {"size": len(mask), "members": np.flatnonzero(mask).tolist()}
            for mask in map(forest.category_mask, range(len(forest.set_start) - 1))
        ],
        "trees": [_tree(forest, tree) for tree in range(forest.n_trees)],
    }


def _written_classes(classes: NDArray[Any]) -> dict[str, Any]:
    labels = [_label(label) for label in classes.tolist()]
    if len({type(label) for label in labels}) != 1 or None in labels:
        raise UnsupportedModelError(
            "The classes of the model are of several types: JSON would mix them up."
        )
    kind = np.array(labels).dtype.kind
    name = next(name for name, (kinds, _, _) in LABELS.items() if kind in kinds)
    return {"type": name, "labels": labels}


def _label(label: Any) -> Any:
    """Return a label as JSON has it."""
    plain = label.item() if hasattr(label, "item") else label
    is_number = isinstance(plain, float) and math.isfinite(plain)
    if is_number or plain is None or isinstance(plain, (str, bool, int)):
        return plain
    raise UnsupportedModelError(f"The label {label!r} is neither a number nor text.")


def _tree(forest: Forest, tree: int) -> dict[str, Any]:
    """Return the arrays of a tree; children by their number in it."""
    first = forest.tree_start[tree]
    own = slice(first, forest.tree_start[tree + 1])
    found = {name: getattr(forest, name)[own] for name in TREE}
    for side in ("left", "right"):
        found[side] = np.where(found[side] == LEAF, LEAF, found[side] - first)
    if forest.zero_is_missing[own].any():
        found["zero_is_missing"] = forest.zero_is_missing[own]
    if (forest.category_set[own] != NO_SET).any():
        found["category_set"] = forest.category_set[own]
    if forest.gains is not None:
        found["gains"] = forest.gains[own]
    lists = {name: entries.tolist() for name, entries in found.items()}
    lists["threshold"] = [
        at if math.isfinite(at) else ("Infinity" if at > 0 else "-Infinity")
        for at in lists["threshold"]
    ]
    return lists


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


# --- reading; what is wrong is raised with its place, and told with the name of the file above


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content.decode(), parse_constant=_no_number)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"it is no JSON ({error})") from None
    except RecursionError:
        raise InputError("it is nested too deeply") from None


def _no_number(word: str) -> NoReturn:
    raise InputError(f"{word} is no number of JSON")


def _forest(document: Any) -> Forest:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f'its "format" is not "{FORMAT}"')
    if document.get("version") != VERSION:
        raise InputError(f"its version is {reprlib.repr(document.get('version'))}, not {VERSION}")
    check_schema(document, _schema(), "the document")
    names = document["feature_names"]
    return Forest(
        n_features=document["n_features"],
        feature_names=None if names is None else tuple(names),
        input_dtype=np.dtype(document["input_dtype"]),
        bias=np.array(document["bias"], dtype=np.float64),
        classes=_read_classes(document["classes"]),
        category_labels={
            int(column): tuple(known) for column, known in document["category_labels"].items()
        },
        **{key: document[key] for key in ("combine", "link", "statistic")},
        **_sets(document["category_sets"]),
        **_nodes(document["trees"], len(document["bias"])),
    )


@cache
def _schema() -> dict[str, Any]:
    text = files("thriftwood.formats").joinpath("forest.schema.json").read_text()
    schema: dict[str, Any] = json.loads(text)
    return schema


def _read_classes(found: Any) -> Any:
    if found is None:
        return None
    _, types, dtype = LABELS[found["type"]]
    for label in found["labels"]:
        if type(label) not in types:
            raise InputError(
                f"classes.labels has {reprlib.repr(label)}, which is no {found['type']}"
            )
    return np.array(found["labels"], dtype=dtype)


def _sets(found: list[Any]) -> dict[str, Any]:
    """Return the arrays that hold all sets of categories."""
    parts = []
    for s, own in enumerate(found):
        size, members = own["size"], own["members"]
        if size < 0 or not all(0 <= member < size for member in members):
            raise InputError(f"category_sets[{s}] has a member that is not between 0 and its size")
        part = np.zeros(size, dtype=np.bool_)
        part[members] = True
        parts.append(part)
    ends = np.cumsum([0, *map(len, parts)])
    return {"set_start": ends, "in_set": np.concatenate([np.empty(0, np.bool_), *parts])}


def _nodes(trees: list[Any], n_outputs: int) -> dict[str, Any]:
    """Return the arrays of all nodes of all trees."""
    start = [0]
    columns: dict[str, list[Any]] = {name: [] for name in (*TREE, *SOMETIMES)}
    for number, tree in enumerate(trees):
        size = len(tree["feature"])
        usual = {"zero_is_missing": [False] * size, "category_set": [NO_SET] * size}
        for name, entries in (usual | tree).items():
            if len(entries) != size:
                raise InputError(
                    f"trees[{number}].{name} has {len(entries)} entries, but the tree has {size} "
                    "nodes"
                )
            columns[name] += entries
        if any(len(said) != n_outputs for said in tree["values"]):
            raise InputError(f"trees[{number}].values has not {n_outputs} numbers for each node")
        start.append(start[-1] + size)
    gains = columns.pop("gains")
    if gains and len(gains) != start[-1]:
        raise InputError("some trees have gains and others not")
    first = np.repeat(start[:-1], np.diff(start))
    return {
        **columns,
        "tree_start": start,
        "threshold": [float(INFINITIES.get(at, at)) for at in columns["threshold"]],
        "left": _shifted(columns["left"], first),
        "right": _shifted(columns["right"], first),
        "values": np.array(columns["values"], dtype=np.float64).reshape(-1, n_outputs),
        "gains": np.array(gains, dtype=np.float64) if gains else None,
    }


def _shifted(children: list[int], first: IntArray) -> IntArray:
    """Return numbers within a tree as numbers within the forest."""
    own = np.array(children, dtype=np.int64)
    return np.where(own == LEAF, LEAF, own + first)
