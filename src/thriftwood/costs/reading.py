"""From what the user says about costs to a price list for a model and its samples."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.costs.checks import A_PRICE, check_prices, in_order, in_python
from thriftwood.costs.costs import (
    SAMPLE_FIELDS,
    AnyCosts,
    Costs,
    Feature,
    as_costs,
    by_column,
    price_left_out,
)
from thriftwood.costs.price_list import (
    MODEL,
    NO_MASK,
    QUERIES,
    SAMPLE,
    PriceList,
    plain_prices,
    query_numbers,
)
from thriftwood.errors import InputError, UnknownTransformerWarning, UnusedPriceWarning
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, read_only
from thriftwood.support.columns import Columns, ColumnsOf
from thriftwood.support.validation import (
    check_mask,
    did_you_mean,
    is_whole,
    listed,
    numbered,
    numbers,
    some,
)

# The samples that must pay for something; None means all.
Payers = BoolArray | None
# Who pays for a feature or a group, where that is not each sample for itself.
PayerOf = Mapping[Feature, int]


def read_prices(
    costs: AnyCosts, columns: Columns, n_samples: int, query: IndexArray | None = None
) -> PriceList:
    """Return what the user gave as a price list, checked, for samples that are to pay.

    `costs` are as in `prune`; names of columns are needed where prices go by name, and the query of
    each sample where prices are paid per query.
    """
    if columns.guessed and not (isinstance(costs, Costs) and costs.encoded):
        warn_of_guesses(columns.guessed)
    if costs is None:
        return plain_prices(np.ones(columns.n_columns), columns)
    if isinstance(costs, np.ndarray):
        check_prices(costs, "costs", in_python)
        return plain_prices(_price_of_each(costs, "per_feature", columns), columns)
    costs = as_costs(costs)
    columns = _with_encoded(costs, columns.called(costs.features))
    costs = _without_unused(_with_query_features(costs), columns)
    if costs.per_feature is None:
        prices = np.full(columns.n_columns, price_left_out(costs))
    else:
        prices = _price_of_each(costs.per_feature, "per_feature", columns)
    if all(name in ("per_feature", "unit", "weigh_bills") for name in costs.given):
        return plain_prices(prices, columns, costs.unit, costs.weigh_bills)

    groups = _features_of_groups(costs, columns)
    own_prices = _own_prices(costs.per_sample, prices, columns, n_samples)
    has_queries = costs.per_query is not None
    queries = [query_numbers(query)] if has_queries else []
    batch_of, payer_of = _read_batches(costs, columns, groups, n_samples, len(queries))
    items = [
        *_items_of_features(prices, own_prices, columns, payer_of),
        *(
            CostItem(str(group), float(fee), payer_of.get(group, SAMPLE), groups[group])
            for group, fee in (costs.group_fee or {}).items()
        ),
        *_items_besides(costs.per_model, "per_model", columns, groups, MODEL),
        *_items_besides(costs.per_query, "per_query", columns, groups, QUERIES),
    ]
    needed = _of_features(_needed_columns(costs, columns, n_samples), columns)
    start, cost_item, mask, masks = _bought(items, needed)
    return PriceList(
        names=tuple(item.name for item in items),
        prices=read_only(np.array([item.price for item in items])),
        payer=read_only(np.array([item.payer for item in items], dtype=np.int32)),
        start=read_only(np.array(start, dtype=np.int32)),
        cost_item=read_only(np.array(cost_item, dtype=np.int32)),
        mask=read_only(np.array(mask, dtype=np.int32)),
        per_split=float(costs.per_split),
        per_node=float(costs.per_node),
        predictions=1.0 if costs.predictions is None else float(costs.predictions),
        unit=costs.unit,
        weigh_bills=costs.weigh_bills,
        groups=tuple((str(group), tuple(sorted(groups[group]))) for group in groups),
        has_queries=has_queries,
        is_tied_to_samples=costs.is_tied_to_samples,
        own_prices=own_prices,
        masks=read_only(np.array(masks, dtype=np.bool_).reshape(-1, n_samples)),
        batch_of=read_only(np.array([*queries, *batch_of], np.int32).reshape(-1, n_samples)),
        made_of=None if columns.of_features is None else columns,
    )


def prices_of_samples(
    own: PriceList,
    whose: str,
    costs: AnyCosts,
    columns: Columns,
    n_samples: int,
    query: IndexArray | None = None,
) -> PriceList:
    """Return what samples pay: by the costs given for them, or else by prices from before.

    `own` are the prices that a path or a cascade was made with, `whose` is what it was, for words.
    """
    if costs is not None:
        return read_prices(costs, columns, n_samples, query)
    if own.is_tied_to_samples:
        raise InputError(
            f"The prices of the {whose} belong to the samples that it was computed on: pass "
            "`costs` for these samples, made with `costs.for_samples(...)`.",
            "costs",
        )
    return own.for_queries(query)


def with_known(costs: AnyCosts, known: BoolArray, columns: Columns) -> Costs:
    """Return prices for samples that know these values, besides those already known."""
    n_samples, costs = len(known), as_costs(costs)
    columns = columns.called(costs.features)
    if costs.encoded and columns.of_features is None:
        columns = _with_encoded(costs, columns)
        one_of = np.zeros((n_samples, columns.n_columns), dtype=np.bool_)
        for feature, own in enumerate(columns.of_features or ()):
            one_of[:, list(own)] |= known[:, [feature]]
        known = one_of
    costs = _without_unused(costs, columns)
    both = known.copy()
    for column, unknown in _unknown(costs, columns, n_samples).items():
        both[:, column] |= ~unknown
    return replace(costs, known=both)


def warn_of_guesses(transformers: Collection[str]) -> None:
    """Warn of transformers that are taken to need all of their columns for each output."""
    warnings.warn(
        f"It is not known what the outputs of {listed(transformers, 'and')} are made of: each is "
        "taken to need all columns that the transformer gets, and bills are those. Say what is "
        "made of a column by Costs(per_feature=..., encoded={'column': ['output', ...]}), with the "
        "names of outputs.",
        UnknownTransformerWarning,
        stacklevel=1,  # the same place in each call, so that it is told once
    )


class CostItem(NamedTuple):
    """Something that is paid once, and the features that it is paid for."""

    name: str
    price: float
    payer: int
    features: frozenset[int]


def _with_encoded(costs: Costs, columns: Columns) -> Columns:
    """Return the columns that some features are encodings of, in place of these features."""
    if not costs.encoded:
        return columns
    if columns.of_features is not None:
        return _as_declared(costs.encoded, columns, columns.of_features)
    names_of: dict[int, list[str]] = {}
    for name, features in costs.encoded.items():
        if columns.names is not None and name in columns.names and name not in features:
            raise InputError(f"`encoded` has {name!r}, but that is the name of a feature.")
        for feature in features:
            names_of.setdefault(columns.find(feature, "encoded"), []).append(name)
    own = [names_of.get(k, [columns.label(k)]) for k in range(columns.n_columns)]
    names = tuple(dict.fromkeys(name for names in own for name in names))
    place = {name: number for number, name in enumerate(names)}
    of_features = tuple(tuple(place[name] for name in names) for names in own)
    return Columns(len(names), names, of_features, columns.names)


def _as_declared(
    encoded: Mapping[str, Sequence[Feature]], columns: Columns, found: ColumnsOf
) -> Columns:
    """Return columns of which some features of a pipeline need no more than the user says."""
    made = Columns(len(found), columns.feature_names)
    declared: dict[int, set[int]] = {}
    for name, features in encoded.items():
        column = columns.find(name, "encoded")
        for feature in features:
            declared.setdefault(made.find(feature, "encoded"), set()).add(column)
    for feature, own in declared.items():
        for column in sorted(own - set(found[feature])):
            raise InputError(
                f"`encoded` has {made.label(feature)!r} under {columns.label(column)!r}, which the "
                "transformer that makes it is not given.",
                "encoded",
            )
    needs = (tuple(sorted(declared.get(k, own))) for k, own in enumerate(found))
    return columns._replace(of_features=tuple(needs))


def _with_query_features(costs: Costs) -> Costs:
    """Return prices in which a column that only queries pay for costs documents nothing."""
    own, of_queries = costs.per_feature, costs.per_query
    if not isinstance(own, Mapping) or not isinstance(of_queries, Mapping):
        return costs
    free: dict[Any, float] = {one: 0.0 for one in of_queries if is_whole(one) and one not in own}
    by_number = bool(own) and all(is_whole(one) for one in own)
    return replace(costs, per_feature=free | dict(own)) if free and by_number else costs


def _without_unused(costs: Costs, columns: Columns) -> Costs:
    """Leave out what is said about features that have a price but are none of the model."""
    prices = costs.per_feature
    if columns.names is None or not isinstance(prices, Mapping):
        return costs
    names = set(columns.names)
    unused = [name for name in prices if isinstance(name, str) and name not in names]
    needed = (columns.names[column] for column in columns.needed)
    if not unused or not all(name in prices for name in needed):  # what is missing may be misspelt
        return costs
    warnings.warn(
        f"The price list names {some(unused)}, unknown to the model: this is left out.",
        UnusedPriceWarning,
        stacklevel=1,  # the same place in each call, so that it is told once
    )

    kept: dict[str, Any] = {}
    for key in ("per_feature", "requires", "per_model", "per_query", *SAMPLE_FIELDS):
        kept[key] = by_column(getattr(costs, key))
        if isinstance(kept[key], Mapping):
            kept[key] = {name: one for name, one in kept[key].items() if name not in unused}
    kept["groups"] = costs.groups and {
        group: [member for member in members if member not in unused]
        for group, members in costs.groups.items()
    }
    return replace(costs, **kept)


def _price_of_each(given: Any, argument: str, columns: Columns) -> FloatArray:
    """Return one price for each feature, from prices by name, by number or in order."""
    if isinstance(given, Mapping):
        given = _in_order_of_columns(given, argument, columns)
    prices = numbers(given, argument)
    if prices.shape != (columns.n_columns,):
        raise InputError(
            f"The prices have shape {prices.shape}, but the model has {columns.n_columns} "
            "features: pass one price for each, in the order of the columns.",
            argument,
        )
    return prices


def _in_order_of_columns(
    given: Mapping[Any, float], argument: str, columns: Columns
) -> list[float]:
    by_number = bool(given) and all(is_whole(name) for name in given)
    names: Sequence[Any] | None = range(columns.n_columns) if by_number else columns.names
    if names is None:
        raise InputError(
            "The prices go by feature names, but neither the model nor X has column names that are "
            "text: pass X as a data frame, or prices in the order of the columns. Transformers "
            "hand on arrays, but after .set_output(transform='pandas').",
            argument,
        )
    own = Counter(names)
    for name, times in own.items():
        if times > 1:
            raise InputError(f"The prices go by name, but X has two columns {name!r}.", argument)
    unknown = [name for name in given if name not in own]
    missing = [names[column] for column in columns.needed if names[column] not in given]
    hint = f" The list has {some(unknown)}, unknown to the model." if unknown else ""
    if missing:
        hint += _encoding(unknown, missing) or did_you_mean(unknown[0], missing) if unknown else ""
        hint = f"There is no price for {some(missing)}: give 0 to what is free.{hint}"
    if hint:
        raise InputError(hint.strip(), argument)
    return [given.get(name, 0.0) for name in names]  # 0 for what is never bought


def _encoding(unknown: Sequence[Any], missing: Sequence[Any]) -> str:
    """Return what to say of columns that are encoded, going by their names."""
    last_parts = {one: str(one).split("__")[-1] for one in missing}  # behind names of transformers
    made = {
        str(name): [one for one, last in last_parts.items() if last.startswith(f"{name}_")]
        for name in unknown
    }
    name, columns = max(made.items(), key=lambda one: len(one[1]))
    if len(columns) < 2:
        return ""
    return (
        f" Are {some(columns)} made of {name!r}? Say so by Costs(per_feature=..., encoded=...); "
        "encoded_by(transformers) finds it out."
    )


def _features_of_groups(costs: Costs, columns: Columns) -> dict[Feature, frozenset[int]]:
    """Return the features of every group, those of groups inside it included."""
    groups = costs.groups or {}
    for group in groups:
        if columns.names is not None and group in columns.names:
            raise InputError(f"`groups` has a group {group!r}, but that is the name of a feature.")
    inner = {group: [one for one in members if one in groups] for group, members in groups.items()}
    features: dict[Any, frozenset[int]] = {}
    for group in in_order(inner, "groups", in_python):
        members = (
            features[member] if member in groups else {columns.find(member, "groups", also=groups)}
            for member in groups[group]
        )
        features[group] = frozenset().union(*members)
    return {group: features[group] for group in groups}


def _own_prices(
    given: Any, prices: FloatArray, columns: Columns, n_samples: int
) -> FloatArray | None:
    """Return the price of every feature for every sample, where they differ."""
    if given is None:
        return None
    own = np.tile(prices, (n_samples, 1))
    for column, values in _by_sample(given, "per_sample", columns, n_samples, numbers).items():
        own[:, column] = values
    wrong = np.argwhere(~(np.isfinite(own) & (own >= 0)))
    for sample, column in wrong[:1]:
        raise InputError(
            f"`per_sample` has {own[sample, column]} for {columns.label(column)!r} in sample "
            f"{sample}: {A_PRICE}."
        )
    return read_only(own)


def _read_batches(
    costs: Costs, columns: Columns, groups: Mapping[Feature, object], n_samples: int, first: int
) -> tuple[list[IndexArray], PayerOf]:
    """Return numberings of batches, from the number `first` on, and who goes by which."""
    shared = costs.shared_by
    if shared is None:
        return [], {}
    if not isinstance(shared, Mapping):
        everything = [*range(columns.n_columns), *groups]
        return [numbered(shared, n_samples, "shared_by")], dict.fromkeys(everything, first)
    payer_of = {
        name if name in groups else columns.find(name, "shared_by", also=groups): number
        for number, name in enumerate(shared, first)
    }
    return [numbered(ids, n_samples, f"shared_by[{n!r}]") for n, ids in shared.items()], payer_of


def _items_of_features(
    prices: FloatArray, own_prices: FloatArray | None, columns: Columns, payer_of: PayerOf
) -> list[CostItem]:
    items = []
    for column, price in enumerate(prices if own_prices is None else own_prices.mean(axis=0)):
        payer = payer_of.get(column, SAMPLE)
        if own_prices is not None and payer != SAMPLE and np.ptp(own_prices[:, column]) > 0:
            raise InputError(
                f"`per_sample` and `shared_by` both speak of {columns.label(column)!r}: samples "
                "that pay together pay one price."
            )
        items.append(CostItem(columns.label(column), float(price), payer, frozenset([column])))
    return items


def _items_besides(
    given: Any,
    argument: str,
    columns: Columns,
    groups: Mapping[Feature, frozenset[int]],
    payer: int,
) -> list[CostItem]:
    """Return what a model or a query pays once, if it needs a feature or one of a group."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        given = dict(enumerate(_price_of_each(given, argument, columns)))
    items = []
    for name, price in given.items():
        label, features = name, groups.get(name)
        if features is None:
            column = columns.find(name, argument, also=groups)
            label, features = columns.label(column), frozenset([column])
        who = argument.removeprefix("per_")
        items.append(CostItem(f"{label} ({who})", float(price), payer, features))
    return items


def _needed_columns(costs: Costs, columns: Columns, n_samples: int) -> list[dict[int, Payers]]:
    """Return for each feature those that it takes, itself included, and who pays for them."""
    unknown = _unknown(costs, columns, n_samples)
    direct = {
        columns.find(feature, "requires"): [columns.find(other, "requires") for other in others]
        for feature, others in (costs.requires or {}).items()
    }
    needed: dict[int, dict[int, Payers]] = {
        column: {column: unknown.get(column)} for column in range(columns.n_columns)
    }
    for column in in_order(direct, "requires", in_python):  # what others require comes first
        takes, own = needed[column], unknown.get(column)
        for other in direct.get(column, ()):
            for far, payers in needed[other].items():
                both = payers if own is None else own if payers is None else own & payers
                _add_payers(takes, far, both)
    return list(needed.values())


def _of_features(needed: list[dict[int, Payers]], columns: Columns) -> list[dict[int, Payers]]:
    """Return for each feature the columns that it takes, those that these need included."""
    if columns.of_features is None:
        return needed
    found = []
    for own in columns.of_features:
        takes: dict[int, Payers] = {}
        for column in own:
            for far, payers in needed[column].items():
                _add_payers(takes, far, payers)
        found.append(takes)
    return found


def _add_payers(payers_of: dict[int, Payers], bought: int, payers: Payers) -> None:
    """Let samples pay for a feature or a cost item, besides those that do already."""
    if bought in payers_of:
        others = payers_of[bought]
        payers = None if payers is None or others is None else others | payers
    payers_of[bought] = payers


def _unknown(costs: Costs, columns: Columns, n_samples: int) -> dict[int, BoolArray]:
    """Return which samples do not know a feature, for features that some sample knows."""
    if costs.known is None:
        return {}
    known = _by_sample(costs.known, "known", columns, n_samples, _truths)
    return {column: ~values for column, values in known.items() if values.any()}


def _bought(
    items: list[CostItem], needed: list[dict[int, Payers]]
) -> tuple[list[int], list[int], list[int], list[BoolArray]]:
    """Return `start`, `cost_item`, `mask` and `masks` of a price list."""
    items_of: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        for feature in item.features:
            items_of.setdefault(feature, []).append(number)
    start, cost_item, mask = [0], [], []
    masks: list[BoolArray] = []
    for takes in needed:
        payers_of: dict[int, Payers] = {}
        for feature, payers in takes.items():
            for number in items_of[feature]:
                _add_payers(payers_of, number, None if items[number].payer == MODEL else payers)
        for number, who in sorted(payers_of.items()):
            cost_item.append(number)
            mask.append(NO_MASK if who is None else len(masks))
            if who is not None:
                masks.append(who)
        start.append(len(cost_item))
    return start, cost_item, mask, masks


def _by_sample(
    given: Any,
    argument: str,
    columns: Columns,
    n_samples: int,
    read: Callable[[Any, str], NDArray[Any]],
) -> dict[int, NDArray[Any]]:
    """Return by column what is given for every sample, by names or as a table of all columns."""

    def of_samples(given: Any, name: str, *shape: int) -> NDArray[Any]:
        values = read(given, name)
        if values.shape != shape:
            raise InputError(
                f"`{name}` has shape {values.shape}, but the samples that are to pay need {shape}: "
                "give prices for exactly these, by `costs.for_samples(...)`."
            )
        return values

    if columns.names is not None:
        given = by_column(given)
    if not isinstance(given, Mapping):
        return dict(enumerate(of_samples(given, argument, n_samples, columns.n_columns).T))
    return {
        columns.find(name, argument): of_samples(values, f"{argument}[{name!r}]", n_samples)
        for name, values in given.items()
    }


def _truths(values: ArrayLike, name: str) -> BoolArray:
    check_mask(values, name)
    table = np.asarray(values)
    if table.dtype == object and all(isinstance(one, bool | np.bool_) for one in table.flat):
        table = table.astype(np.bool_)
    if table.dtype.kind != "b":
        raise InputError(f"`{name}` must hold True or False for every sample.")
    return table
