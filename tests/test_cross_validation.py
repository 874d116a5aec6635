"""The point that estimators choose by what they measure: by cross-validation, or out of bag."""

from functools import partial

import numpy as np
import pytest
from pruned_ensembles import (
    FOREST,
    NUMBER_TREE,
    NUMBERS,
    PRICES,
    TREE,
    TREES,
    WEIGHED,
    WEIGHTS,
    X,
    Y,
    assert_same_trees,
    classifier,
    regressor,
)
from sklearn.base import clone
from sklearn.model_selection import KFold, PredefinedSplit, ShuffleSplit

import thriftwood as tw
from thriftwood.errors import ConstantPredictionWarning


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
    assert measured.n_samples == len(X)
    assert len(measured.to_frame()) == len(fitted.path_)


@pytest.mark.filterwarnings("ignore::thriftwood.errors.ConstantPredictionWarning")
def test_rules_and_limits_choose_on_what_was_measured():
    plain = classifier(rule="best_score").fit(X, Y)
    measured = plain.evaluation_
    assert measured.score[plain.pruned_.index] == measured.score.max()
    within = classifier(rule="budget", limit=4.0).fit(X, Y).pruned_.index
    assert measured.cost[within] <= 4.0
    assert measured.score[within] == measured.score[measured.cost <= 4.0].max()
    worse = classifier(rule="max_error_increase", limit=0.1).fit(X, Y).pruned_.index
    assert measured.error[worse] <= measured.original.error + 0.1
    assert (measured.error[worse + 1 :] > measured.original.error + 0.1).all()
    assert measured.cost[-1] == 0
    assert classifier(rule="budget", limit=0).fit(X, Y).pruned_.n_splits == 0


def test_out_of_bag_rows_choose_as_the_path_does():
    fitted = classifier(cv="out_of_bag", rule="best_score").fit(X, Y, sample_weight=WEIGHTS)
    by_hand = fitted.path_.choose(
        X, Y, samples="out_of_bag", rule="best_score", sample_weight=WEIGHTS
    )
    assert fitted.pruned_.index == by_hand.index
    assert_same_trees(fitted.model_, by_hand.model)
    assert len(fitted.evaluation_.error) == len(fitted.path_)


def test_one_split_has_the_standard_error_of_its_rows():
    split = ShuffleSplit(1, test_size=0.4, random_state=0)
    fitted = classifier(cv=split).fit(X, Y)
    error, n_samples = fitted.evaluation_.error, fitted.evaluation_.n_samples
    np.testing.assert_allclose(
        fitted.evaluation_.standard_error, np.sqrt(error * (1 - error) / n_samples), atol=1e-12
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
    assert fitted.evaluation_.n_samples == len(X) - 1
    assert fitted.classes_.tolist() == [0, 1, 9]


def test_few_rows_of_a_class_make_fewer_folds():
    y = np.zeros(30, dtype=int)
    y[:3] = 1
    with pytest.warns(ConstantPredictionWarning, match="not clearly better than a constant"):
        default = classifier(cv=5).fit(X[:30], y)
    with pytest.warns(ConstantPredictionWarning):
        three = classifier(cv=3).fit(X[:30], y)
    np.testing.assert_array_equal(default.evaluation_.error, three.evaluation_.error)


@pytest.mark.parametrize(
    ("make", "y", "n_samples"), [(classifier, np.arange(90) == 0, 90), (regressor, NUMBERS, 1)]
)
def test_too_few_rows_take_the_first_point_and_say_so(make, y, n_samples):
    with pytest.warns(UserWarning, match="too few samples"):
        fitted = make().fit(X[:n_samples], y[:n_samples])
    assert fitted.pruned_.index == 0
    assert fitted.evaluation_ is None


@pytest.mark.parametrize(("make", "tree", "y"), TREES)
def test_a_weight_of_two_is_a_row_twice_in_its_fold(make, tree, y):
    fold = np.arange(len(X)) % 4
    model = make(tree, costs=WEIGHED)
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
