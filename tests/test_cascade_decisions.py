"""What a cascade is tuned for: scores, class weights, costs of errors; and a limit it keeps."""

from functools import cache

import numpy as np
import pytest
from paths import FOREST, HEART, NHANES
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from test_bad_input import assert_refused
from test_cascade import X_TEST, X_TRAIN, X_VALID, Y_TEST, Y_TRAIN, Y_VALID, nhanes

import thriftwood as tw
from thriftwood.adapters import forest_model

MATRIX = np.array([[0.0, 200, 300], [250, 0, 300], [900, 400, 0]])


@cache
def by_money():
    return nhanes()[1].cascade(X_VALID, Y_VALID, stages=6, error_costs=MATRIX)


def paid(cascade, X, y):
    """Return the mean bill, and what the answers cost."""
    answers = cascade.predict(X)
    return cascade.bill(X).mean, MATRIX[y, answers].mean()


def at_rule(cascade, number):
    return cascade.at(budget=float(cascade.rules.costs[number]))


# --- what errors cost


def test_answers_are_those_of_least_expected_cost_wherever_they_are_given():
    cascade = by_money()
    expected = cascade.predict_proba(X_TEST) @ MATRIX
    np.testing.assert_array_equal(cascade.predict(X_TEST), expected.argmin(axis=1))
    lazy = tw.LazyPredictor(cascade).predict(X_TEST)
    np.testing.assert_array_equal(lazy.labels, cascade.predict(X_TEST))
    np.testing.assert_allclose(lazy.bill.per_sample, cascade.bill(X_TEST).per_sample)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_rules_know_what_they_cost(share):
    cascade = by_money()
    number = round(share * (len(cascade.rules) - 1))
    bill, errors = paid(at_rule(cascade, number), X_VALID, Y_VALID)
    assert bill == pytest.approx(cascade.rules.costs[number])
    assert errors == pytest.approx(cascade.rules.errors[number])


def test_without_a_budget_bills_and_errors_cost_least_in_sum():
    cascade = by_money()
    total = cascade.rules.costs + cascade.rules.losses
    assert total[cascade.rules.suggested] == total.min()
    assert sum(paid(cascade, X_VALID, Y_VALID)) < min(
        sum(paid(at_rule(cascade, number), X_VALID, Y_VALID)) for number in (0, -1)
    )


def test_a_sample_stops_where_other_answers_are_expected_to_cost_enough_more():
    cascade = by_money().at(budget=30)
    way, thresholds = cascade.decision_path(X_TEST), cascade.stages.thresholds
    least = 0.001 * MATRIX.max()
    for number in cascade.stages.in_use:
        reached = ~np.isnan(way.margins[:, number])
        model = forest_model(cascade.stages.forests[number])
        expected = np.sort(model.predict_proba(X_TEST) @ MATRIX, axis=1)
        margin = np.log((expected[:, 1] + least) / (expected[:, 0] + least))
        np.testing.assert_allclose(
            way.margins[reached, number], margin[reached], rtol=2e-6, atol=1e-12
        )
        stops = way.margins[reached, number] >= thresholds[number]
        np.testing.assert_array_equal(way.stage[reached] == number, stops)
    assert len(np.unique(way.stage)) > 2
    np.testing.assert_array_equal(tw.LazyPredictor(cascade).predict(X_TEST).stages, way.stage)


@pytest.mark.parametrize("labels", [2, 3])
def test_boosted_trees_stop_alike_in_batches_and_one_by_one(labels):
    rows, y = np.nan_to_num(NHANES.X[:400, :20]), np.minimum(NHANES.y[:400], labels - 1)
    model = GradientBoostingClassifier(n_estimators=8, learning_rate=0.5, random_state=0).fit(
        rows, y
    )
    matrix = MATRIX[:labels, :labels]
    cascade = tw.prune_path(model, rows, y).cascade(rows, y, stages=4, error_costs=matrix)
    n_stages = []
    for share in (0.25, 0.5, 0.75):
        one = at_rule(cascade, int(share * len(cascade.rules)))
        way, lazy = one.decision_path(rows), tw.LazyPredictor(one).predict(rows)
        np.testing.assert_array_equal(lazy.stages, way.stage)
        np.testing.assert_array_equal(lazy.labels, one.predict(rows))
        n_stages.append(len(np.unique(way.stage)))
    assert max(n_stages) > 1


@pytest.mark.parametrize("refit", [None, (X_TRAIN, Y_TRAIN)])
def test_the_unit_of_prices_and_errors_changes_no_rule(refit):
    path = nhanes()[1]
    dollars, cents = (
        tw.prune_path(
            path.model, X_TRAIN, Y_TRAIN, costs=unit * path.prices.as_costs().per_feature
        ).cascade(X_VALID, Y_VALID, stages=4, error_costs=unit * MATRIX, refit=refit)
        for unit in (1, 100)
    )
    np.testing.assert_allclose(cents.rules.thresholds, dollars.rules.thresholds)
    np.testing.assert_allclose(cents.rules.losses, 100 * dollars.rules.losses)


def test_a_guarantee_may_be_about_money():
    limit = 40.0
    guaranteed = by_money().guaranteed(X_TEST, Y_TEST, max_error_increase=limit, confidence=0.9)
    whole = by_money().at(budget=np.inf)
    increase = paid(guaranteed, X_TEST, Y_TEST)[1] - paid(whole, X_TEST, Y_TEST)[1]
    assert increase < limit
    assert guaranteed.bill(X_TEST).mean < whole.bill(X_TEST).mean
    assert_refused(
        lambda: by_money().guaranteed(X_TEST, Y_TEST, max_error_increase=901),
        "`max_error_increase` is 901: pass a number between 0 and 900",
    )
    with pytest.warns(UserWarning, match="10 samples are too few"):
        by_money().guaranteed(X_TEST[:10], Y_TEST[:10], max_error_increase=limit)


# --- scores and class weights


def test_the_cheapest_rule_that_is_not_clearly_worse_by_a_score_is_taken():
    path = nhanes()[1]
    cascade = path.cascade(X_VALID, Y_VALID, stages=6, scoring="accuracy")
    accuracy = 1 - cascade.rules.errors
    hits = np.array(
        [
            at_rule(cascade, number).predict(X_VALID) == Y_VALID
            for number in (*range(cascade.rules.suggested + 1), int(accuracy.argmax()))
        ]
    )
    noise = np.std(hits - hits[-1].astype(float), axis=1, ddof=1) / np.sqrt(len(Y_VALID))
    short = hits[-1].mean() - hits.mean(axis=1)
    assert short[cascade.rules.suggested] <= 1.3 * noise[cascade.rules.suggested]
    assert (short > 0.7 * noise)[: cascade.rules.suggested].all()  # groups give about this noise


def test_an_area_needs_probabilities_of_the_stage_where_samples_stop():
    X, y = np.nan_to_num(HEART.X), HEART.y
    forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X[::2], y[::2])
    path = tw.prune_path(forest, X[::2], y[::2], costs=HEART.costs)
    cascade = path.cascade(X[1::2], y[1::2], stages=6, scoring="roc_auc")
    area = roc_auc_score(y[1::2], cascade.predict_proba(X[1::2])[:, 1])
    whole = roc_auc_score(y[1::2], forest.predict_proba(X[1::2])[:, 1])
    assert area > whole - 0.05


def test_class_weights_weigh_errors_but_no_bills():
    weight = {0: 1, 1: 1, 2: 8}
    cascade = nhanes()[1].cascade(X_VALID, Y_VALID, stages=6, class_weight=weight)
    number = len(cascade.rules) // 2
    one = at_rule(cascade, number)
    own = np.array([weight[label] for label in Y_VALID])
    error = np.average(one.predict(X_VALID) != Y_VALID, weights=own)
    assert error == pytest.approx(cascade.rules.errors[number])
    assert one.bill(X_VALID).mean == pytest.approx(cascade.rules.costs[number])


# --- a limit


@pytest.mark.parametrize("max_cost", [0, 5, 40])
def test_no_bill_passes_the_limit_of_a_cascade(max_cost):
    cascade = nhanes()[2]
    limited = cascade.at(max_cost=max_cost)
    lazy = tw.LazyPredictor(cascade, max_cost=max_cost).predict(X_TEST)
    assert limited.bill(X_TEST).per_sample.max() <= max_cost
    for bill in (limited.bill(X_TEST), tw.feature_bill(limited, X_TEST)):
        np.testing.assert_array_equal(bill.per_sample, lazy.bill.per_sample)
    np.testing.assert_array_equal(limited.predict_proba(X_TEST), lazy.proba)
    np.testing.assert_array_equal(limited.decision_path(X_TEST).stage, lazy.stages)
    again = tw.LazyPredictor(limited).predict(X_TEST)
    np.testing.assert_array_equal(again.proba, lazy.proba)


@pytest.mark.filterwarnings("ignore::thriftwood.errors.ConstantPredictionWarning")
def test_a_limit_includes_fees():
    X, y = HEART.X, HEART.y
    path = tw.prune_path(FOREST, X, y, costs=HEART.prices)
    for max_cost in (0.5, 3, 105, 180):
        cascade = path.cascade(X, y, stages=5, max_cost=max_cost)
        assert cascade.bill(X).per_sample.max() <= max_cost


def test_files_keep_limits_and_costs_of_errors(tmp_path):
    cascade = by_money().at(budget=20, max_cost=30)
    cascade.save(tmp_path / "cascade.tw")
    again = tw.CascadeClassifier.load(tmp_path / "cascade.tw")
    assert (again.max_cost, again.rules.suggested) == (30, cascade.rules.suggested)
    np.testing.assert_array_equal(again.error_costs, MATRIX)
    np.testing.assert_array_equal(again.predict(X_TEST), cascade.predict(X_TEST))


# --- what is refused


def test_what_makes_no_sense_is_refused():
    path = nhanes()[1]
    limited = nhanes()[2].at(max_cost=10)
    for attempt, words in [
        (lambda: path.cascade(X_VALID, Y_VALID, scoring="accuracy", error_costs=3), "either"),
        (lambda: path.cascade(X_VALID, Y_VALID, scoring="acuracy"), "Did you mean"),
        (lambda: path.cascade(X_VALID, Y_VALID, error_costs=[[0, 1], [1, 0]]), "3 classes"),
        (lambda: path.cascade(X_VALID, Y_VALID, max_cost=-1), "`max_cost` is"),
        (lambda: tw.LazyPredictor(by_money(), stop="decided"), "by what errors cost"),
        (lambda: limited.guaranteed(X_TEST, Y_TEST, max_error_increase=0.1), "without it"),
    ]:
        assert_refused(attempt, words)
