"""What looking at features costs, as the user says it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.costs.wording import A_PRICE
from thriftwood.errors import InputError
from thriftwood.support.validation import is_whole, one_number_from_zero

# A feature by its name, or by its column where columns have no names.
Feature = str | int


@dataclass(frozen=True, eq=False, kw_only=True)
class Costs:
    """Prices as they are in life. Everything can be combined; what is left out costs nothing.

    A row pays for what it needs at most once, however many trees ask for it. Features are named as
    in the data frame that the model was trained on, or by column numbers where there are no names.

    Parameters
    ----------
    per_feature : array-like of shape (n_features,), mapping from feature to price, optional
        What one row pays for a feature of its own. A mapping must price every feature. Left out,
        every feature costs 1, or 0 if any other kind of price is given.
    groups : mapping from group to its members, optional
        Features that share a fee, such as the tests of one blood sample. A member may be the name
        of another group, whose features then belong to both.
    group_fee : mapping from group to fee, optional
        What a row pays once, as soon as it buys any feature of the group, on top of its own price.
        For one price for a whole group give 0 as the price of its members.
    requires : mapping from feature to features, optional
        Features that are computed from others: who buys one buys those, too.
    per_model : array-like of shape (n_features,), mapping from feature or group to price, optional
        Paid once, if any split of the model tests the feature (or one of the group): the upkeep of
        a data source. Needs `predictions`.
    per_split : float
        Paid for every test that is evaluated, by every row in every tree.
    per_node : float
        Paid once for every split of the model, for its size. Needs `predictions`.
    predictions : float, optional
        How many predictions the model will serve. What is paid once per model is divided by it, and
        so can be added to what a row pays.
    per_sample : array-like (n_samples, n_features), mapping from feature to (n_samples,), optional
        Prices that differ from row to row, in place of `per_feature`.
    known : bool array-like (n_samples, n_features), mapping from feature to (n_samples,), optional
        True where a value is already at hand: the row uses it without paying anything for it.
    shared_by : array-like (n_samples,), mapping from feature or group to (n_samples,), optional
        Ids of queries or batches: rows with the same id pay together, once. A mapping says which
        features, and fees of groups, are shared; an array means all of them.
    unit : str
        What prices are counted in, such as "CAD", for reports.

    Notes
    -----
    `per_sample`, `known` and `shared_by` belong to the rows that they were made for, and go by the
    order of rows, whatever an index says. Give a new `Costs` along with other rows:
    `costs.for_samples(known=...)`, or `costs.take(rows)` for some of them.

    A price per model is due, too, for features that others require, and for values that rows know.
    Rows that share what they pay have one price and one `sample_weight`.

    Examples
    --------
    >>> import thriftwood as tw
    >>> tw.Costs(
    ...     per_feature={"age": 1.0, "chol": 5.17, "fbs": 3.10},
    ...     groups={"blood": ["chol", "fbs"]},
    ...     group_fee={"blood": 2.10},
    ...     unit="CAD",
    ... )
    Costs(per_feature=..., groups=..., group_fee=..., unit='CAD')
    """

    per_feature: ArrayLike | Mapping[Any, float] | None = None
    groups: Mapping[str, Sequence[Feature]] | None = None
    group_fee: Mapping[str, float] | None = None
    requires: Mapping[Any, Sequence[Feature]] | None = None
    per_model: ArrayLike | Mapping[Any, float] | None = None
    per_split: float = 0.0
    per_node: float = 0.0
    predictions: float | None = None
    per_sample: ArrayLike | Mapping[Any, ArrayLike] | None = None
    known: ArrayLike | Mapping[Any, ArrayLike] | None = None
    shared_by: ArrayLike | Mapping[Any, ArrayLike] | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        for name in ("per_split", "per_node"):
            one_number_from_zero(getattr(self, name), name, f"{A_PRICE.capitalize()}.")
        if self.predictions is not None:
            most = "It is the number of predictions that the model will serve."
            number = one_number_from_zero(self.predictions, "predictions", most)
            if number == 0 or isinstance(self.predictions, bool):
                raise InputError(f"`predictions` is {self.predictions}: it must be above 0. {most}")
        elif self.per_model is not None or self.per_node:
            raise InputError(
                "`per_model` and `per_node` are paid once, but rows pay for every prediction: pass "
                "`predictions`, how many the model will serve, so that the two can be added."
            )
        if not isinstance(self.unit, str):
            raise InputError(f"`unit` is {self.unit!r}: pass text, such as 'CAD'.")
        for name in ("groups", "requires"):
            _check_lists(getattr(self, name), name)
        if not isinstance(self.group_fee, Mapping | None):
            raise InputError("`group_fee` must be a mapping from group to fee, such as a dict.")
        for group in self.groups or {}:
            if not isinstance(group, str):
                raise InputError(f"`groups` has a group {group!r}: name groups by text.")
        for group in self.group_fee or {}:
            if group not in (self.groups or {}):
                raise InputError(f"`group_fee` names {group!r}, which is not in `groups`.")

    @property
    def is_tied_to_samples(self) -> bool:
        """Whether some prices hold for certain rows only."""
        return any(getattr(self, name) is not None for name in SAMPLE_FIELDS)

    def for_samples(self, **row_prices: Any) -> Costs:
        """Return the same prices for other rows.

        Parameters
        ----------
        per_sample, known, shared_by
            As in `Costs`, for these rows. Each that the list has must be given anew; None drops it.
        """
        for name in row_prices:
            if name not in SAMPLE_FIELDS:
                raise InputError(f"`{name}` does not belong to rows: {_listed(SAMPLE_FIELDS)} do.")
        for name in SAMPLE_FIELDS:
            if getattr(self, name) is not None and name not in row_prices:
                raise InputError(
                    f"`{name}` belongs to other rows: pass it for these, too, or `{name}=None` "
                    "where it no longer holds."
                )
        return replace(self, **row_prices)

    def take(self, rows: NDArray[Any]) -> Costs:
        """Return the same prices for some of the rows, by number or mask."""
        return replace(self, **{name: _take(getattr(self, name), rows) for name in SAMPLE_FIELDS})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Costs:
        """Return the prices in a file: a table (.csv), or these parameters (.json, .toml).

        docs/prices.md describes the formats.

        Raises
        ------
        InputError
            With the place in the file where something is wrong.
        """
        from thriftwood.costs.files import read_costs_file

        return read_costs_file(path)

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write the prices to a file, all of it or nothing; `from_file` reads them back.

        Raises
        ------
        InputError
            Some prices hold for certain rows only, features go by numbers, or the format cannot
            hold everything: a table needs a price for every feature.
        """
        from thriftwood.costs.files import write_costs_file

        write_costs_file(self, path)

    def __repr__(self) -> str:
        unset = {field.name: field.default for field in fields(self)}
        given = [
            f"{name}={value!r}" if isinstance(value, str | float | int) else f"{name}=..."
            for name, value in vars(self).items()
            if value is not unset[name] and not (np.isscalar(value) and value == unset[name])
        ]
        return f"Costs({', '.join(given)})"


# Whatever a parameter `costs` may be.
AnyCosts = ArrayLike | Mapping[str, float] | Costs | None
SAMPLE_FIELDS = ("per_sample", "known", "shared_by")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _check_lists(lists: object, name: str) -> None:
    """Refuse what is no mapping to lists, or leads in a circle."""
    if lists is None:
        return
    if not isinstance(lists, Mapping):
        raise InputError(f"`{name}` must be a mapping from names to lists of names.")
    for key, members in lists.items():
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise InputError(f"`{name}` has {members!r} for {key!r}: pass a list of names.")
        for member in members:
            if not isinstance(member, str) and not is_whole(member):
                raise InputError(f"`{name}` has {member!r} for {key!r}: pass names or numbers.")
    refuse_circles(lists, name)


def refuse_circles(lists: Mapping[Any, Iterable[Any]], name: str) -> None:
    """Raise where lists lead from a name back to itself."""
    for key in lists:
        seen: set[Any] = set()
        waiting = list(lists[key])
        while waiting:
            member = waiting.pop()
            if member == key:
                raise InputError(f"In `{name}`, {key!r} leads back to itself.")
            if member not in seen:
                seen.add(member)
                waiting.extend(lists.get(member, ()))


def _take(values: Any, rows: NDArray[Any]) -> Any:
    if values is None:
        return None
    if hasattr(values, "columns"):  # a data frame, whose columns may come in any order
        values = {name: values[name] for name in values.columns}
    if isinstance(values, Mapping):
        return {name: np.asarray(column)[rows] for name, column in values.items()}
    return np.asarray(values)[rows]
