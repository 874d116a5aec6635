"""Laws of the estimators: what they do can be done by hand, and scikit-learn's tools take them."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from models import NAMES, numbers, plain_rows, rows_with_missing, two_classes, words
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError, UnsupportedModelError

X = plain_rows()
Y = two_classes(X)
NUMBERS = numbers(X)
PRICES = np.array([5.0, 1.0, 2.0, 8.0])
BY_NAME = dict(zip(NAMES, PRICES, strict=True))
FRAME = pd.DataFrame(X, columns=NAMES)
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X))

FOREST = RandomForestClassifier(5, max_features=None, random_state=0)
NUMBER_FOREST = RandomForestRegressor(5, max_depth=4, random_state=0)
TREE = DecisionTreeClassifier(random_state=0)
NUMBER_TREE = DecisionTreeRegressor(max_depth=4, random_state=0)


def classifier(estimator=FOREST, **options):
    return tw.PrunedEnsembleClassifier(estimator, **{"costs": PRICES, **options})


def regressor(estimator=NUMBER_FOREST, **options):
    return tw.PrunedEnsembleRegressor(estimator, **{"costs": PRICES, **options})


KINDS = [
    (classifier, FOREST, Y),
    (classifier, TREE, words(X)),
    (classifier, BaggingClassifier(TREE, 4, max_features=0.5, random_state=0), Y),
    (regressor, NUMBER_FOREST, NUMBERS),
    (regressor, ExtraTreesRegressor(4, max_depth=4, random_state=0), NUMBERS),
]


def assert_same_trees(one, other):
    first, second = read_forest(one), read_forest(other)
    np.testing.assert_array_equal(first.feature, second.feature)
    np.testing.assert_array_equal(first.threshold, second.threshold)
    np.testing.assert_allclose(first.values, second.values)


# --- scikit-learn's own checks

IN_THE_LOSS_ONLY = {
    "check_class_weight_classifiers": (
        "Class weights decide what is pruned. What nodes predict was decided in growing, by the "
        "class weights of the estimator inside."
    )
}
DRAWS_DIFFER = {
    "check_sample_weight_equivalence_on_dense_data": (
        "A forest draws rows, whatever they weigh: of a row of weight 2 and of two equal rows it "
        "draws different samples. RandomForest* fail this check too."
    )
}


def failures_expected(estimator):
    draws = hasattr(estimator.estimator, "n_estimators")
    return IN_THE_LOSS_ONLY | (DRAWS_DIFFER if draws else {})


@parametrize_with_checks(
    [
        tw.PrunedEnsembleClassifier(RandomForestClassifier(5, max_features=None)),
        tw.PrunedEnsembleClassifier(RandomForestClassifier(5), tradeoff=0.001),
        tw.PrunedEnsembleClassifier(DecisionTreeClassifier(), tradeoff=0.001),
        tw.PrunedEnsembleRegressor(RandomForestRegressor(5), cv=2),
        tw.PrunedEnsembleRegressor(DecisionTreeRegressor(), tradeoff=0.001),
    ],
    expected_failed_checks=failures_expected,
)
def test_scikit_learn_accepts_them(estimator, check):
    check(estimator)


# --- nothing but growing, pruning and choosing


@pytest.mark.parametrize(("make", "estimator", "y"), KINDS)
@pytest.mark.parametrize("point", [{"budget": 4.0}, {"tradeoff": 0.01}])
def test_fitting_is_growing_pruning_and_choosing(make, estimator, y, point):
    fitted = make(estimator, **point).fit(X, y)
    grown = clone(estimator).fit(X, y)
    by_hand = tw.prune_path(grown, X, y, costs=PRICES).at(**point)
    assert_same_trees(fitted.estimator_, grown)
    assert_same_trees(fitted.model_, by_hand.model)
    assert fitted.pruned_.cost == by_hand.cost
    assert fitted.pruned_.model is fitted.model_
    assert fitted.path_.model is fitted.estimator_
    assert fitted.evaluation_ is None
    np.testing.assert_array_equal(fitted.predict(X), by_hand.model.predict(X))
    assert fitted.score(X, y) == by_hand.model.score(X, y)


def test_loss_and_rows_reach_the_path():
    fitted = classifier(tradeoff=0.01, loss="brier", rows="out_of_bag", n_jobs=2).fit(X, Y)
    grown = clone(FOREST).fit(X, Y)
    path = tw.prune_path(grown, X, Y, costs=PRICES, loss="brier", rows="out_of_bag")
    np.testing.assert_array_equal(fitted.path_.tradeoffs, path.tradeoffs)


def test_probabilities_are_those_of_the_pruned_model():
    fitted = classifier(TREE, tradeoff=0.01).fit(X, words(X))
    assert fitted.classes_.tolist() == ["healthy", "ill", "unsure"]
    shares = fitted.predict_proba(X)
    np.testing.assert_array_equal(shares, fitted.model_.predict_proba(X))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(fitted.predict_log_proba(X), np.log(shares))


@pytest.mark.parametrize(
    ("make", "y", "kind"),
    [(classifier, Y, RandomForestClassifier), (regressor, NUMBERS, RandomForestRegressor)],
)
def test_without_an_estimator_a_forest_on_all_features_is_grown(make, y, kind):
    fitted = make(None, tradeoff=0.01, random_state=3).fit(X, y)
    assert_same_trees(fitted.estimator_, kind(max_features=None, random_state=3).fit(X, y))


def test_our_random_state_wins_and_none_leaves_the_estimators():
    ours = classifier(FOREST, tradeoff=0.01, random_state=1).fit(X, Y)
    assert_same_trees(ours.estimator_, clone(FOREST).set_params(random_state=1).fit(X, Y))
    theirs = classifier(FOREST, tradeoff=0.01).fit(X, Y)
    assert_same_trees(theirs.estimator_, clone(FOREST).fit(X, Y))
    assert FOREST.random_state == 0
    assert not hasattr(FOREST, "estimators_")


# --- the point that cross-validation chooses


def plain_cross_validation(path, estimator, y, folds):
    """Errors and bills of each fold: before pruning, then of every point, pruned on its own."""
    ends = path.tradeoffs
    middles = [0.0, *np.sqrt(ends[1:-1] * ends[2:]), 1e9]
    errors, costs = np.empty((2, len(folds), 1 + len(path)))
    for fold, (train, test) in enumerate(folds):
        grown = clone(estimator).fit(X[train], y[train])
        prune = partial(tw.prune, grown, X[train], y[train], costs=PRICES)
        models = [grown, *(prune(tradeoff=tradeoff).model for tradeoff in middles)]
        for place, model in enumerate(models):
            wrong = model.predict(X[test]) - y[test]
            wrong = wrong**2 if path.forest.classes is None else wrong != 0
            errors[fold, place] = wrong.mean()
            costs[fold, place] = tw.feature_bill(model, X[test], PRICES).mean
    return errors, costs


@pytest.mark.parametrize(
    ("make", "estimator", "y"),
    [(classifier, FOREST, Y), (regressor, NUMBER_TREE, NUMBERS)],
)
def test_cross_validation_is_that_of_cart(make, estimator, y):
    folds = list(KFold(4).split(X))
    fitted = make(estimator, cv=iter(folds)).fit(X, y)
    measured = fitted.evaluation_
    errors, costs = plain_cross_validation(fitted.path_, estimator, y, folds)
    sizes = [len(test) for _, test in folds]
    means = (
        np.average(errors, axis=0, weights=sizes),
        errors.std(axis=0, ddof=1) / 2,
        np.average(costs, axis=0, weights=sizes),
    )
    for name, by_hand in zip(("error", "standard_error", "cost"), means, strict=True):
        np.testing.assert_allclose(getattr(measured.original, name), by_hand[0], atol=1e-12)
        np.testing.assert_allclose(getattr(measured, name), by_hand[1:], atol=1e-12)
    assert measured.n_rows == len(X)
    best = measured.error.argmin()
    near = np.flatnonzero(measured.error <= measured.error[best] + measured.standard_error[best])
    assert fitted.pruned_.index == near[-1]
    assert len(measured.to_frame()) == len(fitted.path_)


def test_rules_and_limits_choose_on_what_was_measured():
    plain = classifier(rule="lowest_error").fit(X, Y)
    measured = plain.evaluation_
    assert measured.error[plain.pruned_.index] == measured.error.min()
    within = classifier(rule="budget", limit=4.0).fit(X, Y).pruned_.index
    assert measured.cost[within] <= 4.0
    assert measured.error[within] == measured.error[measured.cost <= 4.0].min()
    worse = classifier(rule="error_increase", limit=0.1).fit(X, Y).pruned_.index
    assert measured.error[worse] <= measured.original.error + 0.1
    assert (measured.error[worse + 1 :] > measured.original.error + 0.1).all()
    assert measured.cost[-1] == 0
    assert classifier(rule="budget", limit=0).fit(X, Y).pruned_.n_splits == 0


def test_out_of_bag_rows_choose_as_the_path_does():
    fitted = classifier(cv="out_of_bag", rule="lowest_error").fit(X, Y, sample_weight=WEIGHTS)
    by_hand = fitted.path_.choose(
        X, Y, rows="out_of_bag", rule="lowest_error", sample_weight=WEIGHTS
    )
    assert fitted.pruned_.index == by_hand.index
    assert_same_trees(fitted.model_, by_hand.model)
    assert len(fitted.evaluation_.error) == len(fitted.path_)


def test_one_split_has_the_standard_error_of_its_rows():
    split = ShuffleSplit(1, test_size=0.4, random_state=0)
    fitted = classifier(cv=split).fit(X, Y)
    error, n_rows = fitted.evaluation_.error, fitted.evaluation_.n_rows
    np.testing.assert_allclose(
        fitted.evaluation_.standard_error, np.sqrt(error * (1 - error) / n_rows), atol=1e-12
    )


def test_masks_split_as_row_numbers_do():
    tests = [np.arange(len(X)) % 3 == fold for fold in range(3)]
    by_mask = classifier(cv=[(~test, test) for test in tests]).fit(X, Y)
    by_number = classifier(cv=PredefinedSplit(np.arange(len(X)) % 3)).fit(X, Y)
    np.testing.assert_array_equal(by_mask.evaluation_.error, by_number.evaluation_.error)


def test_rows_of_a_class_that_training_misses_do_not_stop_it():
    y = Y.copy()
    y[7] = 9
    fitted = classifier(cv=KFold(3)).fit(X, y)
    assert fitted.evaluation_.n_rows == len(X) - 1
    assert fitted.classes_.tolist() == [0, 1, 9]


def test_few_rows_of_a_class_make_fewer_folds():
    y = np.zeros(30, dtype=int)
    y[:3] = 1
    default = classifier(cv=5).fit(X[:30], y)
    three = classifier(cv=3).fit(X[:30], y)
    np.testing.assert_array_equal(default.evaluation_.error, three.evaluation_.error)


@pytest.mark.parametrize(
    ("make", "y", "n_rows"), [(classifier, np.arange(90) == 0, 90), (regressor, NUMBERS, 1)]
)
def test_too_few_rows_take_the_first_point_and_say_so(make, y, n_rows):
    with pytest.warns(UserWarning, match="too few rows"):
        fitted = make().fit(X[:n_rows], y[:n_rows])
    assert fitted.pruned_.index == 0
    assert fitted.evaluation_ is None


# --- weights


# Whole numbers, whose sums do not depend on their order.
TREES = [(classifier, TREE, Y), (regressor, NUMBER_TREE, np.rint(NUMBERS))]


@pytest.mark.parametrize(("make", "tree", "y"), TREES)
def test_a_weight_of_two_is_a_row_twice(make, tree, y):
    model = make(tree, tradeoff=0.01)
    weighted = clone(model).fit(X, y, sample_weight=WEIGHTS)
    repeated = clone(model).fit(np.repeat(X, WEIGHTS, axis=0), np.repeat(y, WEIGHTS))
    assert_same_trees(weighted.model_, repeated.model_)
    assert weighted.pruned_.cost == pytest.approx(repeated.pruned_.cost)


@pytest.mark.parametrize(("make", "tree", "y"), TREES)
def test_a_weight_of_two_is_a_row_twice_in_its_fold(make, tree, y):
    fold = np.arange(len(X)) % 4
    model = make(tree)
    weighted = clone(model).set_params(cv=PredefinedSplit(fold)).fit(X, y, sample_weight=WEIGHTS)
    repeated = clone(model).set_params(cv=PredefinedSplit(np.repeat(fold, WEIGHTS)))
    repeated.fit(np.repeat(X, WEIGHTS, axis=0), np.repeat(y, WEIGHTS))
    assert weighted.pruned_.index == repeated.pruned_.index
    for name in ("error", "standard_error", "cost"):
        one, other = getattr(weighted.evaluation_, name), getattr(repeated.evaluation_, name)
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_fold_without_weight_is_no_fold():
    fold = np.arange(len(X)) % 4
    weights = (fold != 2).astype(float)
    with_it = classifier(TREE, cv=PredefinedSplit(fold)).fit(X, Y, sample_weight=weights)
    counts = fold != 2
    without = classifier(TREE, cv=PredefinedSplit(fold[counts])).fit(X[counts], Y[counts])
    np.testing.assert_allclose(with_it.evaluation_.error, without.evaluation_.error)


# --- scikit-learn's tools


def test_copies_have_the_same_parameters_and_change_nothing():
    model = classifier(tradeoff=0.01)
    copy = clone(model).set_params(estimator__max_depth=3, costs=None)
    assert copy.estimator.max_depth == 3
    assert model.estimator.max_depth is None
    assert model.costs is PRICES
    with pytest.raises(NotFittedError):
        copy.predict(X)


def test_pickles_predict_the_same():
    model = classifier(cv=2).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.path_.model is again.estimator_
    assert again.path_.at(budget=3.0).cost == model.path_.at(budget=3.0).cost


def test_in_a_pipeline_prices_are_by_column():
    pipeline = make_pipeline(StandardScaler(), classifier(TREE, budget=4.0)).fit(X, Y)
    by_hand = classifier(TREE, budget=4.0).fit(StandardScaler().fit_transform(X), Y)
    assert_same_trees(pipeline[-1].model_, by_hand.model_)
    assert pipeline.score(X, Y) == by_hand.model_.score(StandardScaler().fit_transform(X), Y)


def test_grid_search_over_what_to_spend():
    search = GridSearchCV(classifier(), {"budget": [0.0, 6.0], "estimator__max_depth": [2, 4]})
    search.fit(X, Y)
    assert search.best_params_["budget"] == 6.0
    again = clone(classifier()).set_params(**search.best_params_)
    assert search.best_score_ == cross_val_score(again, X, Y).mean()
    assert_same_trees(search.best_estimator_.model_, again.fit(X, Y).model_)
    tradeoffs = GridSearchCV(regressor(), {"tradeoff": [0.01, 100.0]}).fit(X, NUMBERS)
    assert tradeoffs.best_params_ == {"tradeoff": 0.01}
    assert len(cross_val_score(classifier(cv=2), X, Y, cv=3)) == 3


def test_weights_and_prices_are_routed():
    with config_context(enable_metadata_routing=True):
        model = classifier(TREE, costs=None, tradeoff=0.01)
        model.set_fit_request(sample_weight=True, costs=True).set_score_request(sample_weight=True)
        plain = classifier(TREE, tradeoff=0.01).fit(X, Y, sample_weight=WEIGHTS)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipeline.fit(X, Y, sample_weight=WEIGHTS, costs=PRICES)
        np.testing.assert_array_equal(pipeline[-1].path_.prices.prices, PRICES)
        assert pipeline[-1].pruned_.cost == pytest.approx(plain.pruned_.cost)
        for prices in (PRICES, BY_NAME):
            search = GridSearchCV(model, {"tradeoff": [0.01]}, cv=3, error_score="raise")
            search.fit(FRAME, Y, sample_weight=WEIGHTS, costs=prices)
            assert_same_trees(search.best_estimator_.model_, plain.model_)


def test_prices_of_fit_go_before_those_of_the_constructor():
    fitted = classifier(TREE, costs=np.ones(4), tradeoff=0.01).fit(X, Y, costs=PRICES)
    assert_same_trees(fitted.model_, classifier(TREE, tradeoff=0.01).fit(X, Y).model_)
    np.testing.assert_array_equal(fitted.costs, np.ones(4))


# --- rows as people have them


@pytest.mark.parametrize("frame", [FRAME, pl.DataFrame(X, schema=NAMES)])
def test_data_frames_bring_their_names(frame):
    plain = classifier(cv=2).fit(X, Y)
    named = classifier(cv=2, costs=BY_NAME).fit(frame, Y)
    assert named.feature_names_in_.tolist() == NAMES
    assert named.path_.forest.feature_names == tuple(NAMES)
    assert named.model_.feature_names_in_.tolist() == NAMES
    assert_same_trees(named.model_, plain.model_)
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    np.testing.assert_array_equal(named.evaluation_.cost, plain.evaluation_.cost)
    with pytest.warns(UserWarning, match="valid feature names"):
        named.predict(X)
    assert not hasattr(named.set_params(costs=PRICES).fit(X, Y), "feature_names_in_")


def test_missing_values_where_the_estimator_takes_them():
    missing = rows_with_missing()
    fitted = classifier(cv=2).fit(missing, Y)
    assert fitted.__sklearn_tags__().input_tags.allow_nan
    assert fitted.predict(missing).shape == Y.shape
    strict = regressor(ExtraTreeRegressor(splitter="best"), tradeoff=0.01)
    assert not strict.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        strict.fit(missing, NUMBERS)


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 1.0, "tradeoff": 0.1}, "not both"),
        ({"budget": -1.0}, "`budget` is -1.0"),
        ({"tradeoff": np.nan}, "`tradeoff` is nan"),
        ({"rule": "best"}, "no rule 'best'"),
        ({"rule": "budget"}, "needs it"),
        ({"limit": 3.0}, "takes no `limit`"),
        ({"costs": [1.0, 2.0]}, "one price per feature"),
        ({"costs": BY_NAME}, "column names"),
        ({"loss": "squared_error"}, "no loss 'squared_error'"),
        ({"rows": "some"}, "`rows` is 'some'"),
        ({"estimator": TREE, "cv": "out_of_bag"}, "has no rows out of bag"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(options, message):
    with pytest.raises(InputError, match=message):
        classifier(**options).fit(X, Y)


@pytest.mark.parametrize("cv", ["out_of_bags", 1, 0, 1.5])
def test_splits_that_scikit_learn_does_not_know_are_refused(cv):
    with pytest.raises(ValueError, match=r"cv|n_splits"):
        classifier(cv=cv).fit(X, Y)


@pytest.mark.parametrize(
    ("make", "estimator", "message"),
    [
        (classifier, LogisticRegression(), "Cannot read this LogisticRegression"),
        (classifier, RandomForestClassifier, "Cannot read the class RandomForestClassifier"),
        (classifier, "forest", "Cannot read this str"),
        (classifier, NUMBER_FOREST, "the kind of RandomForestClassifier"),
        (regressor, TREE, "the kind of RandomForestRegressor"),
        (regressor, read_forest(clone(NUMBER_TREE).fit(X, NUMBERS)), "made of a Forest"),
        (classifier, BaggingClassifier(LogisticRegression()), "Estimator 0 of this Bagging"),
    ],
)
def test_models_that_cannot_be_pruned_are_refused(make, estimator, message):
    with pytest.raises(UnsupportedModelError, match=message):
        make(estimator, tradeoff=0.1).fit(X, Y)


@pytest.mark.parametrize("weights", [np.full(len(X), -1.0), WEIGHTS[1:], np.zeros(len(X))])
def test_wrong_weights_are_refused(weights):
    with pytest.raises(ValueError, match=r"[wW]eight"):
        classifier(tradeoff=0.1).fit(X, Y, sample_weight=weights)
