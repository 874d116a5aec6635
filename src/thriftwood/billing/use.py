"""What rows are tested for on their way through a model, before anything has a price."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thriftwood.billing import kernels
from thriftwood.billing.receipt import Value
from thriftwood.forest import Forest
from thriftwood.forest.routes import route_samples
from thriftwood.forest.table import Table
from thriftwood.support.arrays import BoolArray, IntArray, read_only


class Use(Protocol):
    """What a bill needs to know of a model and of the rows that it predicts.

    One forest is a `ForestUse`. A model of several stages is whatever can answer the same: a row
    uses what the stages ask for that it goes through.
    """

    @property
    def used(self) -> BoolArray:
        """Which features each row is tested for, shape (n_samples, n_features)."""

    @property
    def n_tests(self) -> IntArray:
        """How many splits test each row."""

    def asked(self, row: int) -> list[tuple[int, int]]:
        """Return the features that a row is tested for, in order, and the tree that asks.

        A feature may come more than once: the first time it is bought.
        """

    def values(self, row: int, features: Iterable[int]) -> dict[int, Value]:
        """Return some values of a row, as people read them."""


def use_of(forest: Forest, table: Table, n_jobs: int | None = None) -> ForestUse:
    """Send rows through a forest and note what they are tested for."""
    routes = route_samples(forest, table, n_jobs)
    splits = np.flatnonzero(forest.is_split)
    used, n_tests = kernels.use_features(
        splits,
        forest.feature,
        forest.tree_of(splits),
        routes.order,
        routes.start,
        routes.stop,
        forest.n_features,
    )
    return ForestUse(forest, table.values, read_only(used), read_only(n_tests))


@dataclass(frozen=True, eq=False)
class ForestUse:
    """What rows are tested for by a forest; attributes as in `Use`."""

    forest: Forest
    rows: NDArray[Any]
    used: BoolArray
    n_tests: IntArray

    def asked(self, row: int) -> list[tuple[int, int]]:
        return first_asks(self.forest, self.rows[row])

    def values(self, row: int, features: Iterable[int]) -> dict[int, Value]:
        return values_shown(self.forest, self.rows[row], features)


def first_asks(forest: Forest, row: NDArray[Any]) -> list[tuple[int, int]]:
    """Walk one row down the trees: return each feature once, with the tree that asks first.

    Tree after tree, in each from the root down.
    """
    with np.errstate(over="ignore"):
        as_compared = row.astype(forest.input_dtype, copy=False)
    features, trees = kernels.first_asks_of(forest.splits, forest.tree_start, as_compared)
    return list(zip(features.tolist(), trees.tolist(), strict=True))


def values_shown(forest: Forest, row: NDArray[Any], features: Iterable[int]) -> dict[int, Value]:
    """Return some values of a row by feature: a number, a label, or None if missing."""
    return {feature: _shown(forest, feature, float(row[feature])) for feature in features}


def _shown(forest: Forest, feature: int, value: float) -> Value:
    if np.isnan(value):
        return None
    labels = forest.category_labels.get(feature, ())
    return labels[int(value)] if value in range(len(labels)) else value
