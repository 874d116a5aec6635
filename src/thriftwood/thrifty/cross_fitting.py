"""Fit the models of stages: first on folds, to choose among them, then on all samples.

Cross-fitting: what a stage predicts for a sample is measured by a model that did not see it, so
that no samples need to be held out for good. From many samples on, a part of them is enough to
choose by.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from thriftwood.forest import FeatureSet, Forest
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.parallel import Progress, for_each
from thriftwood.thrifty.data import LabelledData
from thriftwood.thrifty.learners import Learner, as_member, constant_forest

Fold = tuple[IntArray, IntArray]
# Learners by their numbers, each with its rounds.
Recipe = tuple[tuple[int, int], ...]

# Folds of so many samples; beyond, one part in four is held out while models are chosen.
FOLDS = {2_000: 5, 8_000: 3}
LAST_PARTS = 4
# Of the trees that tell how much a later stage may save, for numbers.
GATE_TREES, GATE_LEAF = 50, 20
# So many samples that are alike are predicted alike.
MANY = 20


class FittedStages(NamedTuple):
    """Models of stages, and what such models predicted for samples that they did not see.

    Attributes
    ----------
    members : tuple of tuples
        Of each stage, trained on all samples.
    gates : tuple of Forest
        For numbers.
    recipes : tuple of Recipe
    held_out : shape (n_held_out,)
        The samples that were predicted without being seen.
    outputs : shape (n_held_out, n_stages, n_outputs)
    gate_outputs : shape (n_held_out, n_stages)
    """

    members: tuple[tuple[Any, ...], ...]
    gates: tuple[Forest, ...]
    recipes: tuple[Recipe, ...]
    held_out: IntArray
    outputs: FloatArray
    gate_outputs: FloatArray


def fit_stages(
    data: LabelledData,
    sets: Sequence[FeatureSet],
    learners: Sequence[Learner],
    seed: int,
    n_jobs: int | None,
    progress: Progress,
) -> FittedStages:
    """Fit a model for each set, the mean of those learners that predict best together."""
    columns = [sorted(own) for own in sets]
    folds = make_folds(data, seed)
    held_out = np.concatenate([own for _, own in folds])
    own = data.take(held_out)
    n_done, n_jobs_in_all = 0, 2 * len(sets)

    def cross_fit(number: int) -> tuple[Recipe, FloatArray]:
        nonlocal n_done
        found = _cross_fitted(data, columns[number], learners, folds, seed)
        n_done += 1
        progress(n_done / n_jobs_in_all)
        recipe, outputs = _best_mixture(own, found)
        return recipe, _evened(outputs, own.columns(columns[number]))

    def fit(number: int) -> tuple[Any, ...]:
        nonlocal n_done
        features, (recipe, _) = columns[number], chosen[number]
        members = tuple(
            learners[learner].member(data, features, rounds, seed) for learner, rounds in recipe
        )
        n_done += 1
        progress(n_done / n_jobs_in_all)
        return members

    # The largest first, so that no thread waits long for the last.
    largest_first = list(range(len(sets)))[::-1]
    chosen = dict(zip(largest_first, for_each(cross_fit, largest_first, n_jobs), strict=True))
    fitted = dict(zip(largest_first, for_each(fit, largest_first, n_jobs), strict=True))
    outputs = np.stack([chosen[number][1] for number in range(len(sets))], axis=1)
    gates: tuple[Forest, ...] = ()
    gate_outputs = np.empty((len(held_out), 0))
    if not data.n_classes and data.query is None:
        gates, gate_outputs = _gates(own, columns, outputs, seed, n_jobs)
    return FittedStages(
        members=tuple(fitted[number] for number in range(len(sets))),
        gates=gates,
        recipes=tuple(chosen[number][0] for number in range(len(sets))),
        held_out=held_out,
        outputs=outputs,
        gate_outputs=gate_outputs,
    )


def make_folds(data: LabelledData, seed: int) -> list[Fold]:
    """Split samples so that every part has its share of each class, or of small and large numbers.

    A class with a single sample is in one part only. Documents of a query stay together.
    """
    units = data.units
    drawn = np.random.default_rng(seed).permutation(len(units))
    order = np.lexsort((drawn, data.y)) if data.query is None else drawn
    n_parts = next((n for most, n in FOLDS.items() if len(order) < most), LAST_PARTS)
    part = np.empty(len(order), dtype=np.int64)
    part[order] = np.arange(len(order)) % n_parts
    n_used = n_parts if len(order) < max(FOLDS) else 1
    parts = [(units[part != own], units[part == own]) for own in range(n_used)]
    folds = [(data.samples_of(train), data.samples_of(others)) for train, others in parts]
    order = np.arange(len(data.y))
    return [fold for fold in folds if len(fold[0]) and len(fold[1])] or [(order, order)]


def samples_to_order(data: LabelledData, seed: int) -> LabelledData:
    """Return the samples to order features by: all, but for those that are held out for good."""
    folds = make_folds(data, seed)
    return data.take(folds[0][0]) if len(folds) == 1 else data


def _cross_fitted(
    data: LabelledData,
    features: list[int],
    learners: Sequence[Learner],
    folds: list[Fold],
    seed: int,
) -> dict[tuple[int, int], FloatArray]:
    """Return what each learner predicts for the samples that it did not see, by its rounds."""
    found: dict[tuple[int, int], list[FloatArray]] = {}
    for train, held_out in folds:
        some, others = data.take(train), data.X[held_out]
        for number, learner in enumerate(learners if features else learners[:1]):
            outputs = learner.cross_fit(some, features, others, seed)
            for rounds, output in zip(learner.rounds, outputs, strict=True):
                found.setdefault((number, rounds), []).append(output)
    return {key: np.concatenate(parts) for key, parts in found.items()}


def _best_mixture(
    data: LabelledData, found: dict[tuple[int, int], FloatArray]
) -> tuple[Recipe, FloatArray]:
    """Return the learners, each with its best rounds, whose mean has the least loss.

    Squares, since a forest that is sure and wrong now and then may still err least.
    """
    best: dict[int, tuple[int, int]] = {}
    for key, outputs in found.items():
        now = best.get(key[0])
        if now is None or data.mean_square(outputs) < data.mean_square(found[now]):
            best[key[0]] = key
    keys = list(best.values())
    mixtures = list(chain.from_iterable(combinations(keys, n) for n in range(1, len(keys) + 1)))
    means = [np.mean([found[key] for key in mixture], axis=0) for mixture in mixtures]
    least = int(np.argmin([data.mean_square(outputs) for outputs in means]))
    return mixtures[least], means[least]


def _evened(outputs: FloatArray, X: FloatArray) -> FloatArray:
    """Return outputs with their means in place of those of samples that are alike, if many are.

    Folds predict them a little differently, and one model in the end the same: a threshold between
    what the folds predict would stop all of them, or none.
    """
    group = np.zeros(len(X), dtype=np.int64)
    size = np.bincount(group)
    for column in X.T:
        if size.max() < MANY:
            break
        value = np.unique(column, return_inverse=True)[1]
        group = np.unique(group * (value.max() + 1) + value, return_inverse=True)[1]
        size = np.bincount(group)
    sums = np.zeros((len(size), outputs.shape[1]))
    np.add.at(sums, group, outputs)
    evened: FloatArray = np.where((size >= MANY)[:, None], sums / size[:, None], np.nan)[group]
    return np.where(np.isnan(evened), outputs, evened)


def _gates(
    own: LabelledData,
    columns: list[list[int]],
    outputs: FloatArray,
    seed: int,
    n_jobs: int | None,
) -> tuple[tuple[Forest, ...], FloatArray]:
    """Fit for each stage how far its predictions are from those of the best stage.

    That is the squared error which a later stage may save. It is cross-fitted, too.
    """
    numbers = outputs[:, :, 0]
    errors = own.weights @ (numbers - np.asarray(own.y)[:, None]) ** 2
    far = (numbers - numbers[:, [int(np.argmin(errors))]]) ** 2
    halves = make_folds(own._replace(y=far[:, 0]), seed)

    def fit(number: int) -> tuple[Forest, FloatArray]:
        target = own._replace(y=far[:, number])
        if not columns[number]:
            return constant_forest(target), np.full(len(own.y), target.constant()[0])
        expected = np.full(len(own.y), np.nan)
        for train, others in halves:
            some = target.take(train)
            model = _gate(some, columns[number], seed)
            expected[others] = model.predict(own.X[others][:, columns[number]])
        left = np.isnan(expected)
        model = _gate(target, columns[number], seed)
        if left.any():
            expected[left] = model.predict(own.X[left][:, columns[number]])
        return as_member(model, own, columns[number]), _evened(
            expected[:, None], own.columns(columns[number])
        )[:, 0]

    fitted = for_each(fit, range(len(columns)), n_jobs)
    return tuple(gate for gate, _ in fitted), np.column_stack([found for _, found in fitted])


def _gate(target: LabelledData, features: list[int], seed: int) -> Any:
    leaf = max(1, min(GATE_LEAF, len(target.y) // 10))
    trees = ExtraTreesRegressor(GATE_TREES, min_samples_leaf=leaf, random_state=seed)
    return trees.fit(target.columns(features), target.y, sample_weight=target.weights)
