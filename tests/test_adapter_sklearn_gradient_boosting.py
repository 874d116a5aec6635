"""Gradient boosting of scikit-learn: scores of the model, splits that speak as leaves."""

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from adapter_laws import (
    awkward_rows,
    check_new_values,
    check_predictions,
    check_reading,
    check_same,
    check_smaller_bill,
    check_unknown_loss_refused,
    check_writing,
    check_writing_again,
)
from models import (
    Fitted,
    as_float32,
    numbers,
    plain_rows,
    random_kept,
    three_classes,
    two_classes,
    words,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

from thriftwood.adapters import read_forest, write_model
from thriftwood.errors import UnfittedModelError, UnsupportedModelError
from thriftwood.forest import Forest

N_ROWS = 150
SMALL = {"n_estimators": 4, "learning_rate": 0.3, "random_state": 0}


def score(model: Any, X: Any) -> np.ndarray:
    """The raw score; of the exponential loss twice that, which is its log-odds."""
    if not hasattr(model, "decision_function"):
        return model.predict(X)
    factor = 2 if getattr(model, "loss", None) == "exponential" else 1
    return factor * model.decision_function(X)


def leaf(model: Any, X: Any) -> np.ndarray:
    return model.apply(X).reshape(len(X), -1)


def says(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def classifier(y: Callable[[Any], Any] = two_classes, **options: Any) -> Fitted:
    X = plain_rows(N_ROWS)
    return Fitted(GradientBoostingClassifier(**SMALL | options).fit(X, y(X)), X, y(X))


def regressor(weights: np.ndarray | None = None, **options: Any) -> Fitted:
    X = plain_rows(N_ROWS)
    model = GradientBoostingRegressor(**SMALL | options)
    return Fitted(model.fit(X, numbers(X), sample_weight=weights), X, numbers(X))


def row_weights() -> np.ndarray:
    return np.random.default_rng(5).integers(1, 5, N_ROWS).astype(float)


def warm_started() -> Fitted:
    model, X, y = classifier(warm_start=True, max_depth=2)
    return Fitted(model.set_params(n_estimators=7, max_depth=4).fit(X, y), X, y)


MAKERS: dict[str, Callable[[], Fitted]] = {
    "two_classes": classifier,
    "three_classes": lambda: classifier(three_classes),
    "words": lambda: classifier(words, max_depth=2),
    "exponential": lambda: classifier(loss="exponential"),
    "start_at_zero": lambda: classifier(three_classes, init="zero"),
    "start_even": lambda: classifier(init=DummyClassifier(strategy="uniform")),
    "start_at_four": lambda: regressor(init=DummyRegressor(strategy="constant", constant=4.0)),
    "subsample": lambda: classifier(subsample=0.5, max_features=2),
    "warm_started": warm_started,
    "stopped_early": lambda: classifier(n_estimators=60, n_iter_no_change=2, learning_rate=0.9),
    "best_first": lambda: regressor(max_leaf_nodes=5, max_depth=None),
    "squared_error": lambda: regressor(max_depth=4),
    "weights": lambda: regressor(weights=row_weights()),
    "cost_complexity": lambda: regressor(max_depth=4, ccp_alpha=0.02),
    "absolute_error": lambda: regressor(loss="absolute_error"),
    "huber": lambda: regressor(loss="huber"),
    "quantile": lambda: regressor(loss="quantile", alpha=0.3),
    "constant": lambda: regressor(max_depth=1, min_samples_leaf=N_ROWS),
}


@cache
def fitted(kind: str) -> Fitted:
    """Shared by all tests: nobody may change it."""
    return MAKERS[kind]()


def rows_it_takes(forest: Forest, X: Any) -> np.ndarray:
    """Awkward rows without missing and infinite values, which this model refuses."""
    rows = awkward_rows(forest, X)
    return np.where(np.isfinite(as_float32(rows)), rows, 0.25)


# --- read


@pytest.mark.parametrize("kind", MAKERS)
def test_every_row_has_the_score_and_the_leaves_of_the_model(kind: str) -> None:
    model, X, _ = fitted(kind)
    rows = rows_it_takes(read_forest(model), X)
    check_reading(model, rows, score, leaf)
    check_predictions(model, rows, says)
    check_same(read_forest(model), read_forest(model))


def test_the_forest_has_the_trees_that_the_model_predicts_with() -> None:
    model = fitted("stopped_early").model
    assert read_forest(model).n_trees == model.n_estimators_ < 60
    assert read_forest(fitted("warm_started").model).n_trees == 7
    assert read_forest(fitted("three_classes").model).n_trees == 12


def test_a_tree_speaks_for_its_class_alone() -> None:
    forest = read_forest(fitted("three_classes").model)
    output = forest.tree_of(np.arange(forest.n_nodes)) % 3
    for column in range(3):
        assert (forest.values[output != column, column] == 0).all()
        assert (forest.values[output == column, column] != 0).any()


def test_gains_are_the_importances_of_the_model() -> None:
    for kind in ("two_classes", "three_classes", "weights"):
        model = fitted(kind).model
        forest = read_forest(model)
        assert (forest.gains[~forest.is_split] == 0).all()
        trees = model.estimators_.ravel()
        weight = np.array([tree.tree_.weighted_n_node_samples[0] for tree in trees])
        splits = np.flatnonzero(forest.is_split)
        share = forest.gains[splits] / weight[forest.tree_of(splits)]
        by_feature = np.bincount(forest.feature[splits], share, minlength=forest.n_features)
        np.testing.assert_allclose(by_feature / by_feature.sum(), model.feature_importances_)


# --- what splits say as leaves


@pytest.mark.parametrize("kind", ["squared_error", "weights", "best_first", "cost_complexity"])
def test_with_squared_error_a_split_says_what_a_leaf_in_its_place_would(kind: str) -> None:
    model = fitted(kind).model
    forest = read_forest(model)
    stored = np.concatenate([tree.tree_.value[:, 0, 0] for tree in model.estimators_.ravel()])
    means_of_residuals = model.learning_rate * stored
    np.testing.assert_allclose(forest.values[:, 0], means_of_residuals, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_tree_that_is_cut_off_is_the_tree_that_was_grown_less_deep(depth: int) -> None:
    model, X, _ = regressor(n_estimators=1, max_depth=4)
    shallow = regressor(
        n_estimators=1, max_depth=max(depth, 1), min_impurity_decrease=1e9 * (not depth)
    )
    forest = read_forest(model)
    cut = write_model(model, forest.is_split & (forest.depth < depth))
    np.testing.assert_allclose(cut.predict(X), shallow.model.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    "kind", ["two_classes", "three_classes", "exponential", "huber", "weights"]
)
def test_a_split_says_the_mean_of_what_the_training_rows_below_it_get(kind: str) -> None:
    model, X, _ = fitted(kind)
    forest = read_forest(model)
    weights = row_weights() if kind == "weights" else np.ones(N_ROWS)
    for number, tree in enumerate(model.estimators_.ravel()):
        own = slice(*forest.tree_start[number : number + 2])
        values = forest.values[own, number % forest.n_outputs]
        passes = tree.decision_path(as_float32(X)).toarray().astype(bool)
        said = values[tree.apply(as_float32(X))]
        for node in range(own.stop - own.start):
            expected = np.average(said[passes[:, node]], weights=weights[passes[:, node]])
            assert values[node] == pytest.approx(expected, rel=1e-9, abs=1e-12)


# --- write


@pytest.mark.parametrize("kind", MAKERS)
def test_a_written_model_is_the_collapsed_forest(kind: str) -> None:
    model, X, _ = fitted(kind)
    rows = rows_it_takes(read_forest(model), X)
    before = pickle.dumps(model)
    written = check_writing(model, rows, score)
    check_predictions(written, rows, says)
    check_new_values(model, rows, score)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("kind", ["three_classes", "exponential", "huber", "subsample"])
def test_a_written_model_can_be_written_and_pickled_again(kind: str) -> None:
    model, X, _ = fitted(kind)
    check_writing_again(model, X, score)


def test_a_written_model_has_the_tools_of_its_kind() -> None:
    model, X, y = fitted("three_classes")
    forest = read_forest(model)
    written = write_model(model, random_kept(forest, 1, 0.5))
    *_, last = written.staged_predict_proba(X)
    np.testing.assert_allclose(last, written.predict_proba(X))
    assert written.feature_importances_.sum() == pytest.approx(1)
    assert written.score(X, y) <= 1
    assert written.estimators_.shape == model.estimators_.shape
    assert len(pickle.dumps(written)) < len(pickle.dumps(model))


def test_figures_of_the_unpruned_trees_are_gone() -> None:
    model = fitted("subsample").model
    written = write_model(model, random_kept(read_forest(model), 1, 0.5))
    for name in ("train_score_", "oob_improvement_", "oob_scores_", "oob_score_"):
        assert np.isfinite(getattr(model, name)).all()
        assert np.isnan(getattr(written, name)).all()
        assert np.shape(getattr(written, name)) == np.shape(getattr(model, name))


def test_boosting_goes_on_from_a_written_model() -> None:
    model, X, y = fitted("warm_started")
    written = write_model(model, random_kept(read_forest(model), 1, 0.5))
    before = read_forest(written)
    written.set_params(n_estimators=10).fit(X, y)
    after = check_reading(written, X, score, leaf)
    assert after.n_trees == 10
    size = before.n_nodes
    np.testing.assert_array_equal(after.values[:size], before.values)
    check_writing(written, X, score)


def test_training_again_forgets_the_pruning() -> None:
    model, X, y = fitted("huber")
    written = write_model(model, random_kept(read_forest(model), 1, 0.5))
    check_same(read_forest(written.fit(X, y)), read_forest(model))


def test_predictions_have_a_bill() -> None:
    model, X, _ = fitted("two_classes")
    check_smaller_bill(model, X)


# --- refused


@pytest.mark.parametrize(
    "init", [LogisticRegression(), DummyClassifier(strategy="stratified")], ids=lambda one: str(one)
)
def test_a_start_that_differs_from_row_to_row_is_refused(init: Any) -> None:
    model = classifier(init=init).model
    with pytest.raises(UnsupportedModelError, match=rf"starts from a {type(init).__name__}.*init="):
        read_forest(model)


def test_a_learning_rate_of_zero_can_say_nothing_new() -> None:
    model, X, _ = regressor(learning_rate=0.0)
    forest = check_reading(model, X, score, leaf)
    assert (forest.values == 0).all()
    written = write_model(model, random_kept(forest, 0, 0.5))
    np.testing.assert_array_equal(written.predict(X), model.predict(X))
    with pytest.raises(UnsupportedModelError, match=r"`learning_rate` .* is 0"):
        write_model(model, forest.is_split.copy(), forest.values + 1)


def test_an_unknown_loss_is_refused() -> None:
    check_unknown_loss_refused(regressor().model)


def test_a_cleared_model_is_unfitted() -> None:
    model = regressor().model
    model._clear_state()
    with pytest.raises(UnfittedModelError, match="not fitted"):
        read_forest(model)
