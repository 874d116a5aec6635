"""Forests from JSON; what is damaged is told with its place in the file."""

import json
import os
import reprlib
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np

from thriftwood.errors import ForestError, InputError, RangeError
from thriftwood.forest import LEAF, NO_SET, Forest
from thriftwood.formats.export.json_file import FORMAT, VERSION
from thriftwood.support.arrays import IntArray
from thriftwood.support.files import File, read_whole


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
    except _DamageError as damage:
        raise InputError(f"{source} is not a forest that this version reads: {damage}.") from None
    except (ForestError, RangeError) as error:
        raise InputError(f"{source} is damaged. {error}") from None
    except (OverflowError, MemoryError):
        raise InputError(f"{source} is damaged: it has a number that is far too large.") from None


class _DamageError(Exception):
    """What is wrong, and where."""


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content.decode(), parse_constant=_no_number)
    except ValueError as error:
        raise _DamageError(f"it is no JSON ({error})") from None
    except RecursionError:
        raise _DamageError("it is nested too deeply") from None


def _no_number(word: str) -> NoReturn:
    raise _DamageError(f"{word} is no number of JSON")


# --- the document

DOCUMENT = (
    "format",
    "version",
    "n_features",
    "feature_names",
    "input_dtype",
    "combine",
    "bias",
    "link",
    "statistic",
    "classes",
    "category_labels",
    "category_sets",
    "trees",
)
TREE = ("feature", "threshold", "left", "right", "missing_left", "values")
SOMETIMES = ("zero_is_missing", "category_set", "gains")


def _forest(found: Any) -> Forest:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _DamageError(f'its "format" is not "{FORMAT}"')
    if found.get("version") != VERSION:
        raise _DamageError(f"its version is {reprlib.repr(found.get('version'))}, not {VERSION}")
    document = _object(found, "the document", DOCUMENT)
    bias = _entries(document["bias"], "bias", (int, float))
    return Forest(
        n_features=_entries([document["n_features"]], "n_features", (int,))[0],
        feature_names=_names(document["feature_names"]),
        input_dtype=np.dtype(_choice(document, "input_dtype", ("float32", "float64"))),
        combine=_choice(document, "combine", ("mean", "sum")),
        link=_choice(document, "link", ("identity", "logistic", "softmax", "exp")),
        statistic=_choice(document, "statistic", ("mean", "median", "other")),
        bias=np.array(bias, dtype=np.float64),
        classes=_classes(document["classes"]),
        category_labels=_category_labels(document["category_labels"]),
        **_sets(document["category_sets"]),
        **_nodes(_list(document["trees"], "trees"), len(bias)),
    )


def _names(found: Any) -> tuple[str, ...] | None:
    return None if found is None else tuple(_entries(found, "feature_names", (str,)))


def _choice(document: dict[str, Any], key: str, known: tuple[str, ...]) -> Any:
    if document[key] not in known:
        raise _DamageError(f"{key} is {reprlib.repr(document[key])}, not one of {', '.join(known)}")
    return document[key]


LABELS: dict[str, tuple[tuple[type, ...], type]] = {
    "integer": ((int,), np.int64),
    "number": ((int, float), np.float64),
    "string": ((str,), np.str_),
    "boolean": ((bool,), np.bool_),
}


def _classes(found: Any) -> Any:
    if found is None:
        return None
    classes = _object(found, "classes", ("type", "labels"))
    kinds, dtype = LABELS[_choice(classes, "type", tuple(LABELS))]
    return np.array(_entries(classes["labels"], "classes.labels", kinds), dtype=dtype)


def _category_labels(found: Any) -> dict[int, tuple[Any, ...]]:
    if not isinstance(found, dict):
        raise _DamageError("category_labels is no object")
    labels = {}
    for column, known in found.items():
        if not (column.isascii() and column.isdigit()):
            raise _DamageError(f"category_labels has {column!r}, which is no column")
        where = f"category_labels[{column}]"
        plain = (str, int, float, bool, type(None))
        labels[int(column)] = tuple(_entries(known, where, plain))
    return labels


def _sets(found: Any) -> dict[str, Any]:
    """Return the arrays that hold all sets of categories."""
    parts = []
    for s, entry in enumerate(_list(found, "category_sets")):
        where = f"category_sets[{s}]"
        own = _object(entry, where, ("size", "members"))
        size = _entries([own["size"]], f"{where}.size", (int,))[0]
        members = _entries(own["members"], f"{where}.members", (int,))
        if size < 0 or not all(0 <= member < size for member in members):
            raise _DamageError(f"{where} has a member that is not between 0 and its size")
        part = np.zeros(size, dtype=np.bool_)
        part[members] = True
        parts.append(part)
    ends = np.cumsum([0, *map(len, parts)])
    return {"set_start": ends, "in_set": np.concatenate([np.empty(0, np.bool_), *parts])}


# --- trees


def _nodes(trees: list[Any], n_outputs: int) -> dict[str, Any]:
    """Return the arrays of all nodes of all trees."""
    start = [0]
    columns: dict[str, list[Any]] = {name: [] for name in (*TREE, *SOMETIMES)}
    for tree, entry in enumerate(trees):
        where = f"trees[{tree}]"
        own = _object(entry, where, TREE, SOMETIMES)
        size = len(_list(own["feature"], f"{where}.feature"))
        own = {"zero_is_missing": [False] * size, "category_set": [NO_SET] * size} | own
        for name, entries in own.items():
            columns[name] += _of_nodes(entries, f"{where}.{name}", name, size, n_outputs)
        start.append(start[-1] + size)
    gains = columns.pop("gains")
    if gains and len(gains) != start[-1]:
        raise _DamageError("some trees have gains and others not")
    first = np.repeat(start[:-1], np.diff(start))
    return {
        **columns,
        "tree_start": start,
        "left": _shifted(columns["left"], first),
        "right": _shifted(columns["right"], first),
        "values": np.array(columns["values"], dtype=np.float64).reshape(-1, n_outputs),
        "gains": np.array(gains, dtype=np.float64) if gains else None,
    }


KINDS: dict[str, tuple[type, ...]] = {
    "feature": (int,),
    "left": (int,),
    "right": (int,),
    "category_set": (int,),
    "missing_left": (bool,),
    "zero_is_missing": (bool,),
    "gains": (int, float),
    "threshold": (int, float, str),
}
INFINITIES = {"Infinity": np.inf, "-Infinity": -np.inf}


def _of_nodes(found: Any, where: str, name: str, size: int, n_outputs: int) -> list[Any]:
    """Return what one array of a tree says about its nodes."""
    if len(_list(found, where)) != size:
        raise _DamageError(f"{where} has {len(found)} entries, but the tree has {size} nodes")
    if name == "values":
        for h, said in enumerate(found):
            if len(_entries(said, f"{where}[{h}]", (int, float))) != n_outputs:
                raise _DamageError(f"{where}[{h}] has not {n_outputs} numbers, one per output")
        return list(found)
    entries = _entries(found, where, KINDS[name])
    return [_threshold(at, where) for at in entries] if name == "threshold" else entries


def _threshold(at: Any, where: str) -> float:
    if isinstance(at, str):
        if at not in INFINITIES:
            raise _DamageError(f"{where} has {reprlib.repr(at)}, which is no number")
        return INFINITIES[at]
    return float(at)


def _shifted(children: list[int], first: IntArray) -> IntArray:
    """Return numbers within a tree as numbers within the forest."""
    own = np.array(children, dtype=np.int64)
    return np.where(own == LEAF, LEAF, own + first)


# --- what is where it should be


def _object(
    found: Any, where: str, keys: Collection[str], sometimes: Collection[str] = ()
) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _DamageError(f"{where} is no object")
    for key in keys:
        if key not in found:
            raise _DamageError(f'{where} has no "{key}"')
    for key in found:
        if key not in keys and key not in sometimes:
            raise _DamageError(f'{where} has a "{key}", which is unknown here')
    return found


def _list(found: Any, where: str) -> list[Any]:
    if not isinstance(found, list):
        raise _DamageError(f"{where} is no array")
    return found


WORDS = {int: "whole number", float: "number", str: "text", bool: "truth value"}


def _entries(found: Any, where: str, kinds: tuple[type, ...]) -> list[Any]:
    """Return a list of which every entry is of one of these types; `True` is no number."""
    for entry in _list(found, where):
        if type(entry) not in kinds:
            words = " or ".join(WORDS[kind] for kind in kinds if kind in WORDS)
            raise _DamageError(f"{where} has {reprlib.repr(entry)}, which is no {words}")
    return list(found)
