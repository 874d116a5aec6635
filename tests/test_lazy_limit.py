"""A hard limit: no bill passes it, and the answer is that of the nodes that could be paid for."""

import warnings
from dataclasses import replace

import boosters_lightgbm
import numpy as np
import pytest
import xgboost_models
from builders import forest_of, leaf, split
from cost_cases import priced_cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lazy_twin import FORMS, Cascade, Shop, ask, lazy_for, run
from limit_twin import Wallet, scores_at, within_limit
from models import KINDS, fitted
from paths import FOREST, HEART, NHANES, PATH
from sklearn.ensemble import HistGradientBoostingClassifier
from test_bad_input import assert_refused
from test_lazy_decided import forests_with_links
from test_stages import stages_of

import thriftwood as tw
from thriftwood.adapters import read_forest, read_stages
from thriftwood.costs import read_prices
from thriftwood.errors import ConstantPredictionWarning
from thriftwood.forest import SKIPPED
from thriftwood.forest.table import read_rows
from thriftwood.support.columns import Columns

LIMITS = st.sampled_from([0.0, 0.1, 0.35, 0.6, 1.0, 1.1, 2.1, 3.3, 5.17, 7.5, 100.0])
ALL_FORMS = (*FORMS, "table")
# Drawn limits may be below every price.
pytestmark = pytest.mark.filterwarnings("ignore:`max_cost` is:UserWarning")
all_forms = pytest.mark.parametrize("form", ALL_FORMS)


def answer_of(model, X, form="table", costs=None, known=None, **options):
    """Return the answer of a lazy predictor of any form, with and without a source."""
    if form == "table":
        return tw.LazyPredictor(model, costs=costs, **options).predict(X, known=known)
    return ask(model, np.asarray(X), form, costs=costs, known=known, **options)[0]


def assert_is_that_of_the_twin(model, X, form, costs, max_cost):
    """Answers, purchases and bills are those of the plain loops, and no bill passes the limit."""
    answer = answer_of(model, X, form, costs, max_cost=max_cost)
    stages = read_stages(model)
    rows = read_rows(X, stages.richest).values
    names = stages.richest.feature_names
    prices = read_prices(costs, Columns(stages.richest.n_features, names), len(rows))
    predicted = answer.values[:, None] if answer.proba is None else answer.proba
    for i, values in enumerate(rows):
        twin = within_limit(stages, values, Wallet(prices, i, max_cost))
        np.testing.assert_array_equal(predicted[i], twin.predicted)
        assert set(np.flatnonzero(answer.bill.used[i])) == set(twin.bought)
        assert answer.stages[i] == twin.stage
        assert answer.bill.per_sample[i] == twin.bill <= max_cost
        assert [one.feature for one in answer.receipt(i).purchases] == twin.bought
    return answer


# --- the same as plain loops


@all_forms
@settings(max_examples=40)
@given(case=priced_cases(most_trees=4, most_splits=5), max_cost=LIMITS)
def test_under_every_price(form, case, max_cost):
    assume(case.forest.feature_names == case.names)
    costs = replace(case.costs, shared_by=None)
    assert_is_that_of_the_twin(case.forest, case.X, form, costs, max_cost)


@settings(max_examples=100)
@given(case=forests_with_links(), max_cost=LIMITS, form=st.sampled_from(ALL_FORMS))
def test_forests_of_every_link(case, max_cost, form):
    forest, X, costs = case
    assert_is_that_of_the_twin(forest, X, form, replace(costs, shared_by=None), max_cost)


@pytest.mark.parametrize("kind", ["random_forest_regressor", "words_as_labels", "named_bagging"])
def test_models_of_scikit_learn(kind):
    model, X, _ = fitted(kind)
    for max_cost in (0, 1, 2.5):
        assert_is_that_of_the_twin(model, X[:12], "table", None, max_cost)


def test_boosted_models():
    grown = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6).fit(HEART.X, HEART.y)
    xgboost, table, _ = xgboost_models.fitted("classifier_of_three")
    lightgbm, frame = boosters_lightgbm.grown("classifier_of_a_frame")
    for model, X in ((grown, HEART.X), (xgboost, table), (lightgbm, frame)):
        for max_cost in (0, 1, 3):
            assert_is_that_of_the_twin(model, X[:12], "table", None, max_cost)


@settings(max_examples=30, deadline=None)
@given(
    thresholds=st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, SKIPPED]), min_size=1, max_size=3),
    max_cost=st.sampled_from([0.0, 1.0, 2.75, 20.0, 104.0, 230.5, 1e4]),
    per_split=st.sampled_from([0.0, 0.25]),
    form=st.sampled_from(ALL_FORMS),
)
def test_cascades(thresholds, max_cost, per_split, form):
    costs = replace(HEART.prices, per_split=per_split)
    model = Cascade(stages_of(*thresholds))
    assert_is_that_of_the_twin(model, HEART.X[:8], form, costs, max_cost)


# --- laws


@all_forms
def test_without_a_limit_nothing_changes(form):
    for model in (FOREST, Cascade(stages_of(0.3, 0.5))):
        plain = answer_of(model, HEART.X, form, HEART.prices)
        free = answer_of(model, HEART.X, form, HEART.prices, max_cost=np.inf)
        dear = answer_of(model, HEART.X, form, HEART.prices, max_cost=1e6)
        for one in (free, dear):
            np.testing.assert_array_equal(one.proba, plain.proba)
            np.testing.assert_array_equal(one.stages, plain.stages)
            np.testing.assert_array_equal(one.bill.per_sample, plain.bill.per_sample)
        assert free.n_rounds == plain.n_rounds


@all_forms
def test_at_zero_the_roots_answer(form):
    model, X, _ = fitted("random_forest_regressor")
    forest = read_forest(model)
    answer = answer_of(model, X, form, max_cost=0)
    np.testing.assert_array_equal(answer.values, scores_at(forest, forest.tree_start[:-1])[0])
    assert answer.n_requests == 0
    assert answer.bill.mean == 0


@settings(max_examples=60)
@given(case=priced_cases(most_trees=4, most_splits=5), max_cost=LIMITS)
def test_nothing_is_bought_that_the_model_would_not_buy(case, max_cost):
    assume(case.forest.feature_names == case.names)
    costs = replace(case.costs, shared_by=None)
    full = tw.feature_bill(case.forest, case.X, costs)
    answer = answer_of(case.forest, case.X, "table", costs, max_cost=max_cost)
    assert not (answer.bill.used & ~full.used).any()
    fits = full.per_sample <= max_cost
    np.testing.assert_array_equal(answer.bill.used[fits], full.used[fits])


@settings(max_examples=60)
@given(case=priced_cases(most_trees=1, most_splits=6), limits=st.tuples(LIMITS, LIMITS))
def test_in_one_tree_a_higher_limit_leads_further(case, limits):
    assume(case.forest.feature_names == case.names)
    costs = replace(case.costs, shared_by=None)
    less, more = (
        answer_of(case.forest, case.X, "table", costs, max_cost=limit) for limit in sorted(limits)
    )
    assert not (less.bill.used & ~more.bill.used).any()
    assert (less.bill.per_sample <= more.bill.per_sample).all()


@settings(max_examples=100)
@given(case=forests_with_links(), max_cost=LIMITS, form=st.sampled_from(ALL_FORMS))
def test_labels_are_decided_within_the_limit(case, max_cost, form):
    """Stopping early changes no label that the limit alone would give, and no bill is higher."""
    forest, X, costs = case
    costs = replace(costs, shared_by=None)
    limited = answer_of(forest, X, form, costs, max_cost=max_cost)
    decided = answer_of(forest, X, form, costs, max_cost=max_cost, stop="decided")
    np.testing.assert_array_equal(decided.labels, limited.labels)
    assert (decided.bill.per_sample <= limited.bill.per_sample).all()


@all_forms
def test_what_is_known_costs_nothing(form):
    """With the dear values at hand more fits."""
    names = range(13)
    known = [{k: HEART.X[i, k] for k in names if HEART.costs[k] > 50} for i in range(60)]
    costs = tw.Costs(per_feature=HEART.costs, per_split=0.125)
    without = answer_of(FOREST, HEART.X[:60], form, costs, max_cost=30)
    answer = answer_of(FOREST, HEART.X[:60], form, costs, known=known, max_cost=30)
    assert (answer.bill.per_sample <= 30).all()
    assert not without.bill.used[:, HEART.costs > 50].any()
    assert answer.bill.used[:, HEART.costs > 50].any()


def test_a_tuned_cascade_and_a_pruned_forest_on_many_samples():
    path = tw.prune_path(FOREST, HEART.X, HEART.y, costs=HEART.prices)
    cascade = path.cascade(HEART.X, HEART.y, stages=6)
    for model in (cascade, path.at(budget=200)):
        for max_cost in (1.0, 103.9, 104.0, 250.0):
            answer = answer_of(model, HEART.X, "table", HEART.prices, max_cost=max_cost)
            assert (answer.bill.per_sample <= max_cost).all()
            assert answer.bill.per_sample.max() > 0
    cascade = cascade.at(budget=np.inf)
    answer = answer_of(cascade, HEART.X, "table", HEART.prices, max_cost=1e4)
    np.testing.assert_array_equal(answer.proba, cascade.predict_proba(HEART.X))


def test_sums_are_added_up_as_bills_are():
    """Ten times 0.1 is not 1.0 by every way of adding up: the limit is that of the bill."""
    tree = leaf((1.0, 0.0))
    for feature in range(10):
        tree = split(feature, 0.5, tree, leaf((0.5, 0.5)), (0.5, 0.5))
    forest, X = forest_of(tree, n_features=10), np.zeros((1, 10))
    prices = [0.7, 0.1, 0.2, 0.3, 0.1, 0.6, 0.1, 0.3, 0.2, 0.1]
    total = tw.feature_bill(forest, X, prices).per_sample[0]
    for max_cost, n_bought in ((total, 10), (np.nextafter(total, 0), 9)):
        answer = answer_of(forest, X, "table", prices, max_cost=max_cost)
        assert answer.bill.used.sum() == n_bought


# --- failures


class Closed(Shop):
    """Does not sell feature 0."""

    def look_up(self, row, feature):
        if feature == 0:
            raise ConnectionError
        return super().look_up(row, feature)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("on_failure", ["missing", "node"])
def test_what_could_not_be_got_is_not_paid_and_leaves_room(form, on_failure):
    trees = [split(k, 1.0, leaf((1.0, 0.0)), leaf((0.0, 1.0)), (0.5, 0.5)) for k in (0, 0, 1)]
    forest = forest_of(*trees, n_features=2)
    costs = tw.Costs(per_feature=[1.0, 1.0], groups={"lab": [0, 1]}, group_fee={"lab": 2.0})
    shop = Closed(np.zeros((2, 2)))
    lazy = lazy_for(forest, shop, form, costs=costs, max_cost=3, on_failure=on_failure)
    answer = run(lazy, shop.ids, form)
    np.testing.assert_array_equal(answer.bill.per_sample, [3.0, 3.0])
    np.testing.assert_array_equal(answer.bill.used, [[False, True]] * 2)
    assert len(answer.failures) == 2
    lazy = lazy_for(forest, shop, form, costs=costs, max_cost=2.5, on_failure=on_failure)
    assert run(lazy, shop.ids, form).bill.mean == 0


# --- from a table


@pytest.mark.parametrize("kind", KINDS)
def test_from_a_table(kind):
    """Without a source the table is read: the answer of the model, and the bill of the meter."""
    model, X, _ = fitted(kind)
    answer = tw.LazyPredictor(model).predict(X)
    asked, _ = ask(model, X, "many")
    bill = tw.feature_bill(model, X)
    np.testing.assert_array_equal(answer.bill.per_sample, bill.per_sample)
    for name in ("labels", "proba", "values"):
        expected = getattr(asked, name)
        assert (getattr(answer, name) is None) == (expected is None)
        if expected is not None:
            np.testing.assert_array_equal(getattr(answer, name), expected)
    assert answer.n_rounds == asked.n_rounds
    assert answer.n_requests == asked.n_requests
    assert answer.samples == tuple(range(len(X)))


def test_from_a_table_with_labels_of_categories():
    model, X = boosters_lightgbm.grown("classifier_of_a_frame")
    np.testing.assert_array_equal(tw.LazyPredictor(model).predict(X).labels, model.predict(X))


def test_from_a_table_in_several_batches(monkeypatch):
    whole = tw.LazyPredictor(FOREST, costs=NHANES.costs[:13], max_cost=9).predict(HEART.X)
    monkeypatch.setattr("thriftwood.acquisition.buying.BATCH_SIZE", 50)
    parts = tw.LazyPredictor(FOREST, costs=NHANES.costs[:13], max_cost=9).predict(HEART.X)
    np.testing.assert_array_equal(parts.proba, whole.proba)
    for i in range(len(whole)):
        assert parts.receipt(i) == whole.receipt(i)


# --- refused


@pytest.mark.parametrize("bad", [-1, -np.inf, np.nan, "much", [1.0]])
def test_a_limit_that_is_none_is_refused(bad):
    assert_refused(
        lambda: tw.LazyPredictor(FOREST, max_cost=bad), "`max_cost` is", "at least 0", "a sample"
    )


def test_prices_that_samples_share_are_refused():
    costs = tw.Costs(per_feature=[1.0] * 13, shared_by=[7, 7, 8])
    lazy = tw.LazyPredictor(FOREST, costs=costs, max_cost=3)
    assert_refused(lambda: lazy.predict(HEART.X[:3]), "`shared_by`", "`max_cost`")


def test_ids_without_a_source_are_refused():
    lazy = tw.LazyPredictor(FOREST)
    assert_refused(lambda: lazy.predict([1, 2, 3]), "`acquire`", "table")
    assert_refused(lambda: lazy.predict(None), "`acquire`", "table")
    assert_refused(lambda: lazy.predict([[1, 2], [3]]), "different lengths", "table")
    assert_refused(lambda: lazy.predict(HEART.X[:, :3]), "3 columns", "table")
    with pytest.raises(tw.errors.InputError, match="plain function"):
        run(lazy, HEART.X, "async")


@pytest.mark.parametrize("form", ["table", "each", "cascade"])
def test_a_limit_below_every_first_value_is_told(form):
    models = {"cascade": PATH.cascade(HEART.X, HEART.y)}
    sources = {"each": lambda i, k: HEART.X[i, k]}
    rows = range(3) if form == "each" else HEART.X[:3]
    options = {"acquire": sources.get(form), "costs": np.full(13, 2.0)}
    model = models.get(form, FOREST)
    with pytest.warns(ConstantPredictionWarning, match="max_cost` is 1.5, which is less than any"):
        answer = tw.LazyPredictor(model, max_cost=1.5, **options).predict(rows)
    assert np.ptp(answer.proba, axis=0).max() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for max_cost in (0, 2.0):  # nothing is to be bought; one value is
            tw.LazyPredictor(model, max_cost=max_cost, **options).predict(rows)


def test_a_limit_is_not_blamed_for_what_was_never_asked_for():
    stays = PATH.cascade(HEART.X, HEART.y, budget=0, max_cost=110)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stays.bill(HEART.X).mean == 0


def test_the_limit_is_seen():
    assert "max_cost=2.5" in repr(tw.LazyPredictor(FOREST, max_cost=2.5))
    assert "max_cost" not in repr(tw.LazyPredictor(FOREST))
