"""Make points of a path the stages of a cascade, and tune when rows may stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import forest_model, read_forest
from thriftwood.billing import bill_of_stages, model_cost_of
from thriftwood.cascade import (
    CascadeClassifier,
    StageTrial,
    calibrated,
    cascade_at,
    tune_rules,
)
from thriftwood.costs import AnyCosts, PriceList, prices_of_samples
from thriftwood.errors import InputError
from thriftwood.forest import (
    Forest,
    collapse,
    leaves,
    margins_of,
    one_stage,
    predictions,
    scores,
)
from thriftwood.forest.table import Table, read_rows
from thriftwood.problem.counting import times_counted
from thriftwood.problem.targets import read_target, read_weights
from thriftwood.problem.validation import bootstrap_for, read_points
from thriftwood.refitting import LabelledSamples, read_labelled, refit_model
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import is_whole, whole_number

# How many stages to try; more take longer and bring nothing.
N_STAGES = 18
OUT_OF_BAG = "out_of_bag"


def cascade_of(
    path: Any,
    X: Any,
    y: ArrayLike,
    budget: float | None,
    stages: int | Sequence[int],
    refit: LabelledSamples | None,
    samples: str,
    sample_weight: ArrayLike | None,
    costs: AnyCosts,
    n_jobs: int | None,
    progress: bool | None,
) -> CascadeClassifier:
    """Return a cascade of points of a path; parameters as in `PruningPath.cascade`."""
    _check_can_stop(path.forest)
    table = read_rows(X, path.forest)
    target = read_target(y, path.forest, table.n_samples).astype(np.int32)
    weights = read_weights(sample_weight, table.n_samples)
    prices = prices_of_samples(
        path.prices, "path", costs, path.forest.feature_names, table.n_samples
    )
    _check_prices(prices)
    predicts = _predicting_trees(path, samples, refit, table.n_samples)
    forests = _forests(path, stages)
    counts = np.where(predicts.any(axis=0), weights, 0.0)
    if not counts.any():
        raise InputError(f"With samples={samples!r} no sample counts that has any weight.")
    counts /= counts.sum()
    looks, surest, least = [], np.empty((0, 0)), np.inf
    with progress_bar("Cascading", progress) as bar:
        for number, forest in enumerate(forests):
            bar(number / len(forests))
            if refit is not None and forest.n_splits < path.forest.n_splits:
                forests[number] = forest = _refitted(forest, refit, (X, y, weights), n_jobs)
            of_all = scores(forest, table.values, n_jobs)
            found = _scores(forest, table, predicts, of_all, n_jobs)
            looks.append(_look(forest, table, found, of_all, prices, n_jobs))
            probability, loss = calibrated(found, target, counts)
            if loss < least:
                surest, least = probability, loss
    trial = StageTrial(
        margins=np.column_stack([look.margins for look in looks]),
        margins_of_all=np.column_stack([look.margins_of_all for look in looks]),
        labels=np.column_stack([look.labels for look in looks]),
        probability=surest,
        target=target,
        bills=np.column_stack([look.bills for look in looks]),
        weights=counts,
        model_costs=np.array([look.model_cost for look in looks]),
    )
    rules = tune_rules(trial)
    return cascade_at(tuple(forests), prices.without_samples(), rules, budget, n_jobs)


def _check_can_stop(forest: Forest) -> None:
    if not forest.is_classifier:
        raise InputError(
            "A cascade stops where the class of a row is clear, and this model predicts numbers. "
            "Take a point of the path by `path.at(...)`, or mix two by `path.mix(...)`."
        )


def _check_prices(prices: PriceList) -> None:
    if (prices.payer >= 0).any():
        raise InputError(
            "With `shared_by` what a row pays depends on where other rows stop, so that no row can "
            "be told when to stop. Leave it out of `costs`."
        )


def _forests(path: Any, stages: int | Sequence[int]) -> list[Forest]:
    """Return the forests of the stages, from cheap to rich."""
    if is_whole(stages):
        n_points = whole_number(stages, "stages", 1) - 1
        return [*(_forest_at(path, one) for one in _spread(path, n_points)), path.forest]
    points = read_points(stages, len(path), "stages")
    return [_forest_at(path, point) for point in sorted(set(points.tolist()), reverse=True)]


def _forest_at(path: Any, point: int) -> Forest:
    return collapse(path.forest, path.kept_nodes(point))[0]


def _spread(path: Any, n_points: int) -> list[int]:
    """Return points from cheap to rich, far apart from each other in the logarithm of their costs.

    The last and the first point of the path are taken first, then always the point that is
    farthest from all those taken.
    """
    some_cost = path.costs[path.costs > 0].min(initial=np.inf)
    place = np.log1p(path.costs / some_cost)
    taken = [len(path) - 1, 0][:n_points]
    distance = np.abs(place[:, None] - place[taken]).min(axis=1, initial=np.inf)
    while len(taken) < n_points and distance.max() > 0:
        taken.append(int(distance.argmax()))
        distance = np.minimum(distance, np.abs(place - place[taken[-1]]))
    return sorted(set(taken), reverse=True)


def _refitted(
    forest: Forest,
    rows: LabelledSamples,
    validation: LabelledSamples,
    n_jobs: int | None,
) -> Forest:
    """Return a forest with values fitted again, or as it is, if that predicts better."""
    X, y, weight = read_labelled(rows, "refit")
    model, _ = refit_model(forest_model(forest), (X, y, weight), validation, n_jobs=n_jobs)
    refitted = read_forest(model)
    return refitted if refitted.n_outputs == forest.n_outputs else _in_two_scores(refitted)


def _in_two_scores(forest: Forest) -> Forest:
    """Return a forest that scores both of two classes and predicts what a logistic one does.

    So all stages have the same outputs: forests that average probabilities have two.
    """
    nothing = np.zeros((forest.n_nodes, 1))
    return replace(
        forest,
        values=np.hstack([nothing, forest.values]),
        bias=np.concatenate([[0.0], forest.bias]),
        link="softmax",
    ).check()


def _predicting_trees(path: Any, samples: str, refit: Any, n_samples: int) -> BoolArray:
    """Return which trees predict which rows, shape (n_trees, n_samples)."""
    if samples not in ("all", OUT_OF_BAG):
        raise InputError(f"`samples` is {samples!r}: choose 'all' or {OUT_OF_BAG!r}.")
    if samples == OUT_OF_BAG and refit is not None:
        raise InputError(
            f"Refitted values have seen every training sample, so that samples={samples!r} has "
            "no meaning for them: pass samples that the model was not trained on, or leave "
            "`refit` out."
        )
    times = times_counted(samples, bootstrap_for(path, samples), path.forest.n_trees, n_samples)
    return times > 0


def _scores(
    forest: Forest, table: Table, predicts: BoolArray, of_all: FloatArray, n_jobs: int | None
) -> FloatArray:
    """Return the scores of rows by the trees that predict them."""
    if predicts.all():
        return of_all
    return _scores_of_some(forest, leaves(forest, table.values, n_jobs), predicts)


class _Look(NamedTuple):
    """What one stage says about the rows; as in `StageTrial`."""

    margins: FloatArray
    margins_of_all: FloatArray
    labels: IntArray
    bills: FloatArray
    model_cost: float


def _look(
    forest: Forest,
    table: Table,
    found: FloatArray,
    of_all: FloatArray,
    prices: PriceList,
    n_jobs: int | None,
) -> _Look:
    return _Look(
        margins=margins_of(forest, table.values, found),
        margins_of_all=margins_of(forest, table.values, of_all),
        labels=predictions(forest.link, found).argmax(axis=1),
        bills=bill_of_stages(one_stage(forest), table, prices, n_jobs).per_sample,
        model_cost=model_cost_of(forest, prices),
    )


def _scores_of_some(forest: Forest, reached: IndexArray, predicts: BoolArray) -> FloatArray:
    """Return the mean of the trees that predict a row; 0 where none does."""
    total = np.zeros((len(reached), forest.n_outputs))
    for tree, counts in enumerate(predicts):
        total[counts] += forest.values[reached[counts, tree]]
    mean: FloatArray = total / np.maximum(predicts.sum(axis=0), 1)[:, None]
    return mean
