"""The lazy predictor says what the model says, and buys what a plain walk would buy."""

import math

import boosters_lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost_models
from cost_cases import priced_cases
from hypothesis import assume, given, settings
from lazy_twin import FORMS, Shop, ask, bought_by_twin, lazy_for
from models import KINDS, fitted
from paths import FOREST, HEART, PATH
from sklearn.ensemble import HistGradientBoostingClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.forest import predict
from thriftwood.forest.table import read_rows

all_forms = pytest.mark.parametrize("form", FORMS)
SMALL = PATH.at(budget=400).model


def assert_says_what_the_model_says(model, X, form="one", **options):
    """Answers are those of the forest to the last bit; bills and purchases those of the twin."""
    answer, shop = ask(model, X, form, **options)
    forest = read_forest(model)
    rows = read_rows(X, forest).values
    expected = predict(forest, rows)
    if forest.classes is None:
        assert answer.labels is None
        assert answer.proba is None
        np.testing.assert_array_equal(answer.values, expected[:, 0])
    else:
        assert answer.values is None
        np.testing.assert_array_equal(answer.proba, expected)
        np.testing.assert_array_equal(answer.labels, forest.classes[expected.argmax(axis=1)])
    names = forest.feature_names or range(forest.n_features)
    wanted = {
        (place, names[feature])
        for place, row in enumerate(rows)
        for feature in bought_by_twin(forest, row)
    }
    assert set(shop.sold) == wanted
    assert max(shop.sold.values(), default=1) == 1
    assert answer.n_requests == len(wanted)
    assert answer.failures == ()
    bill = tw.feature_bill(model, X)
    np.testing.assert_array_equal(answer.bill.used, bill.used)
    np.testing.assert_array_equal(answer.bill.per_sample, bill.per_sample)
    np.testing.assert_array_equal(answer.stages, 0)
    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_every_tree_and_forest_of_scikit_learn(kind):
    model, X, _ = fitted(kind)
    answer = assert_says_what_the_model_says(model, X, "one")
    if answer.labels is not None:
        np.testing.assert_array_equal(answer.labels, model.predict(X))


@all_forms
@pytest.mark.parametrize("kind", ["words_as_labels", "missing_random_forest", "named_bagging"])
def test_all_forms_say_the_same(kind, form):
    assert_says_what_the_model_says(*fitted(kind)[:2], form)


@pytest.mark.parametrize("kind", boosters_lightgbm.KINDS)
def test_every_kind_of_lightgbm(kind):
    model, X = boosters_lightgbm.grown(kind)
    assert_says_what_the_model_says(model, X[:60], "many")


@pytest.mark.parametrize("kind", xgboost_models.KINDS)
def test_every_kind_of_xgboost(kind):
    model, X, _ = xgboost_models.fitted(kind)
    assert_says_what_the_model_says(model, X[:60], "many")


def test_labels_of_categories_come_as_they_stand_in_the_frame():
    model, X = boosters_lightgbm.grown("classifier_of_a_frame")
    for form in FORMS:
        answer = assert_says_what_the_model_says(model, X[:40], form)
        np.testing.assert_array_equal(answer.labels, model.predict(X[:40]))


def test_catboost_and_hist_gradient_boosting():
    catboost = pytest.importorskip("catboost")
    options = {"iterations": 6, "depth": 3, "verbose": False, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**options, thread_count=1).fit(HEART.X, HEART.y)
    for one in (model, HistGradientBoostingClassifier(max_iter=5).fit(HEART.X, HEART.y)):
        answer = assert_says_what_the_model_says(one, HEART.X)
        np.testing.assert_array_equal(answer.labels, np.ravel(one.predict(HEART.X)))


def test_whatever_we_hand_out_is_read():
    pruned = PATH.at(budget=400)
    estimator = tw.PrunedEnsembleClassifier(FOREST, costs=HEART.prices, budget=400)
    for one in (pruned, estimator.fit(HEART.X, HEART.y)):
        answer, _ = ask(one, HEART.X[:20])
        model = pruned.model if one is pruned else one
        np.testing.assert_array_equal(answer.labels, model.predict(HEART.X[:20]))


@all_forms
@settings(max_examples=30)
@given(case=priced_cases(most_trees=4, most_splits=5))
def test_bills_are_those_of_the_cost_meter_under_every_price(form, case):
    assume(case.forest.feature_names == case.names)  # else the rows alone know the names
    answer, _ = ask(case.forest, np.asarray(case.X), form, costs=case.costs)
    bill = tw.feature_bill(case.forest, case.X, case.costs)
    np.testing.assert_array_equal(answer.bill.per_sample, bill.per_sample)
    np.testing.assert_array_equal(answer.bill.by_feature, bill.by_feature)
    assert answer.bill.mean == bill.mean
    assert answer.bill.fees == bill.fees
    for row in range(len(answer)):
        receipt = answer.receipt(row)
        assert math.isclose(receipt.total, bill.per_sample[row], abs_tol=1e-12)
        if form == "one":
            assert receipt == bill.receipt(row)
        else:
            assert {one.feature for one in receipt.purchases} == set(np.flatnonzero(bill.used[row]))


def test_the_needs_of_all_rows_are_asked_for_together_in_few_rounds():
    forest = read_forest(SMALL)
    answer, shop = ask(SMALL, HEART.X, "many")
    assert shop.calls == answer.n_rounds <= most_features_on_a_way(forest)
    one, shop_of_one = ask(SMALL, HEART.X, "one")
    assert shop_of_one.calls == one.n_requests == answer.n_requests
    assert one.n_rounds == one.bill.used.sum(axis=1).max() > answer.n_rounds
    concurrent, _ = ask(SMALL, HEART.X, "async")
    assert concurrent.n_rounds == answer.n_rounds


def most_features_on_a_way(forest):
    """The most different features that lie between a root and a leaf."""
    most = 0
    for leaf in np.flatnonzero(~forest.is_split):
        tested, node = set(), forest.parent[leaf]
        while node >= 0:
            tested.add(forest.feature[node])
            node = forest.parent[node]
        most = max(most, len(tested))
    return most


def test_more_rows_than_are_on_their_way_at_a_time(monkeypatch):
    whole = {form: ask(FOREST, HEART.X, form)[0] for form in FORMS}
    monkeypatch.setattr("thriftwood.acquisition.buying.BATCH_SIZE", 7)
    for form in FORMS:
        answer, _ = ask(FOREST, HEART.X, form, max_in_flight=5)
        np.testing.assert_array_equal(answer.proba, whole[form].proba)
        np.testing.assert_array_equal(answer.bill.used, whole[form].bill.used)
        for row in range(20):
            assert answer.receipt(row).purchases == whole[form].receipt(row).purchases


def test_ids_may_be_anything():
    X = HEART.X[:3]
    expected = SMALL.predict(X)
    for ids in (
        np.array([5, 7, 9]),
        ["a", "b", "c"],
        [[1], [2], [3]],  # without a hash
        pd.Index(["x", "y", "z"]),
        (("a", 1), None, 2.5),
        np.eye(3),
    ):
        as_listed = ids.tolist() if getattr(ids, "ndim", 2) == 1 else list(ids)

        def acquire(row, feature, listed=as_listed):
            place = next(k for k, one in enumerate(listed) if one is row or np.all(one == row))
            return X[place, feature]

        answer = tw.LazyPredictor(SMALL, acquire=acquire).predict(ids)
        np.testing.assert_array_equal(answer.labels, expected)
        assert len(answer) == len(answer.samples) == 3
    assert (
        type(tw.LazyPredictor(SMALL, acquire=lambda *_: 0).predict(np.arange(1)).samples[0]) is int
    )


# --- what is known beforehand


@all_forms
@settings(max_examples=30)
@given(case=priced_cases(most_trees=4, most_splits=5))
def test_what_is_known_is_free_and_never_asked_for(form, case):
    assume(case.forest.feature_names == case.names)
    X = np.asarray(case.X)
    mask = np.random.default_rng(len(X)).random(X.shape) < 0.4
    names = case.forest.feature_names or range(X.shape[1])
    known = [
        {names[k]: X[row, k] for k in np.flatnonzero(mask[row])} or None for row in range(len(X))
    ]
    answer, shop = ask(case.forest, X, form, costs=case.costs, known=known)
    rows = read_rows(X, case.forest).values
    np.testing.assert_array_equal(answer.proba, predict(case.forest, rows))
    assert not {(row, names[k]) for row, k in np.argwhere(mask)} & set(shop.sold)
    everything = mask | already_known(case.costs, names, mask.shape)
    bill = tw.feature_bill(case.forest, X, with_all_known(case.costs, everything))
    np.testing.assert_array_equal(answer.bill.per_sample, bill.per_sample)
    if form == "one":
        for row in range(len(X)):
            assert answer.receipt(row) == bill.receipt(row)


def already_known(costs, names, shape):
    """The mask of what prices call known."""
    mask = np.zeros(shape, dtype=bool)
    if isinstance(costs.known, dict):
        for name, column in costs.known.items():
            mask[:, list(names).index(name)] = column
    elif costs.known is not None:
        mask |= np.asarray(costs.known)
    return mask


def with_all_known(costs, mask):
    kept = {"per_sample": costs.per_sample, "shared_by": costs.shared_by}
    return costs.for_samples(known=mask, **kept)


def test_known_values_are_known_to_be_missing_too():
    model, X, _ = fitted("missing_random_forest")
    known = [{0: None if np.isnan(row[0]) else row[0]} for row in X]
    answer, shop = ask(model, X, known=known)
    np.testing.assert_array_equal(answer.proba, model.predict_proba(X))
    assert all(feature != 0 for _, feature in shop.sold)


def test_known_values_with_prices_that_are_no_costs():
    known = [{2: HEART.X[0, 2]}]
    for costs in (None, HEART.costs):
        answer, _ = ask(SMALL, HEART.X[:1], costs=costs, known=known)
        bill = tw.feature_bill(SMALL, HEART.X[:1], costs)
        saved = 1.0 if costs is None else costs[2]
        assert answer.bill.mean == pytest.approx(bill.mean - saved)


def test_prices_of_rows_come_with_the_rows():
    lazy = lazy_for(SMALL, Shop(HEART.X), costs=HEART.prices)
    table = np.random.default_rng(0).random((9, HEART.X.shape[1]))
    costs = tw.Costs(per_sample=table)
    answer = lazy.predict(range(9), costs=costs)
    bill = tw.feature_bill(SMALL, HEART.X[:9], costs)
    np.testing.assert_array_equal(answer.bill.per_sample, bill.per_sample)
    other = lazy.predict(range(9))
    bill = tw.feature_bill(SMALL, HEART.X[:9], HEART.prices)
    np.testing.assert_array_equal(other.bill.per_sample, bill.per_sample)
