"""Cascades: nested stages, a budget on average, in files and in the tools of scikit-learn."""

import pickle
import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from library_versions import forest_of_1_9
from paths import HEART, NHANES, PATH, TRAIN, VALID, heart_path, nhanes_forest_and_path
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import one_stage

X_TRAIN, Y_TRAIN = NHANES.X[TRAIN], NHANES.y[TRAIN]
X_VALID, Y_VALID = NHANES.X[VALID], NHANES.y[VALID]
X_TEST, Y_TEST = NHANES.X[2200:], NHANES.y[2200:]


@cache
def nhanes(refitted: bool = False):
    """Return a model for three classes, its path and a cascade of it."""
    forest, path = nhanes_forest_and_path()
    refit = (X_TRAIN, Y_TRAIN) if refitted else None
    return forest, path, path.cascade(X_VALID, Y_VALID, stages=8, refit=refit)


@pytest.mark.parametrize("refitted", [False, True])
def test_what_a_stage_buys_is_part_of_what_the_next_buys(refitted):
    cascade = nhanes(refitted)[2]
    used = [tw.feature_bill(forest, X_TEST).used for forest in cascade.stages.forests]
    for cheap, rich in pairwise(used):
        assert (cheap <= rich).all()
    assert (used[0].sum(), used[-1].any()) == (0, True)


@pytest.mark.filterwarnings("ignore:.*Only its probabilities tell:UserWarning")
@pytest.mark.parametrize("point", [0, 3, -2])
def test_a_cascade_of_one_stage_is_the_pruned_model(point):
    _, path, _ = nhanes()
    cascade = path.cascade(X_VALID, Y_VALID, stages=[point])
    model = path.at(index=point).model
    np.testing.assert_allclose(cascade.predict_proba(X_TEST), model.predict_proba(X_TEST))
    np.testing.assert_array_equal(cascade.predict(X_TEST), model.predict(X_TEST))
    bill = tw.feature_bill(model, X_TEST, NHANES.costs)
    np.testing.assert_array_equal(cascade.bill(X_TEST).per_sample, bill.per_sample)
    assert cascade.bill(X_TEST).mean == bill.mean


@pytest.mark.parametrize("refitted", [False, True])
@pytest.mark.parametrize("budget", [0, 3.0, 10.0, 45.0, 150.0, 1e6])
def test_the_budget_is_met_on_the_rows_that_tuned(refitted, budget):
    cascade = nhanes(refitted)[2].at(budget=budget)
    bill = cascade.bill(X_VALID)
    assert bill.mean <= budget * (1 + 1e-9)
    chosen = cascade.rules.within(budget)
    assert bill.mean == pytest.approx(cascade.rules.costs[chosen])
    error = np.mean(cascade.predict(X_VALID) != Y_VALID)
    assert error == pytest.approx(cascade.rules.errors[chosen])


def test_budgets_between_points_of_the_path_are_used_up():
    _, path, cascade = nhanes()
    costs = path.evaluate(X_VALID, Y_VALID).cost
    between = [budget for budget in np.linspace(20, 200, 10) if np.abs(costs - budget).min() > 0.1]
    assert len(between) >= 8
    for budget in between:
        assert cascade.at(budget=budget).bill(X_VALID).mean > 0.8 * budget


def test_without_a_budget_it_is_as_good_as_the_model_and_cheaper():
    forest, _, cascade = nhanes()
    assert cascade.bill(X_TEST).mean < 0.9 * tw.feature_bill(forest, X_TEST, NHANES.costs).mean
    noise = 3 * np.sqrt(0.25 / len(Y_TEST))
    assert cascade.score(X_TEST, Y_TEST) > forest.score(X_TEST, Y_TEST) - noise


def rare(seed):
    """Few samples of NHANES, of which 15 % have diabetes: to train, to tune, and all others."""
    y = NHANES.y == 2
    X, X_rest, y, y_rest = train_test_split(
        NHANES.X, y, train_size=350, random_state=seed, stratify=y
    )
    X_valid, X_new, y_valid, y_new = train_test_split(
        X_rest, y_rest, train_size=155, random_state=seed, stratify=y_rest
    )
    return X, y, X_valid, y_valid, X_new, y_new


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_rare_class_is_not_given_up(seed, class_weight):
    X, y, X_valid, y_valid, X_new, y_new = rare(seed)
    forest = RandomForestClassifier(
        30, min_samples_leaf=5, class_weight=class_weight, random_state=seed
    ).fit(X, y)
    cascade = tw.prune_path(forest, X, y, costs=NHANES.costs).cascade(X_valid, y_valid)
    before = roc_auc_score(y_new, forest.predict_proba(X_new)[:, 1])
    assert roc_auc_score(y_new, cascade.predict_proba(X_new)[:, 1]) > before - 0.06
    assert cascade.bill(X_new).mean <= tw.feature_bill(forest, X_new, NHANES.costs).mean
    cheap = cascade.at(budget=60)
    assert roc_auc_score(y_new, cheap.predict_proba(X_new)[:, 1]) > 0.6


@pytest.mark.filterwarnings("ignore:.*no test is worth its price:UserWarning")
def test_class_weights_of_the_model_weigh_what_a_cascade_is_tuned_by():
    forest = RandomForestClassifier(20, min_samples_leaf=5, class_weight={0: 1, 1: 4})
    X, X_valid, y, y_valid = train_test_split(NHANES.X, NHANES.y == 2, random_state=0)
    path = tw.prune_path(forest.set_params(random_state=0).fit(X, y), X, y, costs=NHANES.costs)
    own = path.cascade(X_valid, y_valid).rules
    weights = {False: 1, True: 4}
    given = path.cascade(X_valid, y_valid, class_weight=weights).rules
    uniform = path.cascade(X_valid, y_valid, class_weight="uniform").rules
    np.testing.assert_array_equal(own.thresholds, given.thresholds)
    np.testing.assert_allclose(own.errors, given.errors)
    assert uniform.errors[-1] != own.errors[-1]
    money = [
        path.cascade(X_valid, y_valid, error_costs=50, class_weight=one).rules.errors
        for one in (None, "uniform")
    ]
    np.testing.assert_array_equal(*money)


@pytest.mark.parametrize("refitted", [False, True])
def test_rows_go_through_the_stages_in_use(refitted):
    cascade = nhanes(refitted)[2].at(budget=60)
    path = cascade.decision_path(X_TEST)
    in_use = np.array(cascade.stages.in_use)
    assert set(np.unique(path.stage)) <= set(in_use.tolist())
    assert len(np.unique(path.stage)) > 2
    thresholds = cascade.stages.thresholds
    for row, stage in enumerate(path.stage):
        before = in_use[in_use < stage]
        assert path.margins[row, stage] >= thresholds[stage]
        assert (path.margins[row, before] < thresholds[before]).all()
    np.testing.assert_array_equal(cascade.predict_proba(X_TEST), path.predictions)
    own = np.array(
        [tw.ForestModel(forest).predict_proba(X_TEST) for forest in cascade.stages.forests]
    )
    np.testing.assert_array_equal(own[path.stage, np.arange(len(X_TEST))], path.predictions)


def test_a_bill_charges_what_the_stage_uses_where_a_row_stops():
    cascade = nhanes()[2].at(budget=60)
    stage = cascade.decision_path(X_TEST).stage
    bill = cascade.bill(X_TEST)
    for number in np.unique(stage):
        forest = cascade.stages.forests[number]
        own = tw.feature_bill(forest, X_TEST[stage == number], NHANES.costs)
        np.testing.assert_array_equal(bill.per_sample[stage == number], own.per_sample)
        np.testing.assert_array_equal(bill.used[stage == number], own.used)
    assert tw.feature_bill(cascade, X_TEST, NHANES.costs).mean == bill.mean
    assert tw.feature_bill(cascade, X_TEST).mean == bill.mean
    twice = cascade.bill(X_TEST, costs=2 * np.array(NHANES.costs))
    np.testing.assert_allclose(twice.per_sample, 2 * bill.per_sample)
    for row in range(0, len(X_TEST), 97):
        receipt = bill.receipt(row)
        assert receipt.total == pytest.approx(bill.per_sample[row])
        assert (
            sorted(one.feature for one in receipt.purchases)
            == np.flatnonzero(bill.used[row]).tolist()
        )


def test_a_receipt_goes_through_the_stages():
    cascade = nhanes()[2].at(budget=60)
    stage, bill = cascade.decision_path(X_TEST).stage, cascade.bill(X_TEST)
    row = int(np.argmax(stage))
    looked_at = [number for number in cascade.stages.in_use if number <= stage[row]]
    assert len(looked_at) > 2
    expected = []
    for number in looked_at:
        alone = tw.feature_bill(cascade.stages.forests[number], X_TEST[[row]], NHANES.costs)
        expected += [one.feature for one in alone.receipt(0).purchases]
    bought = [one.feature for one in bill.receipt(row).purchases]
    assert bought == list(dict.fromkeys(expected))


def test_bills_are_at_the_prices_that_rules_were_tuned_with():
    other = tw.Costs(per_feature=7 * HEART.costs, unit="EUR")
    cascade = PATH.cascade(HEART.X, HEART.y, stages=5, costs=other, budget=900)
    bill = cascade.bill(HEART.X)
    assert bill.unit == "EUR"
    assert bill.mean == pytest.approx(cascade.rules.costs[cascade.rules.within(900)])


def test_the_model_is_paid_up_to_the_last_stage_that_is_in_use():
    costs = tw.Costs(per_feature=HEART.costs, per_model=np.full(13, 20.0), predictions=10)
    path = heart_path(costs=costs)
    cascade = path.cascade(HEART.X, HEART.y)
    assert cascade.bill(HEART.X).mean == pytest.approx(
        cascade.rules.costs[cascade.rules.within(None)]
    )
    for budget in (1.0, 30.0, 100.0, 400.0):
        cheaper = cascade.at(budget=budget)
        assert cheaper.bill(HEART.X).mean <= budget * (1 + 1e-9)
        last = cheaper.stages.last_in_use
        n_features = len(np.unique(last.feature[last.is_split]))
        assert cheaper.bill(HEART.X).model_cost == pytest.approx(2.0 * n_features)


def test_refitted_stages_have_the_same_splits_and_the_whole_model_stays():
    plain, refitted = nhanes()[2], nhanes(True)[2]
    changed = 0
    for before, after in zip(plain.stages.forests, refitted.stages.forests, strict=True):
        np.testing.assert_array_equal(before.feature, after.feature)
        np.testing.assert_array_equal(before.threshold, after.threshold)
        changed += not before.has_same_trees(after)
    assert changed >= 2
    assert plain.stages.richest.has_same_trees(refitted.stages.richest)


@forest_of_1_9
def test_weights_of_rows_judge_a_refit_as_those_of_one_point_do():
    path, kept = nhanes()[1], []
    for weights in (None, np.where(Y_VALID == 1, 50.0, 0.1)):
        cascade = path.cascade(
            X_VALID, Y_VALID, stages=[88], refit=(X_TRAIN, Y_TRAIN), sample_weight=weights
        )
        point = path[88].refit(X_TRAIN, Y_TRAIN, validation=(X_VALID, Y_VALID, weights))
        assert cascade.stages.richest.has_same_trees(read_forest(point.model))
        kept.append(point.refitted.changed_nothing)
    assert kept == [False, True]


def test_stages_are_as_many_as_wanted_and_end_with_the_whole_model():
    _, path, cascade = nhanes()
    assert len(cascade.stages) == 8
    assert cascade.stages.richest.has_same_trees(path.forest)
    assert len(path.cascade(X_VALID, Y_VALID, stages=1).stages) == 1
    two = path.cascade(X_VALID, Y_VALID, stages=2)
    assert len(two.stages) == 2
    assert two.at(budget=0).bill(X_VALID).mean == 0
    assert len(path.cascade(X_VALID, Y_VALID, stages=10_000).stages) <= len(path) + 1
    chosen = path.cascade(X_VALID, Y_VALID, stages=[5, -1, 5, 2]).stages
    sizes = [forest.n_splits for forest in chosen.forests]
    assert sizes == [path.n_splits[-1], path.n_splits[5], path.n_splits[2]]


def test_tuning_out_of_bag_needs_no_other_rows():
    X, y = X_TRAIN, Y_TRAIN
    forest = RandomForestClassifier(30, max_features=None, min_samples_leaf=2, random_state=0)
    path = tw.prune_path(forest.fit(X, y), X, y, costs=NHANES.costs, samples="in_bag")
    cascade = path.cascade(X, y, stages=6, samples="out_of_bag")
    honest = cascade.rules.errors[cascade.rules.within(None)]
    assert abs(honest - np.mean(cascade.predict(X_TEST) != Y_TEST)) < 0.1
    whole = path.cascade(X, y, stages=1, samples="out_of_bag")
    assert np.mean(whole.predict(X) != y) < whole.rules.errors[0] - 0.1
    for budget in (5.0, 50.0, 120.0):
        assert cascade.at(budget=budget).bill(X).mean <= budget * (1 + 1e-9)
    with pytest.raises(InputError, match="no meaning for them"):
        path.cascade(X, y, samples="out_of_bag", refit=(X, y))


def test_boosted_models_cascade(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    highest = Y_TRAIN.max()
    y = highest == Y_TRAIN
    model = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=8, verbose=-1, n_jobs=1)
    path = tw.prune_path(model.fit(X_TRAIN, y), X_TRAIN, y, costs=NHANES.costs)
    wanted = highest == Y_VALID
    cascade = path.cascade(X_VALID, wanted, stages=6, refit=(X_TRAIN, y), budget=15)
    assert cascade.bill(X_VALID).mean <= 15
    assert len(np.unique(cascade.decision_path(X_VALID).stage)) > 1
    cascade.save(tmp_path / "cascade.tw")
    loaded = tw.CascadeClassifier.load(tmp_path / "cascade.tw")
    np.testing.assert_array_equal(loaded.predict_proba(X_TEST), cascade.predict_proba(X_TEST))


def test_saved_and_loaded(tmp_path):
    cascade = nhanes(True)[2].at(budget=40)
    cascade.save(tmp_path / "cascade.tw")
    assert [entry.name for entry in tmp_path.iterdir()] == ["cascade.tw"]
    for other in (
        tw.CascadeClassifier.load(tmp_path / "cascade.tw"),
        pickle.loads(pickle.dumps(cascade)),
        clone(FrozenEstimator(cascade)).estimator,
    ):
        np.testing.assert_array_equal(other.predict_proba(X_TEST), cascade.predict_proba(X_TEST))
        assert other.bill(X_TEST).mean == cascade.bill(X_TEST).mean
        richer = cascade.at(budget=90)
        np.testing.assert_array_equal(other.at(budget=90).predict(X_TEST), richer.predict(X_TEST))


def test_damaged_files_are_refused(tmp_path):
    file = tmp_path / "cascade.tw"
    cascade = PATH.cascade(HEART.X, HEART.y, stages=4)
    cascade.save(file)
    whole = file.read_bytes()
    random = np.random.default_rng(0)
    expected = cascade.predict_proba(HEART.X)
    for place in random.integers(0, len(whole), size=40):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(random.integers(8))
        file.write_bytes(changed)
        try:
            found = tw.CascadeClassifier.load(file)
        except InputError:
            continue
        np.testing.assert_array_equal(found.predict_proba(HEART.X), expected)
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged"):
        tw.CascadeClassifier.load(file)
    PATH.save(file)
    with pytest.raises(InputError, match=r"no cascade that `CascadeClassifier\.save` wrote"):
        tw.CascadeClassifier.load(file)


def test_stages_that_are_not_nested_are_refused_in_files(tmp_path):
    cascade = PATH.cascade(HEART.X, HEART.y, stages=4)
    turned = tw.CascadeClassifier(
        type(cascade.stages)(cascade.stages.forests[::-1], cascade.stages.thresholds),
        cascade.prices,
        cascade.rules,
    )
    turned.save(tmp_path / "turned.tw")
    with pytest.raises(InputError, match="damaged"):
        tw.CascadeClassifier.load(tmp_path / "turned.tw")


def test_in_words():
    words = repr(nhanes()[2].at(budget=0))
    assert words.startswith("CascadeClassifier: 1 of 8 stages in use\n")
    told = r"On 700 samples roc_auc_ovr is 0\.5, 0\.2 ± 0\.01\d below the model before pruning"
    assert re.search(told, words)


def test_a_choice_says_what_a_rule_gives_up_as_that_of_a_point_does():
    forest, _, cascade = nhanes()
    for budget in (None, 30.0):
        rule = cascade.at(budget=budget)
        choice = rule.choice
        found = [
            roc_auc_score(Y_VALID, model.predict_proba(X_VALID), multi_class="ovr")
            for model in (rule, forest)
        ]
        assert (choice.score, choice.score_before) == pytest.approx(tuple(found))
        bills = [rule.bill(X_VALID).mean, tw.feature_bill(forest, X_VALID, NHANES.costs).mean]
        assert (choice.cost, choice.cost_before) == pytest.approx(tuple(bills))
        assert choice.point == cascade.rules.within(budget)
        assert choice.rule == ("one_standard_error" if budget is None else "budget")
        assert str(choice) in str(rule)
    assert cascade.at(budget=30, max_cost=50).choice is None


@forest_of_1_9
def test_where_every_rule_is_clearly_worse_the_whole_model_answers(tmp_path):
    X, y, X_valid, y_valid, *_ = rare(0)
    forest = RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(X, y)
    path = tw.prune_path(forest, X, y, costs=NHANES.costs)
    cascade = path.cascade(X_valid, y_valid)
    assert cascade.choice.point is None
    assert "so that the model stays as it was" in str(cascade)
    cascade.save(tmp_path / "cascade.tw")
    for one in (cascade, tw.CascadeClassifier.load(tmp_path / "cascade.tw").at(budget=None)):
        np.testing.assert_array_equal(one.predict_proba(X_valid), forest.predict_proba(X_valid))
    assert path.cascade(X_valid, y_valid, stages=[-1, -2]).choice.point is not None


def test_in_the_tools_of_scikit_learn():
    cascade = nhanes()[2]
    assert is_classifier(cascade)
    check_is_fitted(cascade)
    assert cascade.n_features_in_ == X_TEST.shape[1]
    np.testing.assert_array_equal(cascade.classes_, np.unique(Y_TRAIN))
    pipeline = make_pipeline(FrozenEstimator(cascade))
    np.testing.assert_array_equal(pipeline.predict(X_TEST), cascade.predict(X_TEST))
    with pytest.raises(UnsupportedModelError, match="cannot be trained"):
        cascade.fit(X_TEST, Y_TEST)
    with pytest.raises(InputError, match="3 columns"):
        cascade.predict(X_TEST[:, :3])
    with pytest.raises(UnsupportedModelError, match="it is several forests"):
        tw.prune_path(cascade, X_TEST, Y_TEST)


def test_prices_that_belong_to_rows():
    known = np.zeros(HEART.X.shape, dtype=bool)
    known[:, :4] = True
    costs = tw.Costs(per_feature=HEART.costs, known=known)
    path = heart_path(costs=costs)
    with pytest.raises(InputError, match="The prices of the path belong to the"):
        path.cascade(HEART.X, HEART.y)
    cascade = path.cascade(HEART.X, HEART.y, costs=costs, budget=30)
    assert cascade.bill(HEART.X, costs).mean <= 30
    with pytest.raises(InputError, match="The prices of the model belong to the"):
        cascade.bill(HEART.X)
    shared = tw.Costs(per_feature=HEART.costs, shared_by=np.arange(303) // 2)
    with pytest.raises(InputError, match="depends on where others stop"):
        heart_path().cascade(HEART.X, HEART.y, costs=shared)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stages": 0}, "`stages` is 0"),
        ({"stages": "many"}, "`stages` is 'many'"),
        ({"stages": []}, r"`stages` is \[\]"),
        ({"stages": [99_999]}, "there is no point 99999"),
        ({"refit": HEART.X}, "`refit` must be a pair"),
        ({"samples": "some"}, "`samples` is 'some'"),
        ({"samples": "in_bag"}, "`samples` is 'in_bag'"),
        ({"samples": "out_of_bag"}, "samples='in_bag'"),
        ({"budget": -1}, "`budget` is -1"),
        ({"sample_weight": [1.0]}, "`sample_weight` has shape"),
        ({"costs": [1.0]}, "13"),
    ],
)
def test_wrong_arguments(options, words):
    with pytest.raises(InputError, match=words):
        PATH.cascade(HEART.X, HEART.y, **options)


def test_regressors_are_refused():
    X, y = HEART.X, HEART.X[:, 0]
    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    path = tw.prune_path(model, X, y)
    with pytest.raises(InputError, match=r"this model predicts numbers.*path\.mix"):
        path.cascade(X, y)
    assert len(one_stage(path.forest)) == 1
