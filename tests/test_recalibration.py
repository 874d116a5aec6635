"""Recalibrated probabilities, by which estimators answer where errors have costs."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.evaluation import Recalibration
from thriftwood.evaluation.money import LEAST, PRIOR, Money, recalibrate

HEART = tw.datasets.load_heart()
MISSED = [[0, 3000], [9000, 0]]


def drawn(seed, n_samples, n_classes):
    """Return probabilities, and classes drawn by others that are less sure."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(n_classes, 0.5), n_samples)
    timid = probabilities**0.3
    timid /= timid.sum(axis=1, keepdims=True)
    target = (timid.cumsum(axis=1) < rng.random(n_samples)[:, None]).sum(axis=1)
    return probabilities, np.minimum(target, n_classes - 1), 2 * rng.random(n_samples)


def every_class(probabilities):
    """Return each sample once of every class, with weights that its probabilities say."""
    n_samples, n_classes = probabilities.shape
    return (
        np.repeat(probabilities, n_classes, axis=0),
        np.tile(np.arange(n_classes), n_samples),
        probabilities.ravel(),
    )


def numbers(found):
    return np.append(found.slope, found.bias)


@pytest.mark.parametrize(
    ("n_samples", "n_classes", "alike"),
    [(50, 2, False), (500, 2, False), (300, 3, False), (40, 5, False), (30, 2, True), (1, 2, True)],
)
def test_it_is_what_a_general_optimiser_finds(n_samples, n_classes, alike):
    probabilities, target, weights = drawn(n_samples, n_samples, n_classes)
    if alike:
        target[:] = 1
    logarithms = np.log(np.clip(probabilities, LEAST, 1))

    def loss(own):
        scores = own[0] * logarithms + np.append(0, own[1:])
        likely = scores[np.arange(n_samples), target] - np.log(np.exp(scores).sum(axis=1))
        return PRIOR / 2 * ((own[0] - 1) ** 2 + (own[1:] ** 2).sum()) - weights @ likely

    best = minimize(loss, np.eye(n_classes)[0], options={"gtol": 1e-8}).x
    found = numbers(recalibrate(probabilities, target, weights))
    np.testing.assert_allclose(np.delete(found, 1), best, atol=1e-5)
    assert found[1] == 0


@given(st.integers(0, 50), st.integers(2, 5))
def test_calibrated_probabilities_stay(seed, n_classes):
    probabilities = 0.99 * drawn(seed, 40, n_classes)[0] + 0.01 / n_classes
    found = recalibrate(*every_class(probabilities))
    np.testing.assert_allclose(numbers(found), [1, *[0] * n_classes], atol=1e-7)
    np.testing.assert_allclose(found(probabilities), probabilities, atol=1e-7)


@pytest.mark.parametrize("power", [0.5, 2.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_powers_and_factors_are_undone(n_classes, power):
    true = drawn(1, 200, n_classes)[0] + 0.3
    true /= true.sum(axis=1, keepdims=True)
    changed = true**power * np.arange(1, n_classes + 1)
    changed /= changed.sum(axis=1, keepdims=True)
    _, target, weights = every_class(true)
    found = recalibrate(np.repeat(changed, n_classes, axis=0), target, 1e6 * weights)
    np.testing.assert_allclose(found(changed), true, atol=1e-4)
    assert found.slope == pytest.approx(1 / power, rel=1e-3)


@given(st.integers(0, 50))
def test_the_order_of_two_classes_stays_and_weights_count_samples(seed):
    probabilities, target, weights = drawn(seed, 60, 2)
    weights = np.round(3 * weights)
    found = recalibrate(probabilities, target, weights)
    assert found.slope > 0
    order = np.argsort(probabilities[:, 1])
    assert (np.diff(found(probabilities)[order, 1]) >= 0).all()
    times = weights.astype(int)
    repeated = recalibrate(
        np.repeat(probabilities, times, axis=0), np.repeat(target, times), np.ones(times.sum())
    )
    np.testing.assert_allclose(numbers(repeated), numbers(found), atol=1e-6)


def test_samples_without_weight_are_answered_and_count_nowhere():
    probabilities, target, weights = drawn(2, 80, 3)
    matrix = np.array([[0.0, 2, 9], [1, 0, 4], [7, 3, 0]])
    weights[::4] = 0
    kept = weights > 0
    reference = drawn(3, 80, 3)[0]
    labels, found = Money(matrix, target, weights, reference).answer(probabilities)
    own = recalibrate(probabilities[kept], target[kept], weights[kept] / weights[kept].mean())
    np.testing.assert_allclose(found["recalibration"], numbers(own), atol=1e-7)
    np.testing.assert_array_equal(labels, (own(probabilities) @ matrix).argmin(axis=1))
    says = recalibrate(reference[kept], target[kept], weights[kept] / weights[kept].mean())
    expected = sum(
        weight * (says(row) @ matrix[:, label])
        for row, label, weight in zip(reference, labels, weights, strict=True)
    )
    assert found["expected_cost"] == pytest.approx(expected / weights.sum())


def fitted(kind):
    if kind == "grown":
        model = tw.BudgetForestClassifier(
            20, costs=HEART.prices, impurity="entropy", error_costs=MISSED, random_state=0
        )
    else:
        forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
        model = tw.PrunedEnsembleClassifier(forest, costs=HEART.prices, error_costs=MISSED, cv=3)
    return model.fit(HEART.frame(), HEART.y)


@pytest.mark.parametrize("kind", ["grown", "pruned"])
def test_answers_are_those_of_recalibrated_probabilities_wherever_they_are_asked_for(kind):
    model, X = fitted(kind), HEART.frame()
    recalibrated = model.recalibration_(model.predict_proba(X))
    np.testing.assert_allclose(recalibrated.sum(axis=1), 1)
    answers = (recalibrated @ np.array(MISSED)).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X), answers)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), answers)
    lazy = tw.LazyPredictor(model, costs=HEART.prices).predict(HEART.X)
    np.testing.assert_array_equal(lazy.labels, answers)
    np.testing.assert_allclose(lazy.proba, model.predict_proba(X))  # of the trees, as ever


def test_what_is_not_averaged_and_what_has_no_costs_is_left_alone():
    forest = RandomForestClassifier(10, random_state=0)
    plain = tw.PrunedEnsembleClassifier(forest, cv=3).fit(HEART.X, HEART.y)
    refitted = tw.PrunedEnsembleClassifier(
        forest, error_costs=MISSED, refit=True, cv="out_of_bag"
    ).fit(HEART.X, HEART.y)
    grown = tw.BudgetForestClassifier(5, random_state=0).fit(HEART.X, HEART.y)
    assert plain.recalibration_ is refitted.recalibration_ is grown.recalibration_ is None


def test_folds_that_lack_a_class_leave_the_average_to_others():
    X, y = HEART.X, HEART.y.copy()
    y[::40] = 2
    late = np.arange(len(y)) % 40 >= 20
    late, early = np.flatnonzero(late), np.flatnonzero(~late)
    halves = [(late, early), (early, late)]
    forest = RandomForestClassifier(10, min_samples_leaf=5, random_state=0)
    both, one = (
        tw.PrunedEnsembleClassifier(forest, error_costs=50, cv=own).fit(X, y)
        for own in (halves, halves[1:])
    )
    assert isinstance(both.recalibration_, Recalibration)
    np.testing.assert_array_equal(
        both.evaluation_.recalibration[0], one.evaluation_.recalibration[0]
    )
