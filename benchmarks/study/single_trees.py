"""Single trees that know prices: STreeD's optimal ones, and imodels' greedy ones."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from held_out import Rows, Split

from thriftwood.thrifty import PricedUnits

from .choosing import Choice, best_candidate
from .data import Task
from .meter import Predict, Prediction

MOST_COLUMNS = 30  # beyond, STreeD's search ends the process
MOST_ROWS = 700  # beyond, imodels' pure Python takes too long
LEAVES = (2, 3, 4, 6, 8, 12, 16)
CUTS = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95])
# What an error costs, as a part of the price of all features together.
ERRORS = (0.1, 0.3, 0.7, 1.5, 3.0, 8.0, 30.0)
MISSING = -1e6  # for trees that know no missing values


def imodels_tree(task: Task, split: Split, seed: int, quick: bool) -> Choice:  # noqa: ARG001
    """imodels' tree, whose splits are judged by information gain divided by price."""
    from imodels.tree.custom_greedy_tree import CustomDecisionTreeClassifier

    def grown(rows: Rows, n_leaves: int) -> Predict:
        tree = CustomDecisionTreeClassifier(n_leaves, "cost_information_gain_ratio")
        tree.fit(filled(rows.X), rows.y, feature_costs=task.alone)
        return lambda X: walked(tree.root, filled(X))

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        return [partial(grown, rows, n_leaves) for n_leaves in LEAVES[: 2 if quick else None]]

    return best_candidate(family, task, split)


def filled(X: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(X), MISSING, X)


def walked(root: Any, X: np.ndarray) -> Prediction:
    """Send samples down a tree of imodels."""
    used = np.zeros(X.shape, dtype=np.bool_)
    probability = np.empty((len(X), len(root.predicted_probs)))
    stack = [(root, np.arange(len(X)))]
    while stack:
        node, rows = stack.pop()
        if node.left is None or node.right is None:
            probability[rows] = node.predicted_probs
            continue
        used[rows, node.feature_index] = True
        goes_left = X[rows, node.feature_index] < node.threshold
        stack += [(node.left, rows[goes_left]), (node.right, rows[~goes_left])]
    return Prediction(probability, used)


def streed(task: Task, split: Split, seed: int, quick: bool) -> Choice:  # noqa: ARG001
    """STreeD's trees of depth 3, optimal for bill and errors together at many costs of an error."""
    total = PricedUnits(task.price_list).price(range(task.X.shape[1]))

    def grown(rows: Rows, part: float) -> Predict:
        return OptimalTree(task, rows, part * total).predict

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        return [partial(grown, rows, part) for part in (ERRORS[1:3] if quick else ERRORS)]

    return best_candidate(family, task, split)


class OptimalTree:
    """A tree of STreeD on columns cut at their quantiles."""

    def __init__(self, task: Task, rows: Rows, error_cost: float, hyper_tune: bool = False) -> None:
        from pystreed import STreeDCostSensitiveClassifier
        from pystreed.data import CostSpecifier, FeatureCostSpecifier

        self._cuts = [np.unique(np.nanquantile(column, CUTS)) for column in rows.X.T]
        n_cuts = list(map(len, self._cuts))
        self._column = np.repeat(np.arange(len(n_cuts)), n_cuts)
        first = np.cumsum([0, *n_cuts])
        units = PricedUnits(task.price_list)
        features = [
            FeatureCostSpecifier(*priced(units, k), int(first[k]), int(first[k + 1]) - 1)
            for k in range(len(n_cuts))  # both ends are inclusive
        ]
        errors = error_cost * (1 - np.eye(task.n_classes))
        model = STreeDCostSensitiveClassifier(max_depth=3, hyper_tune=hyper_tune, time_limit=60)
        model.fit(binary(rows.X, self._cuts), rows.y, CostSpecifier(errors.tolist(), features))
        self._model, self._tree = model, model.get_tree()
        self._shares = leaf_shares(self, rows, task.n_classes)

    def predict(self, X: np.ndarray) -> Prediction:
        """Return shares of classes among the training samples of a leaf."""
        leaf, used = self.walked(X)
        return Prediction(self._shares[leaf], used)

    def walked(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of the leaf where each sample ends, and what it was asked for."""
        rows, used = binary(X, self._cuts), np.zeros(X.shape, dtype=np.bool_)
        leaf, n_leaves = np.empty(len(X), dtype=np.int64), 0
        stack = [(self._tree, np.arange(len(X)))]
        while stack:
            node, own = stack.pop()
            if node.is_leaf_node():
                leaf[own], n_leaves = n_leaves, n_leaves + 1
                continue
            used[own, self._column[node.feature]] = True
            goes_right = rows[own, node.feature] == 1
            stack += [(node.right_child, own[goes_right]), (node.left_child, own[~goes_right])]
        return leaf, used


def leaf_shares(tree: OptimalTree, rows: Rows, n_classes: int) -> np.ndarray:
    leaf, _ = tree.walked(rows.X)
    counts = np.zeros((64, n_classes))
    np.add.at(counts, (leaf, rows.y), 1)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def binary(X: np.ndarray, cuts: Sequence[np.ndarray]) -> np.ndarray:
    columns = [X[:, [k]] <= own for k, own in enumerate(cuts)]
    return np.hstack(columns).astype(np.int32)


def priced(units: PricedUnits, feature: int) -> tuple[float, float, str]:
    """Return the price of a feature, what it costs beside another of its group, and the group."""
    groups = [unit for unit in units.units if len(unit) > 1 and feature in unit]
    own = units.price([feature])
    if not groups:
        return own, own, f"own {feature}"
    other = min(groups[0] - {feature})
    return own, units.price([feature, other]) - units.price([other]), f"group {min(groups[0])}"
