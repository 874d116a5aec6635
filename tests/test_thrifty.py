"""Laws of thrifty models: nested sets of features, bought stage by stage within a budget."""

import ctypes
import shutil
import subprocess
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from receipts import Tariff
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import thriftwood as tw
from thriftwood.cascade import StoppingRules
from thriftwood.costs import read_prices
from thriftwood.errors import ConstantPredictionWarning, InputError, UnsupportedModelError
from thriftwood.evaluation import areas_under_curve
from thriftwood.forest import predict_member
from thriftwood.support.columns import Columns
from thriftwood.thrifty import (
    Effort,
    LabelledData,
    PricedUnits,
    TunedStages,
    order_sets,
    spread_sets,
)
from thriftwood.thrifty.learners import (
    Learner,
    histogram_booster,
    lightgbm_booster,
)
from thriftwood.thrifty.tuning import are_as_likely


def classes(n_samples=400, seed=0):
    return make_classification(
        n_samples, 8, n_informative=4, n_redundant=1, flip_y=0.05, random_state=seed
    )


COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
PRICES = np.array([1.0, 2.0, 1.0, 5.0, 3.0, 0.0, 2.0, 8.0])


def thrifty(**options):
    return tw.ThriftyClassifier(**{"effort": "quick", "random_state": 0, **options})


@pytest.fixture(scope="module")
def samples():
    return classes()


@pytest.fixture(scope="module")
def fitted(samples):
    return thrifty(costs=PRICES).fit(*samples)


@pytest.fixture(scope="module")
def regressor():
    X, y = load_diabetes(return_X_y=True)
    return tw.ThriftyRegressor(effort="quick", random_state=0).fit(X, y), X, y


# Which samples make a fold is drawn, so that a sample of weight 2 is not two samples.
FOLDS_ARE_DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": "samples are drawn into folds",
}


@parametrize_with_checks(
    [
        tw.ThriftyClassifier(effort="quick", random_state=0),
        tw.ThriftyRegressor(effort="quick", random_state=0),
    ],
    expected_failed_checks=lambda _: FOLDS_ARE_DRAWN,
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the checks' own data
def test_scikit_learn_accepts_them(estimator, check):
    check(estimator)


def test_sets_are_nested_and_samples_pay_for_the_set_where_they_stop(fitted, samples):
    X, _ = samples
    sets = fitted.stages_.sets
    assert all(small < large for small, large in pairwise(sets))
    assert all(5 in own for own in sets)  # it is free
    stage = fitted.decision_path(X).stage
    bill = fitted.bill(X)
    paid = np.array([PRICES[list(own)].sum() for own in sets])
    assert np.allclose(bill.per_sample, paid[stage])


def test_receipts_add_up_to_bills(fitted, samples):
    X, _ = samples
    model = fitted.at(budget=6.0)
    bill = model.bill(X)
    for i in range(0, 400, 37):
        assert bill.receipt(i).total == pytest.approx(bill.per_sample[i])
        assert {one.feature for one in bill.receipt(i).purchases} == set(
            np.flatnonzero(bill.used[i])
        )


def test_more_budget_never_means_more_loss(fitted):
    assert (np.diff(fitted.rules_.costs) > 0).all()
    assert (np.diff(fitted.rules_.losses) < 0).all()
    budgets = np.array([0, 1, 3, 9, 27])
    costs = [fitted.at(budget=budget).cost_ for budget in budgets]
    assert costs == sorted(costs)
    assert (costs <= budgets * (1 + 1e-12)).all()


def test_bills_of_new_samples_are_near_the_budget():
    X, y = classes(3000)
    model = thrifty(costs=PRICES, budget=5.0).fit(X[:1500], y[:1500])
    assert model.bill(X[1500:]).mean == pytest.approx(5.0, rel=0.2)
    assert model.score(X[1500:], y[1500:]) == pytest.approx(model.score_, abs=0.05)


@pytest.mark.filterwarnings("ignore:.*every sample gets the same answer:UserWarning")
@pytest.mark.parametrize("seed", range(3))
def test_samples_alike_do_not_part_where_their_folds_differ(seed):
    random = np.random.default_rng(seed)
    X = np.column_stack([random.integers(2, size=(1200, 3)), random.normal(size=(1200, 2))])
    y = (X[:, 3] + 0.3 * X[:, 0] > 0.5).astype(int)
    model = thrifty(costs=[1, 1, 1, 50, 50], random_state=seed).fit(X[:400], y[:400])
    for budget in (0, 1, 3, 10, 30, 53):
        own = model.at(budget=budget)
        assert own.bill(X[400:]).mean == pytest.approx(own.cost_, rel=0.25, abs=0.1)


OWN_PRICES = np.random.default_rng(7).integers(1, 9, size=(400, 8)).astype(float)
KNOWN = np.random.default_rng(8).random((400, 8)) < 0.2
FEES = {"groups": {"blood": [1, 2, 5], "lab": ["blood", 4]}, "group_fee": {"blood": 3, "lab": 2}}
PREREQUISITES = {"requires": {3: [0, 1], 6: [3], 7: [5]}}
KINDS = {
    "prices": tw.Costs(per_feature=PRICES),
    "fees": tw.Costs(per_feature=PRICES, **FEES),
    "prerequisites": tw.Costs(per_feature=PRICES, **PREREQUISITES),
    "known": tw.Costs(per_feature=PRICES, known=KNOWN),
    "own prices": tw.Costs(per_sample=OWN_PRICES),
    "upkeep": tw.Costs(per_feature=PRICES, per_model={1: 30, 3: 50}, predictions=100),
    "all": tw.Costs(
        per_sample={0: OWN_PRICES[:, 0]},
        per_feature=dict(enumerate(PRICES)),
        known={2: KNOWN[:, 2]},
        per_model={"lab": 40},
        predictions=100,
        **FEES,
        **PREREQUISITES,
    ),
}


def times(costs, factor):
    """Return prices in another unit."""
    changed = {}
    for name in ("per_feature", "per_sample", "group_fee", "per_model"):
        own = getattr(costs, name)
        if own is not None:
            is_table = isinstance(own, dict)
            changed[name] = {k: factor * v for k, v in own.items()} if is_table else factor * own
    return replace(costs, **changed)


@pytest.fixture(scope="module", params=KINDS)
def any_prices(request, samples):
    costs = KINDS[request.param]
    return thrifty().fit(*samples, costs=costs), costs


@pytest.mark.filterwarnings("ignore:.*every sample gets the same answer:UserWarning")
def test_bills_are_what_a_walk_through_the_stages_pays(any_prices, samples):
    (model, costs), (X, _) = any_prices, samples
    tariff = Tariff(costs, list(range(8)), len(X))
    for budget in (0.3, 0.6, 1.0):
        own = model.at(budget=model.rules_.costs[0] + budget * np.ptp(model.rules_.costs))
        bill, stage = own.bill(X, costs), own.decision_path(X).stage
        lazy = tw.LazyPredictor(own, acquire=lambda i, k: X[i, k], costs=costs)
        few = None if costs.per_sample is not None or costs.known is not None else range(40)
        for i in range(0, 400, 23):
            passed = [n for n in own.stages_.in_use if n <= stage[i]]
            lines = set().union(*(tariff.lines(own.stages_.sets[n], i) for n in passed))
            paid = sum(tariff.part(line) for line in lines)
            assert bill.per_sample[i] == pytest.approx(paid)
            assert bill.receipt(i).total == pytest.approx(paid)
        if few is not None:
            assert lazy.predict(few).bill.per_sample == pytest.approx(bill.per_sample[:40])
        bought = set().union(*(own.stages_.sets[n] for n in own.stages_.in_use))
        bought |= {group for k in bought for group in tariff.groups_of(k)}
        once = sum(map(tariff.upkeep, bought)) / (costs.predictions or 1)
        assert bill.mean == pytest.approx(bill.per_sample.mean() + once)


def test_what_costs_nothing_more_is_always_bought(any_prices):
    model, costs = any_prices
    tariff = Tariff(costs, list(range(8)), 400)

    def price(features, i):
        return sum(map(tariff.part, tariff.lines(features, i)))

    for own in model.stages_.sets:
        for k in set(range(8)) - own:
            assert any(price(own | {k}, i) > price(own, i) for i in range(400))


def test_free_features_are_used_without_any_budget(samples):
    X, y = samples
    prices = np.ones(8)
    prices[[1, 4]] = 0
    free = LogisticRegression().fit(X[:, [1, 4]], y).score(X[:, [1, 4]], y)
    assert thrifty(costs=prices, budget=0.0).fit(X, y).score(X, y) >= free - 0.02


def test_a_hard_limit_holds_for_every_sample(any_prices, samples):
    (X, y), (_, costs) = samples, any_prices
    model = thrifty(max_cost=14.0).fit(X, y, costs=costs).at(budget=np.inf)
    assert 0 < model.bill(X, costs).per_sample.max() <= 14.0


@pytest.mark.filterwarnings("ignore:.*every sample gets the same answer:UserWarning")
@pytest.mark.parametrize("factor", [1024.0, 0.1, 3.0])
def test_prices_and_budget_in_another_unit_change_nothing(any_prices, samples, factor):
    (X, y), (one, costs) = samples, any_prices
    other = thrifty().fit(X, y, costs=times(costs, factor))
    assert one.stages_.sets == other.stages_.sets
    assert np.allclose(factor * one.frontier_.cost, other.frontier_.cost)
    for budget in np.linspace(*one.rules_.costs[[0, -1]], 7) + 0.01:
        cheap, same = one.at(budget=budget), other.at(budget=factor * budget)
        assert np.array_equal(cheap.predict_proba(X), same.predict_proba(X))


def test_a_feature_dearer_than_all_errors_is_never_bought(samples):
    X, y = samples
    prices = np.ones(8)
    prices[3] = 1000.0
    model = thrifty(costs=prices, error_costs=50.0).fit(X, y)
    assert not model.bill(X).used[:, 3].any()


def test_errors_that_cost_nothing_are_not_worth_a_feature(samples):
    X, y = samples
    model = thrifty(costs=PRICES, error_costs=0.0).fit(X, y)
    assert model.bill(X).mean == 0


def test_dear_errors_of_one_class_are_avoided(samples):
    X, y = samples
    plain = thrifty(costs=PRICES, error_costs={0: 50, 1: 50}).fit(X, y)
    careful = thrifty(costs=PRICES, error_costs={0: 1, 1: 50}).fit(X, y)
    assert (careful.predict(X)[y == 1] == 0).sum() <= (plain.predict(X)[y == 1] == 0).sum()
    assert careful.predict(X).mean() > plain.predict(X).mean()


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_one_seed_gives_one_model_whatever_the_number_of_threads(samples, n_jobs):
    X, y = samples
    one = thrifty(costs=PRICES).fit(X, y)
    other = thrifty(costs=PRICES, n_jobs=n_jobs).fit(X, y)
    assert one.stages_.sets == other.stages_.sets
    assert np.array_equal(one.rules_.thresholds, other.rules_.thresholds)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_full_effort_averages_boosters_and_forests(samples):
    X, y = samples
    model = thrifty(costs=PRICES, effort="full").fit(X, y)
    kinds = {member.combine for members in model.stages_.members for member in members}
    assert kinds == {"mean", "sum"}
    assert model.score(X, y) > 0.9


def test_without_a_limit_it_is_not_clearly_worse_than_models_of_all_features():
    X, y = classes(1500, seed=2)
    model = thrifty(costs=PRICES, effort="full").fit(X[:500], y[:500]).at(budget=np.inf)
    wrong = model.predict(X[500:]) != y[500:]
    for other in (
        HistGradientBoostingClassifier(random_state=0),
        ExtraTreesClassifier(random_state=0),
    ):
        more = wrong.astype(float) - (other.fit(X[:500], y[:500]).predict(X[500:]) != y[500:])
        assert more.mean() <= 2 * more.std() / np.sqrt(len(more))


def test_lazy_predictors_buy_stage_by_stage_and_agree(fitted, samples):
    X, _ = samples
    model = fitted.at(budget=5.0)
    some = list(range(60))
    expected = model.decision_path(X[:60])
    bought = []

    def acquire(sample, feature):
        bought.append((sample, feature))
        return X[sample, feature]

    lazy = tw.LazyPredictor(model, acquire=acquire)
    answer = lazy.predict(some)
    many = tw.LazyPredictor(model, acquire_many=lambda r: [X[i, k] for i, k in r]).predict(some)
    table = tw.LazyPredictor(model).predict(X[:60])
    for one in (answer, many, table):
        assert np.array_equal(one.proba, expected.predictions)
        assert np.array_equal(one.stages, expected.stage)
        assert np.array_equal(one.labels, model.predict(X[:60]))
        assert np.allclose(one.bill.per_sample, model.bill(X[:60]).per_sample)
    assert len(set(bought)) == len(bought) == answer.n_requests == int(answer.bill.used.sum())
    for i in some:
        own = [one.feature for one in answer.receipt(i).purchases]
        assert own == [feature for sample, feature in bought if sample == i]
        assert own == [one.feature for one in model.bill(X[:60]).receipt(i).purchases]


def test_lazy_predictors_use_what_is_known_and_live_with_failures(fitted, samples):
    X, _ = samples
    model = fitted.at(budget=8.0)

    def acquire(sample, feature):
        if feature == 0:
            raise OSError("no answer")
        return X[sample, feature]

    lazy = tw.LazyPredictor(model, acquire=acquire, on_failure="missing", costs=PRICES)
    without = X[:20].copy()
    without[:, 0] = np.nan
    assert np.array_equal(lazy.predict(range(20)).proba, model.predict_proba(without))
    known = [{0: X[i, 0]} for i in range(20)]
    answer = lazy.predict(range(20), known=known)
    assert np.array_equal(answer.proba, model.predict_proba(X[:20]))
    assert not answer.failures
    assert answer.bill.by_feature[0] == 0


def test_lazy_predictors_refuse_what_sets_cannot_do(fitted):
    for options in ({"stop": "decided"}, {"max_cost": 3.0}, {"on_failure": "node"}):
        with pytest.raises(InputError):
            tw.LazyPredictor(fitted, acquire=lambda *_: 0.0, **options)


def test_a_file_holds_the_model(fitted, samples, tmp_path):
    X, _ = samples
    own = fitted.at(budget=5.0)
    own.save(tmp_path / "model.tw")
    again = tw.ThriftyClassifier.load(tmp_path / "model.tw")
    assert np.array_equal(again.predict_proba(X), fitted.at(budget=5.0).predict_proba(X))
    assert np.array_equal(again.at(budget=9.0).predict(X), fitted.at(budget=9.0).predict(X))
    assert np.array_equal(again.frontier_.score, fitted.frontier_.score)
    assert again.bill(X).mean == fitted.at(budget=5.0).bill(X).mean
    assert (again.cost_, again.score_, again.rule_) == (own.cost_, own.score_, own.rule_)
    with pytest.raises(InputError, match="ThriftyClassifier"):
        tw.ThriftyRegressor.load(tmp_path / "model.tw")


@pytest.mark.parametrize("options", [{"error_costs": {0: 3.0, 1: 30.0}}, {"scoring": "roc_auc"}])
def test_a_file_knows_by_what_rules_were_chosen(samples, tmp_path, options):
    model = thrifty(costs=PRICES, max_cost=12.0, **options).fit(*samples)
    model.save(tmp_path / "model.tw")
    again = tw.ThriftyClassifier.load(tmp_path / "model.tw")
    assert (again.cost_, again.max_cost) == (model.cost_, 12.0)
    assert again.at(budget=6.0).cost_ == model.at(budget=6.0).cost_
    assert again.rules_.suggested == model.rules_.suggested
    one, other = again.evaluate(*samples), model.evaluate(*samples)
    assert one.scoring == other.scoring
    assert np.array_equal(one.score, other.score)


def test_every_budget_is_measured_on_held_out_samples(fitted):
    X, y = classes(200, seed=0)
    weight = np.arange(200.0) % 3
    found = fitted.evaluate(X, y, sample_weight=weight, quantiles=(0.5,))
    assert len(found.points) == len(fitted.rules_)
    for point in (0, len(fitted.rules_) // 2, -1):
        model = fitted.at(budget=fitted.rules_.costs[::-1][point])
        bill = model.bill(X).per_sample
        assert found.cost[point] == pytest.approx(bill[weight > 0].mean())
        assert 1 - found.error[point] == pytest.approx(model.score(X, y, weight))
        assert found.score[point] == pytest.approx(model.score(X, y, weight))
    last = fitted.stages_.outputs(len(fitted.stages_) - 1, X)
    error = np.average(last.argmax(axis=1) != y, weights=weight)
    assert found.original.error == pytest.approx(error)
    assert found.original.cost == pytest.approx(PRICES[list(fitted.stages_.sets[-1])].sum())


def test_columns_of_text_are_refused(samples):
    X, y = samples
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    with pytest.raises(InputError, match="text in the column 'c'"):
        thrifty().fit(frame.assign(c="low"), y)


def test_an_interrupted_fit_leaves_no_half_fitted_model(samples, monkeypatch):
    from thriftwood.estimators import thrifty as room

    def interrupt(*_args):
        raise KeyboardInterrupt

    model = thrifty(costs=PRICES)
    monkeypatch.setattr(room, "tune_stages", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*samples)
    with pytest.raises(NotFittedError):
        model.predict(samples[0])


def test_pipelines_end_in_thrifty_models(samples):
    X, y = samples
    whole = make_pipeline(StandardScaler(), thrifty(costs=PRICES, budget=4.0)).fit(X, y)
    assert whole.score(X, y) > 0.8
    assert whole[-1].cost_ <= 4.0


def test_columns_that_are_encoded_before_it_are_bought_together_under_their_own_name():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.normal(50, 9, 300), "pain": rng.choice(["no", "mild", "bad"], 300)}
    )
    y = (X["age"] > 50) ^ (X["pain"] == "bad")
    parts = [
        ("pain", OneHotEncoder(sparse_output=False), ["pain"]),
        ("rest", "passthrough", ["age"]),
    ]
    encode = ColumnTransformer(parts, verbose_feature_names_out=False).set_output(
        transform="pandas"
    )
    prices = {"age": 1.0, "pain": 6.0}
    with pytest.raises(InputError, match=r"made of 'pain'\? Say so by Costs"):
        make_pipeline(encode, thrifty(costs=prices)).fit(X, y)
    made = {"pain": ["pain_bad", "pain_mild", "pain_no"]}
    costs = tw.Costs(per_feature=prices, encoded=made)
    whole = make_pipeline(encode, thrifty(costs=costs, budget=7.0)).fit(X, y)
    bill = whole[-1].bill(whole[:-1].transform(X))
    assert bill.feature_names == ("pain", "age")
    assert bill.mean == pytest.approx((bill.used @ [6.0, 1.0]).mean())
    assert bill.used[:, 0].any()
    rich = int(np.argmax(bill.used[:, 0]))
    found = {one.name: one.value for one in bill.receipt(rich).purchases}
    assert found["pain"] == f"{int(X['pain'][rich] == 'bad')} in pain_bad"
    assert found["age"] == X["age"][rich]
    with pytest.raises(UnsupportedModelError, match=r"At the end of a Pipeline that is `pipeline"):
        tw.feature_bill(whole, X)


def test_a_model_that_buys_nothing_asks_for_nothing(samples):
    X, y = samples
    model = thrifty(costs=PRICES + 1, budget=0.0).fit(X, y)
    answer = tw.LazyPredictor(model, acquire=lambda i, k: X[i, k]).predict(range(9))
    assert answer.n_requests == 0
    np.testing.assert_array_equal(answer.labels, model.predict(X[:9]))


def test_damaged_files_are_refused(fitted, tmp_path):
    place = tmp_path / "model.tw"
    fitted.save(place)
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(bytes(content))
    with pytest.raises(InputError):
        tw.ThriftyClassifier.load(place)


def test_groups_are_bought_together_where_a_fee_is_due():
    X, y = classes(600, seed=1)
    informative = [0, 1]
    costs = tw.Costs(
        per_feature=np.full(8, 0.01), groups={"lab": [2, 3, 4]}, group_fee={"lab": 5.0}
    )
    units = PricedUnits(thrifty(costs=costs, budget=1.0).fit(X, y).prices)
    assert frozenset([2, 3, 4]) in units.units
    assert units.price([2, 3]) == pytest.approx(5.02)
    assert units.price([*informative, 2, 3, 4]) == pytest.approx(5.05)
    model = thrifty(costs=costs).fit(X, y)
    for own in model.stages_.sets:
        assert model.bill(X).per_sample.max() <= units.price(range(8)) + 1e-9
        assert units.price(own) <= units.price(range(8)) + 1e-9


def test_what_is_required_comes_free_with_what_requires_it():
    X, y = classes(300)
    costs = tw.Costs(per_feature=np.ones(8), requires={3: [0, 1]})
    model = thrifty(costs=costs).fit(X, y)
    for own in model.stages_.sets:
        assert 3 not in own or {0, 1} <= own
    bill = model.at(budget=np.inf).bill(X)
    assert bill.receipt(0).total == pytest.approx(bill.per_sample[0])


def test_prices_of_samples_known_values_and_models():
    X, y = classes(300)
    known = np.zeros((300, 8), dtype=bool)
    known[::2, 0] = True
    costs = tw.Costs(per_feature=np.ones(8), known=known, per_model={1: 30.0}, predictions=100)
    model = thrifty(budget=4.0).fit(X, y, costs=costs)
    bill = model.bill(X, costs=costs)
    assert model.cost_ <= 4.0
    assert bill.per_sample[1] >= bill.receipt(0).total - 8
    with pytest.raises(InputError, match="for_samples"):
        model.bill(X)


def test_prices_that_sets_do_not_have_are_refused(samples):
    X, y = samples
    for costs in (
        tw.Costs(per_feature=np.ones(8), per_split=0.1),
        tw.Costs(per_feature=np.ones(8), per_node=0.1, predictions=10),
        tw.Costs(per_feature=np.ones(8), shared_by=[0] * 400),
    ):
        with pytest.raises(InputError):
            thrifty(costs=costs).fit(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {"effort": "lots"},
        {"estimator": "best"},
        {"estimator": 3},
        {"budget": -1.0},
        {"max_cost": "much"},
        {"scoring": "prettiness"},
    ],
)
def test_wrong_parameters_are_refused(samples, options):
    with pytest.raises(InputError):
        thrifty(**options).fit(*samples)


def test_weights_of_zero_leave_samples_out(samples):
    X, y = samples
    weight = np.ones(400)
    weight[300:] = 0
    one = thrifty(costs=PRICES).fit(X, y, sample_weight=weight)
    other = thrifty(costs=PRICES).fit(X[:300], y[:300])
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_class_weights_raise_the_share_of_a_class():
    X, y = make_classification(600, 6, weights=[0.85], flip_y=0.1, random_state=0)
    plain = thrifty().fit(X, y)
    heavy = thrifty(class_weight={0: 1, 1: 8}).fit(X, y)
    assert heavy.predict(X).mean() > plain.predict(X).mean()


TWO_RULES = StoppingRules(
    thresholds=np.array([[0.0, 0.0], [np.inf, 0.0]]),
    costs=np.array([1.0, 10.0]),
    losses=np.array([0.2, 0.1]),
    errors=np.array([0.2, 0.1]),
    standard_errors=np.zeros(2),
)


@pytest.mark.parametrize("as_likely", [True, False])
def test_the_cheapest_rule_is_suggested_that_is_not_clearly_worse(as_likely):
    errors = np.zeros((100, 2))
    errors[:10, 0] = errors[9:18, 1] = 1.0  # 10 and 9 of them, seldom the same
    about = np.full(100, 0.01), np.array([as_likely, True])
    tuned = TunedStages.of(TWO_RULES, np.ones((100, 2)), errors, *about)
    assert tuned.rules.suggested == 1 - as_likely
    errors[10:30, 0] = 1.0
    assert TunedStages.of(TWO_RULES, np.ones((100, 2)), errors, *about).rules.suggested == 1


@pytest.mark.parametrize(
    ("cheap", "is_as_likely"),
    [
        (lambda y, noise: 0.1 + 0.3 * y + noise, True),
        (lambda y, _: np.full(len(y), 0.5), False),  # clearly less likely
        (lambda y, noise: 0.02 + 0.06 * y + 0.3 * (noise > 0), False),  # clearly another order
    ],
)
def test_rules_that_know_less_of_a_rare_class_are_not_as_likely(cheap, is_as_likely):
    y = (np.arange(1000) % 20 == 0).astype(np.int64)
    noise = 0.05 * np.random.default_rng(0).uniform(-1, 1, 1000)
    second = np.column_stack([cheap(y, noise), 0.1 + 0.3 * y + noise])
    outputs = np.stack([1.0 - second, second], axis=2)
    data = LabelledData(np.empty((1000, 0)), y, np.ones(1000), 2)
    found = are_as_likely(TWO_RULES, np.ones((1000, 2)), outputs, data)
    assert found.tolist() == [is_as_likely, True]


@pytest.mark.parametrize("options", [{"budget": 0.5}, {"max_cost": 0.5}])
def test_who_can_buy_nothing_is_told(samples, options):
    with pytest.warns(ConstantPredictionWarning, match="Within 0.5 this model buys nothing"):
        model = thrifty(costs=np.ones(8), **options).fit(*samples)
    assert len(np.unique(model.predict_proba(samples[0]), axis=0)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstantPredictionWarning)
        thrifty(costs=np.ones(8), **dict.fromkeys(options, 0)).fit(*samples)  # as it was asked for


def test_where_nothing_tells_classes_apart_it_is_said():
    X = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.warns(ConstantPredictionWarning, match="No set of features predicted clearly"):
        thrifty().fit(X, np.arange(200) % 40 == 0)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_rules_are_tuned_by_probabilities(share):
    X, y = make_classification(
        *(3000, 8), n_informative=4, weights=[1 - share], class_sep=0.5, random_state=1
    )
    forest = ExtraTreesClassifier(30, min_samples_leaf=20, random_state=0)
    model = thrifty(costs=PRICES, estimator=forest).fit(X[:800], y[:800])
    cheap = model.at(budget=0.4 * model.rules_.costs[-1])
    assert cheap.cost_ > 0.2 * model.rules_.costs[-1]  # it has something to spend money on
    full = roc_auc_score(y[800:], model.at(budget=np.inf).predict_proba(X[800:])[:, 1])
    assert roc_auc_score(y[800:], cheap.predict_proba(X[800:])[:, 1]) > full - 0.12


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"error_costs": np.ones((3, 3))}, "shape"),
        ({"scoring": "neg_mean_poisson_deviance"}, "cannot be computed"),
        ({"estimator": SVC()}, "no `predict_proba`"),
    ],
)
def test_what_would_fail_after_the_work_is_refused_before_it(options, words, samples, monkeypatch):
    from thriftwood.estimators import thrifty as room

    monkeypatch.setattr(room, "order_sets", None)
    with pytest.raises(InputError, match=words):
        thrifty(costs=PRICES, **options).fit(*samples)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_without_a_budget_it_ranks_rare_classes_as_the_full_model_does(share):
    lost, noise = [], []
    for seed in range(6):
        X, y = make_classification(
            *(9000, 20), n_informative=6, n_redundant=4, weights=[1 - share], random_state=seed
        )
        prices = np.random.default_rng(seed).choice([1.0, 2.0, 5.0, 10.0, 20.0], 20)
        model = thrifty(costs=prices).fit(X[:1000], y[:1000])
        path = model.decision_path(X[1000:])
        full, last = len(model.stages_) - 1, model.stages_.outputs
        area_of = areas_under_curve(y[1000:], np.full(8000, 1 / 8000), 2)
        (own, deviation), (best, other) = map(area_of, (path.predictions, last(full, X[1000:])))
        lost.append(best - own)
        noise.append(np.linalg.norm(deviation - other))
    drawn = np.std(lost, ddof=1) / np.sqrt(len(lost))
    assert np.mean(lost) <= 2 * np.hypot(drawn, np.mean(noise))


def test_rare_classes_do_not_make_it_end_in_a_constant():
    X, y = make_classification(
        2800, 8, n_informative=4, n_redundant=0, weights=[0.92], class_sep=0.8, random_state=0
    )
    model = thrifty(costs=PRICES).fit(X[:800], y[:800])
    within_one_error = np.argmax(model.rules_.losses <= model.rules_.standard_errors)
    assert model.rule_ > within_one_error
    assert roc_auc_score(y[800:], model.predict_proba(X[800:])[:, 1]) > 0.75


@pytest.mark.parametrize(
    ("share", "options", "scoring"),
    [
        (0.4, {}, "accuracy"),
        (0.1, {}, "neg_brier_score"),
        (0.1, {"class_weight": "balanced"}, "accuracy"),
        (0.1, {"error_costs": 30.0}, "neg_error_costs"),
    ],
)
def test_the_frontier_shows_what_tells_models_apart(share, options, scoring, tmp_path):
    X, y = make_classification(
        *(2400, 8), n_informative=4, weights=[1 - share], class_sep=0.8, random_state=0
    )
    forest = ExtraTreesClassifier(20, min_samples_leaf=10, random_state=0)
    model = thrifty(costs=PRICES, estimator=forest, **options).fit(X[:800], y[:800])
    assert model.frontier_.scoring == scoring
    score_of = {
        "accuracy": lambda one: one.score(X[800:], y[800:]),
        "neg_brier_score": lambda one: -brier_score_loss(y[800:], one.predict_proba(X[800:])[:, 1]),
        "neg_error_costs": lambda one: 30.0 * (one.score(X[800:], y[800:]) - 1.0),
    }[scoring]
    model.save(tmp_path / "model.tw")
    for one in (model, tw.ThriftyClassifier.load(tmp_path / "model.tw")):
        measured = one.evaluate(X[800:], y[800:])
        assert measured.scoring == scoring
        assert measured.score[-1 - one.rule_] == pytest.approx(score_of(one))
        assert one.score_ == pytest.approx(score_of(one), rel=0.35)  # on other samples


def test_scores_of_the_user_choose(samples):
    X, y = samples
    model = thrifty(costs=PRICES, scoring="roc_auc").fit(X, y)
    assert model.frontier_.scoring == "roc_auc"
    assert (np.diff(model.frontier_.score) > 0).all()
    assert (model.frontier_.standard_error >= 0).all()


def test_many_classes_and_missing_values():
    X, y = load_iris(return_X_y=True)
    X = X.copy()
    X[::7, 2] = np.nan
    names = np.array(["setosa", "versicolor", "virginica"])
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = thrifty(costs={"a": 1, "b": 1, "c": 2, "d": 2}).fit(frame, names[y])
    assert model.score(frame, names[y]) > 0.9
    assert model.predict_proba(frame).sum(axis=1) == pytest.approx(np.ones(150))


def test_learners_of_the_user_are_cloned_for_each_stage(samples, tmp_path):
    X, y = samples
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    model = thrifty(estimator=learner, costs=PRICES, budget=6.0).fit(X, y)
    lazy = tw.LazyPredictor(model, acquire=lambda i, k: X[i, k]).predict(range(30))
    assert lazy.proba == pytest.approx(model.predict_proba(X[:30]))
    with pytest.raises(InputError, match="Pipeline"):
        model.save(tmp_path / "model.tw")


def test_learners_that_predict_no_empty_table_predict_and_bill_single_samples(samples):
    X, y = samples
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    model = thrifty(estimator=learner, costs=PRICES, budget=6.0).fit(X, y)
    whole, stage = model.predict_proba(X[:40]), model.decision_path(X[:40]).stage
    assert stage.min() < len(model.stages_) - 1
    for i in range(40):
        assert model.predict_proba(X[i : i + 1]) == pytest.approx(whole[i : i + 1])
        assert model.bill(X[i : i + 1]).mean == model.bill(X[:40]).per_sample[i]


def test_weights_reach_the_last_step_of_a_pipeline(samples):
    X, y = samples
    last = LogisticRegression()
    line = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), last))
    plain = thrifty(estimator=line).fit(X, y).at(budget=np.inf)
    heavy = thrifty(estimator=line, class_weight={0: 1, 1: 8}).fit(X, y).at(budget=np.inf)
    assert heavy.predict(X).mean() > plain.predict(X).mean() + 0.05


def test_weights_that_a_learner_does_not_take_are_refused(samples):
    X, y = samples
    for learner in (
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
    ):
        with pytest.raises(InputError, match=r"KNeighborsClassifier.fit takes no `sample_weight`"):
            thrifty(estimator=learner, class_weight="balanced").fit(X, y)
        thrifty(estimator=learner).fit(X, y)


def test_numbers_cost_less_and_predict_worse_on_smaller_budgets(regressor):
    model, X, y = regressor
    assert model.frontier_.scoring == "r2"
    assert (np.diff(model.rules_.losses) < 0).all()
    cheap, dear = model.at(budget=1.5), model.at(budget=np.inf)
    assert cheap.bill(X).mean < dear.bill(X).mean
    assert cheap.score(X, y) < dear.score(X, y)
    lazy = tw.LazyPredictor(cheap, acquire=lambda i, k: X[i, k]).predict(range(40))
    assert np.array_equal(lazy.values, cheap.predict(X[:40]))


def test_files_hold_regressors(regressor, tmp_path):
    model, X, _ = regressor
    model.save(tmp_path / "model.tw")
    again = tw.ThriftyRegressor.load(tmp_path / "model.tw")
    assert np.array_equal(again.at(budget=2.0).predict(X), model.at(budget=2.0).predict(X))


def test_searches_and_clones(samples):
    X, y = samples
    search = GridSearchCV(thrifty(costs=PRICES), {"budget": [1.0, 8.0]}, cv=2).fit(X, y)
    assert search.best_params_["budget"] == 8.0
    assert clone(search.best_estimator_).get_params()["budget"] == 8.0


@pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc, gcc or clang): install one")
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_exported_c_buys_and_predicts_the_same(kind, fitted, samples, regressor, tmp_path):
    model, X = (fitted.at(budget=5.0), samples[0]) if kind == "classes" else regressor[:2]
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    tw.export.to_c(model, tmp_path / "it.c", name="thrifty")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    command = [COMPILER, *strict, "-O1", "-shared", "-fPIC", "it.c", "-o", "it.so", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    compiled = ctypes.CDLL(str(tmp_path / "it.so"))
    get_type = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.c_void_p)
    doubles = np.ctypeslib.ndpointer(np.float64, flags="C")
    compiled.thrifty_predict.argtypes = [doubles, doubles]
    compiled.thrifty_predict_lazily.argtypes = [get_type, ctypes.c_void_p, doubles]
    path, used = model.decision_path(X[:100]), model.bill(X[:100]).used
    out = np.empty(path.predictions.shape[1])
    for i in range(100):
        row, asked = np.ascontiguousarray(X[i]), []

        def get(feature, _, row=row, asked=asked):
            asked.append(feature)
            return row[feature]

        assert compiled.thrifty_predict(row, out) == path.stage[i]
        assert out == pytest.approx(path.predictions[i], abs=1e-12)
        assert compiled.thrifty_predict_lazily(get_type(get), None, out) == path.stage[i]
        assert sorted(asked) == np.flatnonzero(used[i]).tolist()
    lazy = tw.LazyPredictor(model, acquire=lambda i, k: X[i, k]).predict(range(100))
    assert np.array_equal(lazy.stages, path.stage)
    assert np.array_equal(lazy.bill.used, used)


def test_a_single_class_is_predicted():
    model = thrifty().fit(np.arange(20.0).reshape(10, 2), np.zeros(10))
    assert (model.predict(np.ones((3, 2))) == 0).all()
    assert model.bill(np.ones((3, 2))).mean == 0


def test_the_frontier_as_a_table_and_a_picture(fitted):
    frame = fitted.frontier_.to_frame()
    assert list(frame.columns) == ["cost", "score", "standard_error"]
    assert len(frame) == len(fitted.frontier_) == len(fitted.rules_)
    assert fitted.frontier_.plot().get_ylabel() == "accuracy"
    assert "accuracy" in repr(fitted.frontier_)


@pytest.mark.parametrize("make", [lightgbm_booster, histogram_booster])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_members_are_what_was_cross_fitted(make, n_classes):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4))
    y = X[:, 1] + X[:, 3] ** 2
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    data = LabelledData(X, y, np.ones(200), n_classes)
    learner = Learner(make(4), (5, 10))
    few, many = learner.cross_fit(data, [1, 3], X, 0)
    for rounds, outputs in ((5, few), (10, many)):
        member = learner.member(data, [1, 3], rounds, 0)
        assert member.n_features == 4
        assert predict_member(member, X) == pytest.approx(outputs)
    assert data.mean_loss(many) < data.mean_loss(few)


def test_other_tools_know_its_bill_and_say_what_they_cannot_do(fitted, samples):
    X, y = samples
    assert tw.feature_bill(fitted, X).mean == fitted.bill(X).mean
    with pytest.raises(UnsupportedModelError, match="several models"):
        tw.prune_path(fitted, X, y)


def test_cheap_features_come_before_dear_ones_that_tell_the_same():
    random = np.random.default_rng(0)
    y = random.integers(2, size=500)
    X = np.column_stack([y + random.normal(0, 0.7, 500), y, random.normal(size=500)])
    data = LabelledData(X, y, np.ones(500), 2)
    prices = read_prices([1, 100, 1], Columns(3, None), 500)
    sets = order_sets(data, PricedUnits(prices), Effort(), np.inf, 0)
    assert sets[:3] == [frozenset(), frozenset([0]), frozenset([0, 1])]


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_threads_change_nothing_with_weights_missing_values_and_many_classes(kind):
    random = np.random.default_rng(3)
    X = random.normal(size=(160, 5))
    target = X[:, 0] + X[:, 1] ** 2
    X[random.random(X.shape) < 0.1] = np.nan
    weights = random.integers(1, 4, size=160).astype(float)
    own = {"effort": "quick", "costs": [1, 2, 3, 1, 0], "random_state": 5}
    if kind == "classes":  # of very different sizes
        make, y = tw.ThriftyClassifier, np.digitize(target, [0.0, 4.0])
    else:
        make, y = tw.ThriftyRegressor, target
    one = make(**own).fit(X, y, sample_weight=weights)
    other = make(**own, n_jobs=2).fit(X, y, sample_weight=weights)
    assert np.array_equal(one.predict(X), other.predict(X))
    assert np.array_equal(one.frontier_.cost, other.frontier_.cost)
    assert one.at(budget=np.inf).score(X, y) > one.at(budget=0).score(X, y)


def test_it_stands_at_the_end_of_a_pipeline(samples):
    X, y = samples
    line = make_pipeline(StandardScaler(), thrifty(costs=PRICES, budget=5.0)).fit(X, y)
    assert line[-1].bill(line[:-1].transform(X)).mean == pytest.approx(5.0, rel=0.3)
    assert line.score(X, y) > 0.75


@pytest.mark.parametrize("seed", range(2))
def test_no_set_exceeds_the_limit(seed):
    X, y = make_classification(120, 7, n_informative=4, random_state=seed)
    own = np.random.default_rng(seed).integers(1, 9, 7).astype(float)
    units = PricedUnits(read_prices(own, Columns(7, None), 120))
    data = LabelledData(X, y, np.ones(120), 2)
    sets = order_sets(data, units, Effort(core=3), 12.0, seed)
    assert all(small < large for small, large in pairwise(sets))
    assert 0 < max(units.price(one) for one in sets) <= 12.0


def test_stages_are_spread_over_prices():
    prices = np.concatenate([[0.0], np.arange(1.0, 55.0)])
    taken = spread_sets([frozenset(range(n)) for n in range(55)], prices, 10)
    assert taken[0] == 0
    assert taken[1] == 1
    assert taken[-1] == 54
    assert len(taken) == 10


@pytest.mark.parametrize("seed", range(3))
def test_samples_that_tuned_the_rules_pay_no_more_than_told_by_the_final_models(seed):
    """Pixels have few values: samples that are alike stop together, or go on together."""
    digits = load_digits()
    some = np.random.default_rng(seed).permutation(len(digits.target))[:500]
    X, y = digits.data[some], digits.target[some]
    model = tw.ThriftyClassifier(effort="quick", random_state=0).fit(X, y)
    for cost in model.rules_.costs.tolist():
        assert model.at(budget=cost).bill(X).mean <= cost * (1 + 1e-9)
