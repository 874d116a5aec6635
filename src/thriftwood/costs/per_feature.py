"""One price per feature: arrays, and mappings that go by name or number."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.costs.wording import A_PRICE, read_price
from thriftwood.errors import InputError
from thriftwood.support.arrays import FloatArray, read_only
from thriftwood.support.validation import did_you_mean, is_whole, numbers


def prices_per_feature(
    costs: ArrayLike | Mapping[Any, float] | None,
    n_features: int,
    feature_names: tuple[str, ...] | None,
    argument: str = "costs",
) -> FloatArray:
    """Return the price of every feature, checked.

    Parameters
    ----------
    costs : array-like of shape (n_features,), mapping or Series by feature name, or None
        None means that every feature costs 1, so that a bill counts features. A mapping must price
        every feature, since a forgotten one would be free.
    n_features : int
    feature_names : tuple of str, optional
        Needed for a mapping.
    argument : str
        What the user calls it.
    """
    if costs is None:
        return read_only(np.ones(n_features))
    by_name = _as_mapping(costs, argument)
    in_order = costs if by_name is None else _look_up(by_name, n_features, feature_names, argument)
    prices = numbers(in_order, argument)
    if prices.ndim == 0:
        raise InputError(
            f"`{argument}` is a single value: pass one price for each of the {n_features} "
            "features, or nothing where each costs 1."
        )
    if prices.shape != (n_features,):
        raise InputError(
            f"`{argument}` has shape {prices.shape}, but the model has {n_features} features: "
            "pass one price per feature, in the order of the columns."
        )
    wrong = np.flatnonzero(~(np.isfinite(prices) & (prices >= 0)))
    if len(wrong):
        name = repr(feature_names[wrong[0]]) if feature_names else f"number {wrong[0]}"
        raise InputError(f"The price of feature {name} is {prices[wrong[0]]}: {A_PRICE}.")
    return read_only(prices)


def _as_mapping(costs: object, argument: str) -> Mapping[str, float] | None:
    """Return prices that go by name: a mapping, or a pandas Series indexed by names."""
    if isinstance(costs, Mapping):
        return costs
    index = getattr(costs, "index", None)
    if index is None or callable(index):
        return None
    if all(isinstance(name, str) for name in index):
        if len(set(index)) < len(index):
            raise InputError(f"`{argument}` names a feature twice: give each feature one price.")
        return dict(zip(index, np.asarray(costs), strict=True))
    if list(index) != list(range(len(index))):
        raise InputError(
            f"`{argument}` is a Series whose index is neither the feature names nor 0, 1, 2, ... "
            "in order: it is not clear which price belongs to which feature."
        )
    return None


def _look_up(
    costs: Mapping[Any, float],
    n_features: int,
    feature_names: tuple[str, ...] | None,
    argument: str,
) -> list[float]:
    by_number = bool(costs) and all(is_whole(name) for name in costs)
    names: tuple[Any, ...] | None = tuple(range(n_features)) if by_number else feature_names
    if names is None:
        raise InputError(
            f"`{argument}` goes by feature names, but neither the model nor X has column names "
            f"that are text: pass X as a data frame, or `{argument}` as an array."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"`{argument}` goes by name, but X has two columns {twice!r}.")
    unknown = [name for name in costs if name not in names]
    if unknown:
        hint = did_you_mean(unknown[0], names) or f" Its features are {_some(names)}."
        raise InputError(
            f"`{argument}` prices {_some(unknown)}, unknown to the model.{hint} A price list may "
            "name the model's own features only."
        )
    missing = [name for name in names if name not in costs]
    if missing:
        raise InputError(f"`{argument}` has no price for {_some(missing)}: give 0 to what is free.")
    return [read_price(costs[name], f"The price of feature {name!r}") for name in names]


def _some(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
