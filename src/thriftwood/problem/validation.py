"""Samples to measure prunings on: read and checked once, for evaluating, choosing and cascades."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import BootstrapSamples, read_class_weight
from thriftwood.costs import AnyCosts, PriceList, prices_of_samples
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import read_rows
from thriftwood.problem.problem import SampleData
from thriftwood.problem.targets import (
    ClassWeight,
    read_loss_weights,
    read_queries,
    read_target,
    read_weights,
    times_counted,
)
from thriftwood.support.arrays import IntArray


def read_validation(
    forest: Forest,
    own_prices: PriceList,
    X: Any,
    y: ArrayLike,
    samples: str = "all",
    bootstrap: BootstrapSamples | None = None,
    sample_weight: ArrayLike | None = None,
    costs: AnyCosts = None,
    class_weight: ClassWeight = None,
    qid: ArrayLike | None = None,
) -> tuple[SampleData, PriceList]:
    """Read samples to measure a model on, and their prices; as in `PruningPath.evaluate`.

    `own_prices` are those of the model.
    """
    table = read_rows(X, forest)
    target = read_target(y, forest, table.n_samples)
    weights = read_weights(sample_weight, table.n_samples)
    times = times_counted(forest.n_trees, table.n_samples, samples, bootstrap)
    query = read_queries(qid, table.n_samples)
    prices = prices_of_samples(own_prices, "path", costs, forest.columns, table.n_samples, query)
    bill_weights = prices.bill_weights(weights)
    prices.batch_weights(bill_weights)  # refuses weights that differ within a batch
    loss_weights = read_loss_weights(class_weight, forest, target, weights)
    data = SampleData(table, target, weights, bill_weights, loss_weights, times, query)
    if not data.counted(loss_weights).any():
        raise InputError(f"With samples={samples!r} no sample counts that has any weight.")
    return data, prices


def with_own_class_weights(data: SampleData, model: Any, forest: Forest) -> SampleData | None:
    """Return samples weighed as the model was trained to, or None where it weighs classes alike."""
    class_weight = read_class_weight(model, forest)
    weights = read_loss_weights(class_weight, forest, data.target, data.sample_weights)
    return None if weights is data.sample_weights else replace(data, loss_weights=weights)


def read_points(points: Any, n_points: int, name: str = "points") -> IntArray:
    """Return the user's argument `name` as points of a path, or refuse it."""
    wanted = np.asarray(points)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu" or not len(wanted):
        raise InputError(f"`{name}` is {points!r}: pass a list of points of the path.")
    outside = wanted[(wanted < -n_points) | (wanted >= n_points)]
    if len(outside):
        raise InputError(f"The path has {n_points} points: there is no point {outside[0]}.", name)
    return wanted.astype(np.int64) % n_points
