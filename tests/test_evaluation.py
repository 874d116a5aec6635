"""Errors and bills along a path, and the rules that choose by them."""

import numpy as np
import pytest
from paths import HEART, NHANES, PATH, heart_path
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss

import thriftwood as tw
from thriftwood.errors import ConstantPredictionWarning, InputError

# --- evaluation


def test_evaluation_equals_predicting_with_each_written_model(nhanes):
    forest, path, X, y = nhanes
    points = [0, 1, len(path) // 4, len(path) // 2, -2, -1]
    measured = path.evaluate(X, y, points=points, quantiles=[0, 0.25, 1])
    label = np.searchsorted(forest.classes_, y)
    for k, index in enumerate(points):
        model = path[index].model
        probabilities = model.predict_proba(X)
        wrong = np.mean(model.predict(X) != y)
        assert abs(measured.error[k] - wrong) <= share_of_ties(probabilities)
        votes = np.stack([tree.predict_proba(X).argmax(axis=1) for tree in model.estimators_])
        counts = np.stack([(votes == c).sum(axis=0) for c in range(len(forest.classes_))])
        assert measured.vote_error[k] == np.mean(counts.argmax(axis=0) != label)
        labels = np.arange(len(forest.classes_))
        assert measured.log_loss[k] == pytest.approx(log_loss(label, probabilities, labels=labels))
        assert measured.brier[k] == pytest.approx(
            brier_score_loss(label, probabilities, labels=labels)
        )
        bill = tw.feature_bill(model, X, NHANES.costs).per_sample
        assert measured.cost[k] == pytest.approx(bill.mean())
        np.testing.assert_allclose(
            measured.cost_quantiles[k], np.quantile(bill, [0, 0.25, 1]), atol=1e-9
        )
    assert measured.points.tolist() == [index % len(path) for index in points]


def share_of_ties(probabilities):
    """Rows of which two classes are equal but for rounding: either may be predicted."""
    top_two = np.sort(probabilities, axis=1)[:, -2:]
    return (np.diff(top_two, axis=1)[:, 0] < 1e-9).mean()


@pytest.mark.parametrize("kind", [RandomForestClassifier, HistGradientBoostingClassifier])
@pytest.mark.parametrize("weight", [None, "whole", "fractions"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_confusion_matrices_are_those_of_the_written_models(kind, weight, n_classes):
    rng = np.random.default_rng(3)
    X = np.nan_to_num(HEART.X)
    y = np.array(["well", "ill", "odd"])[rng.integers(0, 3, len(X)) if n_classes == 3 else HEART.y]
    weights = {None: None, "whole": rng.integers(0, 4, len(X)), "fractions": rng.random(len(X))}
    odd = {"n_estimators": 7} if kind is RandomForestClassifier else {"max_iter": 5}
    model = kind(max_depth=3, random_state=0, **odd).fit(X[:200], y[:200])
    path = tw.prune_path(model, X[:200], y[:200])
    measured = path.evaluate(X, y, sample_weight=weights[weight])

    def expected(one):
        return confusion_matrix(
            y, one.predict(X), labels=model.classes_, sample_weight=weights[weight]
        )

    found = [measured.original.confusion, *measured.confusion]
    for matrix, one in zip(found, [model, *(point.model for point in path)], strict=True):
        unit = matrix.sum() / expected(one).sum() if weight == "fractions" else 1.0
        np.testing.assert_allclose(matrix, expected(one) * unit, rtol=1e-9)


def test_confusion_agrees_with_the_error_and_is_not_made_of_numbers_or_without_room(
    nhanes, monkeypatch
):
    _, path, X, y = nhanes
    measured = path.evaluate(X, y, points=[4, 0])
    right = np.trace(measured.confusion, axis1=1, axis2=2) / len(y)
    np.testing.assert_allclose(1 - right, measured.error)
    monkeypatch.setattr("thriftwood.evaluation.evaluation.MOST_CONFUSION", 3)
    assert path.evaluate(X, y, points=[0]).confusion is None
    numbers = RandomForestRegressor(3, max_depth=2, random_state=0).fit(HEART.X, HEART.y)
    of_numbers = tw.prune_path(numbers, HEART.X, HEART.y).evaluate(HEART.X, HEART.y)
    assert of_numbers.confusion is None
    assert of_numbers.original.confusion is None


@pytest.mark.parametrize("points", [None, [-1]])
def test_the_model_before_pruning_is_measured_too(nhanes, points):
    forest, path, X, y = nhanes
    original = path.evaluate(X, y, points=points).original
    wrong = np.mean(forest.predict(X) != y)
    assert abs(original.error - wrong) <= share_of_ties(forest.predict_proba(X))
    share = original.error
    assert original.standard_error == pytest.approx(np.sqrt(share * (1 - share) / len(y)))
    assert original.cost == pytest.approx(tw.feature_bill(forest, X, NHANES.costs).mean)


def test_evaluating_some_points_gives_what_evaluating_all_gives(nhanes):
    _, path, X, y = nhanes
    everything = path.evaluate(X, y)
    some = path.evaluate(X, y, points=[3, 1])
    for name in ("error", "standard_error", "vote_error", "log_loss", "brier", "cost"):
        np.testing.assert_array_equal(getattr(some, name), getattr(everything, name)[[3, 1]])
    assert len(everything.points) == len(path)
    assert len(everything.to_frame()) == len(path)


def test_weights_of_rows_count_them_again(nhanes):
    _, path, X, y = nhanes
    times = np.random.default_rng(0).integers(0, 3, len(y))
    costs = tw.Costs(per_feature=NHANES.costs, weigh_bills=True)
    weighted = path.evaluate(X, y, points=[0, 5], sample_weight=times, costs=costs)
    repeated = path.evaluate(np.repeat(X, times, axis=0), np.repeat(y, times), points=[0, 5])
    for name in ("error", "log_loss", "brier", "cost", "confusion"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name))


def test_weights_of_rows_weigh_no_bills_unless_asked(nhanes):
    _, path, X, y = nhanes
    times = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = path.evaluate(X, y, points=[0, 5], sample_weight=times)
    counted = path.evaluate(X[times > 0], y[times > 0], points=[0, 5])
    np.testing.assert_allclose(weighted.cost, counted.cost)
    assert (weighted.error != counted.error).all()


def test_out_of_bag_error_is_that_of_the_trees_that_did_not_see_a_row():
    model = RandomForestClassifier(60, max_features=None, oob_score=True, random_state=0)
    model.fit(HEART.X, HEART.y)
    path = heart_path(model, samples="in_bag")
    measured = path.evaluate(HEART.X, HEART.y, samples="out_of_bag", points=[0])
    probabilities = np.zeros((len(HEART.y), 2))
    for tree, sample in zip(path[0].model.estimators_, model.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(HEART.y)), sample)
        probabilities[out] += tree.predict_proba(HEART.X[out])
    by_hand = np.mean(model.classes_[probabilities.argmax(axis=1)] != HEART.y)
    assert measured.error[0] == pytest.approx(by_hand, abs=2 / len(HEART.y))
    assert abs(measured.error[0] - (1 - model.oob_score_)) < 0.03


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"points": [10**6]}, "there is no point 1000000"),
        ({"points": []}, "`points`"),
        ({"points": [0.5]}, "`points`"),
        ({"quantiles": [2]}, "between 0 and 1"),
        ({"quantiles": [[0.5]]}, "list of numbers"),
        ({"samples": "other"}, "`samples` is 'other'"),
    ],
)
def test_evaluation_refuses_what_makes_no_sense(wrong, words):
    with pytest.raises(InputError, match=words):
        PATH.evaluate(HEART.X, HEART.y, **wrong)


# --- choosing


def test_rules_choose_what_they_say(nhanes):
    _, path, X, y = nhanes
    measured = path.evaluate(X, y)
    best = path.choose(X, y, rule="best_score").index
    assert measured.score[best] == measured.score.max()
    assert (measured.score[best + 1 :] < measured.score.max()).all()
    with pytest.warns(ConstantPredictionWarning):
        within = path.choose(X, y, rule="max_error_increase", limit=0.02).index
    assert measured.error[within] <= measured.original.error + 0.02
    assert (measured.error[within + 1 :] > measured.original.error + 0.02).all()
    above = path.choose(X, y, rule="max_score_decrease", limit=0.02).index
    assert measured.score[above] >= measured.original.score - 0.02
    assert (measured.score[above + 1 :] < measured.original.score - 0.02).all()
    budget = float(np.median(measured.cost))
    affordable = path.choose(X, y, rule="budget", limit=budget)
    assert measured.cost[affordable.index] <= budget
    assert measured.score[affordable.index] == measured.score[measured.cost <= budget].max()


def test_a_rise_that_no_point_keeps_to_leaves_the_model_as_it_is(nhanes):
    forest, path, X, _ = nhanes
    y = forest.predict(X)  # the model gets all of them right, but for ties
    measured = path.evaluate(X, y)
    kept = path.choose(X, y, rule="max_error_increase", limit=0)
    assert kept.model is forest
    assert kept.index is None
    assert (kept.cost, kept.choice.given_up) == (path.original.cost, 0)
    assert "the model stays as it was" in str(kept)
    assert kept.proof.gap >= path.original.loss - path.losses[0]
    nearest = measured.error.min() - measured.original.error
    chosen = path.choose(X, y, rule="max_error_increase", limit=nearest).index
    assert measured.error[chosen] == measured.error.min()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rule": "best"}, "`rule` is 'best'"),
        ({"rule": "budget"}, "`limit` is None"),
        ({"rule": "max_error_increase", "limit": -1}, "`limit` is -1"),
        ({"rule": "max_score_decrease"}, "`limit` is None"),
        ({"rule": "best_score", "limit": 1}, "takes no `limit`"),
    ],
)
def test_rules_refuse_what_makes_no_sense(wrong, words):
    with pytest.raises(InputError, match=words):
        PATH.choose(HEART.X, HEART.y, **wrong)
