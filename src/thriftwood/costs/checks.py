"""Checks of price lists, the same for Python and for files.

`place` says where a value stands, such as ``prices.csv, line 3, column 'price'`` for the keys
``per_feature``, ``chol``. What only a model can tell is not looked at here.
"""

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.support.validation import check_mask, did_you_mean, is_whole

Place = Callable[..., str]

A_PRICE = "a price is a finite number of at least 0, without unit and thousands separators"
# By their keys, which are parameters of `Costs`.
PRICES = ("per_split", "per_node")
PRICE_LISTS = ("per_feature", "group_fee", "per_model", "per_query")
NAME_LISTS = ("groups", "requires", "encoded")


def in_python(*keys: object) -> str:
    """Return where a value of `Costs` stands, as Python writes it."""
    return f"`{keys[0]}{''.join(f'[{key!r}]' for key in keys[1:])}`"


def check(values: Mapping[str, Any], place: Place) -> None:
    """Refuse what `Costs` cannot be made of."""
    for key in PRICES:
        check_price(values.get(key, 0), place(key))
    predictions = values.get("predictions")
    if predictions is not None and not (_is_price(predictions) and predictions > 0):
        raise InputError(
            f"{place('predictions')}: {_shown(predictions)} is not how many predictions a model "
            "serves: that is a finite number above 0."
        )
    unit = values.get("unit", "")
    if not isinstance(unit, str):
        raise InputError(f"{place('unit')}: {_shown(unit)} is not text, such as 'CAD'.")
    weigh_bills = values.get("weigh_bills", False)
    if not isinstance(weigh_bills, bool):
        raise InputError(f"{place('weigh_bills')}: {_shown(weigh_bills)} is not true or false.")
    for key in PRICE_LISTS:
        check_prices(values.get(key), key, place)
    for key in NAME_LISTS:
        _check_lists(values.get(key), key, place)
    _check_names(values, place)
    for key in ("groups", "requires"):
        in_order(values.get(key) or {}, key, place)


def check_prices(prices: Any, key: str, place: Place) -> None:
    """Refuse what is not a price for each name, or for each column."""
    if prices is None:
        return
    check_mask(prices, key)
    if (
        isinstance(prices, np.ndarray)
        and prices.ndim
        and prices.size
        and prices.dtype.kind in "fiu"
    ):
        wrong = np.flatnonzero(
            ~(np.isfinite(prices) & (prices >= 0)).reshape(len(prices), -1)[:, 0]
        )
        named: Iterable[tuple[Any, Any]] = ((int(k), prices[k]) for k in wrong)
    elif isinstance(prices, Mapping):
        named = prices.items()
    elif key == "group_fee" or not isinstance(prices, Iterable) or isinstance(prices, str):
        lists = "" if key == "group_fee" else ", nor a list of one price for each column"
        raise InputError(f"{place(key)}: {_shown(prices)} is not a mapping from names{lists}.")
    else:
        named = enumerate(prices)
    for name, price in named:
        if not _is_price(price):
            check_price(price, place(key, name))


def check_price(price: object, where: str) -> None:
    """Refuse what is not a price."""
    if not _is_price(price):
        hint = "give 0 to what is free" if price == "" else A_PRICE
        raise InputError(f"{where}: {_shown(price)} is not a price: {hint}.")


def in_order(lists: Mapping[Any, Iterable[Any]], key: str, place: Place) -> list[Any]:
    """Return names so that those in a list come before what has the list; refuse circles."""
    try:
        return list(TopologicalSorter(lists).static_order())
    except CycleError as error:
        way = error.args[1][::-1]
        raise InputError(
            f"{place(key, way[0])}: {way[0]!r} leads back to itself: {', '.join(map(repr, way))}."
        ) from None


def _is_price(value: Any) -> bool:
    if type(value) is float:
        return 0 <= value < math.inf
    if isinstance(value, (str, bytes, bool, np.bool_, complex)) or np.ndim(value):
        return False
    try:
        return math.isfinite(float(value)) and float(value) >= 0
    except (TypeError, ValueError, OverflowError):
        return False


def _shown(value: object) -> str:
    if isinstance(value, (float, np.floating, np.integer)):
        return f"{float(value):.12g}"
    return reprlib.repr(value)


def _check_lists(lists: Any, key: str, place: Place) -> None:
    if not isinstance(lists, Mapping | None):
        raise InputError(f"{place(key)}: {_shown(lists)} is not a mapping from names.")
    for name, members in (lists or {}).items():
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise InputError(f"{place(key, name)}: {_shown(members)} is not a list of names.")
        for member in members:
            if not isinstance(member, str) and not is_whole(member):
                raise InputError(f"{place(key, name)}: {_shown(member)} is not a name.")
        if key != "requires" and not isinstance(name, str):
            raise InputError(f"{place(key)}: {_shown(name)} is not a name: pass text.")


def _check_names(values: Mapping[str, Any], place: Place) -> None:
    """Refuse names that mean nothing in this list; whole numbers are columns, which have none."""
    groups, features = values.get("groups") or {}, values.get("per_feature")
    fees = values.get("group_fee") or {}
    # Where names stand, which are known there, what any other is, and the names of each owner.
    lists: list[tuple[str, Mapping[Any, Any], str, Mapping[Any, Iterable[Any]]]]
    lists = [("group_fee", groups, "no group", {group: [group] for group in fees})]
    if isinstance(features, Mapping):  # else only the model knows the names
        for group in groups:
            if group in features:
                where = place("per_feature", group)
                raise InputError(f"{where}: {group!r} is a group: its fee belongs in `group_fee`.")
        either, what = {**features, **groups}, "neither a feature nor a group"
        requires = (values.get("requires") or {}).items()
        needed = {name: [name, *others] for name, others in requires}
        lists += [("groups", either, what, groups), ("requires", features, "no feature", needed)]
        for key in ("per_model", "per_query"):
            if isinstance(values.get(key), Mapping):
                lists.append((key, either, what, {name: [name] for name in values[key]}))
    for key, known, what, names_of in lists:
        for owner, name in ((owner, one) for owner, own in names_of.items() for one in own):
            if name not in known and not is_whole(name):
                hint = did_you_mean(name, known)
                if key == "per_query" and not hint:
                    hint = " Give it a price in `per_feature`: 0, if only queries pay for it."
                raise InputError(f"{place(key, owner)}: {name!r} is {what} of this list.{hint}")
