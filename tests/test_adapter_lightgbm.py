"""LightGBM's models as forests, and back."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from adapter_laws import (
    awkward_rows,
    check_new_values,
    check_predictions,
    check_reading,
    check_same,
    check_writing,
    rows_of,
)
from boosters_lightgbm import (
    KINDS,
    LETTERS,
    RENEWED,
    SMALL,
    booster_of,
    contributions,
    frame,
    grown,
    leaves_in,
    numbers,
    predictions_of,
    raw_scores,
    rows,
    train,
    two,
)
from models import random_kept

from thriftwood import feature_bill, prune_path
from thriftwood.adapters import read_bootstrap, read_forest, write_model
from thriftwood.forest import (
    collapse,
    leaves,
    predict,
    route_samples,
    scores,
)
from thriftwood.forest.table import read_table

# LightGBM keeps six digits of what an inner node says.
SIX_DIGITS = 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_sends_every_row_to_the_leaf_of_its_model(kind: str) -> None:
    model, X = grown(kind)
    forest = check_reading(model, X, raw_scores, leaves_in)
    if not isinstance(X, pd.DataFrame):
        check_reading(model, awkward_rows(forest, X), raw_scores, leaves_in)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_model_to_the_last_digits(kind: str) -> None:
    model, X = grown(kind)
    forest = read_forest(model)
    found = scores(forest, rows_of(forest, X))
    expected = raw_scores(model, X).reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_predicts_what_its_model_predicts(kind: str) -> None:
    model, X = grown(kind)
    check_predictions(model, X, predictions_of)


@pytest.mark.parametrize("share", [0.6, 1.0, 0.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_is_the_collapsed_forest(kind: str, share: float) -> None:
    model, X = grown(kind)
    check_writing(model, X, raw_scores, share=share)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in RENEWED])
def test_a_model_can_be_written_with_new_values(kind: str) -> None:
    model, X = grown(kind)
    check_new_values(model, X, raw_scores, rtol=SIX_DIGITS)


@pytest.mark.parametrize("kind", RENEWED)
def test_new_values_of_renewed_leaves_are_written_too(kind: str) -> None:
    model, _ = grown(kind)
    forest = read_forest(model)
    kept = random_kept(forest, 1, 0.6)
    values = np.random.default_rng(0).normal(size=forest.values.shape)
    read_again = read_forest(write_model(model, kept, values))
    collapsed, origin = collapse(forest, kept)
    leaf = ~collapsed.is_split
    np.testing.assert_array_equal(read_again.values[leaf], values[origin[leaf]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_its_pickle_and_its_file_are_the_same_forest(kind: str, tmp_path: Path) -> None:
    model, X = grown(kind)
    forest = read_forest(model)
    for given in (model, write_model(model, random_kept(forest, 2, 0.7))):
        known = read_forest(given)
        file = tmp_path / "model.txt"
        booster_of(given).save_model(file)
        saved = lightgbm.Booster(model_file=file)
        for other in (given, pickle.loads(pickle.dumps(given))):
            assert known.has_same_trees(read_forest(other))
            np.testing.assert_array_equal(raw_scores(other, X), raw_scores(given, X))
        np.testing.assert_array_equal(read_forest(saved).values, known.values)
        np.testing.assert_array_equal(raw_scores(saved, X), raw_scores(given, X))


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_of_a_pruned_model_add_up_to_its_score(kind: str) -> None:
    model, X = grown(kind)
    forest = read_forest(model)
    for share in (0.6, 0.0):
        pruned = write_model(model, random_kept(forest, 3, share))
        raw = booster_of(pruned).predict(X, raw_score=True, num_threads=1)
        np.testing.assert_allclose(
            contributions(pruned, X), raw.reshape(len(X), -1), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("kind", ["regression", "multiclass", "classifier_of_words", "rf_binary"])
def test_tools_of_lightgbm_see_the_splits_that_are_left(kind: str) -> None:
    model, _ = grown(kind)
    forest = read_forest(model)
    kept = random_kept(forest, 4, 0.7)
    booster = booster_of(write_model(model, kept))
    used = np.bincount(forest.feature[kept], minlength=forest.n_features)
    np.testing.assert_array_equal(booster.feature_importance("split"), used)
    gains = [forest.gains[kept & (forest.feature == k)].sum() for k in range(forest.n_features)]
    np.testing.assert_allclose(booster.feature_importance("gain"), gains, rtol=1e-5)
    assert len(booster.trees_to_dataframe()) == read_forest(booster).n_nodes


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_a_pruned_model_add_up(kind: str) -> None:
    model, _ = grown(kind)
    pruned = booster_of(write_model(model, random_kept(read_forest(model), 5, 0.6)))
    table = pruned.trees_to_dataframe().set_index("node_index")
    for node in table[table["left_child"].notna()].itertuples():
        both = [node.left_child, node.right_child]
        assert table.loc[both, "count"].sum() == node.count
        assert table.loc[both, "weight"].sum() == pytest.approx(node.weight, rel=SIX_DIGITS)


# --- what inner nodes say


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in RENEWED])
def test_inner_values_are_lightgbms_own(kind: str) -> None:
    model, _ = grown(kind)
    forest = read_forest(model)
    inner, spread = [], forest.values.sum(axis=1)
    for tree in booster_of(model).dump_model()["tree_info"]:
        level = [tree["tree_structure"]]
        while level:
            inner += [node.get("internal_value", node.get("leaf_value")) for node in level]
            level = [
                node[side]
                for node in level
                if "split_index" in node
                for side in ("left_child", "right_child")
            ]
    scale = {"steep_binary": 2.5, "one_against_rest": 0.5, "rf_multiclass": 3.0}.get(kind, 1.0)
    np.testing.assert_allclose(spread, np.array(inner) * scale, rtol=SIX_DIGITS)


@pytest.mark.parametrize("objective", ["regression", "binary", "poisson"])
def test_inner_values_follow_from_gradients(objective: str) -> None:
    # Of one tree, after the average: value = average - rate * G / (H + lambda), at every node.
    target = two if objective == "binary" else lambda X: np.exp(numbers(X) / 4)
    options = {"lambda_l2": 3.0, "learning_rate": 0.3, "categorical_feature": "auto"}
    model, X = train(target, objective, n_trees=1, **options)
    y = target(X)
    if objective == "regression":
        start, gradient, hessian = y.mean(), y.mean() - y, np.ones(len(y))
    elif objective == "binary":
        start = np.log(y.mean() / (1 - y.mean()))
        gradient, hessian = y.mean() - y, np.full(len(y), y.mean() * (1 - y.mean()))
    else:  # its hessian is raised by poisson_max_delta_step
        start, gradient = np.log(y.mean()), y.mean() - y
        hessian = np.full(len(y), y.mean() * np.exp(0.7))
    forest = read_forest(model)
    routes = route_samples(forest, read_table(X, forest.input_dtype))
    assert forest.n_splits > 3
    for h in range(forest.n_nodes):
        here = routes.order[0, routes.start[h] : routes.stop[h]]
        value = start - 0.3 * gradient[here].sum() / (hessian[here].sum() + 3.0)
        assert forest.values[h, 0] == pytest.approx(value, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("objective", ["regression", "binary", "huber"])
def test_a_collapsed_tree_is_the_tree_that_lightgbm_grows_with_fewer_leaves(
    objective: str,
) -> None:
    # Leaves are split one by one, the best first: a smaller tree is where the larger one began.
    target = two if objective == "binary" else numbers
    large, X = train(target, objective, num_leaves=12, n_trees=1)
    small, _ = train(target, objective, num_leaves=5, n_trees=1)
    forest, fewer = read_forest(large), read_forest(small)
    kept = np.zeros(forest.n_nodes, dtype=bool)
    pairs = [(0, 0)]
    for mine, other in pairs:
        if fewer.is_split[other]:
            kept[mine] = True
            pairs.append((forest.left[mine], fewer.left[other]))
            pairs.append((forest.right[mine], fewer.right[other]))
    assert kept.sum() == 4
    written = write_model(large, kept)
    check_same(read_forest(written), fewer, SIX_DIGITS)
    np.testing.assert_allclose(written.predict(X), small.predict(X), rtol=SIX_DIGITS)


@pytest.mark.parametrize("kind", RENEWED)
def test_where_leaves_are_renewed_an_inner_node_says_their_mean(kind: str) -> None:
    model, X = grown(kind)
    forest = read_forest(model)
    routes = route_samples(forest, read_table(X, forest.input_dtype))
    found = leaves(forest, X)
    for h in np.flatnonzero(forest.is_split):
        tree = forest.tree_of(np.array([h]))[0]
        here = routes.order[tree, routes.start[h] : routes.stop[h]]
        mean = forest.values[found[here, tree], 0].mean()
        assert forest.values[h, 0] == pytest.approx(mean, rel=1e-4, abs=1e-6)


# --- data frames


@pytest.mark.parametrize("kind", ["frame", "regressor_of_a_frame", "classifier_of_a_frame"])
def test_labels_of_a_data_frame_are_known(kind: str) -> None:
    model, X = grown(kind)
    forest = read_forest(model)
    assert forest.category_labels == {3: LETTERS}
    assert forest.feature_names == ("age", "pulse", "sugar", "ward")
    other = frame().iloc[::-1].copy()
    letters = other["ward"].astype(object).where(other["ward"].notna(), "unheard of")
    other["ward"] = pd.Categorical(letters, categories=["c", "unheard of", *"fbdea"])
    check_reading(model, other, raw_scores, leaves_in)
    pruned = check_writing(model, X, raw_scores)
    check_reading(pruned, other, raw_scores, leaves_in)
    check_reading(pickle.loads(pickle.dumps(pruned)), other, raw_scores, leaves_in)


def test_a_bill_of_a_model_is_that_of_its_forest() -> None:
    for kind in ("classifier_of_a_frame", "regression", "zero_as_missing"):
        model, X = grown(kind)
        prices = [1.0, 2.0, 4.0, 8.0]
        bill = feature_bill(model, X, prices)
        forest = read_forest(model)
        np.testing.assert_array_equal(bill.per_sample, feature_bill(forest, X, prices).per_sample)
        nothing = write_model(model, np.zeros(forest.n_nodes, dtype=bool))
        assert 0 == feature_bill(nothing, X, prices).mean < bill.mean


def test_spaces_in_names_do_not_matter() -> None:
    # LightGBM writes them as underscores.
    X = frame().rename(columns={"age": "age of patient"})
    model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1).fit(X, numbers(rows()))
    assert feature_bill(model, X).mean > 0


# --- wrappers and boosters


@pytest.mark.parametrize("kind", ["classifier_of_words", "regressor", "ranker", "random_forest"])
def test_a_pruned_wrapper_is_still_a_fitted_estimator(kind: str) -> None:
    model, X = grown(kind)
    pruned = write_model(model, random_kept(read_forest(model), 6, 0.7))
    assert pruned.get_params() == model.get_params()
    assert pruned.n_features_in_ == model.n_features_in_
    assert pruned.n_estimators_ == model.n_estimators_
    assert pruned.booster_ is not model.booster_
    assert pruned.booster_.params == model.booster_.params
    if hasattr(model, "classes_"):
        assert pruned.classes_.tolist() == model.classes_.tolist()
        assert set(pruned.predict(X)) <= set(model.classes_)


def test_a_model_that_stopped_early_has_the_trees_that_it_predicts_with() -> None:
    model, X = grown("stopped_early")
    assert model.best_iteration < model.num_trees()
    forest = read_forest(model)
    assert forest.n_trees == model.best_iteration
    pruned = write_model(model, forest.is_split)
    assert pruned.num_trees() == pruned.best_iteration == model.best_iteration
    np.testing.assert_array_equal(pruned.predict(X), model.predict(X))


def test_training_goes_on_from_a_pruned_model() -> None:
    model, X = grown("regression")
    pruned = write_model(model, random_kept(read_forest(model), 7, 0.7))
    data = lightgbm.Dataset(X, numbers(X), categorical_feature=[3], free_raw_data=False)
    longer = lightgbm.train({**SMALL, "objective": "regression"}, data, 2, init_model=pruned)
    assert longer.num_trees() == pruned.num_trees() + 2
    check_reading(longer, X, raw_scores, leaves_in)


def test_which_rows_a_tree_was_given_is_not_known() -> None:
    assert read_bootstrap(grown("rf").model) is None


def test_lightgbm_is_imported_only_for_its_models() -> None:
    asks: Any = "import sys, thriftwood; sys.exit('lightgbm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asks], check=False).returncode == 0


def test_shares_are_numbers_and_not_classes():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    share = 1 / (1 + np.exp(-rows[:, 0]))
    model = lightgbm.LGBMRegressor(objective="cross_entropy", n_estimators=5, verbose=-1, n_jobs=1)
    model.fit(rows, share)
    forest = read_forest(model)
    assert forest.classes is None
    np.testing.assert_allclose(predict(forest, rows)[:, 0], model.predict(rows), rtol=1e-9)
    path = prune_path(model, rows, share)
    measured = path.evaluate(rows, share, points=[0])
    assert measured.error[0] == pytest.approx(((model.predict(rows) - share) ** 2).mean())
