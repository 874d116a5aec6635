"""Price lists as the code reads them: cost items, and the features that buy them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.costs.costs import Costs
from thriftwood.errors import InputError
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.columns import Columns, ColumnsOf

AnyIndices = IndexArray | IntArray

# Who pays a cost item: each sample for itself, or all together. From 0 on: each batch of samples
# of that numbering of batches.
SAMPLE = -1
MODEL = -2
# Of a cost item that every sample pays.
NO_MASK = -1
# The numbering of batches that queries are, where there are prices per query.
QUERIES = 0
NO_MASKS = read_only(np.empty((0, 0), dtype=np.bool_))
NO_BATCHES = read_only(np.empty((0, 0), dtype=np.int32))
# What files keep, in a line of text and in arrays.
FACTS = (
    *("names", "per_split", "per_node", "predictions", "unit", "weigh_bills"),
    *("is_tied_to_samples", "groups", "has_queries"),
)
ARRAYS = ("prices", "payer", "start", "cost_item", "mask")


@dataclass(frozen=True, eq=False)
class PriceList:
    """Cost items, each paid once, and the features that buy them.

    The first `n_columns` cost items are the prices of the columns of samples, which are the
    features themselves unless a pipeline makes features of them. Using feature `k`
    buys the cost items `cost_item[start[k]:start[k + 1]]`, for samples where the mask beside each
    is True: a sample pays nothing for a feature whose value it knows.

    Attributes
    ----------
    names : tuple of str
        Of the cost items.
    prices : shape (n_cost_items,)
    payer : shape (n_cost_items,)
        `SAMPLE`, `MODEL`, or a numbering of batches.
    start : shape (n_features + 1,)
    cost_item, mask : shape (n_entries,)
        `mask` is a row of `masks`, or `NO_MASK`.
    per_split : float
        For every test that a sample is put to.
    per_node : float
        For every split of the model, once.
    predictions : float
        What is paid once for the model is divided by it.
    unit : str
    weigh_bills : bool
        Whether samples count in mean bills by their weights.
    groups : tuple of (name, features)
        The features of each group, those of groups inside it included. Only reports need them:
        what a fee is paid for stands among the cost items.
    has_queries : bool
        Whether queries pay for some cost items: they are the first numbering of batches.
    is_tied_to_samples : bool
        Whether bills need what follows, besides queries.
    own_prices : shape (n_samples, n_features), optional
        What each sample pays for a feature of its own.
    masks : bool array, shape (n_masks, n_samples)
    batch_of : shape (n_numberings, n_samples)
        The batch that each sample belongs to, in several numberings.
    made_of : Columns, optional
        The columns that a pipeline makes the features of; None where the features are the columns.
    """

    names: tuple[str, ...]
    prices: FloatArray
    payer: IndexArray
    start: IndexArray
    cost_item: IndexArray
    mask: IndexArray
    per_split: float = 0.0
    per_node: float = 0.0
    predictions: float = 1.0
    unit: str = ""
    weigh_bills: bool = False
    groups: tuple[tuple[str, tuple[int, ...]], ...] = ()
    has_queries: bool = False
    is_tied_to_samples: bool = False
    own_prices: FloatArray | None = None
    masks: BoolArray = field(default_factory=lambda: NO_MASKS)
    batch_of: IndexArray = field(default_factory=lambda: NO_BATCHES)
    made_of: Columns | None = None

    def check(self) -> PriceList:
        """Return the list, or raise where its arrays contradict each other: kernels trust them."""
        n_cost_items, whole = len(self.prices), (self.payer, self.start, self.cost_item, self.mask)
        fits = (
            self.prices.dtype == np.float64
            and all(array.dtype == np.int32 for array in whole)
            and all(array.ndim == 1 for array in (self.prices, *whole))
            and len(self.names) == len(self.payer) == n_cost_items >= self.n_columns >= 0
            and len(self.cost_item) == len(self.mask) == self.start[-1]
            and self.start[0] == 0
            and (np.diff(self.start) >= 0).all()
            and ((self.cost_item >= 0) & (self.cost_item < n_cost_items)).all()
            and (np.isfinite(self.prices) & (self.prices >= 0)).all()
            and (self.payer >= MODEL).all()
            and (self.mask >= NO_MASK).all()
            and (self.is_tied_to_samples or (self.payer < self.has_queries).all())
            and (self.is_tied_to_samples or (self.mask < 0).all())
            and 0 <= self.per_split < np.inf
            and 0 <= self.per_node < np.inf
            and 0 < self.predictions < np.inf
            and all(0 <= k < self.n_columns for _, members in self.groups for k in members)
            and (self.made_of is None or self._fits(self.made_of.of_features or ()))
        )
        if not fits:
            raise ValueError("The arrays of a price list contradict each other.")
        return self

    def _fits(self, of_features: ColumnsOf) -> bool:
        columns = [column for own in of_features for column in own]
        return len(of_features) == self.n_features and all(
            0 <= column < self.n_columns for column in columns
        )

    @property
    def n_features(self) -> int:
        return len(self.start) - 1

    @property
    def n_columns(self) -> int:
        return self.n_features if self.made_of is None else self.made_of.n_columns

    @cached_property
    def _is_made_of(self) -> BoolArray:
        """Mask of the columns (second axis) that each feature is made of."""
        made = np.zeros((self.n_features, self.n_columns), dtype=np.bool_)
        for feature in range(self.n_features):
            made[feature, list(self.columns_of(feature))] = True
        return made

    def columns_of(self, feature: int) -> tuple[int, ...]:
        """Return the columns that a feature is computed from; without a pipeline, itself."""
        if self.made_of is None or self.made_of.of_features is None:
            return (feature,)
        return self.made_of.of_features[feature]

    def n_columns_of(self, features: AnyIndices) -> int:
        """Return how many columns some features are computed from."""
        used = np.unique(features)
        if self.made_of is None:
            return len(used)
        return int(np.count_nonzero(self._is_made_of[used].any(axis=0)))

    def last_by_column(self, last_of_feature: IndexArray) -> IndexArray:
        """Return the last step at which any feature needs a column, given that of features."""
        if self.made_of is None:
            return last_of_feature
        last: IndexArray = np.where(self._is_made_of, last_of_feature[:, None], -1).max(axis=0)
        return last

    def columns_in(self, used: BoolArray) -> BoolArray:
        """Return which columns samples use, given the features that they use."""
        return used if self.made_of is None else used @ self._is_made_of

    @property
    def n_cost_items(self) -> int:
        return len(self.prices)

    @cached_property
    def is_plain(self) -> bool:
        """True if there is nothing but one price per feature."""
        return (
            self.n_cost_items == len(self.cost_item) == self.n_features
            and bool((self.payer == SAMPLE).all())
            and self.per_split == self.per_node == 0
            and self.made_of is None
            and not self.is_tied_to_samples
        )

    def price_of(self, cost_item: AnyIndices, sample: AnyIndices) -> FloatArray:
        """Return what a sample pays for a cost item, for several of both."""
        prices = self.prices[cost_item]
        if self.own_prices is not None:
            own = cost_item < self.n_columns
            prices[own] = self.own_prices[sample[own], cost_item[own]]
        return prices

    def bill_weights(self, sample_weights: FloatArray, each: float = 1.0) -> FloatArray:
        """Return how much samples count in mean bills: as they weigh, or each alike but for 0."""
        return sample_weights if self.weigh_bills else read_only(each * np.sign(sample_weights))

    def batch_weights(self, weights: FloatArray) -> list[FloatArray]:
        """Return how much the batches of every numbering count: as much as each sample."""
        found = []
        for batch_of in self.batch_of:
            of_batch = np.empty(batch_of.max() + 1)
            of_batch[batch_of] = weights
            unequal = np.flatnonzero(of_batch[batch_of] != weights)
            if len(unequal):
                raise InputError(
                    f"Sample {unequal[0]} shares what it pays with samples of another "
                    "`sample_weight`: give all that `shared_by` puts together, or all documents of "
                    "a query that pays, the same weight."
                )
            found.append(of_batch)
        return found

    def model_cost(self, used: BoolArray, n_splits: int) -> float:
        """Return what a model costs that uses these features, per prediction it will serve."""
        used_items = np.zeros(self.n_cost_items, dtype=np.bool_)
        used_items[self.cost_item[np.repeat(used, np.diff(self.start))]] = True
        once = float(self.prices[used_items & (self.payer == MODEL)].sum())
        return (once + self.per_node * n_splits) / self.predictions

    def as_costs(self) -> Costs:
        """Return the list as a user writes it, if it is nothing but one price per feature."""
        if not self.is_plain:
            raise InputError(
                "The model was made with prices that are more than one number for each feature: "
                "pass them as `costs`, or measure by `feature_bill(model, X)`."
            )
        return Costs(per_feature=self.prices, unit=self.unit, weigh_bills=self.weigh_bills)

    def without_samples(self) -> PriceList:
        """Return the list for samples that are not there, such as in a file."""
        return replace(self, own_prices=None, masks=NO_MASKS, batch_of=NO_BATCHES)

    def for_queries(self, query: IndexArray | None) -> PriceList:
        """Return the list for samples of these queries, if queries pay for anything."""
        if not self.has_queries:
            return self
        return replace(self, batch_of=read_only(query_numbers(query)[None]))

    @cached_property
    def query_columns(self) -> frozenset[int]:
        """The columns that are a query's own: it pays for each by name, and documents nothing."""
        if not self.has_queries:
            return frozenset()
        paid = self.prices > 0
        if self.own_prices is not None:
            paid[: self.n_columns] |= (self.own_prices > 0).any(axis=0)
        by_query = self.payer == QUERIES
        groups = {f"{group} (query)" for group, _ in self.groups}
        named = {self.names[item] for item in np.flatnonzero(paid & by_query)} - groups
        # Fees and prerequisites, too, are paid by documents unless a query pays for them.
        by_document = (paid & ~by_query & (self.payer != MODEL))[self.cost_item]
        dear = np.add.reduceat(np.append(by_document, False), self.start[:-1]) > 0
        dear[np.diff(self.start) == 0] = False
        free = np.flatnonzero(~self._is_made_of[dear].any(axis=0)).tolist()
        return frozenset(column for column in free if f"{self.names[column]} (query)" in named)

    @property
    def is_shared(self) -> bool:
        """True if some samples pay together."""
        return bool((self.payer >= 0).any())

    def take(self, samples: IntArray) -> PriceList:
        """Return the list for some of the samples."""
        return replace(
            self,
            own_prices=None if self.own_prices is None else read_only(self.own_prices[samples]),
            masks=read_only(self.masks[:, samples]) if len(self.masks) else self.masks,
            batch_of=read_only(self.batch_of[:, samples]) if len(self.batch_of) else self.batch_of,
        )

    def amounts(self) -> FloatArray:
        """Return what each entry costs a sample on average; who pays together, pays equal parts."""
        parts = np.ones(len(self.cost_item))
        if len(self.masks):
            masked = self.mask != NO_MASK
            parts[masked] = self.masks.mean(axis=1)[self.mask[masked]]
        for number, batch_of in enumerate(self.batch_of):
            n_batches = len(np.unique(batch_of))
            parts[self.payer[self.cost_item] == number] *= n_batches / len(batch_of)
        parts[self.payer[self.cost_item] == MODEL] /= self.predictions
        amounts: FloatArray = self.prices[self.cost_item] * parts
        return amounts

    def bundle_prices(self) -> FloatArray:
        """Return what using a feature costs a sample on average that has bought nothing yet."""
        feature = np.repeat(np.arange(self.n_features), np.diff(self.start))
        bundles = np.full(self.n_features, self.per_split + self.per_node / self.predictions)
        np.add.at(bundles, feature, self.amounts())
        return bundles


def query_numbers(query: IndexArray | None) -> IndexArray:
    """Return the query of each sample, or say that it is missing."""
    if query is None:
        raise InputError(
            "Some prices are paid `per_query`, by all documents of a query together: pass `qid`, "
            "the query of each sample.",
            "qid",
        )
    return query


def plain_prices(
    prices: FloatArray, columns: Columns, unit: str = "", weigh_bills: bool = False
) -> PriceList:
    """Return the list in which every column has a price and nothing else costs anything."""
    n_columns, names, of_features, *_ = columns
    bought = np.arange(n_columns, dtype=np.int32)
    start = np.arange(n_columns + 1, dtype=np.int32)
    if of_features is not None:
        bought = np.array([one for own in of_features for one in own], dtype=np.int32)
        start = np.cumsum([0, *map(len, of_features)], dtype=np.int32)
    return PriceList(
        names=names or tuple(f"feature {k}" for k in range(n_columns)),
        prices=read_only(prices),
        payer=read_only(np.full(n_columns, SAMPLE, dtype=np.int32)),
        start=read_only(start),
        cost_item=read_only(bought),
        mask=read_only(np.full(len(bought), NO_MASK, dtype=np.int32)),
        unit=unit,
        weigh_bills=weigh_bills,
        made_of=None if of_features is None else columns,
    )


def price_parts(prices: PriceList) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what a file keeps of prices: facts for its header, and arrays; no samples."""
    made_of = None if prices.made_of is None else prices.made_of[:4]
    about = {name: getattr(prices, name) for name in FACTS} | {"made_of": made_of}
    return about, {f"prices_{name}": getattr(prices, name) for name in ARRAYS}


def prices_from(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PriceList:
    """Return the price list of these parts, checked."""
    parts: dict[str, Any] = {name: read_only(arrays[f"prices_{name}"]) for name in ARRAYS}
    parts |= {
        **about,
        "names": tuple(about["names"]),
        "groups": tuple((str(name), tuple(map(index, own))) for name, own in about["groups"]),
        "made_of": _columns_from(about["made_of"]),
    }
    return PriceList(**parts).check()


def _columns_from(about: Any) -> Columns | None:
    if about is None:
        return None
    n_columns, names, of_features, feature_names = about
    own = tuple(tuple(map(index, one)) for one in of_features)
    return Columns(index(n_columns), _texts(names), own, _texts(feature_names))


def _texts(names: Any) -> tuple[str, ...] | None:
    return None if names is None else tuple(map(str, names))
