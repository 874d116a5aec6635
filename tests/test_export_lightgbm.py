"""Any forest as LightGBM's text: a booster that predicts the same."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from adapter_laws import awkward_rows, rows_of
from boosters_lightgbm import KINDS as BOOSTED
from boosters_lightgbm import LETTERS, contributions, frame, grown, numbers, rows, three, two
from hypothesis import given, settings
from hypothesis import strategies as st
from models import KINDS, extreme_rows, fitted, hard_rows, shares, small_forests
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.forest import Forest, predict, scores
from thriftwood.forest.kernels import NEXT_TO_ZERO
from thriftwood.formats import export


def loaded(forest: Forest) -> lightgbm.Booster:
    return lightgbm.Booster(model_str=export.to_lightgbm(forest))


def check_same_scores(forest: Forest, X: Any) -> lightgbm.Booster:
    """A booster of the text gives every row the forest's score."""
    booster = loaded(forest)
    expected = scores(forest, rows_of(forest, X))
    found = booster.predict(X, raw_score=True, num_threads=1).reshape(expected.shape)
    largest = np.abs(forest.values).max() + np.abs(forest.bias).max()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * largest)
    return booster


def check_same_predictions(forest: Forest, booster: lightgbm.Booster, X: Any) -> None:
    expected = predict(forest, rows_of(forest, X))
    if forest.link == "logistic" and forest.n_outputs == 1:
        expected = expected[:, -1]  # LightGBM leaves the other class to the reader
    found = booster.predict(X, num_threads=1)
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-9, atol=1e-9)


def not_next_to_zero(rows: np.ndarray) -> np.ndarray:
    """Rows without the numbers that LightGBM takes for 0."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(rows) <= NEXT_TO_ZERO, 0.0, rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_of_scikit_learn_is_the_same_in_lightgbm(kind: str) -> None:
    forest = read_forest(fitted(kind).model)
    hard = not_next_to_zero(hard_rows(forest))
    booster = check_same_scores(forest, hard)
    check_same_predictions(forest, booster, hard)
    if forest.n_outputs > 1:  # an averaged classifier's scores are its probabilities
        np.testing.assert_allclose(booster.predict(hard).sum(axis=1), 1.0)


SKLEARN_BOOSTED = {
    "gradient": lambda: GradientBoostingRegressor(n_estimators=4).fit(plain(), numbers(plain())),
    "gradient_words": lambda: GradientBoostingClassifier(n_estimators=3).fit(
        plain(), three(plain())
    ),
    "histogram": lambda: HistGradientBoostingRegressor(
        max_iter=4, categorical_features=[3], min_samples_leaf=5
    ).fit(rows(), numbers(rows())),
    "histogram_of_counts": lambda: HistGradientBoostingRegressor(loss="poisson", max_iter=3).fit(
        rows(), two(rows())
    ),
    "histogram_of_classes": lambda: HistGradientBoostingClassifier(
        max_iter=3, categorical_features=[3], min_samples_leaf=5
    ).fit(rows(), three(rows())),
}


def plain() -> np.ndarray:
    return rows(missing=0.0)


@pytest.mark.parametrize("kind", SKLEARN_BOOSTED)
def test_a_boosted_forest_of_scikit_learn_is_the_same_in_lightgbm(kind: str) -> None:
    forest = read_forest(SKLEARN_BOOSTED[kind]())
    hard = not_next_to_zero(awkward_rows(forest, rows()))
    booster = check_same_scores(forest, hard)
    check_same_predictions(forest, booster, hard)


@pytest.mark.parametrize("kind", BOOSTED)
def test_a_forest_of_lightgbm_is_the_same_when_it_comes_back(kind: str) -> None:
    model, X = grown(kind)
    forest = read_forest(model)
    rows = X if forest.category_labels else awkward_rows(forest, X)
    booster = check_same_scores(forest, rows)
    check_same_predictions(forest, booster, rows)
    assert booster.num_trees() == forest.n_trees


@pytest.mark.parametrize("kind", BOOSTED)
def test_reading_the_text_gives_the_forest(kind: str) -> None:
    model, X = grown(kind)
    forest = read_forest(model)
    again = read_forest(loaded(forest))
    rows = rows_of(forest, X)
    np.testing.assert_allclose(scores(again, rows), scores(forest, rows), rtol=1e-12, atol=1e-13)
    for name in ("link", "feature_names", "category_labels", "n_splits", "n_trees", "n_outputs"):
        assert getattr(again, name) == getattr(forest, name), name


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-34, -1e-34, 3.5e38, -3.5e38, 0.1, 1.0, -0.5]
NEAR = [np.nextafter(at, way) for at in (-1.0, -0.5, 0.1, 1.0) for way in (-np.inf, np.inf)]
SINGLE = [
    float(np.nextafter(np.float32(at), np.float32(way)))
    for at in (-1.0, -0.5, 0.1, 1.0)
    for way in (-np.inf, np.inf)
]
CODES = [-1.0, -0.5, 0.5, 2.0, 3.0, 31.0, 32.0, 40.0, 1e30]


def special_rows(n_features: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.choice([*SPECIAL, *NEAR, *SINGLE, *CODES], size=(300, n_features))


@st.composite
def any_forests(draw: st.DrawFn) -> Forest:
    """Small forests with every kind of split, any number of outputs, any link."""
    forest = draw(small_forests())
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    split, n_nodes = forest.is_split, forest.n_nodes
    n_outputs = draw(st.integers(1, 3))
    values = rng.normal(size=(n_nodes, n_outputs)) * rng.choice([0.0, 1.0, 10.0], n_outputs)
    if draw(st.booleans()):  # as in boosted classifiers, one class per tree
        tree = forest.tree_of(np.arange(n_nodes))
        values *= np.arange(n_outputs) == (tree % n_outputs)[:, None]
    sizes = [0, 1, 5, 32, 33, 70]
    category_set = np.where(split & (rng.random(n_nodes) < 0.3), rng.integers(0, 6, n_nodes), -1)
    link = draw(st.sampled_from(["identity", "logistic", "softmax", "exp"]))
    if n_outputs == 1:
        link = "identity" if link == "softmax" else link
    elif link == "exp":
        link = "softmax"
    is_classifier = n_outputs > 1 or link == "logistic"
    combine = draw(st.sampled_from(["mean", "sum"]))
    is_averaged = combine == "mean" and link == "identity"
    return replace(
        forest,
        values=shares(values) if is_classifier and is_averaged else values,
        combine=combine,
        link=link,
        classes=np.arange(max(2, n_outputs)) if is_classifier else None,
        bias=rng.normal(size=n_outputs),
        input_dtype=np.dtype(draw(st.sampled_from([np.float32, np.float64]))),
        zero_is_missing=split & (category_set < 0) & (rng.random(n_nodes) < 0.3),
        category_set=category_set,
        set_start=np.cumsum([0, *sizes]),
        in_set=rng.random(sum(sizes)) < 0.5,
        gains=np.where(split, rng.random(n_nodes), 0.0) if draw(st.booleans()) else None,
    )


@settings(max_examples=50)
@given(any_forests())
def test_any_forest_is_the_same_in_lightgbm(forest: Forest) -> None:
    rows = special_rows(forest.n_features)
    if (forest.category_set >= 0).any():
        # LightGBM cuts off what comes after the point, a float32 forest rounds before it does.
        with np.errstate(over="ignore"):
            rows = rows.astype(forest.input_dtype).astype(np.float64)
    booster = check_same_scores(forest, rows)
    check_same_predictions(forest, booster, rows)
    raw = booster.predict(rows, raw_score=True, num_threads=1).reshape(len(rows), -1)
    np.testing.assert_allclose(contributions(booster, rows), raw, rtol=1e-9, atol=1e-9)
    twin = pickle.loads(pickle.dumps(booster))
    np.testing.assert_array_equal(twin.predict(rows), booster.predict(rows))


@given(st.floats(allow_nan=False, width=64), st.booleans())
def test_doubles_go_where_their_float32_rounding_goes(threshold: float, missing: bool) -> None:
    leaf = [-1, -1]
    stump = Forest(
        [0, 3],
        [0, *leaf],
        [threshold, 0.0, 0.0],
        [1, *leaf],
        [2, *leaf],
        [missing, False, False],
        [[0.0], [1.0], [2.0]],
        n_features=1,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.float32(threshold)
        around = [np.nextafter(single, np.float32(way)) for way in (-np.inf, np.inf)]
        near = np.array([single, *around], dtype=np.float64)
        middle = (near[:, None] + near).ravel() / 2
        doubles = np.concatenate([near, middle, [threshold, 2.0**128 - 2.0**103]])
        beside = [np.nextafter(doubles, way) for way in (-np.inf, np.inf)]
        rows = not_next_to_zero(np.concatenate([doubles, *beside]))[:, None]
    check_same_scores(stump, rows)


def test_trees_of_several_classes_share_turns() -> None:
    model, _ = grown("multiclass")
    forest = read_forest(model)
    assert loaded(forest).num_trees() == forest.n_trees  # not three times as many


def test_labels_of_categories_are_kept(tmp_path: Path) -> None:
    forest = read_forest(grown("frame").model)
    check_same_scores(forest, frame())
    file = tmp_path / "model.txt"
    assert export.to_lightgbm(forest, file) == export.to_lightgbm(forest)
    again = read_forest(lightgbm.Booster(model_file=file))
    assert again.category_labels == {3: LETTERS}


def test_labels_that_no_text_can_hold_are_refused() -> None:
    forest = read_forest(grown("frame").model)
    with pytest.raises(InputError, match="labels that are neither text nor numbers"):
        export.to_lightgbm(replace(forest, category_labels={3: (object(),)}))


def test_any_names_of_columns_are_written() -> None:
    forest = read_forest(fitted("tree_regressor").model)
    names = ("age, in years", "größe", "", 'a "b" [c]')
    booster = check_same_scores(replace(forest, feature_names=names), extreme_rows()[:9])
    assert booster.feature_name() == ["age__in_years", "größe", "Column_2", "a__b___c_"]
    assert booster.dump_model()["max_feature_idx"] == 3
