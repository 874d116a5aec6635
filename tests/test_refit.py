"""Refitted models: the same splits and bills, new values; the same type if it can hold them."""

from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.forest import leaves, predict, scores

HEART = tw.datasets.load_heart()
X, Y = np.nan_to_num(HEART.X, nan=-1.0), HEART.y
THREE = np.digitize(X[:, 0], [50, 60])
AGE = X[:, 0] / 10
HALF = np.arange(len(Y)) % 2 == 0
SEEN, UNSEEN = (X[HALF], Y[HALF]), (X[~HALF], Y[~HALF])


def lightgbm(kind, n_trees=12, **options):
    return kind(
        n_estimators=n_trees, num_leaves=6, min_child_samples=5, verbose=-1, n_jobs=1, **options
    )


def pruned(model, y=Y, budget=60, rows=HALF):
    return tw.prune(model, X[rows], y[rows], costs=HEART.costs, budget=budget)


def indicators(forest, rows):
    """The leaves of all trees as columns: 1 where a row is in the leaf."""
    number = np.cumsum(~forest.is_split) - 1
    column = number[leaves(forest, rows.astype(forest.input_dtype))]
    row = np.repeat(np.arange(len(rows)), forest.n_trees)
    ones = np.ones(column.size)
    return sparse.csr_matrix((ones, (row, column.ravel())), (len(rows), number[-1] + 1))


# --- what stays


MODELS = {
    "forest": (RandomForestClassifier(10, max_depth=4, random_state=0), Y),
    "three classes": (RandomForestClassifier(10, max_depth=4, random_state=0), THREE),
    "numbers": (RandomForestRegressor(10, max_depth=4, random_state=0), AGE),
    "bagging": (BaggingClassifier(n_estimators=10, random_state=0), Y),
    "lightgbm": (lightgbm(lgb.LGBMClassifier), Y),
    "lightgbm three": (lightgbm(lgb.LGBMClassifier), THREE),
    "lightgbm numbers": (lightgbm(lgb.LGBMRegressor), AGE),
    "gradient boosting": (GradientBoostingClassifier(n_estimators=10, random_state=0), THREE),
    "hist": (HistGradientBoostingRegressor(max_iter=10, random_state=0), AGE),
}


@pytest.mark.parametrize("kind", MODELS)
def test_splits_and_bills_stay_and_the_training_loss_falls(kind):
    model, y = MODELS[kind]
    model.fit(X[HALF], y[HALF])
    before = pruned(model, y)
    after = before.refit(X[HALF], y[HALF], validation=(X[~HALF], y[~HALF]), strength=0.1)
    old, new = read_forest(before.model), read_forest(after.model)
    for name in ("tree_start", "feature", "threshold", "left", "right", "missing_left"):
        np.testing.assert_array_equal(getattr(old, name), getattr(new, name))
    bills = [tw.feature_bill(one.model, X, HEART.costs).per_sample for one in (before, after)]
    np.testing.assert_array_equal(*bills)
    assert after.cost == before.cost
    assert after.refitted.strength == 0.1
    assert _loss(after.model, y) < _loss(before.model, y)
    averages = old.is_averaged and is_classifier(model)
    assert isinstance(after.model, tw.ForestModel if averages else type(model))


def _loss(model, y):
    rows, right = X[HALF], y[HALF]
    if not is_classifier(model):
        return ((model.predict(rows) - right) ** 2).mean()
    return log_loss(right, np.clip(model.predict_proba(rows), 1e-9, 1))


@pytest.mark.parametrize("kind", ["lightgbm three", "gradient boosting"])
def test_trees_that_speak_for_one_class_stay_silent_about_the_others(kind):
    model, y = MODELS[kind]
    before = pruned(model.fit(X[HALF], y[HALF]), y)
    after = before.refit(X[HALF], y[HALF], strength=0.1)
    old, new = read_forest(before.model), read_forest(after.model)
    for tree in range(old.n_trees):
        nodes = slice(*old.tree_start[tree : tree + 2])
        speaks = old.values[nodes].any(axis=0)
        assert speaks.sum() <= 1
        assert not new.values[nodes][:, ~speaks].any()


# --- the new values


@pytest.mark.parametrize("strength", [0.05, 1.0, 20.0])
def test_numbers_are_refitted_by_ridge_regression(strength):
    forest = RandomForestRegressor(8, max_depth=3, random_state=0).fit(X, AGE)
    before = tw.prune(forest, X, AGE, tradeoff=1e-4)
    after = before.refit(X, AGE, strength=strength)
    old = before.model.predict(X)
    table = indicators(read_forest(before.model), X)
    ridge = Ridge(alpha=strength * 8, solver="sparse_cg", tol=1e-12).fit(table, AGE - old)
    np.testing.assert_allclose(after.model.predict(X), old + ridge.predict(table), atol=2e-3)


def test_classes_are_refitted_by_logistic_regression():
    model = lightgbm(lgb.LGBMClassifier).fit(X, Y)
    before = tw.prune(model, X, Y, tradeoff=1e-4)
    strength = 0.5
    after = before.refit(X, Y, strength=strength)
    forest, new = read_forest(before.model), read_forest(after.model)
    table = indicators(forest, X)
    said, ours = scores(forest, X.astype(float)), scores(new, X.astype(float))
    moved = new.values[~new.is_split, 0] - forest.values[~forest.is_split, 0]

    def objective(values, bias):
        margin = (said[:, 0] + table @ values + bias) * np.where(Y == 1, 1, -1)
        ridge = strength * forest.n_trees / 2 * (values**2).sum()
        return np.logaddexp(0, -margin).sum() + ridge

    # Our bias is part of the values; the best split into the two is ours.
    bias = min(np.linspace(-1, 1, 2001), key=lambda b: objective(moved - b / forest.n_trees, b))
    best = objective(moved - bias / forest.n_trees, bias)
    np.testing.assert_allclose(ours[:, 0], said[:, 0] + table @ moved, atol=1e-9)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(20):
            other = moved - bias / forest.n_trees + size * rng.normal(size=len(moved))
            assert objective(other, bias) > best * (1 - 5e-4)


def test_a_weak_hold_approaches_plain_logistic_regression():
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y)
    after = tw.prune(forest, X, Y, tradeoff=0).refit(X, Y, strength=1e-4)
    table = indicators(read_forest(after.model), X)
    plain = LogisticRegression(C=1e3, tol=1e-8, max_iter=5000).fit(table, Y)
    np.testing.assert_allclose(
        after.model.predict_proba(X)[:, 1], plain.predict_proba(table)[:, 1], atol=0.02
    )


def test_weights_count_as_rows_do():
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, AGE)
    before = tw.prune(forest, X, AGE, tradeoff=1e-4)
    times = 1 + np.arange(len(AGE)) % 3
    weighted = before.refit(X, AGE, strength=1.0, sample_weight=times)
    repeated = before.refit(np.repeat(X, times, axis=0), np.repeat(AGE, times), strength=1.0)
    np.testing.assert_allclose(weighted.model.predict(X), repeated.model.predict(X), atol=1e-4)


# --- the strength


def test_no_refit_is_among_the_choices_and_gives_the_same_model():
    rng = np.random.default_rng(1)
    noise = rng.integers(2, size=len(Y))  # nothing can be learnt, so no refit can help
    forest = RandomForestClassifier(30, min_samples_leaf=15, random_state=0).fit(X, noise)
    before = tw.prune(forest, X, noise, tradeoff=1e-5)
    kept = before.refit(X, noise, strength=np.inf)
    assert kept.model is before.model
    assert kept.refitted.changed_nothing
    assert "not refitted" in repr(kept)
    tried = before.refit(X, noise).refitted.choice
    assert np.isinf(tried.strengths[0])
    good = tried.losses <= 1.03 * tried.losses.min()
    weakest = tried.strengths[good].min()
    assert tried.strength == (np.inf if tried.losses.argmin() == 0 else weakest)


def test_rows_out_of_bag_choose_unless_there_are_rows_for_validation():
    forest = RandomForestClassifier(20, random_state=0).fit(*SEEN)
    before = pruned(forest)
    assert before.refit(*SEEN).refitted.chosen_on == "out_of_bag"
    assert before.refit(*SEEN, validation=UNSEEN).refitted.chosen_on == "validation"
    assert before.refit(*SEEN, strength=1.0).refitted.chosen_on == "given"
    assert "chosen out of bag" in repr(before.refit(*SEEN))


def test_validation_rows_judge_as_predictions_do():
    model = lightgbm(lgb.LGBMClassifier).fit(*SEEN)
    before = pruned(model)
    choice = before.refit(*SEEN, validation=UNSEEN).refitted.choice
    for strength, loss, error in zip(choice.strengths, choice.losses, choice.errors, strict=True):
        model = before.refit(*SEEN, strength=strength).model
        assert loss == pytest.approx(log_loss(UNSEEN[1], model.predict_proba(UNSEEN[0])), abs=1e-2)
        assert error == pytest.approx((model.predict(UNSEEN[0]) != UNSEEN[1]).mean(), abs=0.02)


def test_weights_of_validation_rows_count_as_rows_do():
    before = pruned(RandomForestClassifier(20, random_state=0).fit(*SEEN))
    times = 1 + 4 * (UNSEEN[1] == 1)
    repeated = [np.repeat(part, times, axis=0) for part in UNSEEN]
    weighted = before.refit(*SEEN, validation=(*UNSEEN, times)).refitted.choice
    expected = before.refit(*SEEN, validation=tuple(repeated)).refitted.choice
    assert weighted.losses == pytest.approx(expected.losses, rel=1e-3)
    assert weighted.errors == pytest.approx(expected.errors, abs=0.01)
    plain = before.refit(*SEEN, validation=UNSEEN).refitted.choice
    assert plain.losses != pytest.approx(expected.losses, rel=1e-2)


# --- around it


def test_estimators_refit_where_they_are_told_to():
    model = tw.PrunedEnsembleClassifier(costs=HEART.costs, budget=50, refit=True, random_state=0)
    model.fit(X, Y)
    assert model.pruned_.refitted.chosen_on == "out_of_bag"
    np.testing.assert_array_equal(model.predict_proba(X), model.model_.predict_proba(X))


def test_estimators_take_boosted_models():
    for grown in (lightgbm(lgb.LGBMClassifier), GradientBoostingClassifier(n_estimators=10)):
        model = tw.PrunedEnsembleClassifier(grown, costs=HEART.costs, cv=3).fit(X, Y)
        assert model.pruned_.cost < model.pruned_.original.cost
        assert isinstance(model.model_, type(grown))


def test_estimators_refuse_before_any_work_what_needs_bags():
    booster = lightgbm(lgb.LGBMClassifier)
    with pytest.raises(InputError, match=r"pruned_\.refit"):
        tw.PrunedEnsembleClassifier(booster, budget=3, refit=True).fit(X, Y)
    with pytest.raises(InputError, match="no samples out of bag"):
        tw.PrunedEnsembleClassifier(booster, cv="out_of_bag").fit(X, Y)


def test_estimators_take_frames_with_categories_and_check_columns():
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 55, "old", "young"))
    model = tw.PrunedEnsembleClassifier(lightgbm(lgb.LGBMClassifier), cv=3).fit(frame, Y)
    assert model.predict(frame).shape == Y.shape
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


def test_a_refitted_model_can_be_pruned_again():
    forest = RandomForestClassifier(10, random_state=0).fit(X, Y)
    model = tw.prune(forest, X, Y, costs=HEART.costs, budget=100).refit(X, Y, strength=0.3).model
    path = tw.prune_path(model, X, Y, costs=HEART.costs)
    assert path.loss_name == "recorded_gain"
    assert np.all(np.diff(path.costs) < 0)
    smaller = path.at(budget=30).model
    assert isinstance(smaller, tw.ForestModel)
    forest = read_forest(smaller)
    np.testing.assert_allclose(
        smaller.predict_proba(X), predict(forest, X.astype(forest.input_dtype))
    )


# --- what is refused


def test_what_cannot_be_refitted_is_refused():
    model = lightgbm(lgb.LGBMClassifier).fit(*SEEN)
    before = pruned(model)
    with pytest.raises(InputError, match=r"validation=\(X, y\)"):
        before.refit(*SEEN)
    with pytest.raises(InputError, match="must be a pair"):
        before.refit(*SEEN, validation=UNSEEN[0])
    with pytest.raises(InputError, match="above 0"):
        before.refit(*SEEN, strength=0)
    rates = lightgbm(lgb.LGBMRegressor, objective="poisson").fit(X, AGE)
    with pytest.raises(InputError, match="predicts rates"):
        tw.prune(rates, X, AGE, budget=3).refit(X, AGE, strength=1)


def test_where_no_split_is_left_nothing_is_refitted():
    model = lightgbm(lgb.LGBMClassifier).fit(*SEEN)
    cheapest = tw.prune(model, *SEEN, budget=0).refit(*SEEN)
    assert cheapest.refitted.changed_nothing
    assert "every tree is a single leaf" in repr(cheapest)


def test_models_without_bags_need_validation_rows():
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, AGE)
    extra = ExtraTreesClassifier(5, random_state=0).fit(X, Y)
    with pytest.raises(InputError, match="No sample is out of the bags"):
        tw.prune(tree, X, AGE, tradeoff=1e-3).refit(X, AGE)
    with pytest.raises(InputError, match="No sample is out of the bags"):
        tw.prune(extra, X, Y, tradeoff=1e-4).refit(X, Y)
    assert replace(tw.prune(tree, X, AGE, tradeoff=1e-3)).refit(X, AGE, strength=1).refitted


def test_columns_are_checked_before_rows_are_sent_down():
    forest = RandomForestClassifier(5, random_state=0).fit(*SEEN)
    before = pruned(forest, budget=200)
    for rows in (X[HALF][:, :3], np.hstack([X[HALF], X[HALF]])):
        with pytest.raises(InputError, match="columns"):
            before.refit(rows, Y[HALF])
    with pytest.raises(InputError, match="columns"):
        before.refit(*SEEN, validation=(X[~HALF][:, :2], Y[~HALF]))


@pytest.mark.parametrize("wrong", ["a", [1], -1.0, np.nan])
def test_a_strength_is_a_number_above_0(wrong):
    before = pruned(RandomForestClassifier(5, random_state=0).fit(*SEEN))
    with pytest.raises(InputError, match="strength"):
        before.refit(*SEEN, strength=wrong)


@pytest.mark.parametrize("objective", ["quantile", "regression_l1", "huber"])
def test_what_predicts_no_mean_is_not_made_to(objective):
    model = lightgbm(lgb.LGBMRegressor, objective=objective).fit(X, AGE)
    before = tw.prune(model, X, AGE, budget=3)
    with pytest.raises(InputError, match="predicts no mean"):
        before.refit(X, AGE, strength=1)
    with pytest.raises(InputError, match="choose 'recorded_gain'"):
        tw.prune(model, X, AGE, tradeoff=0.1, loss="squared_error")
    path = tw.prune_path(model, X, AGE)
    if objective == "quantile":
        with pytest.raises(InputError, match="pass a `scoring`"):
            path.choose(X, AGE)
    else:
        assert path.choose(X, AGE).cost >= 0


def test_two_classes_by_softmax_are_refitted_as_such():
    model = lightgbm(lgb.LGBMClassifier, objective="multiclass", num_class=2).fit(X, Y)
    before = tw.prune(model, X, Y, costs=HEART.costs, budget=60)
    after = before.refit(X, Y, strength=0.3)
    assert log_loss(Y, after.model.predict_proba(X)) < log_loss(Y, before.model.predict_proba(X))


def test_a_class_whose_trees_say_nothing_still_gets_its_bias():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    label = np.where(rows[:, 0] > 0.3, 0, np.where(rows[:, 1] > 0, 1, 2))
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=2, learning_rate=0.5)
    before = tw.prune(model.fit(rows, label), rows, label, costs=[1, 100], budget=2)
    after = before.refit(rows, label, strength=0.01)
    values = read_forest(after.model)
    said = predict(values, rows)
    np.testing.assert_allclose(after.model.predict_proba(rows), said, atol=1e-12)
    # At the optimum the mean probability of each class is its share of the rows.
    share = np.bincount(label) / len(label)
    np.testing.assert_allclose(said.mean(axis=0), share, atol=1e-3)


def test_inner_nodes_of_a_refitted_model_say_the_mean_of_their_leaves():
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)
    model = tw.prune(forest, X, Y, tradeoff=0).refit(X, Y, strength=0.1).model
    trees = read_forest(model)
    rows = X.astype(trees.input_dtype)
    leaf_values = trees.values[leaves(trees, rows), 0]
    for tree, root in enumerate(trees.tree_start[:-1]):
        assert trees.values[root, 0] == pytest.approx(leaf_values[:, tree].mean())
