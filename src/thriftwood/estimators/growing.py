"""Growing the trees of a forest, each on a sample of its own, on threads and within a budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from thriftwood.adapters import decision_tree, read_forest
from thriftwood.estimators.budget_limit import BudgetLimit
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray
from thriftwood.support.parallel import Progress, for_each, n_threads
from thriftwood.training import (
    Growth,
    RankedColumns,
    grow_tree,
    rank_columns,
)


class Rows(NamedTuple):
    """What to grow on: the table, class numbers, and how much each row counts."""

    X: NDArray[np.float32]
    label: IndexArray
    weight: FloatArray


class Draws(NamedTuple):
    """How the sample of each tree is drawn: a seed for each, and the rows that count at all."""

    seeds: IntArray
    counted: IntArray
    bootstrap: bool

    def sample(self, seed: int) -> IntArray:
        """Return the rows of the tree with a seed, in the order in which they are drawn."""
        if not self.bootstrap:
            return self.counted
        n_samples = len(self.counted)
        return self.counted[np.random.RandomState(seed).randint(n_samples, size=n_samples)]


@dataclass(frozen=True, eq=False)
class Grower:
    """What all trees of a forest have in common.

    Attributes
    ----------
    rows : Rows
    n_classes : int
    growth : Growth
    draws : Draws
    min_leaf_share : float
        Which share of the weight of its sample each leaf has at least.
    balanced : bool
        Whether all classes weigh the same in each sample.
    parameters : dict
        What the trees say about how they were grown.
    """

    rows: Rows
    n_classes: int
    growth: Growth
    draws: Draws
    min_leaf_share: float
    balanced: bool
    parameters: dict[str, Any]

    def grow_all(
        self, limit: BudgetLimit | None, n_jobs: int | None, progress: Progress
    ) -> list[DecisionTreeClassifier]:
        """Grow all trees, or a few at a time until the budget is used up."""
        columns = rank_columns(self.rows.X, n_jobs)
        n_trees = len(self.draws.seeds)
        n_at_once = n_trees if limit is None else n_threads(n_jobs)
        trees: list[DecisionTreeClassifier] = [None] * n_trees

        def grow(number: int) -> None:
            trees[number] = self._grow_one(columns, int(self.draws.seeds[number]))
            progress((number + 1) / n_trees)

        for first in range(0, n_trees, n_at_once):
            batch = range(first, min(first + n_at_once, n_trees))
            for_each(grow, batch, n_jobs)
            if limit is None:
                continue
            for number in batch:
                if not limit.allows(read_forest(trees[number])):
                    return trees[:number]
        return trees

    def _grow_one(self, columns: RankedColumns, seed: int) -> DecisionTreeClassifier:
        rows, sample = self.rows, self.draws.sample(seed)
        weight = rows.weight * np.bincount(sample, minlength=len(rows.weight))
        if self.balanced:
            weight *= compute_sample_weight("balanced", rows.label, indices=sample)
        growth = replace(self.growth, min_weight_leaf=self.min_leaf_share * weight.sum())
        tree = grow_tree(columns, rows.label, weight, self.n_classes, growth, seed)
        return decision_tree(
            tree.forest,
            tree.counts,
            tree.n_samples,
            growth.max_features or rows.X.shape[1],
            random_state=seed,
            **self.parameters,
        )
