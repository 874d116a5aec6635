"""A price list that programs can read: charges, and the features that trigger them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.arguments import numbers, one_number
from thriftwood.arrays import BoolArray, FloatArray, IndexArray, handed_over
from thriftwood.costs.costs import A_PRICE, Costs, Feature
from thriftwood.costs.per_feature import prices_per_feature
from thriftwood.errors import InputError

# Who pays a charge: each row for itself, or all rows together. From 0 on: each batch of rows of
# that numbering of batches.
ROW = -1
MODEL = -2
# Of a gate that is open for all rows.
OPEN = -1


@dataclass(frozen=True, eq=False)
class RowPrices:
    """What a price list says about certain rows.

    Attributes
    ----------
    own_prices : shape (n_rows, n_features), optional
        What each row pays for a feature of its own.
    gates : bool array, shape (n_gates, n_rows)
        Whether a row passes: it pays nothing for a feature whose value it knows.
    batch_of : shape (n_numberings, n_rows)
        The batch that each row belongs to, in several numberings.
    """

    own_prices: FloatArray | None
    gates: BoolArray
    batch_of: IndexArray


@dataclass(frozen=True, eq=False)
class PriceList:
    """Charges, and the features that trigger them.

    The first `n_features` charges are the prices of the features themselves. Using feature `k`
    triggers the charges `charge[start[k]:start[k + 1]]`, for rows that pass the gate beside it.

    Attributes
    ----------
    names : tuple of str
        Of the charges.
    prices : shape (n_charges,)
    payer : shape (n_charges,)
        `ROW`, `MODEL`, or a numbering of batches.
    start : shape (n_features + 1,)
    charge, gate : shape (n_triggers,)
    per_split : float
        For every test that a row is put to.
    per_node : float
        For every split of the model, once.
    predictions : float
        What is paid once for the model is divided by it.
    unit : str
    rows : RowPrices, optional
    """

    names: tuple[str, ...]
    prices: FloatArray
    payer: IndexArray
    start: IndexArray
    charge: IndexArray
    gate: IndexArray
    per_split: float
    per_node: float
    predictions: float
    unit: str
    rows: RowPrices | None

    @property
    def n_features(self) -> int:
        return len(self.start) - 1

    @property
    def n_charges(self) -> int:
        return len(self.prices)

    @cached_property
    def is_plain(self) -> bool:
        """Whether there is nothing but one price per feature."""
        return (
            self.n_charges == len(self.charge) == self.n_features
            and bool((self.payer == ROW).all())
            and self.per_split == self.per_node == 0
            and self.rows is None
        )

    def price_of(self, charge: IndexArray, row: IndexArray) -> FloatArray:
        """Return what a row pays for a charge, for several of both."""
        prices = self.prices[charge]
        if self.rows is not None and self.rows.own_prices is not None:
            own = charge < self.n_features
            prices[own] = self.rows.own_prices[row[own], charge[own]]
        return prices
