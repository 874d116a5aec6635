"""Small forests and rows with prices of every kind, drawn at random."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from builders import forest_of, trees
from hypothesis import strategies as st
from receipts import rows_as_compared, stop

import thriftwood as tw
from thriftwood.forest import Forest

NAMES = ("age", "pulse", "sugar", "scan", "index")
PRICES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 2.1, 5.17])
PREDICTIONS = st.sampled_from([1, 3, 4, 10, 2.5, 1000.0])


class PricedCase(NamedTuple):
    """A forest, rows and what they pay."""

    forest: Forest
    X: Any
    y: np.ndarray
    costs: tw.Costs
    weights: np.ndarray | None
    names: tuple[str, ...] | None

    @property
    def options(self):
        return {"costs": self.costs, "sample_weight": self.weights}

    def __repr__(self):
        """Say what reproduces the case: hypothesis prints it."""
        given_costs = {
            field.name: getattr(self.costs, field.name)
            for field in fields(self.costs)
            if getattr(self.costs, field.name) is not field.default
        }
        f = self.forest
        return (
            f"feature={f.feature.tolist()} threshold={f.threshold.tolist()} left={f.left.tolist()} "
            f"right={f.right.tolist()} start={f.tree_start.tolist()} "
            f"missing_left={f.missing_left.tolist()} values={f.values.tolist()} "
            f"n_features={f.n_features} names={f.feature_names}\n"
            f"X={self.X!r}\ny={self.y.tolist()} weights={self.weights}\ncosts={given_costs}"
        )


@st.composite
def priced_cases(draw, most_trees=3, most_splits=3, most_rows=5):
    """Draw a forest, rows, labels, prices of any kinds together, and weights."""
    n_features = draw(st.integers(1, len(NAMES)))
    n_samples = draw(st.integers(1, most_rows))
    names = NAMES[:n_features] if draw(st.booleans()) else None
    forest, X = draw(_forests_and_rows(n_features, n_samples, most_trees, most_splits))
    y = draw(_labels(forest, X))
    if names is not None:
        # Names come from the model, or else from the rows.
        if draw(st.booleans()):
            forest = replace(forest, feature_names=names)
        else:
            X = pd.DataFrame(X, columns=names)
    features = list(range(n_features)) if names is None else list(names)
    costs = draw(costs_for(features, n_samples))
    return PricedCase(forest, X, y, costs, draw(_weights(costs, n_samples)), names)


@st.composite
def costs_for(draw, features, n_samples):
    """Draw prices for features, by name or number, and rows."""
    groups = draw(st.one_of(st.none(), _groups(features)))
    items = features + list(groups or {})
    prices = {
        "groups": groups,
        "group_fee": draw(_sometimes(_some(list(groups), PRICES))) if groups else None,
        "per_feature": draw(_sometimes(_for_each(features, PRICES), often=3)),
        "requires": draw(_sometimes(_requires(features))),
        "per_model": draw(_sometimes(_for_each(features, PRICES) | _some(items, PRICES), often=1)),
        "per_split": draw(st.just(0.0) | PRICES),
        "per_node": draw(st.just(0.0) | PRICES),
        "known": draw(_sometimes(_table(features, n_samples, st.booleans()), often=1)),
        "per_sample": draw(_sometimes(_table(features, n_samples, PRICES), often=1)),
        "shared_by": draw(_sometimes(_ids(n_samples) | _some(items, _ids(n_samples)), often=1)),
        "weigh_bills": draw(st.booleans()),
    }
    if prices["per_model"] is not None or prices["per_node"] or draw(st.booleans()):
        prices["predictions"] = draw(PREDICTIONS)
    _name_each_price_once(prices)
    return tw.Costs(**prices)


def id_arrays(costs):
    """Return every array of ids that prices are shared by."""
    shared = costs.shared_by
    if shared is None:
        return []
    return list(shared.values()) if isinstance(shared, Mapping) else [shared]


@st.composite
def _forests_and_rows(draw, n_features, n_samples, most_trees, most_splits):
    """Draw trees and rows with ties, missing values, and values that only float32 calls equal."""
    drawn = [draw(trees(n_features, most_splits)) for _ in range(draw(st.integers(1, most_trees)))]
    if len(drawn) < most_trees and draw(st.booleans()):
        drawn.append(drawn[0])  # what one tree has paid is free for another
    forest = forest_of(*drawn, n_features=n_features)
    flags = [draw(st.booleans()) for _ in range(forest.n_nodes)]
    value = st.sampled_from([0.0, 1.0, 2.0, 3.0, 1.0 + 1e-9, np.nan])
    X = np.array([[draw(value) for _ in range(n_features)] for _ in range(n_samples)])
    values = forest.values.copy()
    if draw(st.booleans()):  # both sides of every split say something else
        values[forest.left[forest.is_split]] = (1.0, 0.0)
        values[forest.right[forest.is_split]] = (0.25, 0.75)
    missing_left = np.array(flags) & forest.is_split
    return replace(forest, values=values, missing_left=missing_left), X


@st.composite
def _labels(draw, forest, X):
    """Draw any labels or, so that splits are worth something, what one of the trees says."""
    labels = np.array([draw(st.integers(0, 1)) for _ in range(len(X))])
    tree = draw(st.integers(-2, forest.n_trees - 1))
    if tree >= 0:
        rows = rows_as_compared(forest, X)
        leaves = [stop(forest, tree, values, forest.is_split) for values in rows]
        labels[1:] = forest.values[leaves].argmax(axis=1)[1:]
    return labels


@st.composite
def _groups(draw, features):
    """Draw groups that overlap, and contain groups drawn before them."""
    groups = {}
    for name in ("blood", "lab", "visit")[: draw(st.integers(1, 3))]:
        members = st.lists(
            st.sampled_from(features + list(groups)), min_size=1, max_size=3, unique=True
        )
        groups[name] = draw(members)
    return dict(draw(st.permutations(list(groups.items()))))


@st.composite
def _requires(draw, features):
    """Draw chains, trees and diamonds: a feature needs some of those that come before it."""
    order = draw(st.permutations(features))
    needs = {
        feature: draw(st.lists(st.sampled_from(order[:place]), unique=True, max_size=2))
        for place, feature in enumerate(order)
        if place
    }
    return {feature: before for feature, before in needs.items() if before}


@st.composite
def _some(draw, keys, values):
    """Draw a mapping from at least one of the keys."""
    chosen = draw(st.lists(st.sampled_from(keys), min_size=1, unique=True))
    return {key: draw(values) for key in chosen}


@st.composite
def _for_each(draw, features, values):
    """Draw a value for each feature, in an array or a mapping."""
    drawn = [draw(values) for _ in features]
    return dict(zip(features, drawn, strict=True)) if draw(st.booleans()) else np.array(drawn)


@st.composite
def _table(draw, features, n_samples, values):
    """Draw a value for each row and feature, or a mapping from some features to those of rows."""
    column = st.lists(values, min_size=n_samples, max_size=n_samples).map(np.array)
    if draw(st.booleans()):
        return draw(_some(features, column))
    return np.column_stack([draw(column) for _ in features])


def _ids(n_samples):
    """Numbers or words: any ids will do."""
    ids = st.sampled_from([7, -1, 3]) | st.just(7), st.sampled_from(["a", "b", "query"])
    return st.one_of(
        *[st.lists(one, min_size=n_samples, max_size=n_samples).map(np.array) for one in ids]
    )


def _sometimes(strategy, often=2):
    """None or, `often` out of `often + 1` times, what the strategy draws."""
    return st.one_of(st.none(), *[strategy] * often)


def _name_each_price_once(prices):
    """Leave out prices of rows for what they pay together, and prices that all rows replace."""
    table, shared = prices["per_sample"], prices["shared_by"]
    if table is None:
        return
    if shared is not None:
        by_name = isinstance(table, dict) and isinstance(shared, dict)
        alone = {name: table[name] for name in table if name not in shared} if by_name else {}
        table = prices["per_sample"] = alone or None
    if table is not None and not isinstance(table, dict):
        prices["per_feature"] = None


@st.composite
def _weights(draw, costs, n_samples):
    """Draw weights that are equal within every batch, and not all 0."""
    if draw(st.booleans()):
        return None
    weights = np.array([draw(st.sampled_from([1.0, 2.0, 3.0, 0.5])) for _ in range(n_samples)])
    for _ in range(n_samples):  # batches of different items may overlap
        for ids in id_arrays(costs):
            for batch in set(ids.tolist()):
                weights[ids == batch] = weights[ids == batch].max()
    if draw(st.integers(0, 4)) == 0:
        light = weights == weights.min()
        weights[light] = 1.0 if light.all() else 0.0
    return weights
