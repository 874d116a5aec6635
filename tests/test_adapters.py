"""Adapters: a forest routes and predicts as its model does, and a written model is a true one."""

import pickle
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library_versions import IS_BEFORE_1_9
from models import (
    KINDS,
    Fitted,
    as_float32,
    assert_equal_forests,
    columns_of,
    fitted,
    hard_rows,
    numbers,
    plain_rows,
    random_kept,
    rows_with_missing,
    three_classes,
    trees_of,
    walk,
)
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import (
    export_text,
    plot_tree,
)
from sklearn.utils import get_tags

from thriftwood.adapters import ForestModel, read_forest, write_model
from thriftwood.errors import ForestError, UnfittedModelError
from thriftwood.forest import Forest, collapse, route_samples
from thriftwood.forest.table import read_table

matplotlib.use("Agg")

SINGLE_TREES = ("tree_classifier", "missing_tree_regressor", "best_first_tree", "single_leaf")
FORESTS = ("random_forest_classifier", "extra_trees_regressor", "best_first_forest")
BAGGED = ("bagging_classifier", "bagging_column_subsets", "bagging_columns_twice", "named_bagging")


def leaves_of(forest: Forest, rows: Any) -> np.ndarray:
    """The leaf of every row in every tree, as routing finds it; shape (n_trees, n_samples)."""
    routes = route_samples(forest, read_table(rows, forest.input_dtype))
    leaves = np.full(routes.order.shape, -1)
    for leaf in np.flatnonzero(~forest.is_split):
        tree = forest.tree_of(np.array([leaf]))[0]
        leaves[tree, routes.order[tree, routes.start[leaf] : routes.stop[leaf]]] = leaf
    return leaves


def mean_prediction(forest: Forest, rows: Any) -> np.ndarray:
    """What a forest predicts: the values of the leaves, averaged over the trees."""
    return forest.values[leaves_of(forest, rows)].mean(axis=0)


def rows_it_takes(model: Any, forest: Forest) -> np.ndarray:
    """The hard rows that the model's own `predict` does not refuse."""
    rows = hard_rows(forest)
    refused = np.isinf(as_float32(rows)).any(axis=1)
    # Before 1.9 trees that are monotonic say that they take NaN, and do not.
    says_wrong = IS_BEFORE_1_9 and getattr(model, "monotonic_cst", None) is not None
    if says_wrong or not get_tags(model).input_tags.allow_nan:
        refused |= np.isnan(rows).any(axis=1)
    return rows[~refused]


def as_trained(case: Fitted, rows: np.ndarray) -> Any:
    """The rows with the column names of the training data, if it has some."""
    return type(case.X)(rows, columns=case.X.columns) if hasattr(case.X, "columns") else rows


def own_prediction(model: Any, rows: Any) -> np.ndarray:
    return model.predict_proba(rows) if is_classifier(model) else model.predict(rows)[:, None]


def written(kind: str, share: float = 0.75) -> tuple[Any, Forest]:
    """A model with some of its splits collapsed, and the forest that it should be."""
    model = fitted(kind).model
    forest = read_forest(model)
    kept = random_kept(forest, seed=8, share=share)
    return write_model(model, kept), collapse(forest, kept)[0]


# --- read: same leaf, same value


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_reaches_the_same_leaf_as_in_the_model(kind: str) -> None:
    model = fitted(kind).model
    forest = read_forest(model)
    rows = hard_rows(forest)
    leaves = leaves_of(forest, rows)
    for number, tree in enumerate(trees_of(model)):
        own = tree.tree_.apply(as_float32(rows[:, columns_of(model, number)]))
        np.testing.assert_array_equal(leaves[number] - forest.tree_start[number], own)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_gets_the_same_value_from_each_tree_as_in_the_model(kind: str) -> None:
    model = fitted(kind).model
    forest = read_forest(model)
    rows = hard_rows(forest)
    leaves = leaves_of(forest, rows)
    for number, tree in enumerate(trees_of(model)):
        own = tree.tree_.predict(as_float32(rows[:, columns_of(model, number)]))
        own = own.reshape(len(rows), -1)
        values = forest.values[leaves[number]]
        if is_classifier(model) and tree is not model:
            missed = np.setdiff1d(np.arange(len(model.classes_)), tree.classes_.astype(int))
            assert (values[:, missed] == 0).all()
            values = values[:, tree.classes_.astype(int)]
        np.testing.assert_array_equal(values, own)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_over_the_trees_is_what_the_model_predicts(kind: str) -> None:
    case = fitted(kind)
    forest = read_forest(case.model)
    rows = rows_it_takes(case.model, forest)
    assert len(rows) > 40
    expected = own_prediction(case.model, as_trained(case, rows))
    np.testing.assert_allclose(mean_prediction(forest, rows), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_most_probable_class_is_what_a_classifier_predicts(kind: str) -> None:
    case = fitted(kind)
    forest = read_forest(case.model)
    assert forest.is_classifier == is_classifier(case.model)
    if not forest.is_classifier:
        return
    rows = rows_it_takes(case.model, forest)
    mean = mean_prediction(forest, rows)
    ranked = np.sort(np.pad(mean, ((0, 0), (1, 0))), axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-9  # where rounding does not break a tie
    assert clear.any()
    guess = forest.classes[mean.argmax(axis=1)]
    np.testing.assert_array_equal(guess[clear], case.model.predict(as_trained(case, rows))[clear])


def test_a_split_on_missing_alone_sends_infinity_with_the_numbers() -> None:
    model = fitted("missing_alone_matters").model
    forest = read_forest(model)
    assert np.isinf(forest.threshold).any(), "the model should split at infinity"
    infinite = leaves_of(forest, [[np.inf] * 4])[0, 0]
    missing = leaves_of(forest, [[np.nan] * 4])[0, 0]
    assert infinite != missing


def test_names_are_those_of_the_training_data() -> None:
    case = fitted("named_columns")
    assert read_forest(case.model).feature_names == tuple(case.X.columns)
    assert read_forest(fitted("stump").model).feature_names is None


def test_a_bagged_tree_that_missed_a_class_gives_it_no_probability() -> None:
    model = fitted("bagging_missed_class").model
    assert {len(tree.classes_) for tree in model.estimators_} == {2, 3}, "one tree must miss one"
    forest = read_forest(model)
    assert forest.values.shape[1] == 3
    np.testing.assert_allclose(forest.values.sum(axis=1), 1)


# --- write: reading what was written gives the collapsed forest


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 0.4, 0.8, 0.95, 1.0]))
@settings(deadline=None, max_examples=8)
def test_reading_what_was_written_gives_the_collapsed_forest(
    kind: str, seed: int, share: float
) -> None:
    model = fitted(kind).model
    forest = read_forest(model)
    kept = random_kept(forest, seed, share)
    pruned = write_model(model, kept)
    assert type(pruned) is type(model)
    assert_equal_forests(read_forest(pruned), collapse(forest, kept)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_that_stay_keep_what_training_noted_about_them(kind: str) -> None:
    model = fitted(kind).model
    forest = read_forest(model)
    kept = random_kept(forest, seed=8, share=0.75)
    _, origin = collapse(forest, kept)
    trees = trees_of(model)
    pruned = trees_of(write_model(model, kept))
    for name in ("impurity", "n_node_samples", "weighted_n_node_samples"):
        before = np.concatenate([getattr(tree.tree_, name) for tree in trees])
        after = np.concatenate([getattr(tree.tree_, name) for tree in pruned])
        np.testing.assert_array_equal(after, before[origin])


@pytest.mark.parametrize("kind", ["tree_classifier", "random_forest_regressor"])
def test_impossible_masks_are_refused(kind: str) -> None:
    model = fitted(kind).model
    forest = read_forest(model)
    with pytest.raises(ForestError, match="names a leaf"):
        write_model(model, np.ones(forest.n_nodes, dtype=bool))
    with pytest.raises(ForestError, match="parent is not kept"):
        write_model(model, forest.is_split & (forest.parent != -1))
    with pytest.raises(ForestError, match="one entry for each"):
        write_model(model, np.zeros(forest.n_nodes + 1, dtype=bool))


# --- a written model is a true estimator of scikit-learn


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_predicts_as_its_forest(kind: str) -> None:
    pruned, forest = written(kind)
    rows = rows_it_takes(pruned, forest)
    rows = np.concatenate([rows, plain_rows(30, seed=9)])
    expected = mean_prediction(forest, rows)
    given_rows = as_trained(fitted(kind), rows)
    np.testing.assert_allclose(own_prediction(pruned, given_rows), expected, rtol=1e-12, atol=1e-12)
    if not is_classifier(pruned):
        return
    probabilities = pruned.predict_proba(given_rows)
    np.testing.assert_array_equal(
        pruned.predict(given_rows), pruned.classes_[probabilities.argmax(axis=1)]
    )
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            pruned.predict_log_proba(given_rows), np.log(probabilities), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_scores_its_predictions(kind: str) -> None:
    pruned, _ = written(kind)
    _, X, y = fitted(kind)
    score = accuracy_score if is_classifier(pruned) else r2_score
    assert pruned.score(X, y) == pytest.approx(score(y, pruned.predict(X)))


@pytest.mark.parametrize("kind", SINGLE_TREES + FORESTS)
def test_a_written_model_applies_rows_to_the_leaves_of_its_forest(kind: str) -> None:
    pruned, forest = written(kind)
    rows = rows_it_takes(pruned, forest)
    leaves = leaves_of(forest, rows) - forest.tree_start[:-1, None]
    np.testing.assert_array_equal(pruned.apply(rows).reshape(len(rows), -1), leaves.T)


@pytest.mark.parametrize("kind", SINGLE_TREES + FORESTS)
def test_the_decision_path_of_a_written_model_is_a_walk_of_its_forest(kind: str) -> None:
    pruned, forest = written(kind)
    rows = rows_it_takes(pruned, forest)
    marks = pruned.decision_path(rows)
    if kind in FORESTS:
        marks, starts = marks
        assert starts.tolist() == forest.tree_start.tolist()
    for row, marked in zip(as_float32(rows), marks.toarray(), strict=True):
        nodes = [node for tree in range(forest.n_trees) for node in walk(forest, tree, row)]
        assert np.flatnonzero(marked).tolist() == sorted(nodes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_survives_pickling(kind: str) -> None:
    pruned, forest = written(kind)
    again = pickle.loads(pickle.dumps(pruned))
    assert_equal_forests(read_forest(again), forest)
    X = fitted(kind).X
    np.testing.assert_array_equal(again.predict(X), pruned.predict(X))


@pytest.mark.parametrize("kind", KINDS)
def test_a_clone_of_a_written_model_is_unfitted_with_the_same_parameters(kind: str) -> None:
    pruned, _ = written(kind)
    copy = clone(pruned)
    assert repr(copy.get_params()) == repr(fitted(kind).model.get_params())
    assert not hasattr(copy, "tree_")
    assert not hasattr(copy, "estimators_")
    with pytest.raises(UnfittedModelError):
        read_forest(copy)


@pytest.mark.parametrize("kind", KINDS)
def test_the_trees_of_a_written_model_know_their_size(kind: str) -> None:
    pruned, forest = written(kind)
    for number, tree in enumerate(trees_of(pruned)):
        own = slice(*forest.tree_start[number : number + 2])
        assert tree.get_depth() == forest.depth[own].max()
        assert tree.get_n_leaves() == np.count_nonzero(~forest.is_split[own])
        assert tree.tree_.node_count == len(tree.tree_.feature) == own.stop - own.start


@pytest.mark.parametrize("kind", KINDS)
def test_new_leaves_are_marked_as_scikit_learn_marks_its_own(kind: str) -> None:
    own_mark = fitted("single_leaf").model.tree_
    for tree in trees_of(written(kind)[0]):
        nodes = tree.tree_
        leaves = nodes.children_left == -1
        assert (nodes.children_right[leaves] == own_mark.children_right[0]).all()
        assert (nodes.feature[leaves] == own_mark.feature[0]).all()
        assert (nodes.threshold[leaves] == own_mark.threshold[0]).all()
        assert not nodes.missing_go_to_left[leaves].any()


@pytest.mark.parametrize("kind", SINGLE_TREES + FORESTS + BAGGED)
def test_a_written_tree_can_be_printed_and_drawn(kind: str) -> None:
    pruned, _ = written(kind)
    tree = trees_of(pruned)[0]
    lines = export_text(tree, max_depth=100).splitlines()
    n_leaves = tree.get_n_leaves()
    assert sum("class:" in line or "value:" in line for line in lines) == n_leaves
    figure, axes = plt.subplots()
    boxes = plot_tree(tree, ax=axes)
    plt.close(figure)
    assert sum("samples" in box.get_text() for box in boxes) == tree.tree_.node_count


def importances_by_hand(tree: Any) -> np.ndarray:
    """The fall of impurity at the splits of each feature, as a share of all."""
    own = tree.tree_
    mass = own.weighted_n_node_samples * own.impurity
    fall = np.zeros(tree.n_features_in_)
    for node in np.flatnonzero(own.children_left != -1):
        below = mass[own.children_left[node]] + mass[own.children_right[node]]
        fall[own.feature[node]] += mass[node] - below
    return fall / (fall.sum() or 1)


@pytest.mark.parametrize("kind", SINGLE_TREES + FORESTS)
def test_importances_are_those_of_the_splits_that_are_left(kind: str) -> None:
    pruned, forest = written(kind)
    for tree in trees_of(pruned):
        np.testing.assert_allclose(tree.feature_importances_, importances_by_hand(tree))
    tested = np.unique(forest.feature[forest.is_split])
    assert (np.delete(pruned.feature_importances_, tested) == 0).all()
    assert pruned.feature_importances_.sum() == pytest.approx(1 if len(tested) else 0)


@pytest.mark.parametrize(
    "kind",
    [
        *BAGGED,
        "random_forest_classifier",
        "random_forest_regressor",
        "extra_trees_regressor",
        "budget_forest",
    ],
)
def test_a_written_ensemble_knows_its_samples(kind: str) -> None:
    pruned, _ = written(kind)
    before = fitted(kind).model.estimators_samples_
    assert len(before) == len(pruned.estimators_)
    for own, pruned_own in zip(before, pruned.estimators_samples_, strict=True):
        np.testing.assert_array_equal(pruned_own, own)


OUT_OF_BAG = {
    "forest_classifier": RandomForestClassifier(40, oob_score=True, random_state=0),
    "forest_regressor": RandomForestRegressor(40, oob_score=True, random_state=0),
    "extra_trees": ExtraTreesClassifier(40, bootstrap=True, oob_score=True, random_state=0),
    "bagging_classifier": BaggingClassifier(n_estimators=40, oob_score=True, random_state=0),
    "bagging_regressor": BaggingRegressor(n_estimators=40, oob_score=True, random_state=0),
}


@pytest.mark.parametrize("name", OUT_OF_BAG)
def test_out_of_bag_figures_of_the_unpruned_trees_are_gone(name: str) -> None:
    X = plain_rows()
    model = clone(OUT_OF_BAG[name])
    model.fit(X, three_classes(X) if is_classifier(model) else numbers(X))
    forest = read_forest(model)
    stale = [attribute for attribute in vars(model) if attribute.startswith("oob_")]
    assert len(stale) >= 3, "the parameter, the score and the predictions"
    pruned = write_model(model, random_kept(forest, seed=0, share=0.5))
    left = [attribute for attribute in vars(pruned) if attribute.startswith("oob_")]
    assert left == ["oob_score"], "only the parameter stays"
    assert all(hasattr(model, attribute) for attribute in stale)


# --- the user's own model


@pytest.mark.parametrize("kind", KINDS)
def test_reading_and_writing_leave_the_model_as_it_was(kind: str) -> None:
    model = fitted(kind).model
    before = pickle.dumps(model)
    forest = read_forest(model)
    kept = random_kept(forest, seed=1, share=0.6)
    mask_before = kept.copy()
    write_model(model, kept)
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(kept, mask_before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_shares_nothing_with_the_user_s(kind: str) -> None:
    model = fitted(kind).model
    before = pickle.dumps(model)
    pruned = write_model(model, read_forest(model).is_split.copy())
    for tree in trees_of(pruned):
        assert all(tree is not own for own in trees_of(model))
        tree.tree_.value[...] = 7
        tree.tree_.threshold[...] = 7
        tree.random_state = "changed"
    for attribute in ("classes_", "feature_names_in_"):
        if hasattr(pruned, attribute):
            getattr(pruned, attribute)[0] = getattr(pruned, attribute)[-1]
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("kind", "parameter"),
    [
        ("bagging_classifier", "estimator__max_depth"),
        ("bagging_regressor", "n_estimators"),
        ("random_forest_classifier", "max_depth"),
        ("tree_regressor", "max_depth"),
    ],
)
def test_other_parameters_of_the_written_model_leave_the_model_as_it_was(
    kind: str, parameter: str
) -> None:
    model = fitted(kind).model
    before = pickle.dumps(model)
    pruned, _ = written(kind)
    pruned.set_params(**{parameter: 77})
    assert pruned.get_params()[parameter] == 77
    assert pickle.dumps(model) == before


def test_a_written_model_can_be_trained_again() -> None:
    case = fitted("bagging_regressor")
    before = pickle.dumps(case.model)
    pruned, _ = written("bagging_regressor")
    pruned.fit(case.X, case.y)
    assert_equal_forests(read_forest(pruned), read_forest(case.model))
    assert pickle.dumps(case.model) == before


def test_no_value_is_below_a_threshold_that_is_nan() -> None:
    """scikit-learn before 1.9 writes such where values are missing."""
    model = fitted("missing_tree_classifier").model
    tree = pickle.loads(pickle.dumps(model))
    split = np.flatnonzero(tree.tree_.children_left >= 0)[0]
    tree.tree_.threshold[split] = np.nan
    rows = rows_with_missing(200, seed=7)
    said = ForestModel(read_forest(tree)).predict_proba(rows)
    np.testing.assert_array_equal(said, tree.predict_proba(rows))
    assert (said != model.predict_proba(rows)).any()
