"""What a price file says, checked: the same for every format.

Law: what is wrong is told with the file and the place in it.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, TypeGuard

from thriftwood.costs.costs import SAMPLE_FIELDS
from thriftwood.costs.wording import A_PRICE
from thriftwood.errors import InputError
from thriftwood.support.validation import did_you_mean

# The value of a key that a file gives twice.
REPEATED = object()


class Document(NamedTuple):
    """What a price file says, under the names of the parameters of `Costs`.

    `places` says where in a table a value stands; in other formats its keys say it. `decimal` is
    what begins decimals.
    """

    file: str
    values: Any
    places: Mapping[tuple[str | int, ...], str]
    decimal: str = "."

    def place(self, *keys: str | int) -> str:
        """Return the file and the place in it, such as ``prices.toml, group_fee.blood``."""
        where = self.places.get(keys) or "".join(map(_step, keys)).removeprefix(".")
        return f"{self.file}, {where}" if where else self.file


def _step(key: str | int) -> str:
    return f".{key_text(key)}" if isinstance(key, str) else f"[{key}]"


def key_text(name: str) -> str:
    """Return a key as TOML writes it, in quotes where it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value_text(name)


def value_text(value: object) -> str:
    """Return text, a number or a list, as both JSON and TOML write it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def checked(document: Document) -> Document:
    """Return the document if `Costs` can be made of its values, or say what is wrong and where."""
    for key, value in _mapping(document, document.values).items():
        if key not in CHECKS:
            raise InputError(f"{document.place(key)}: {_why_not(key)}")
        CHECKS[key](document, value, key)
    _check_names(document)
    _check_loops(document, "groups")
    _check_loops(document, "requires")
    return document


def _mapping(document: Document, value: object, *keys: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{document.place(*keys)}: {_shown(value)} is not a mapping from names.")
    for name, content in value.items():
        _check_name(document, name, *keys)
        if content is REPEATED:
            raise InputError(f"{document.place(*keys, name)}: {name!r} is there twice.")
    return value


def _check_name(document: Document, name: object, *keys: str) -> None:
    if not isinstance(name, str) or not name:
        raise InputError(
            f"{document.place(*keys)}: {_shown(name)} is not a name: files go by names of features."
        )


def _shown(value: object) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return f"{value:g}" if is_whole else reprlib.repr(value)


def _why_not(key: str) -> str:
    if key in SAMPLE_FIELDS:
        return (
            "this belongs to certain rows, so it cannot be in a file: pass it to "
            f"`costs.for_samples({key}=...)`."
        )
    hint = did_you_mean(key, CHECKS) or " Prices of features go below 'per_feature'."
    return f"there is no such key.{hint} Keys are {listed(CHECKS)}."


def listed(words: Iterable[str]) -> str:
    """Return words as a sentence lists them."""
    return ", ".join(map(repr, words))


def _check_prices(document: Document, value: object, key: str) -> None:
    prices = enumerate(value) if isinstance(value, list) else _mapping(document, value, key).items()
    for name, price in prices:
        _check_price(document, price, key, name)


def _check_prices_by_name(document: Document, value: object, key: str) -> None:
    _check_prices(document, _mapping(document, value, key), key)


def _check_price(document: Document, value: object, *keys: str | int) -> None:
    if not _is_from_zero(value):
        hint = _hint(value, document.decimal)
        raise InputError(f"{document.place(*keys)}: {_shown(value)} is not a price: {hint}")


def _is_from_zero(value: object) -> TypeGuard[int | float]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:  # a whole number beyond all doubles
        return False


def _hint(value: object, decimal: str) -> str:
    """Say what to write in place of something that is not a price."""
    if value == "":
        return "give 0 to what is free."
    text = value if isinstance(value, str) else ""
    match = re.fullmatch(r"[^0-9.,-]*([0-9][0-9.,]*)[^0-9.,-]*", text)
    number = match[1] if match else ""
    if decimal == "." and "," in number:
        return "write it with a decimal point and without commas."
    if decimal == "," and "." in number:
        return "write it with a decimal comma and without points."
    if number.count(decimal) > 1 or not number:
        return f"{A_PRICE}."
    if number == text:
        return f"write {number}, without quotes."
    return f"write {number} alone; `unit` says what prices are counted in."


def _check_lists(document: Document, value: object, key: str) -> None:
    for name, members in _mapping(document, value, key).items():
        if not isinstance(members, list):
            raise InputError(
                f"{document.place(key, name)}: {_shown(members)} is not a list of names."
            )
        for member in members:
            _check_name(document, member, key, name)
        for member, times in Counter(members).items():
            if times > 1:
                raise InputError(f"{document.place(key, name)}: {member!r} is there twice.")


def _check_predictions(document: Document, value: object, key: str) -> None:
    if not _is_from_zero(value) or value == 0:
        raise InputError(
            f"{document.place(key)}: {_shown(value)} is not how many predictions a model serves: "
            "that is a finite number above 0."
        )


def _check_unit(document: Document, value: object, key: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"{document.place(key)}: {_shown(value)} is not text, such as 'CAD'.")


# Everything that a file may hold, and how it is checked.
CHECKS: dict[str, Callable[[Document, object, str], None]] = {
    "unit": _check_unit,
    "predictions": _check_predictions,
    "per_split": _check_price,
    "per_node": _check_price,
    "per_feature": _check_prices,
    "groups": _check_lists,
    "group_fee": _check_prices_by_name,
    "requires": _check_lists,
    "per_model": _check_prices,
}


def _check_names(document: Document) -> None:
    """Refuse names that mean nothing in this file."""
    groups = document.values.get("groups", {})
    for group in document.values.get("group_fee", {}):
        _check_known(document, group, groups, "no group", "group_fee", group)
    features = document.values.get("per_feature")
    if not isinstance(features, dict):
        return  # Only the model knows the names.
    for group in groups:
        if group in features:
            raise InputError(
                f"{document.place('per_feature', group)}: {group!r} is a group: its fee belongs in "
                "`group_fee`."
            )
    either, neither = {**features, **groups}, "neither a feature nor a group"
    for group, members in groups.items():
        for name in members:
            _check_known(document, name, either, neither, "groups", group)
    for feature, others in document.values.get("requires", {}).items():
        for name in (feature, *others):
            _check_known(document, name, features, "no feature", "requires", feature)
    per_model = document.values.get("per_model")
    for name in per_model if isinstance(per_model, dict) else ():
        _check_known(document, name, either, neither, "per_model", name)


def _check_known(
    document: Document, name: str, names: Collection[str], what: str, *keys: str
) -> None:
    if name not in names:
        raise InputError(
            f"{document.place(*keys)}: {name!r} is {what} of this file.{did_you_mean(name, names)}"
        )


def _check_loops(document: Document, key: str) -> None:
    """Refuse groups inside themselves, and features that require themselves."""
    try:
        TopologicalSorter(document.values.get(key, {})).prepare()
    except CycleError as error:
        way = error.args[1][::-1]
        raise InputError(
            f"{document.place(key, way[0])}: {way[0]!r} leads back to itself: {listed(way)}."
        ) from None
