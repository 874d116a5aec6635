"""Forests of every kind that a format must hold, and the rows to try them on."""

import os
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from adapter_laws import awkward_rows
from hypothesis import strategies as st
from models import as_float32, fitted, hard_rows, random_kept, small_forests
from numpy.typing import NDArray

from thriftwood.adapters import read_forest
from thriftwood.forest import Forest, collapse, predict

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before anybody imports onnxruntime


def _summed(kind: str, link: str, bias: float, **others: Any) -> Forest:
    """A forest of scikit-learn as if it had been boosted."""
    forest = read_forest(fitted(kind).model)
    shift = bias * np.arange(1, forest.n_outputs + 1)
    return replace(forest, combine="sum", link=link, bias=shift, **others).check()


def _pruned(kind: str) -> Forest:
    forest = read_forest(fitted(kind).model)
    return collapse(forest, random_kept(forest, 3, 0.6))[0]


def _with_categories(dtype: type, missing: bool = True) -> Forest:
    """Sets of categories of every awkward size: none, all, few, beyond 32 and 64."""
    forest = read_forest(fitted("missing_random_forest").model)
    rng = np.random.default_rng(5)
    sizes = [0, 1, 3, 33, 70, 200]
    start = np.concatenate([[0], np.cumsum(sizes)])
    in_set = rng.random(start[-1]) < 0.5
    in_set[start[1] : start[3]] = [True, False, False, False]  # the second is full, the third empty
    chosen = np.where(
        forest.is_split & (forest.feature < 2), rng.integers(0, 6, forest.n_nodes), -1
    )
    threshold = np.where(chosen >= 0, 0.0, forest.threshold)
    return replace(
        forest,
        threshold=threshold,
        category_set=chosen,
        set_start=start,
        in_set=in_set,
        missing_left=forest.missing_left & missing,
        input_dtype=np.dtype(dtype),
    ).check()


def _with_zeros(dtype: type, share: float = 0.7) -> Forest:
    """Splits of which some, on the same features as others, take 0 for missing."""
    forest = read_forest(fitted("missing_extra_trees").model)
    rng = np.random.default_rng(6)
    zero = forest.is_split & (rng.random(forest.n_nodes) < share)
    threshold = np.where(rng.random(forest.n_nodes) < 0.2, 0.0, forest.threshold)
    return replace(
        forest,
        threshold=np.where(forest.is_split, threshold, 0.0),
        zero_is_missing=zero,
        input_dtype=np.dtype(dtype),
    ).check()


def _beyond_float32() -> Forest:
    """Thresholds that no float32 number can come near."""
    forest = _summed("tree_regressor", "identity", 0.5, input_dtype=np.dtype(np.float64))
    far = [1e300, -1e300, 3.5e38, -3.5e38, 1e-46, -1e-46, 1e-300, np.inf, -np.inf, 0.1]
    splits = np.flatnonzero(forest.is_split)
    threshold = forest.threshold.copy()
    threshold[splits] = np.resize(far, len(splits))
    return replace(forest, threshold=threshold).check()


FLOAT64 = {"input_dtype": np.dtype(np.float64)}

_MAKERS = {
    "two_classes": lambda: read_forest(fitted("random_forest_classifier").model),
    "three_classes": lambda: read_forest(fitted("extra_trees_classifier").model),
    "words": lambda: read_forest(fitted("missing_random_forest").model),
    "booleans": lambda: read_forest(fitted("booleans_as_labels").model),
    "impure": lambda: read_forest(fitted("class_weights").model),
    "numbers": lambda: read_forest(fitted("missing_extra_trees").model),
    "splits_at_infinity": lambda: read_forest(fitted("missing_alone_matters").model),
    "single_leaf": lambda: read_forest(fitted("single_leaf").model),
    "leaf_regressor": lambda: read_forest(fitted("single_leaf_regressor").model),
    "pruned": lambda: _pruned("missing_random_forest"),
    "pruned_numbers": lambda: _pruned("random_forest_regressor"),
    "logistic": lambda: _summed(
        "missing_extra_trees", "logistic", -1.5, classes=np.array(["no", "yes"])
    ),
    "one_against_rest": lambda: _summed("missing_random_forest", "logistic", -0.2),
    "softmax": lambda: _summed("missing_random_forest", "softmax", 0.3, **FLOAT64),
    "exp": lambda: _summed("missing_extra_trees", "exp", -0.1, **FLOAT64),
    "sum": lambda: _summed("random_forest_regressor", "identity", 7.0, **FLOAT64),
    "averaged_with_bias": lambda: replace(
        read_forest(fitted("random_forest_regressor").model), bias=np.array([3.0])
    ),
    "categories": lambda: _with_categories(np.float64),
    "categories_float32": lambda: _with_categories(np.float32),
    "zero_is_missing": lambda: _with_zeros(np.float64),
    "zero_is_missing_float32": lambda: _with_zeros(np.float32),
    "beyond_float32": _beyond_float32,
}
CASES = tuple(_MAKERS)


@cache
def case(name: str) -> Forest:
    """Return a forest by the name of its case; shared by all tests."""
    return _MAKERS[name]().check()


def rows_for(forest: Forest) -> NDArray[Any]:
    """Doubles, plain and awkward ones, and whole numbers for categories."""
    with np.errstate(over="ignore"):
        usual = hard_rows(forest)
    rng = np.random.default_rng(9)
    whole = rng.integers(-2, 80, size=(120, usual.shape[1])).astype(float)
    whole += rng.choice([0.0, 0.0, 0.5, 1 - 2.0**-30], whole.shape)
    edges = np.array([-0.5, -1.0, -0.999, 199.0, 200.0, 2.0**31, 2.0**53, 1e300])
    whole[::7] = rng.choice(edges, whole[::7].shape)
    with np.errstate(over="ignore"):
        return np.concatenate([usual, whole, awkward_rows(forest, usual[:80])])


def said_by(forest: Forest, rows: NDArray[Any]) -> NDArray[Any]:
    """What the forest predicts for rows of any type."""
    with np.errstate(over="ignore"):
        return predict(forest, np.ascontiguousarray(rows, dtype=forest.input_dtype))


def single(rows: NDArray[Any]) -> NDArray[Any]:
    return as_float32(rows)


@st.composite
def any_forests(draw: st.DrawFn) -> Forest:
    """Small drawn forests: sets of categories, zeros as missing values, both types of rows."""
    forest = draw(small_forests())
    pick = st.lists(st.integers(0, 3), min_size=forest.n_nodes, max_size=forest.n_nodes)
    kind = np.array(draw(pick))
    sizes = draw(st.lists(st.integers(0, 40), min_size=1, max_size=3))
    start = np.concatenate([[0], np.cumsum(sizes)])
    in_set = draw(st.lists(st.booleans(), min_size=int(start[-1]), max_size=int(start[-1])))
    chosen = np.where(forest.is_split & (kind == 1), np.arange(forest.n_nodes) % len(sizes), -1)
    return replace(
        forest,
        category_set=chosen,
        set_start=start,
        in_set=np.array(in_set, dtype=bool),
        zero_is_missing=forest.is_split & (kind == 2),
        input_dtype=np.dtype(draw(st.sampled_from([np.float32, np.float64]))),
        combine=draw(st.sampled_from(["mean", "sum"])),
        bias=np.array([draw(st.sampled_from([0.0, 0.25]))]),
    ).check()


def drawn_rows(forest: Forest) -> NDArray[Any]:
    """Every special value in every column, and mixtures of them."""
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-36, -1e-34, 0.1, np.float32(0.1), -0.5, -1.0]
    special += [1.0, 1.9, 2.0, 31.0, 32.0, 39.0, 40.0, 1e300, 1 + 2.0**-30]
    pure = np.repeat(np.array(special, dtype=float)[:, None], forest.n_features, axis=1)
    mixed = np.random.default_rng(1).choice(special, size=(60, forest.n_features))
    return np.concatenate([pure, mixed])
