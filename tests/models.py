"""Fitted models of every supported kind, rows that are hard to route, and small drawn forests."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from thriftwood import BudgetForestClassifier
from thriftwood.forest import Forest

N_FEATURES = 4
NAMES = ["age", "pulse", "sugar", "scan"]


class Fitted(NamedTuple):
    """A fitted model and what it was trained on. Shared by all tests: nobody may change it."""

    model: Any
    X: Any
    y: Any


# --- rows and what to predict for them


def plain_rows(n_samples: int = 90, seed: int = 0) -> np.ndarray:
    """Rows of doubles, most of which no float32 can hold exactly."""
    return np.random.default_rng(seed).normal(size=(n_samples, N_FEATURES))


def rows_with_missing(n_samples: int = 90, seed: int = 0, share: float = 0.25) -> np.ndarray:
    rows = plain_rows(n_samples, seed)
    rows[np.random.default_rng(seed + 1).random(rows.shape) < share] = np.nan
    return rows


def extreme_rows() -> np.ndarray:
    """Rows of NaN, infinity, values beyond float32, and zeros of both signs."""
    special = [np.nan, np.inf, -np.inf, 1e300, -1e300, 3.5e38, 1e-300, 0.0, -0.0]
    rng = np.random.default_rng(2)
    pure = np.repeat(np.array(special)[:, None], N_FEATURES, axis=1)
    mixed = rng.choice([*special, 0.3, -0.7], size=(60, N_FEATURES))
    return np.concatenate([pure, mixed])


def rows_around(forest: Forest) -> np.ndarray:
    """For every split, rows at its threshold, and one ulp of float32 and of float64 around it."""
    base = plain_rows(1, seed=3)[0]
    rows = []
    for node in np.flatnonzero(forest.is_split):
        at = forest.threshold[node]
        near = np.float32(at)
        for value in (
            at,
            np.nextafter(at, np.inf),
            np.nextafter(at, -np.inf),
            float(near),
            float(np.nextafter(near, np.float32(np.inf))),
            float(np.nextafter(near, np.float32(-np.inf))),
        ):
            row = base.copy()
            row[forest.feature[node]] = value
            rows.append(row)
    return np.array(rows).reshape(-1, N_FEATURES)


def hard_rows(forest: Forest) -> np.ndarray:
    """All of the above in one table."""
    usual = [plain_rows(40, seed=4), rows_with_missing(40, seed=5)]
    return np.concatenate([*usual, extreme_rows(), rows_around(forest)])


def as_float32(rows: Any) -> np.ndarray:
    """Rows as scikit-learn's trees compare them."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(rows, dtype=np.float32)


def three_classes(X: np.ndarray) -> np.ndarray:
    """Classes 0, 1, 2 that depend on two features, with some noise."""
    noise = np.random.default_rng(6).normal(scale=0.4, size=len(X))
    score = np.nan_to_num(X[:, 0], nan=0.8) + np.abs(np.nan_to_num(X[:, 1])) + noise
    return np.digitize(score, [0.2, 1.2])


def two_classes(X: np.ndarray) -> np.ndarray:
    return (three_classes(X) > 0).astype(int)


def words(X: np.ndarray) -> np.ndarray:
    return np.array(["healthy", "ill", "unsure"])[three_classes(X)]


def numbers(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(7).normal(scale=0.2, size=len(X))
    return np.nan_to_num(X[:, 0], nan=1.5) * 3 + np.nan_to_num(X[:, 2]) ** 2 + noise


def one_class(X: np.ndarray) -> np.ndarray:
    return np.ones(len(X), dtype=int)


def rare_class(X: np.ndarray) -> np.ndarray:
    """Two classes and one row of a third, which most bootstrap samples miss."""
    labels = np.array(["common", "usual"])[two_classes(X)].astype("<U8")
    labels[11] = "a_rare"
    return labels


# --- models


def _on(make_rows: Callable[[], Any], make_y: Callable[[Any], Any], model: Any) -> Fitted:
    X = make_rows()
    y = make_y(X)
    return Fitted(model.fit(X, y), X, y)


def _plain(make_y: Callable[[Any], Any], model: Any) -> Fitted:
    return _on(plain_rows, make_y, model)


def _missing(make_y: Callable[[Any], Any], model: Any) -> Fitted:
    return _on(rows_with_missing, make_y, model)


def _named(make_y: Callable[[Any], Any], model: Any) -> Fitted:
    X, y = plain_rows(), make_y(plain_rows())
    frame = pd.DataFrame(X, columns=NAMES)
    return Fitted(model.fit(frame, y), frame, y)


def _missing_alone_matters() -> Fitted:
    """Only whether a value is missing matters: scikit-learn splits at infinity."""
    X = rows_with_missing()
    y = np.isnan(X[:, 0]).astype(int)
    return Fitted(DecisionTreeClassifier(random_state=0).fit(X, y), X, y)


def _bagging_missed_class() -> Fitted:
    """Trees that take no weights are trained on the drawn rows alone, and may miss a class."""
    with config_context(enable_metadata_routing=True):  # where weights must be asked for
        model = BaggingClassifier(DecisionTreeClassifier(), n_estimators=4, random_state=0)
        return _plain(rare_class, model)


SEED = {"random_state": 0}
SMALL = {"max_depth": 4, "random_state": 0}
FEW = {"n_estimators": 4, "random_state": 0}

_MAKERS: dict[str, Callable[[], Fitted]] = {
    "tree_classifier": lambda: _plain(two_classes, DecisionTreeClassifier(**SEED)),
    "tree_regressor": lambda: _plain(numbers, DecisionTreeRegressor(**SMALL)),
    "extra_tree_classifier": lambda: _plain(three_classes, ExtraTreeClassifier(**SEED)),
    "extra_tree_regressor": lambda: _plain(numbers, ExtraTreeRegressor(**SMALL)),
    "random_forest_classifier": lambda: _plain(two_classes, RandomForestClassifier(**FEW)),
    "random_forest_regressor": lambda: _plain(
        numbers, RandomForestRegressor(max_depth=4, max_samples=0.7, **FEW)
    ),
    "extra_trees_classifier": lambda: _plain(three_classes, ExtraTreesClassifier(**FEW)),
    "extra_trees_regressor": lambda: _plain(
        numbers, ExtraTreesRegressor(max_depth=4, bootstrap=True, **FEW)
    ),
    "bagging_classifier": lambda: _plain(
        three_classes, BaggingClassifier(DecisionTreeClassifier(max_depth=5), **FEW)
    ),
    "bagging_regressor": lambda: _plain(
        numbers, BaggingRegressor(DecisionTreeRegressor(max_depth=4), **FEW)
    ),
    "bagging_without_estimator": lambda: _plain(two_classes, BaggingClassifier(**FEW)),
    "bagging_of_extra_trees": lambda: _plain(
        words, BaggingClassifier(ExtraTreeClassifier(max_depth=4), **FEW)
    ),
    "bagging_column_subsets": lambda: _plain(
        three_classes,
        BaggingClassifier(DecisionTreeClassifier(max_depth=4), max_features=0.5, **FEW),
    ),
    "bagging_columns_twice": lambda: _plain(
        numbers,
        BaggingRegressor(DecisionTreeRegressor(max_depth=4), bootstrap_features=True, **FEW),
    ),
    "bagging_missed_class": _bagging_missed_class,
    "words_as_labels": lambda: _plain(words, RandomForestClassifier(**FEW)),
    "booleans_as_labels": lambda: _plain(
        lambda X: two_classes(X).astype(bool), ExtraTreesClassifier(max_depth=4, **FEW)
    ),
    "class_weights": lambda: _plain(
        three_classes, RandomForestClassifier(class_weight="balanced", max_depth=4, **FEW)
    ),
    "monotonic": lambda: _plain(
        two_classes, DecisionTreeClassifier(monotonic_cst=[1, 0, 0, -1], **SEED)
    ),
    "absolute_error": lambda: _plain(
        numbers, DecisionTreeRegressor(criterion="absolute_error", **SMALL)
    ),
    "missing_tree_classifier": lambda: _missing(two_classes, DecisionTreeClassifier(**SEED)),
    "missing_tree_regressor": lambda: _missing(numbers, DecisionTreeRegressor(**SMALL)),
    "missing_extra_tree": lambda: _missing(three_classes, ExtraTreeClassifier(**SEED)),
    "missing_random_forest": lambda: _missing(words, RandomForestClassifier(max_depth=4, **FEW)),
    "missing_extra_trees": lambda: _missing(numbers, ExtraTreesRegressor(max_depth=4, **FEW)),
    "missing_bagging": lambda: _missing(
        three_classes, BaggingClassifier(DecisionTreeClassifier(max_depth=4), **FEW)
    ),
    "missing_alone_matters": _missing_alone_matters,
    "budget_forest": lambda: _plain(three_classes, BudgetForestClassifier(**FEW)),
    "missing_budget_forest": lambda: _missing(words, BudgetForestClassifier(max_depth=4, **FEW)),
    "named_budget_forest": lambda: _named(
        two_classes, BudgetForestClassifier(max_features="sqrt", **FEW)
    ),
    "best_first_tree": lambda: _plain(
        three_classes, DecisionTreeClassifier(max_leaf_nodes=12, **SEED)
    ),
    "best_first_forest": lambda: _missing(numbers, RandomForestRegressor(max_leaf_nodes=9, **FEW)),
    "named_columns": lambda: _named(two_classes, RandomForestClassifier(max_depth=4, **FEW)),
    "named_bagging": lambda: _named(
        numbers, BaggingRegressor(DecisionTreeRegressor(max_depth=3), max_features=2, **FEW)
    ),
    "stump": lambda: _plain(two_classes, DecisionTreeClassifier(max_depth=1, **SEED)),
    "single_leaf": lambda: _plain(one_class, DecisionTreeClassifier(**SEED)),
    "single_leaf_regressor": lambda: _plain(one_class, DecisionTreeRegressor(**SEED)),
    "forest_of_leaves": lambda: _plain(one_class, RandomForestClassifier(**FEW)),
}

KINDS = tuple(_MAKERS)


@cache
def fitted(kind: str) -> Fitted:
    """Return a fitted model by the name of its kind."""
    return _MAKERS[kind]()


def trees_of(model: Any) -> list[Any]:
    """The tree estimators of a model, which may be a tree itself."""
    return list(getattr(model, "estimators_", [model]))


def columns_of(model: Any, tree: int) -> np.ndarray:
    """The columns of the model that one of its trees sees."""
    subsets = getattr(model, "estimators_features_", None)
    return np.arange(model.n_features_in_) if subsets is None else subsets[tree]


# --- forests and masks


def random_kept(forest: Forest, seed: int, share: float) -> np.ndarray:
    """A mask that keeps about this share of the splits whose parents are kept."""
    rng = np.random.default_rng(seed)
    kept = np.zeros(forest.n_nodes, dtype=bool)
    for node in np.flatnonzero(forest.is_split):
        parent = forest.parent[node]
        kept[node] = (parent == -1 or kept[parent]) and rng.random() < share
    return kept


@st.composite
def small_forests(draw: st.DrawFn) -> Forest:
    """Up to three trees of up to six splits, in any order that puts children after parents."""
    n_features = draw(st.integers(1, 3))
    start, feature, threshold, left, right, missing = [0], [], [], [], [], []
    for _ in range(draw(st.integers(1, 3))):
        first = start[-1]
        leaves, size = [first], 1
        own = {first: None}
        for _ in range(draw(st.integers(0, 6))):
            node = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
            children = [first + size, first + size + 1]
            if draw(st.booleans()):
                children.reverse()
            own[node] = (
                draw(st.integers(0, n_features - 1)),
                draw(st.sampled_from([-1.0, -0.5, 0.0, 0.1, 1.0, np.inf])),
                *children,
                draw(st.booleans()),
            )
            own.update(dict.fromkeys(children))
            leaves += children
            size += 2
        for node in range(first, first + size):
            split = own[node] or (-1, 0.0, -1, -1, False)
            for column, entry in zip(
                (feature, threshold, left, right, missing), split, strict=True
            ):
                column.append(entry)
        start.append(first + size)
    values = np.arange(start[-1], dtype=float)[:, None]
    return Forest(start, feature, threshold, left, right, missing, values, n_features)


@st.composite
def forests_of_all_splits(draw: st.DrawFn) -> Forest:
    """Small forests of several outputs, some of whose splits choose categories or miss zeros."""
    forest = draw(small_forests())
    splits = np.flatnonzero(forest.is_split)
    sets = draw(st.lists(st.lists(st.booleans(), max_size=4), min_size=1, max_size=3))
    category_set = np.full(forest.n_nodes, -1)
    zero_is_missing = np.zeros(forest.n_nodes, dtype=bool)
    for node in splits:
        kind = draw(st.sampled_from(["threshold", "threshold", "zero", "categories"]))
        zero_is_missing[node] = kind == "zero"
        if kind == "categories":
            category_set[node] = draw(st.integers(0, len(sets) - 1))
    n_outputs = draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    combine = draw(st.sampled_from(["mean", "sum"]))
    values = np.random.default_rng(seed).normal(size=(forest.n_nodes, n_outputs))
    return replace(
        forest,
        values=shares(values) if n_outputs > 1 and combine == "mean" else values,
        bias=draw(st.lists(st.sampled_from([0.0, 0.1]), min_size=n_outputs, max_size=n_outputs)),
        combine=combine,
        classes=np.arange(n_outputs) if n_outputs > 1 else None,
        input_dtype=np.dtype(draw(st.sampled_from([np.float32, np.float64]))),
        zero_is_missing=zero_is_missing,
        category_set=category_set,
        set_start=np.cumsum([0, *map(len, sets)]),
        in_set=np.array([own for members in sets for own in members], dtype=bool),
    ).check()


def shares(values: np.ndarray) -> np.ndarray:
    """Make probabilities of any numbers, row by row."""
    size = np.abs(values) + 1e-3
    return size / size.sum(axis=1, keepdims=True)


@st.composite
def forests_and_masks(draw: st.DrawFn) -> tuple[Forest, np.ndarray]:
    forest = draw(small_forests())
    return forest, draw(masks_of(forest))


def masks_of(forest: Forest, inside: np.ndarray | None = None) -> st.SearchStrategy[np.ndarray]:
    """Masks that `collapse` accepts; only splits of `inside` are kept where that is given."""
    allowed = forest.is_split if inside is None else inside

    def close(drawn: list[bool]) -> np.ndarray:
        kept = np.array(drawn) & allowed
        for node in np.flatnonzero(kept):
            parent = forest.parent[node]
            kept[node] = parent == -1 or kept[parent]
        return kept

    # Keep more often than not: otherwise most splits fall with an ancestor.
    often = st.sampled_from([True, True, True, False])
    return st.lists(often, min_size=forest.n_nodes, max_size=forest.n_nodes).map(close)


def walk(forest: Forest, tree: int, row: np.ndarray) -> list[int]:
    """The nodes that a row passes, from the root to its leaf: the plain definition."""

    def goes_left(value: float) -> bool:
        if np.isnan(value) or (
            forest.zero_is_missing[node] and abs(value) <= float(np.float32(1e-35))
        ):
            return bool(forest.missing_left[node])
        chosen = forest.category_set[node]
        if chosen == -1:
            return bool(value <= forest.threshold[node])
        members = forest.in_set[forest.set_start[chosen] : forest.set_start[chosen + 1]]
        return any(np.trunc(value) == np.flatnonzero(members))

    node = int(forest.tree_start[tree])
    route = [node]
    while forest.left[node] != -1:
        value = float(row[forest.feature[node]])
        node = int(forest.left[node] if goes_left(value) else forest.right[node])
        route.append(node)
    return route


def assert_equal_forests(one: Forest, other: Forest) -> None:
    for name in ("tree_start", "feature", "threshold", "left", "right", "missing_left", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.classes is None) == (other.classes is None)
    if one.classes is not None:
        assert one.classes.tolist() == other.classes.tolist()
    for name in ("n_features", "combine", "feature_names", "input_dtype"):
        assert getattr(one, name) == getattr(other, name), name
