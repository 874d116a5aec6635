"""Sets of features and their prices: what is bought together, and what one more costs.

A unit is a feature, or all features that share a cost item (a fee, a feature that others require):
fees are worth paying for several features, where they are not for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from thriftwood.billing import bills_of
from thriftwood.costs import MODEL, QUERIES, PriceList
from thriftwood.errors import InputError
from thriftwood.forest import FeatureSet, mask_of
from thriftwood.support.arrays import FloatArray

NOTHING: FeatureSet = frozenset()


class PricedUnits:
    """Prices of sets of features, by what a sample pays on average.

    Attributes
    ----------
    units : tuple of sets
        Single features first, then all features that share a cost item.
    """

    def __init__(self, prices: PriceList) -> None:
        _check_kinds(prices)
        self.n_features = prices.n_features
        amounts = prices.amounts().tolist()
        items = prices.cost_item.tolist()
        self._dearest = _dearest(prices)
        self._entries = [
            [(items[entry], amounts[entry]) for entry in range(first, last)]
            for first, last in zip(prices.start[:-1].tolist(), prices.start[1:], strict=True)
        ]
        sharing: dict[int, set[int]] = {}
        for feature, entries in enumerate(self._entries):
            for item, _ in entries:
                sharing.setdefault(item, set()).add(feature)
        singles = [frozenset([feature]) for feature in range(self.n_features)]
        shared = [frozenset(own) for own in sharing.values() if len(own) > 1]
        self.units = tuple(dict.fromkeys([*singles, *shared]))
        self.free = self.with_free(NOTHING)

    def price(self, features: Iterable[int]) -> float:
        """Return what a set of features costs, each cost item once."""
        return sum(self._paid(features).values())

    def most(self, features: Iterable[int]) -> float:
        """Return what a set costs a sample that knows no value and pays the highest prices."""
        items = {item for feature in features for item, _ in self._entries[feature]}
        return float(sum(self._dearest[item] for item in items))

    def with_free(self, features: Iterable[int]) -> FeatureSet:
        """Return a set with all features that cost nothing more."""
        paid = self._paid(features)
        free = (
            feature
            for feature, entries in enumerate(self._entries)
            if all(amount <= paid.get(item, 0.0) for item, amount in entries)
        )
        return frozenset(features) | frozenset(free)

    def shares(self, features: Sequence[int]) -> FloatArray:
        """Return what each feature of a set costs, if those that share a cost item divide it."""
        paid = self._paid(features)
        sharing: dict[int, int] = {}
        for feature in features:
            for item, _ in self._entries[feature]:
                sharing[item] = sharing.get(item, 0) + 1
        return np.array(
            [
                sum(paid[item] / sharing[item] for item, _ in self._entries[feature])
                for feature in features
            ]
        )

    def _paid(self, features: Iterable[int]) -> dict[int, float]:
        """Return what is paid for each cost item; some samples may know a value, others not."""
        paid: dict[int, float] = {}
        for feature in features:
            for item, amount in self._entries[feature]:
                paid[item] = max(paid.get(item, 0.0), amount)
        return paid


def _dearest(prices: PriceList) -> FloatArray:
    """Return the highest price of each cost item; what is paid once is no part of any bill."""
    dearest = np.where(prices.payer == MODEL, 0.0, prices.prices)
    if prices.own_prices is not None:
        dearest[: prices.n_columns] = prices.own_prices.max(axis=0)
    return dearest


def spread_sets(sets: Sequence[FeatureSet], prices: FloatArray, n_stages: int) -> list[int]:
    """Return sets to make stages of, far apart from each other in the logarithm of their prices.

    The first, the last and the cheapest that costs anything are taken, then always the one that is
    farthest from all those taken.
    """
    if prices[-1] <= 0:
        return [len(sets) - 1]
    place = np.log1p(prices / prices[prices > 0].min())
    taken = [0, len(sets) - 1, int(np.argmax(prices > prices[0]))]
    distance = np.abs(place[:, None] - place[taken]).min(axis=1)
    while len(set(taken)) < n_stages and distance.max() > 0:
        taken.append(int(distance.argmax()))
        distance = np.minimum(distance, np.abs(place - place[taken[-1]]))
    return sorted(set(taken))


def _check_kinds(prices: PriceList) -> None:
    """Refuse prices that a set of features does not have."""
    if (prices.payer > (QUERIES if prices.has_queries else -1)).any():
        raise InputError(
            "With `shared_by` what a sample pays depends on where others stop, so that none can be "
            "told when to stop. Leave it out of `costs`.",
            "costs",
        )
    if prices.per_split > 0 or prices.per_node > 0:
        raise InputError(
            "`per_split` and `per_node` are prices of trees, and this model buys features, "
            "whatever its trees do with them. Leave them out of `costs`, or prune a model by "
            "`prune_path`.",
            "costs",
        )


def model_costs_of(prices: PriceList, sets: Sequence[FeatureSet]) -> FloatArray:
    """Return what is paid once for a model that may buy each of these sets, per prediction."""
    if not (prices.payer == MODEL).any():
        return np.zeros(len(sets))
    return np.array([prices.model_cost(mask_of(own, prices.n_features), 0) for own in sets])


def bills_of_sets(prices: PriceList, sets: list[frozenset[int]], n_samples: int) -> FloatArray:
    """Return what each sample pays for each set."""
    masks = [mask_of(own, prices.n_features) for own in sets]
    if not prices.is_tied_to_samples:
        paid = bills_of(prices, np.array(masks)).per_sample
        return np.tile(paid, (n_samples, 1))
    return np.column_stack(
        [bills_of(prices, np.tile(mask, (n_samples, 1))).per_sample for mask in masks]
    )
