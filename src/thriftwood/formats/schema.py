"""Check of a document against a JSON schema, as far as ours uses the standard.

A library would check every number on its own, which takes minutes for a large forest. What the
arrays of a forest know themselves (least values, numbers of entries) is left to `Forest.check`.
"""

import re
import reprlib
from itertools import chain
from typing import Any

from thriftwood.errors import InputError

Schema = dict[str, Any]

TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),  # True is no number
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def check_schema(value: Any, schema: Schema, where: str, root: Schema | None = None) -> None:
    """Raise an `InputError` that says what is wrong and where."""
    root = schema if root is None else root
    schema = _resolved(schema, root)
    if "anyOf" in schema:
        plain = [one for one in schema["anyOf"] if type(value) in _types(one, root)]
        schema = _resolved(plain[0] if plain else schema["anyOf"][-1], root)
    if value not in schema.get("enum", [value]):
        known = ", ".join(map(str, schema["enum"]))
        raise InputError(f"{where} is {reprlib.repr(value)}, not one of {known}")
    if "type" in schema and type(value) not in _types(schema, root):
        kinds = schema["type"] if isinstance(schema["type"], str) else " or ".join(schema["type"])
        raise InputError(f"{where} is {reprlib.repr(value)}, which is no {kinds}")
    if isinstance(value, dict):
        _check_entries(value, schema, where, root)
    if isinstance(value, list) and not _is_plain(value, schema, root):
        for place, entry in enumerate(value):
            check_schema(entry, schema["items"], f"{where}[{place}]", root)


def _is_plain(value: list[Any], schema: Schema, root: Schema) -> bool:
    """Say, quickly, whether an array holds what it may, or arrays of what they may."""
    items = _resolved(schema["items"], root)
    if "properties" in items:
        return False
    if not _types(items, root).issuperset(map(type, value)):
        return False
    return "items" not in items or _types(items["items"], root).issuperset(
        map(type, chain.from_iterable(value))
    )


def _check_entries(value: Schema, schema: Schema, where: str, root: Schema) -> None:
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", {})
    pattern = schema.get("propertyNames", {}).get("pattern", "")
    for key in schema.get("required", ()):
        if key not in value:
            raise InputError(f'{where} has no "{key}"')
    for key, entry in value.items():
        if (key not in known and others is False) or not re.search(pattern, key):
            raise InputError(f'{where} has a "{key}", which is unknown here')
        inside = key if where == "the document" else f"{where}.{key}"
        check_schema(entry, known.get(key, others), inside, root)


def _resolved(schema: Schema, root: Schema) -> Schema:
    reference = schema.get("$ref")
    return schema if reference is None else root["$defs"][reference.rpartition("/")[2]]


def _types(schema: Schema, root: Schema) -> set[type]:
    """Return the types of Python that a value may have, whatever else it must keep to."""
    schema = _resolved(schema, root)
    names = schema.get("type", ())
    names = (names,) if isinstance(names, str) else names
    found = {kind for name in names for kind in TYPES[name]}
    return found.union(*(_types(option, root) for option in schema.get("anyOf", ())))
