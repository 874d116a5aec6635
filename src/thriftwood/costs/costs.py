"""Prices as the user writes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.costs.checks import check, check_prices, in_python
from thriftwood.costs.tables import frame_values, index_names, printed
from thriftwood.errors import InputError
from thriftwood.support.text import shown
from thriftwood.support.validation import listed

# A feature by its name, or by its column where columns have no names.
Feature = str | int
SAMPLE_FIELDS = ("per_sample", "known", "shared_by")


@dataclass(frozen=True, eq=False, kw_only=True)
class Costs:
    """Prices as they are in life. Everything can be combined; what is left out costs nothing.

    A sample pays for what it needs at most once, however many trees ask for it. Features are named
    as in the data frame that the model was trained on, or by column numbers where there are no
    names. Print the prices to see them as a table.

    Parameters
    ----------
    per_feature : array-like of shape (n_features,), mapping, Series or data frame, optional
        What one sample pays for a feature of its own, in the order of the columns or by name; a
        data frame has names and prices in columns as in `from_frame`. Prices by name must price
        every feature of the model; those of other features are left out, with a warning. Left
        out, every feature costs 1, or 0 if any other kind of price is given.
    groups : mapping from group to its members, optional
        Features that share a fee, such as the tests of one blood sample. A member may be the name
        of another group, whose features then belong to both.
    group_fee : mapping from group to fee, optional
        What a sample pays once, as soon as it buys any feature of the group, on top of its own
        price. For one price for a whole group give 0 as the price of its members.
    requires : mapping from feature to features, optional
        Features that are computed from others: who buys one buys those, too.
    encoded : mapping from name to features, optional
        Features that are made of one thing, such as the dummy columns of a category: who buys one
        has them all. Prices, bills and all other parameters go by that name. In front of a pipeline
        the thing is a column: it says what the outputs of a transformer are made of that is not
        known, and taken to look at all of its columns for each.
    per_model : array-like of shape (n_features,), mapping from feature or group to price, optional
        Paid once, if any split of the model tests the feature (or one of the group): the upkeep of
        a data source. Needs `predictions`.
    per_query : array-like of shape (n_features,), mapping from feature or group to price, optional
        Of documents that queries found: paid once for a query, if any of its documents is tested
        for the feature (or one of the group), on top of what each pays for itself. Wherever samples
        pay, `qid` then says which are of one query. A feature for which a document pays nothing is
        taken for one of the query, the same for all its documents.
    per_split : float
        Paid for every test that is evaluated, by every sample in every tree.
    per_node : float
        Paid once for every split of the model, for its size. Needs `predictions`.
    predictions : float, optional
        How many predictions the model will serve. What is paid once per model is divided by it, and
        so can be added to what a sample pays.
    per_sample : array-like (n_samples, n_features), mapping from feature to (n_samples,), optional
        Prices that differ from sample to sample, in place of `per_feature`.
    known : bool array-like (n_samples, n_features), mapping from feature to (n_samples,), optional
        True where a value is already at hand: the sample uses it without paying anything for it.
    shared_by : array-like (n_samples,), mapping from feature or group to (n_samples,), optional
        Ids of queries or batches: samples with the same id pay together, once. A mapping says which
        features, and fees of groups, are shared; an array means all of them.
    unit : str
        What prices are counted in, such as "CAD", for reports.
    weigh_bills : bool
        Whether a `sample_weight` says how often samples occur, as in a survey, so that they count
        by it in mean bills, too. Otherwise it weighs losses and errors alone, and all samples
        whose weight is above 0 count alike in bills.

    Notes
    -----
    `per_sample`, `known` and `shared_by` belong to the samples that they were made for, and go by
    the order of samples, whatever an index says. Give a new `Costs` along with other samples:
    `costs.for_samples(known=...)`, or `costs.take(indices)` for some of them.

    A price per model is due, too, for features that others require, and for values that samples
    know. Samples that share what they pay have one price, and with `weigh_bills` one weight.

    Examples
    --------
    >>> import thriftwood as tw
    >>> costs = tw.Costs(
    ...     per_feature={"age": 1.0, "chol": 5.17, "fbs": 3.10},
    ...     groups={"blood": ["chol", "fbs"]},
    ...     group_fee={"blood": 2.10},
    ...     unit="CAD",
    ... )
    >>> print(costs)
    Costs in CAD
      name   price  group
      age        1
      chol    5.17  blood
      fbs      3.1  blood
      blood    2.1
    """

    per_feature: ArrayLike | Mapping[Any, float] | None = None
    groups: Mapping[str, Sequence[Feature]] | None = None
    group_fee: Mapping[str, float] | None = None
    requires: Mapping[Any, Sequence[Feature]] | None = None
    encoded: Mapping[str, Sequence[Feature]] | None = None
    per_model: ArrayLike | Mapping[Any, float] | None = None
    per_query: ArrayLike | Mapping[Any, float] | None = None
    per_split: float = 0.0
    per_node: float = 0.0
    predictions: float | None = None
    per_sample: ArrayLike | Mapping[Any, ArrayLike] | None = None
    known: ArrayLike | Mapping[Any, ArrayLike] | None = None
    shared_by: ArrayLike | Mapping[Any, ArrayLike] | None = None
    unit: str = ""
    weigh_bills: bool = False

    def __post_init__(self) -> None:
        for name in ("per_feature", "per_model", "per_query"):
            object.__setattr__(self, name, _by_name(getattr(self, name), name))
        check(vars(self), in_python)
        if self.predictions is None and (self.per_model is not None or self.per_node):
            raise InputError(
                "`per_model` and `per_node` are paid once, but samples pay for every prediction: "
                "pass `predictions`, how many the model will serve, so that the two can be added."
            )

    @property
    def is_tied_to_samples(self) -> bool:
        """True if some prices hold for certain samples only."""
        return any(getattr(self, name) is not None for name in SAMPLE_FIELDS)

    def for_samples(self, **sample_prices: Any) -> Costs:
        """Return the same prices for other samples.

        Parameters
        ----------
        per_sample, known, shared_by
            As in `Costs`, for these samples. Each that the list has must be given anew; None drops
            it.
        """
        for name in sample_prices:
            if name not in SAMPLE_FIELDS:
                own = listed([f"`{one}`" for one in SAMPLE_FIELDS], "and")
                raise InputError(f"`{name}` does not belong to samples: {own} do.")
        for name in SAMPLE_FIELDS:
            if getattr(self, name) is not None and name not in sample_prices:
                raise InputError(
                    f"`{name}` belongs to other samples: pass it for these, too, or `{name}=None` "
                    "where it no longer holds."
                )
        return replace(self, **sample_prices)

    def take(self, indices: NDArray[Any]) -> Costs:
        """Return the same prices for some of the samples, by number or mask."""
        return replace(
            self, **{name: _take(getattr(self, name), indices) for name in SAMPLE_FIELDS}
        )

    @classmethod
    def from_frame(cls, frame: Any) -> Costs:
        """Return the prices in a data frame, with a line for every feature or group.

        Parameters
        ----------
        frame : pandas or polars data frame
            Names in a column called name, feature, test or column, or in the index; prices in a
            column called price or cost; and the columns group, requires and per_model of a price
            file, if they are there.
        """
        return cls(**frame_values(frame, "frame"))

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
            Some prices hold for certain samples only, features go by numbers, or the format cannot
            hold everything: a table needs a price for every feature.
        """
        from thriftwood.costs.files import write_costs_file

        write_costs_file(self, path)

    def __repr__(self) -> str:
        given = [
            f"{name}={value!r}" if np.isscalar(value) else f"{name}=..."
            for name, value in self.given.items()
        ]
        return f"Costs({', '.join(given)})"

    def __str__(self) -> str:
        lines = [f"Costs in {shown(self.unit)}" if self.unit else "Costs", printed(self.given)]
        others = [
            f"{name} for certain samples" if name in SAMPLE_FIELDS else f"{name} = {value}"
            for name, value in self.given.items()
            if name in ("per_split", "per_node", "predictions", "weigh_bills", *SAMPLE_FIELDS)
        ]
        if self.per_feature is None:
            others.insert(0, f"per_feature = {price_left_out(self):g}")
        lines.append(f"  {'; '.join(others)}" if others else "")
        return "\n".join(line for line in lines if line)

    @property
    def features(self) -> set[Any]:
        """The names, or numbers, of all features that the prices speak of."""
        lists = [by_column(value) for value in vars(self).values()]
        named = {name for one in lists if isinstance(one, Mapping) for name in one}
        for members in (self.groups, self.requires, self.encoded):
            named.update(*(members or {}).values())
        return named - {*(self.groups or ())}

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that differ from their default."""
        unset = {field.name: field.default for field in fields(self)}
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and not (np.isscalar(value) and value == unset[name])
        }


# Whatever a parameter `costs` may be; a data frame, too.
AnyCosts = ArrayLike | Mapping[str, float] | Costs | None


def as_costs(costs: AnyCosts) -> Costs:
    """Return whatever a parameter `costs` may be as `Costs`."""
    if isinstance(costs, Costs):
        return costs
    if hasattr(costs, "columns"):
        return Costs(**frame_values(costs, "costs"))
    prices = _by_name(costs, "costs")
    check_prices(prices, "costs", in_python)
    return Costs(per_feature=prices)


def price_left_out(costs: Costs) -> float:
    """Return the price of every feature where `per_feature` is not given."""
    others = (costs.group_fee or None, costs.per_model, costs.per_query, costs.per_sample)
    is_priced = any(one is not None for one in others) or costs.per_split or costs.per_node
    return 0.0 if is_priced else 1.0


def _by_name(prices: Any, argument: str) -> Any:
    """Return prices of a Series or a data frame that go by name as a mapping, others as arrays."""
    if prices is None or isinstance(prices, Mapping):
        return prices
    if hasattr(prices, "columns"):
        values = frame_values(prices, argument)
        for key in values:
            if key != "per_feature":
                raise InputError(
                    f"`{argument}` holds more than a price for each feature ({key}): pass the "
                    "data frame as `costs`, or to `Costs.from_frame`."
                )
        return values["per_feature"]
    if not callable(getattr(prices, "index", len)):  # a Series; the index of a list is a method
        names = index_names(prices, argument)
        return np.asarray(prices) if names is None else dict(zip(names, prices, strict=True))
    return prices


def by_column(table: Any) -> Any:
    """Return a data frame as a mapping, since its columns may come in any order."""
    is_frame = hasattr(table, "columns")
    return {name: table[name] for name in table.columns} if is_frame else table


def _take(values: Any, indices: NDArray[Any]) -> Any:
    if values is None:
        return None
    values = by_column(values)
    if isinstance(values, Mapping):
        return {name: np.asarray(column)[indices] for name, column in values.items()}
    return np.asarray(values)[indices]
