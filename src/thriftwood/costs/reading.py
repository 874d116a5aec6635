"""From what the user says about costs to a price list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.costs.costs import (
    AnyCosts,
    Costs,
    Feature,
    refuse_circles,
)
from thriftwood.costs.per_feature import prices_per_feature
from thriftwood.costs.price_list import (
    MODEL,
    NO_MASK,
    SAMPLE,
    PriceList,
    SamplePrices,
    plain_prices,
)
from thriftwood.costs.wording import A_PRICE, read_price
from thriftwood.errors import InputError
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    read_only,
)
from thriftwood.support.validation import did_you_mean, is_whole, numbers


def read_prices(
    costs: AnyCosts,
    n_features: int,
    feature_names: tuple[str, ...] | None,
    n_samples: int,
) -> PriceList:
    """Return what the user gave as a price list, checked.

    Parameters
    ----------
    costs : array-like, mapping, Costs or None
        As in `prune`.
    n_features : int
    feature_names : tuple of str, optional
        Needed where prices go by name.
    n_samples : int
        How many rows are to pay.
    """
    if not isinstance(costs, Costs):
        return plain_prices(prices_per_feature(costs, n_features, feature_names), feature_names)
    columns = Columns(n_features, feature_names)
    groups = _features_of_groups(costs, columns)
    own_prices = _own_prices(costs, columns, n_samples)
    batches = _read_batches(costs, columns, groups, n_samples)
    cost_items = [
        *_own_items(own_prices, columns, batches),
        *_fees(costs, groups, batches),
        *_upkeep(costs, columns, groups),
    ]
    triggers = _triggers(cost_items, _needed_features(costs, columns, n_samples))
    samples = SamplePrices(
        own_prices=read_only(own_prices) if own_prices.ndim == 2 else None,
        masks=read_only(np.array(triggers.masks, dtype=np.bool_).reshape(-1, n_samples)),
        batch_of=read_only(np.array(batches.of_rows, dtype=np.int32).reshape(-1, n_samples)),
    )
    return PriceList(
        names=tuple(cost_item.name for cost_item in cost_items),
        prices=read_only(np.array([cost_item.price for cost_item in cost_items])),
        payer=read_only(np.array([cost_item.payer for cost_item in cost_items], dtype=np.int32)),
        start=read_only(np.array(triggers.start, dtype=np.int32)),
        cost_item=read_only(np.array(triggers.cost_item, dtype=np.int32)),
        mask=read_only(np.array(triggers.mask, dtype=np.int32)),
        per_split=float(costs.per_split),
        per_node=float(costs.per_node),
        predictions=1.0 if costs.predictions is None else float(costs.predictions),
        unit=costs.unit,
        is_tied_to_samples=costs.is_tied_to_samples,
        samples=samples if costs.is_tied_to_samples else None,
        groups=tuple((str(group), tuple(sorted(groups[group]))) for group in groups),
    )


def prices_of_samples(
    own: PriceList,
    whose: str,
    costs: AnyCosts,
    feature_names: tuple[str, ...] | None,
    n_samples: int,
) -> PriceList:
    """Return what rows pay: by the costs given for them, or else by prices from before.

    Parameters
    ----------
    own : PriceList
        The prices that a path or a cascade was made with.
    whose : str
        What it was, for words.
    costs, feature_names, n_samples
        As in `read_prices`.
    """
    if costs is not None:
        return read_prices(costs, own.n_features, feature_names, n_samples)
    if own.is_tied_to_samples:
        raise InputError(
            f"The prices of the {whose} belong to the rows that it was computed on: pass `costs` "
            "for these rows, made with `costs.for_samples(...)`."
        )
    return own


class CostItem(NamedTuple):
    """Something that is paid once, and the features that it is paid for."""

    name: str
    price: float
    payer: int
    features: frozenset[int]


class Columns(NamedTuple):
    """The columns of the table, by number and by name."""

    n_features: int
    names: tuple[str, ...] | None

    def label(self, column: int) -> str:
        return self.names[column] if self.names else f"feature {column}"

    def find(self, feature: Any, where: str, also: Iterable[Feature] = ()) -> int:
        """Return the number of a column, or raise; `also` are other names that would do."""
        if self.names is not None and feature in self.names:
            if self.names.count(feature) > 1:
                raise InputError(
                    f"`{where}` names {feature!r}, but X has two columns of that name."
                )
            return self.names.index(feature)
        if is_whole(feature) and 0 <= feature < self.n_features:
            return int(feature)
        if self.names is None:
            raise InputError(
                f"`{where}` names {feature!r}, but columns have no names: use numbers from 0 to "
                f"{self.n_features - 1}, or pass X as a data frame."
            )
        raise InputError(
            f"`{where}` names {feature!r}, which is no feature of the model."
            f"{did_you_mean(feature, (*self.names, *also))}"
        )

    def by_name(self, table: Any) -> Any:
        """Return a data frame as a mapping, since its columns may come in another order."""
        if self.names is None or not hasattr(table, "columns"):
            return table
        return {name: table[name] for name in table.columns}


def _features_of_groups(costs: Costs, columns: Columns) -> dict[Feature, frozenset[int]]:
    """Return the features of every group, those of groups inside it included."""
    groups = costs.groups or {}
    for group in groups:
        if columns.names is not None and group in columns.names:
            raise InputError(f"`groups` has a group {group!r}, but that is the name of a feature.")

    features: dict[Any, frozenset[int]] = {}
    inner: dict[Any, list[Any]] = {
        group: [one for one in members if one in groups] for group, members in groups.items()
    }
    for group in TopologicalSorter(inner).static_order():  # inner groups come first
        members = (
            features[member] if member in groups else {columns.find(member, "groups", also=groups)}
            for member in groups[group]
        )
        features[group] = frozenset().union(*members)
    return {group: features[group] for group in groups}


def _own_prices(costs: Costs, columns: Columns, n_samples: int) -> FloatArray:
    """Return the price of every feature, or of every feature for every row."""
    if costs.per_feature is not None:
        prices = prices_per_feature(
            costs.per_feature, columns.n_features, columns.names, "per_feature"
        )
    else:
        prices = np.full(columns.n_features, 0.0 if _says_more(costs) else 1.0)
    given = columns.by_name(costs.per_sample)
    if given is None:
        return prices
    if not isinstance(given, Mapping):
        shape = (n_samples, columns.n_features)
        by_row = _of_rows(numbers(given, "per_sample"), shape, "per_sample")
    else:
        by_row = np.tile(prices, (n_samples, 1))
        for feature, column in given.items():
            values = numbers(column, f"per_sample[{feature!r}]")
            place = columns.find(feature, "per_sample")
            by_row[:, place] = _of_rows(values, (n_samples,), f"per_sample[{feature!r}]")
    wrong = np.argwhere(~(np.isfinite(by_row) & (by_row >= 0)))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(
            f"`per_sample` has {by_row[row, column]} for {columns.label(column)!r} in row {row}: "
            f"{A_PRICE}."
        )
    return by_row


def _says_more(costs: Costs) -> bool:
    """Say whether anything is priced but single features."""
    return bool(
        costs.group_fee
        or costs.per_model is not None
        or costs.per_split
        or costs.per_node
        or costs.per_sample is not None
    )


class Batches(NamedTuple):
    """Rows that pay together: numberings of batches, and which one features and groups go by."""

    of_rows: list[IndexArray]
    of_name: dict[Feature, int]
    of_all: int

    def payer(self, name: Feature) -> int:
        return self.of_name.get(name, self.of_all)


def _read_batches(
    costs: Costs, columns: Columns, groups: Mapping[Feature, object], n_samples: int
) -> Batches:
    if costs.shared_by is None:
        return Batches([], {}, SAMPLE)
    if not isinstance(costs.shared_by, Mapping):
        return Batches([_numbered(costs.shared_by, n_samples, "shared_by")], {}, 0)
    of_rows, of_name = [], {}
    for number, (name, ids) in enumerate(costs.shared_by.items()):
        place = name if name in groups else columns.find(name, "shared_by", also=groups)
        of_name[place] = number
        of_rows.append(_numbered(ids, n_samples, f"shared_by[{name!r}]"))
    return Batches(of_rows, of_name, SAMPLE)


def _numbered(ids: Any, n_samples: int, name: str) -> IndexArray:
    """Return batches numbered from 0."""
    # A list is not made an array, which would turn numbers beside text or NaN into something else.
    given = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if len(given) != n_samples or any(isinstance(one, list) for one in given):
        raise InputError(
            f"`{name}` must be {n_samples} ids, one for each of the rows that are to pay."
        )
    number_of: dict[Any, int] = {}
    numbers = np.empty(n_samples, dtype=np.int32)
    for row, one in enumerate(given):
        if _is_missing(one):
            raise InputError(f"`{name}` is missing in row {row}: every row has an id.")
        numbers[row] = number_of.setdefault((type(one), one), len(number_of))
    return numbers


def _is_missing(value: Any) -> bool:
    """Say whether a value is what Python, NumPy or pandas put where none is."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _own_items(own_prices: FloatArray, columns: Columns, batches: Batches) -> list[CostItem]:
    by_row = own_prices.ndim == 2
    prices = own_prices.mean(axis=0) if by_row else own_prices
    cost_items = []
    for column, price in enumerate(prices):
        payer = batches.payer(column)
        if by_row and payer != SAMPLE and np.ptp(own_prices[:, column]) > 0:
            raise InputError(
                f"`per_sample` and `shared_by` both speak of {columns.label(column)!r}: rows that "
                "pay together pay one price."
            )
        cost_items.append(CostItem(columns.label(column), float(price), payer, frozenset([column])))
    return cost_items


def _fees(
    costs: Costs, groups: Mapping[Feature, frozenset[int]], batches: Batches
) -> list[CostItem]:
    return [
        CostItem(
            str(group),
            read_price(fee, f"The fee of {group!r}"),
            batches.payer(group),
            groups[group],
        )
        for group, fee in (costs.group_fee or {}).items()
    ]


def _upkeep(
    costs: Costs, columns: Columns, groups: Mapping[Feature, frozenset[int]]
) -> list[CostItem]:
    """Return what is paid once for the model, if it uses a feature or one of a group."""
    if costs.per_model is None:
        return []
    if isinstance(costs.per_model, Mapping):
        cost_items = []
        for name, given in costs.per_model.items():
            price = read_price(given, f"The price per model of {name!r}")
            if name in groups:
                features = groups[name]
            else:
                features = frozenset([columns.find(name, "per_model", also=groups)])
            cost_items.append(CostItem(f"{name} (model)", price, MODEL, features))
        return cost_items
    prices = prices_per_feature(costs.per_model, columns.n_features, columns.names, "per_model")
    return [
        CostItem(f"{columns.label(column)} (model)", float(price), MODEL, frozenset([column]))
        for column, price in enumerate(prices)
    ]


# The rows that must pay for something; None means all.
Payers = BoolArray | None


def _needed_features(costs: Costs, columns: Columns, n_samples: int) -> list[dict[int, Payers]]:
    """Return for each feature those that it takes, itself included, and who pays for them."""
    unknown = rows_that_do_not_know(costs, columns, n_samples)
    direct = {
        columns.find(feature, "requires"): [columns.find(other, "requires") for other in others]
        for feature, others in (costs.requires or {}).items()
    }
    refuse_circles(direct, "requires")  # by numbers now, since a feature may go by name and number

    needed: dict[int, dict[int, Payers]] = {
        column: {column: unknown.get(column)} for column in range(columns.n_features)
    }
    for column in TopologicalSorter(direct).static_order():  # what others require comes first
        takes, own = needed[column], unknown.get(column)
        for other in direct.get(column, ()):
            for far, payers in needed[other].items():
                both = payers if own is None else own if payers is None else own & payers
                takes[far] = _either(takes[far], both) if far in takes else both
    return list(needed.values())


def _either(one: Payers, other: Payers) -> Payers:
    return None if one is None or other is None else one | other


def rows_that_do_not_know(costs: Costs, columns: Columns, n_samples: int) -> dict[int, BoolArray]:
    """Return which rows do not know a feature, for features that some row knows."""
    given = columns.by_name(costs.known)
    if given is None:
        return {}
    if isinstance(given, Mapping):
        known = {
            columns.find(name, "known"): _truths(column, (n_samples,), f"known[{name!r}]")
            for name, column in given.items()
        }
    else:
        table = _truths(given, (n_samples, columns.n_features), "known")
        known = dict(enumerate(table.T))
    return {column: ~mask for column, mask in known.items() if mask.any()}


class Triggers(NamedTuple):
    """The cost items that each feature buys, as in `PriceList`, and the masks."""

    start: list[int]
    cost_item: list[int]
    mask: list[int]
    masks: list[BoolArray]


def _triggers(cost_items: list[CostItem], needed: list[dict[int, Payers]]) -> Triggers:
    triggers = Triggers([0], [], [], [])
    of_feature: dict[int, list[int]] = {}
    for number, cost_item in enumerate(cost_items):
        for feature in cost_item.features:
            of_feature.setdefault(feature, []).append(number)
    for takes in needed:
        payers_of: dict[int, Payers] = {}
        for feature, payers in takes.items():
            for number in of_feature[feature]:
                who = None if cost_items[number].payer == MODEL else payers
                payers_of[number] = _either(payers_of[number], who) if number in payers_of else who
        for number in sorted(payers_of):
            who = payers_of[number]
            triggers.cost_item.append(number)
            triggers.mask.append(NO_MASK if who is None else len(triggers.masks))
            if who is not None:
                triggers.masks.append(who)
        triggers.start.append(len(triggers.cost_item))
    return triggers


def _of_rows(values: NDArray[Any], shape: tuple[int, ...], name: str) -> NDArray[Any]:
    if values.shape != shape:
        raise InputError(
            f"`{name}` has shape {values.shape}, but the rows that are to pay need {shape}: give "
            "prices for exactly these rows, by `costs.for_samples(...)`."
        )
    return values


def _truths(values: ArrayLike, shape: tuple[int, ...], name: str) -> BoolArray:
    table = _of_rows(np.asarray(values), shape, name)
    if table.dtype == object and all(isinstance(one, bool | np.bool_) for one in table.flat):
        table = table.astype(np.bool_)
    if table.dtype.kind != "b":
        raise InputError(f"`{name}` must hold True or False for every row.")
    return table
