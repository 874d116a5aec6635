"""Order features by what they bring per price, given what is bought already.

Forward selection alone is short-sighted: features that tell much together may tell nothing alone.
So features are first left out by what they gain in a booster that has them all (recursive feature
elimination; Guyon, Weston, Barnhill and Vapnik, 2002), the last few one after the other, each time
those whose loss is missed least per price saved. From there on features are added by forward
selection.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from thriftwood.forest import FeatureSet
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.parallel import for_each
from thriftwood.thrifty.data import LabelledData
from thriftwood.thrifty.learners import Effort, best_booster, feature_gains, usual_leaves
from thriftwood.thrifty.units import PricedUnits

# Sets are tried by small boosters, on so many samples to train and as many to compare on.
ROUNDS, LEAVES, BINS = 40, 15, 63
N_SAMPLES = 4_000
# With fewer samples, folds of them take turns.
FOLDS = {1_500: 4, 2 * N_SAMPLES: 2}
# So many of the features are kept when some are left out together.
KEPT = 0.7
# Candidates of the first step of forward selection and of those that follow, and steps.
FIRST, NEXT, STEPS = 16, 5, 8


def order_sets(
    data: LabelledData,
    units: PricedUnits,
    effort: Effort,
    max_cost: float,
    seed: int,
    n_jobs: int | None = None,
) -> list[FeatureSet]:
    """Return nested sets of features, from those that are free to all that `max_cost` allows."""
    trial = Trial(data, units, seed, n_jobs)
    everything = frozenset(range(units.n_features))
    down = [everything, *trial.thinned(everything, effort.core)]
    if effort.core:
        down += trial.left_out(down[-1])
    down = [own for own in down if units.price(own) <= max_cost]
    sets = sorted({*down, units.free}, key=len)
    core = [own for own in sets if len(own - units.free) <= max(effort.core, 1)]
    upward = list(trial.added(core[-1], everything, max_cost)) if effort.core else []
    beyond = [own for own in sets if len(own) > len(core[-1])]
    return _nested([*core, *upward, *beyond])


def _nested(sets: list[FeatureSet]) -> list[FeatureSet]:
    """Return sets in the same order, each with all of those before it."""
    found: list[FeatureSet] = []
    for own in sets:
        larger = own if not found else own | found[-1]
        if not found or larger != found[-1]:
            found.append(larger)
    return found


class Trial:
    """Losses of small boosters on sets of features, measured on samples that they did not see."""

    def __init__(
        self, data: LabelledData, units: PricedUnits, seed: int, n_jobs: int | None
    ) -> None:
        self._data, self._units, self._seed, self._n_jobs = data, units, seed, n_jobs
        self._booster = best_booster((ROUNDS,), min(LEAVES, usual_leaves(len(data.y))), BINS)
        self._folds = trial_folds(data, seed)
        self.loss = cache(self._loss)

    def _loss(self, features: FeatureSet) -> float:
        """Return the loss of a set, the mean over folds."""
        found = []
        for train, held_out in self._folds:
            some, others = self._data.take(train), self._data.take(held_out)
            (outputs,) = self._booster.cross_fit(some, sorted(features), others.X, self._seed)
            found.append(others.mean_loss(outputs))
        return float(np.mean(found))

    def thinned(self, features: FeatureSet, least: int) -> Iterator[FeatureSet]:
        """Leave out features that gain least per price, several at a time."""
        units = self._units
        while len(features - units.free) > max(least, 1):
            priced = sorted(features - units.free)
            n_kept = max(least, 1, int(len(priced) * KEPT))
            worth = self.gains(features)[priced] / np.maximum(units.shares(priced), 1e-300)
            kept = np.argsort(-worth, kind="stable")[:n_kept]
            fewer = units.with_free(priced[number] for number in kept)
            if fewer == features:
                return
            features = fewer
            yield features

    def gains(self, features: FeatureSet) -> FloatArray:
        """Return what each feature gains in a booster that has all of these."""
        columns = sorted(features)
        gains = np.zeros(self._units.n_features)
        for train, _ in self._folds:
            some = self._data.take(train)
            if not some.is_constant:
                model = self._booster.train(some, columns, ROUNDS, self._seed)
                gains[columns] += feature_gains(model, len(columns))
        return gains

    def left_out(self, features: FeatureSet) -> Iterator[FeatureSet]:
        """Leave out units one by one, each time the one that is missed least per price saved."""
        units = self._units
        missed: dict[FeatureSet, float] = {}
        while features - units.free:
            fewer = self._distinct(units.with_free(features - unit) for unit in units.units)
            fewer = [own for own in fewer if own < features]
            # What was missed much beside more features will be missed beside fewer.
            fewer.sort(key=lambda own: missed.get(features - own, 0.0))
            fewer = fewer[: NEXT if missed else None]
            self._measure([features, *fewer])
            now, all_of_it = self.loss(features), units.price(features)
            # Less loss without a feature is chance: of features like that the dearest goes first.
            saved = {own: all_of_it - units.price(own) for own in fewer}
            missed |= {features - own: max(self.loss(own) - now, 0.0) / saved[own] for own in fewer}
            features = min(fewer, key=lambda own: (missed[features - own], -saved[own]))
            yield features

    def added(
        self, features: FeatureSet, everything: FeatureSet, max_cost: float
    ) -> Iterator[FeatureSet]:
        """Add units, each time the one that brings most per price, as long as they are allowed."""
        units = self._units
        worth: dict[FeatureSet, float] = {}
        gains = self.gains(everything) if features < everything else np.empty(0)
        for step in range(STEPS):
            more = self._distinct(units.with_free(features | unit) for unit in units.units)
            more = [own for own in more if own > features and units.price(own) <= max_cost]
            if not more:
                return
            extra = {own: units.price(own) - units.price(features) for own in more}
            if step == 0:  # half by what they gain per price, half by what they gain
                rough = {own: gains[list(own - features)].sum() for own in more}
                per_price = sorted(more, key=lambda own: -rough[own] / extra[own])[: FIRST // 2]
                tried = self._distinct([*per_price, *sorted(more, key=lambda own: -rough[own])])
                tried = tried[:FIRST]
            else:
                tried = sorted(more, key=lambda own: -worth.get(own - features, -np.inf))[:NEXT]
            self._measure([features, *tried])
            for own in tried:
                fall = max(self.loss(features) - self.loss(own), 0.0)
                worth[own - features] = fall / extra[own]
            features = max(tried, key=lambda own: (worth[own - features], -extra[own]))
            yield features

    def _measure(self, sets: list[FeatureSet]) -> None:
        for_each(self.loss, sets, self._n_jobs)

    @staticmethod
    def _distinct(sets: Iterator[FeatureSet] | list[FeatureSet]) -> list[FeatureSet]:
        return list(dict.fromkeys(sets))


def trial_folds(data: LabelledData, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return samples to train and to compare on: one pair of many samples, or folds of few."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    n_folds = next((n for most, n in FOLDS.items() if len(order) < most), 1)
    if n_folds == 1:
        return [(order[:N_SAMPLES], order[N_SAMPLES : 2 * N_SAMPLES])]
    parts = np.array_split(order, min(n_folds, len(order)))
    return [(np.concatenate(parts[:k] + parts[k + 1 :]), parts[k]) for k in range(len(parts))]
