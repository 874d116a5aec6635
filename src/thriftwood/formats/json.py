"""Forests as JSON, after the schema in `forest.schema.json`; every number to the last bit."""

import json
import math
import os
import reprlib
from operator import index
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import ForestModel, buying_stages, nested_stages
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import LEAF, LEAST_SHARE, NO_SET, Forest, NestedStages
from thriftwood.formats.content import Content
from thriftwood.formats.layout import tree_member, trees_to_export
from thriftwood.support.files import File, read_whole, write_whole

FORMAT = "thriftwood forest"
VERSION = 1

# The arrays of a tree: their kinds of NumPy, and what those have that a tree may leave out.
TREE: dict[str, tuple[str, Any]] = {
    "feature": ("i", None),
    "threshold": ("if", None),
    "left": ("i", None),
    "right": ("i", None),
    "missing_left": ("b", None),
    "values": ("if", None),
    "zero_is_missing": ("b", False),
    "category_set": ("i", NO_SET),
    "gains": ("if", None),
}
# The types of class labels: their kinds of NumPy, and what they are read as.
LABELS: dict[str, tuple[str, Any]] = {
    "boolean": ("b", np.bool_),
    "integer": ("iu", np.int64),
    "number": ("if", np.float64),
    "string": ("U", np.str_),
}
DTYPES = {"float32": np.float32, "float64": np.float64}
INFINITIES = {"Infinity": np.inf, "-Infinity": -np.inf}


def recognise(content: Content) -> bool:
    return {"format", "trees"} <= content.json_keys


def read(content: Content) -> Forest:
    return from_json(content.place)


def holds(model: object) -> bool:
    return isinstance(model, (Forest, ForestModel))


def to_json(model: object, file: File | None = None) -> str:
    """Return the trees of a model as JSON, and write them to a file if one is named.

    Every number is there to the last bit, and what inner nodes say as well, so that the forest can
    be pruned after `from_json`. `thriftwood/formats/forest.schema.json` describes the format. Of a
    `ThriftyClassifier` or a `ThriftyRegressor` it is the stages in use, each with its forests, for
    programs of your own: its `save` writes what can be read again.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
    file : optional
        Where to write it; a file that is there is replaced.
    """
    stages = nested_stages(model)
    if stages is None:
        document = _document(trees_to_export(model))
    else:
        document = _stages_document(stages, buying_stages(model).richest)
    text = _text(document) + "\n"
    if file is not None:
        write_whole(file, text)
    return text


write = to_json


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
        return _forest(json.loads(content.decode(), parse_constant=_no_number)).check()
    except RecursionError:
        said = "lists are nested deeper than those of any forest"
    except (ArithmeticError, LookupError, MemoryError) as error:
        said = f"{type(error).__name__}: {error}"
    except (AttributeError, TypeError, ValueError) as error:
        said = str(error).rstrip(".")
    raise InputError(f"{source} is not a forest that this version reads: {said}.") from None


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


def _stages_document(stages: NestedStages, plan: Forest) -> dict[str, Any]:
    """Return stages in use; margins and thresholds as `NestedStages` has them."""
    own = stages.in_use
    return {
        "format": "thriftwood stages",
        "version": VERSION,
        "n_features": stages.n_features,
        "feature_names": None if plan.feature_names is None else list(plan.feature_names),
        "classes": None if plan.classes is None else _written_classes(plan.classes),
        "error_costs": stages.error_costs.tolist(),
        "gate_unit": stages.gate_unit,
        "least_share": LEAST_SHARE,
        "stages": [
            {
                "number": number,
                "features": sorted(stages.sets[number]),
                "threshold": 0.0 if number == own[-1] else float(stages.thresholds[number]),
                "forests": [_member(one) for one in stages.members[number]],
                "gate": _member(stages.gates[number]) if stages.gates else None,
            }
            for number in own
        ],
    }


def _member(member: Any) -> dict[str, Any]:
    return _document(tree_member(member, "JSON"))


def _written_classes(classes: NDArray[Any]) -> dict[str, Any]:
    labels = [_label(label) for label in classes.tolist()]
    if len({type(label) for label in labels}) != 1 or None in labels:
        raise UnsupportedModelError(
            "The classes of the model are of several types: JSON would mix them up."
        )
    kind = np.array(labels).dtype.kind
    name = next(name for name, (kinds, _) in LABELS.items() if kind in kinds)
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
    found: dict[str, Any] = {}
    for name, (_, usual) in TREE.items():
        entries = getattr(forest, name)
        if entries is not None and (usual is None or (entries[own] != usual).any()):
            found[name] = entries[own]
    for side in ("left", "right"):
        found[side] = np.where(found[side] == LEAF, LEAF, found[side] - first)
    lists = {name: entries.tolist() for name, entries in found.items()}
    lists["threshold"] = [
        at if math.isfinite(at) else ("Infinity" if at > 0 else "-Infinity")
        for at in lists["threshold"]
    ]
    return lists


def _text(value: Any) -> str:
    """Return JSON with a line for each thing that one may want to look at."""
    if isinstance(value, dict):
        lines = (f"{json.dumps(key)}: {_text(one)}" for key, one in value.items())
        return "{" + ",\n ".join(lines) + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(map(_text, value)) + "\n]"
    return json.dumps(value, allow_nan=False)


# --- reading; whatever is wrong is raised, and told with the name of the file above


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _forest(document: Any) -> Forest:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'its "format" is not "{FORMAT}"')
    if document.get("version") != VERSION:
        raise ValueError(f"its version is {reprlib.repr(document.get('version'))}, not {VERSION}")
    names, classes = document["feature_names"], document["classes"]
    _array([] if names is None else names, "U")
    return Forest(
        n_features=index(document["n_features"]),
        # An array of NumPy would drop zero bytes at their end.
        feature_names=None if names is None else tuple(names),
        input_dtype=np.dtype(DTYPES[document["input_dtype"]]),
        bias=_array(document["bias"], "if"),
        classes=None if classes is None else _array(classes["labels"], *LABELS[classes["type"]]),
        category_labels={
            int(column): tuple(map(_label, known))
            for column, known in document["category_labels"].items()
        },
        **{key: document[key] for key in ("combine", "link", "statistic")},
        **_sets(document["category_sets"]),
        **_nodes(document["trees"]),
    )


def _array(entries: Any, kinds: str, dtype: Any = None) -> NDArray[Any]:
    """Return a list as an array, if all that it holds is of such kinds of NumPy."""
    array = np.array(entries)
    if not isinstance(entries, list) or (array.dtype.kind not in kinds and array.size):
        raise ValueError(f"{reprlib.repr(entries)} holds something that does not belong there")
    return array if dtype is None else array.astype(dtype)


def _sets(found: list[Any]) -> dict[str, Any]:
    """Return the arrays that hold all sets of categories."""
    parts = [np.zeros(index(own["size"]), dtype=np.bool_) for own in found]
    for part, own in zip(parts, found, strict=True):
        members = _array(own["members"], "i", np.int64)
        if (members < 0).any():
            raise ValueError("a category is below 0")
        part[members] = True
    ends = np.cumsum([0, *map(len, parts)])
    return {"set_start": ends, "in_set": np.concatenate([np.empty(0, np.bool_), *parts])}


def _nodes(trees: list[Any]) -> dict[str, Any]:
    """Return the arrays of all nodes of all trees."""
    sizes = [len(tree["feature"]) for tree in trees]
    columns: dict[str, Any] = {}
    for name, (kinds, usual) in TREE.items():
        if usual is None and not any(name in tree for tree in trees):
            continue
        parts = [
            [usual] * size if name not in tree and usual is not None else tree[name]
            for tree, size in zip(trees, sizes, strict=True)
        ]
        if name == "threshold":
            parts = [[INFINITIES[at] if type(at) is str else at for at in own] for own in parts]
        if list(map(len, parts)) != sizes:
            raise ValueError(f'some trees have more or fewer "{name}" than nodes')
        columns[name] = np.concatenate([_array(own, kinds) for own in parts])
    start = np.cumsum([0, *sizes])
    for side in ("left", "right"):
        children = columns[side]
        columns[side] = np.where(children == LEAF, LEAF, children + np.repeat(start[:-1], sizes))
    return {**columns, "tree_start": start}
