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
from thriftwood.thrifty.cross_fitting import samples_to_order
from thriftwood.thrifty.data import LabelledData
from thriftwood.thrifty.learners import Effort, Learner, best_booster, feature_gains
from thriftwood.thrifty.units import PricedUnits

# Sets are tried by small boosters, on at most so many samples to train and to compare on.
ROUNDS, LEAVES = 40, 15
N_SAMPLES = 3_000
N_QUERIES = 1_000
# Folds take turns: more where samples are few.
FEW_SAMPLES, FOLDS_OF_FEW, FOLDS = 1_500, 4, 2
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
    booster = best_booster((ROUNDS,), data, LEAVES)
    trial = Trial(samples_to_order(data, seed), units, booster, seed, n_jobs)
    everything = frozenset(range(units.n_features))
    down = [everything, *trial.thinned(everything, effort.core)]
    if effort.core:
        down += trial.left_out(down[-1])
    down = [own for own in down if units.most(own) <= max_cost]
    sets = sorted({*down, units.free}, key=len)
    core = [own for own in sets if len(own - units.free) <= max(effort.core, 1)]
    if effort.core:
        core = list(trial.dearer_last(core, everything, max_cost))
    upward = list(trial.added(core[-1], everything, max_cost)) if effort.core else []
    beyond = [own for own in sets if not own <= core[-1]]
    sets = _nested([*core, *upward, *beyond])
    return [own for own in sets if units.most(own) <= max_cost]  # together they may cost more


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
        self,
        data: LabelledData,
        units: PricedUnits,
        booster: Learner,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        self._data, self._units, self._seed, self._n_jobs = data, units, seed, n_jobs
        self._booster = booster
        self._folds = trial_folds(data, seed)
        self.loss, self.gains = cache(self._loss), cache(self._gains)

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

    def _gains(self, features: FeatureSet) -> FloatArray:
        """Return what each feature gains in a booster that has all of these."""
        columns = sorted(features)
        gains = np.zeros(self._units.n_features)
        for train, _ in self._folds:
            some = self._data.take(train)
            if not some.is_constant:
                model = self._booster.train(some, columns, self._booster.rounds[-1], self._seed)
                gains[columns] += feature_gains(model, len(columns))
        return gains

    def left_out(self, features: FeatureSet) -> Iterator[FeatureSet]:
        """Leave out units one by one, each time the one that is missed least per price saved."""
        units = self._units
        while features - units.free:
            fewer = self._distinct(units.with_free(features - unit) for unit in units.units)
            fewer = [own for own in fewer if own < features]
            self._measure([features, *fewer])
            now, all_of_it = self.loss(features), units.price(features)
            # Less loss without a feature is chance: of features like that the dearest goes first.
            saved = {own: all_of_it - units.price(own) for own in fewer}
            missed = {own: max(self.loss(own) - now, 0.0) / saved[own] for own in fewer}
            features = min(fewer, key=lambda own: (missed[own], -saved[own]))
            yield features

    def dearer_last(
        self, sets: list[FeatureSet], everything: FeatureSet, max_cost: float
    ) -> Iterator[FeatureSet]:
        """Put units that cost less than the next step, and bring more per price, before it."""
        units, features, last, n_put = self._units, sets[0], sets[-1], 0
        worth: dict[FeatureSet, float] = {}
        yield features
        for step in sets[1:]:
            own = units.with_free(step | features)
            while own > features:
                most = units.price(own) if n_put < STEPS else 0.0
                more = [one for one in self._larger(features) if units.price(one) < most]
                more = [one for one in more if units.most(one | last) <= max_cost]
                tried = self._promising(features, more, everything, worth)
                features = self._best(features, [own, *tried], worth) if tried else own
                n_put += features != own
                yield features
                own, last = units.with_free(own | features), last | features

    def added(
        self, features: FeatureSet, everything: FeatureSet, max_cost: float
    ) -> Iterator[FeatureSet]:
        """Add units, each time the one that brings most per price, as long as they are allowed."""
        units = self._units
        worth: dict[FeatureSet, float] = {}
        for _ in range(STEPS):
            more = [own for own in self._larger(features) if units.most(own) <= max_cost]
            if not more:
                return
            tried = self._promising(features, more, everything, worth)
            features = self._best(features, sorted(tried, key=units.price), worth)
            yield features

    def _larger(self, features: FeatureSet) -> list[FeatureSet]:
        """Return a set with one unit more, each in turn."""
        more = self._distinct(self._units.with_free(features | own) for own in self._units.units)
        return [own for own in more if own > features]

    def _promising(
        self,
        features: FeatureSet,
        more: list[FeatureSet],
        everything: FeatureSet,
        worth: dict[FeatureSet, float],
    ) -> list[FeatureSet]:
        """Return the larger sets to try: by what units brought before, or gain among all.

        For lists, units that were too dear at the steps before are tried by their gains, too: what
        a title tells is part of what the whole document tells, at a part of its price.
        """
        known = sorted(more, key=lambda own: -worth.get(own - features, -np.inf))[:NEXT]
        if worth and self._data.query is None:
            return known
        known = [own for own in known if own - features in worth]
        new = [own for own in more if own - features not in worth]
        gains = self.gains(everything) if new else np.empty(0)
        rough = {own: gains[list(own - features)].sum() for own in new}
        extra = {own: self._extra(own, features) for own in new}
        per_price = sorted(new, key=lambda own: -rough[own] / extra[own])[: FIRST // 2]
        first = self._distinct([*per_price, *sorted(new, key=lambda own: -rough[own])])[:FIRST]
        worth |= dict.fromkeys((own - features for own in new), -np.inf)  # those left out: never
        return [*first, *known]

    def _best(
        self, features: FeatureSet, tried: list[FeatureSet], worth: dict[FeatureSet, float]
    ) -> FeatureSet:
        """Return the first of those larger sets that lower the loss most per price."""
        self._measure([features, *tried])
        for own in tried:
            fall = max(self.loss(features) - self.loss(own), 0.0)
            worth[own - features] = fall / self._extra(own, features)
        return max(tried, key=lambda own: worth[own - features])

    def _extra(self, own: FeatureSet, features: FeatureSet) -> float:
        return self._units.price(own) - self._units.price(features)

    def _measure(self, sets: list[FeatureSet]) -> None:
        for_each(self.loss, sets, self._n_jobs)

    @staticmethod
    def _distinct(sets: Iterator[FeatureSet] | list[FeatureSet]) -> list[FeatureSet]:
        return list(dict.fromkeys(sets))


def trial_folds(data: LabelledData, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return pairs of samples to train and to compare on, which take turns."""
    units = data.units
    order = units[np.random.default_rng(seed).permutation(len(units))]
    n_folds = FOLDS_OF_FEW if len(order) < FEW_SAMPLES else FOLDS
    parts = np.array_split(order, min(n_folds, len(order)))
    most = N_SAMPLES if data.query is None else N_QUERIES
    pairs = [
        (np.concatenate(parts[:k] + parts[k + 1 :])[:most], parts[k][:most])
        for k in range(len(parts))
    ]
    return [(data.samples_of(train), data.samples_of(others)) for train, others in pairs]
