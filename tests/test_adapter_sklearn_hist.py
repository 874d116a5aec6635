"""Histogram boosting of scikit-learn: losses, missing values, and splits that speak as leaves."""

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
    rows_of,
)
from models import (
    Fitted,
    numbers,
    random_kept,
    rows_with_missing,
    three_classes,
    two_classes,
    words,
)
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.inspection import partial_dependence

from thriftwood.adapters import read_forest, write_model
from thriftwood.errors import ForestError, UnfittedModelError, UnsupportedModelError
from thriftwood.forest import leaves

SMALL = {"max_iter": 4, "min_samples_leaf": 4, "learning_rate": 0.3, "random_state": 0}
N_ROWS = 200


def score(model: Any, X: Any) -> np.ndarray:
    """The raw score: what `decision_function` says, and a regressor before its link."""
    return model._raw_predict(X)


def says(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def classifier(y: Callable[[Any], Any] = two_classes, **options: Any) -> Fitted:
    X = rows_with_missing(N_ROWS)
    return Fitted(HistGradientBoostingClassifier(**SMALL | options).fit(X, y(X)), X, y(X))


def positive(X: Any) -> np.ndarray:
    return np.exp(numbers(X) / 4)


def regressor(
    y: Callable[[Any], Any] = numbers, weights: np.ndarray | None = None, **options: Any
) -> Fitted:
    X = rows_with_missing(N_ROWS)
    model = HistGradientBoostingRegressor(**SMALL | options)
    return Fitted(model.fit(X, y(X), sample_weight=weights), X, y(X))


def warm_started() -> Fitted:
    model, X, y = classifier(warm_start=True, max_depth=2)
    return Fitted(model.set_params(max_iter=7, max_depth=4).fit(X, y), X, y)


MAKERS: dict[str, Callable[[], Fitted]] = {
    "two_classes": classifier,
    "three_classes": lambda: classifier(three_classes),
    "words": lambda: classifier(words, class_weight="balanced", l2_regularization=2.0),
    "warm_started": warm_started,
    "stopped_early": lambda: classifier(
        early_stopping=True, max_iter=60, n_iter_no_change=2, learning_rate=0.9
    ),
    "squared_error": regressor,
    "weights": lambda: regressor(weights=np.arange(1.0, N_ROWS + 1)),
    "monotonic": lambda: regressor(monotonic_cst=[1, 0, -1, 0], interaction_cst=[{0, 1}, {2, 3}]),
    "poisson": lambda: regressor(positive, loss="poisson"),
    "gamma": lambda: regressor(positive, loss="gamma"),
    "absolute_error": lambda: regressor(loss="absolute_error"),
    "quantile": lambda: regressor(loss="quantile", quantile=0.3),
    "few_bins": lambda: regressor(max_bins=4, max_features=0.5),
    "nothing_to_split": lambda: classifier(min_samples_leaf=N_ROWS),
}


@cache
def fitted(kind: str) -> Fitted:
    """Shared by all tests: nobody may change it."""
    return MAKERS[kind]()


# --- read


@pytest.mark.parametrize("kind", MAKERS)
def test_every_row_has_the_score_of_the_model(kind: str) -> None:
    model, X, _ = fitted(kind)
    rows = awkward_rows(read_forest(model), X)
    check_reading(model, rows, score)
    check_predictions(model, rows, says)
    check_same(read_forest(model), read_forest(model))


def test_every_row_ends_in_the_leaf_of_the_model() -> None:
    model, X, _ = fitted("squared_error")
    forest = read_forest(model)
    rows = awkward_rows(forest, X)
    found = leaves(forest, rows_of(forest, rows)) - forest.tree_start[:-1]
    known, columns = model._bin_mapper.make_known_categories_bitsets()
    for number, (tree,) in enumerate(model._predictors):
        named = pickle.loads(pickle.dumps(tree))
        named.nodes["value"] = np.arange(len(named.nodes))  # so that the model names its leaves
        own = named.predict(rows, known, columns, 1)
        np.testing.assert_array_equal(found[:, number], own)


def test_rows_are_compared_as_doubles() -> None:
    forest = read_forest(fitted("squared_error").model)
    assert forest.input_dtype == np.float64
    single = forest.threshold[forest.is_split].astype(np.float32)
    assert (single != forest.threshold[forest.is_split]).any()


def test_missing_alone_can_decide() -> None:
    X = rows_with_missing(N_ROWS)[:, :1]
    y = np.isnan(X[:, 0]).astype(float)
    model = HistGradientBoostingRegressor(**SMALL).fit(X, y)
    forest = check_reading(model, [[np.nan], [np.inf], [-np.inf], [0.0]], score)
    assert np.isinf(forest.threshold).any()


def test_the_forest_has_the_trees_that_the_model_predicts_with() -> None:
    model = fitted("stopped_early").model
    assert read_forest(model).n_trees == model.n_iter_ < 60
    assert read_forest(fitted("warm_started").model).n_trees == 7
    assert read_forest(fitted("three_classes").model).n_trees == 12


def test_gains_are_those_that_the_model_recorded() -> None:
    model = fitted("three_classes").model
    forest = read_forest(model)
    nodes = np.concatenate([tree.nodes for stage in model._predictors for tree in stage])
    np.testing.assert_array_equal(forest.gains, np.where(nodes["is_leaf"], 0, nodes["gain"]))
    assert (forest.gains[forest.is_split] > 0).all()


# --- what splits say as leaves

SMOOTH: dict[str, Callable[..., Fitted]] = {
    "squared_error": regressor,
    "regularised": lambda **options: regressor(l2_regularization=5.0, **options),
    "monotonic": lambda **options: regressor(monotonic_cst=[1, 0, -1, 0], **options),
    "poisson": lambda **options: regressor(positive, loss="poisson", **options),
    "gamma": lambda **options: regressor(positive, loss="gamma", **options),
    "two_classes": lambda **options: classifier(**options),
    "three_classes": lambda **options: classifier(three_classes, **options),
}


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("kind", SMOOTH)
def test_a_tree_that_is_cut_off_is_the_tree_that_was_grown_less_deep(kind: str, depth: int) -> None:
    model, X, _ = SMOOTH[kind](max_iter=1)
    shallow = SMOOTH[kind](max_iter=1, max_depth=depth).model
    forest = read_forest(model)
    assert forest.depth.max() > depth
    cut = write_model(model, forest.is_split & (forest.depth < depth))
    np.testing.assert_allclose(score(cut, X), score(shallow, X), rtol=1e-12)


@pytest.mark.parametrize("kind", SMOOTH)
def test_a_root_says_what_the_model_says_without_a_split(kind: str) -> None:
    model, X, _ = SMOOTH[kind]()
    without = SMOOTH[kind](min_samples_leaf=N_ROWS).model
    cut = write_model(model, np.zeros(read_forest(model).n_nodes, dtype=bool))
    np.testing.assert_allclose(score(cut, X), score(without, X), rtol=1e-12)


@pytest.mark.parametrize("kind", ["absolute_error", "quantile"])
def test_without_a_gradient_a_split_says_the_mean_of_its_training_rows(kind: str) -> None:
    model, X, _ = fitted(kind)
    forest = read_forest(model)
    found = leaves(forest, X)
    for tree in range(forest.n_trees):
        for node in range(*forest.tree_start[tree : tree + 2]):
            below = [node]
            for one in below:
                below += [
                    int(child) for child in (forest.left[one], forest.right[one]) if child > 0
                ]
            said = forest.values[found[np.isin(found[:, tree], below), tree], 0]
            assert forest.values[node, 0] == pytest.approx(said.mean(), rel=1e-9, abs=1e-12)


# --- write


@pytest.mark.parametrize("kind", MAKERS)
def test_a_written_model_is_the_collapsed_forest(kind: str) -> None:
    model, X, _ = fitted(kind)
    rows = awkward_rows(read_forest(model), X)
    before = pickle.dumps(model)
    written = check_writing(model, rows, score)
    check_predictions(written, rows, says)
    check_new_values(model, rows, score)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("kind", ["three_classes", "quantile", "poisson"])
def test_a_written_model_can_be_written_and_pickled_again(kind: str) -> None:
    model, X, _ = fitted(kind)
    check_writing_again(model, X, score)


def test_a_written_model_has_the_tools_of_its_kind() -> None:
    model, X, y = fitted("two_classes")
    forest = read_forest(model)
    written = write_model(model, random_kept(forest, 1, 0.6))
    *_, last = written.staged_predict_proba(X)
    np.testing.assert_allclose(last, written.predict_proba(X))
    assert written.score(X, y) <= 1
    assert written.n_iter_ == model.n_iter_
    assert len(pickle.dumps(written)) < len(pickle.dumps(model))
    by_trees = partial_dependence(written, np.nan_to_num(X), [0], method="recursion")
    assert np.isfinite(by_trees["average"]).all()


def test_new_leaves_are_marked_as_scikit_learn_marks_its_own() -> None:
    model = fitted("two_classes").model
    written = write_model(model, random_kept(read_forest(model), 1, 0.6))
    for (tree,) in written._predictors:
        found = tree.nodes[tree.nodes["is_leaf"] == 1]
        for name in ("left", "right", "feature_idx", "num_threshold", "is_categorical"):
            assert (found[name] == 0).all()
        assert tree.get_n_leaf_nodes() == (len(tree.nodes) + 1) // 2


def test_figures_of_the_unpruned_trees_are_gone() -> None:
    model = fitted("stopped_early").model
    written = write_model(model, random_kept(read_forest(model), 1, 0.5))
    assert len(model.validation_score_) > 0
    assert len(written.validation_score_) == len(written.train_score_) == 0


@pytest.mark.parametrize("early_stopping", [False, True])
def test_boosting_goes_on_from_a_written_model(early_stopping: bool) -> None:
    model, X, y = classifier(warm_start=True, early_stopping=early_stopping)
    written = write_model(model, random_kept(read_forest(model), 1, 0.5))
    before = read_forest(written)
    written.set_params(max_iter=7).fit(X, y)
    after = check_reading(written, X, score)
    assert after.n_trees > before.n_trees
    np.testing.assert_array_equal(after.values[: before.n_nodes], before.values)
    check_writing(written, X, score)


def test_boosting_without_a_gradient_goes_on_from_a_written_model() -> None:
    model, X, y = regressor(loss="absolute_error", warm_start=True)
    values = np.full((read_forest(model).n_nodes, 1), 0.5)
    written = write_model(model, read_forest(model).is_split.copy(), values)
    after = read_forest(written.set_params(max_iter=5).fit(X, y))
    np.testing.assert_allclose(after.values[: len(values)], 0.5)
    assert not np.isclose(after.values[len(values) :], 0.5).any()


def test_predictions_have_a_bill() -> None:
    model, X, _ = fitted("two_classes")
    check_smaller_bill(model, X)


# --- refused


def test_one_class_is_refused() -> None:
    model = classifier(lambda X: np.ones(len(X), dtype=int)).model
    with pytest.raises(UnsupportedModelError, match=r"one class only, .*1.*nothing to decide"):
        read_forest(model)


def test_an_unknown_loss_is_refused() -> None:
    check_unknown_loss_refused(regressor().model)


def test_trees_of_another_form_are_refused() -> None:
    model = regressor().model
    for (tree,) in model._predictors:
        names = [name for name in tree.nodes.dtype.names if name != "bitset_idx"]
        tree.nodes = tree.nodes[names]
    with pytest.raises(UnsupportedModelError, match=r"another form .see bitset_idx"):
        read_forest(model)


def test_trees_that_run_in_a_circle_are_refused() -> None:
    model = regressor().model
    model._predictors[1][0].nodes["left"][0] = 0
    with pytest.raises(ForestError, match=r"of tree 1 .*come after"):
        read_forest(model)


def test_a_model_without_trees_is_unfitted() -> None:
    model = regressor().model
    model._predictors = []
    with pytest.raises(UnfittedModelError, match="not fitted"):
        read_forest(model)
