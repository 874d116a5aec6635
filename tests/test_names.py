"""The user's own names of columns hold everywhere, whatever a library makes of them."""

import warnings
from dataclasses import replace

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError

QUIET = {"verbose": False, "allow_writing_files": False}
LEARNERS = {
    "scikit-learn": lambda: RandomForestClassifier(5, max_depth=4, random_state=0),
    "LightGBM": lambda: lightgbm.LGBMClassifier(n_estimators=8, num_leaves=7, verbose=-1),
    "LightGBM's Booster": lambda: NativeLightGBM(),
    "XGBoost": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3),
    "CatBoost": lambda: catboost.CatBoostClassifier(iterations=8, depth=3, **QUIET),
}
# Blanks, letters of other languages and a blank in front; what LightGBM makes of one is another.
NAMES = ("blood pressure", "Größe in cm", " shoe size", "age")
PRICES = dict(zip(NAMES, [4.0, 2.5, 7.0, 1.0], strict=True))


class NativeLightGBM:
    def fit(self, X, y):
        return lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, y), 5)


def samples(n_samples=150, names=NAMES):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.gamma(4.0, 10.0, size=(n_samples, len(names))), columns=list(names))
    return X, (X.to_numpy() @ [1.0, 2.0, -1.0, 0.5] > 100).astype(int)


@pytest.fixture(scope="module", params=LEARNERS)
def model(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM tells what it does to blanks
        return LEARNERS[request.param]().fit(*samples())


def test_prices_frames_and_sources_go_by_the_users_own_names(model):
    X, y = samples()
    path = tw.prune_path(model, X, y, costs=PRICES)
    pruned = path.at(budget=path.costs[0] / 2)
    bill = tw.feature_bill(pruned, X, PRICES)
    assert bill.feature_names == NAMES
    assert bill.mean == pytest.approx(pruned.cost)
    assert path.evaluate(X, y).cost[pruned.index] == pytest.approx(bill.mean)
    asked = set()
    for one in (pruned, path.cascade(X, y), model):

        def acquire(sample, name):
            asked.add(name)
            return X.at[sample, name]

        lazy = tw.LazyPredictor(one, acquire=acquire, costs=PRICES).predict(range(20))
        expected = tw.feature_bill(one, X.iloc[:20], PRICES).per_sample
        np.testing.assert_allclose(lazy.bill.per_sample, expected)
    assert asked <= set(NAMES)


def test_what_is_left_is_called_as_the_user_calls_it(model, tmp_path):
    X, y = samples()
    path = tw.prune_path(model, X, y, costs=PRICES)
    pruned = path.at(budget=path.costs[0] / 2)
    for one in (pruned, tw.prune(path.model, X, y, costs=PRICES, tradeoff=0.001)):
        own = [name for name in NAMES if name in one.required_features]
        assert own == list(one.required_features)
        asked = tw.LazyPredictor(one, acquire=lambda i, name: X.at[i, name]).predict(range(9))
        assert {use.name for use in asked.receipt(0).purchases} <= set(own)
        compact = one.compact()
        if not isinstance(model, lightgbm.Booster | xgboost.Booster):
            np.testing.assert_array_equal(compact.predict(X[own]), one.model.predict(X))
    path.save(tmp_path / "path.twp")
    again = tw.PruningPath.load(tmp_path / "path.twp", model)
    np.testing.assert_array_equal(again.evaluate(X, y).cost, path.evaluate(X, y).cost)
    problem = tw.pruning_problem(model, X, y, costs=PRICES)
    assert tw.verify_pruning(problem, pruned.model).gap < 1e-9


def test_every_kind_of_price_speaks_of_them(model):
    X, _ = samples()
    plain = X.set_axis(list("abcd"), axis=1)
    other = dict(zip(NAMES, "abcd", strict=True))
    about = {
        "groups": {"at the desk": list(NAMES[:2])},
        "group_fee": {"at the desk": 3.0},
        "requires": {NAMES[2]: [NAMES[3]]},
        "known": {NAMES[0]: np.arange(len(X)) % 2 == 0},
        "shared_by": {NAMES[3]: np.arange(len(X)) // 3},
    }
    costs = tw.Costs(per_feature=PRICES, **about)

    def renamed(value):
        if isinstance(value, dict):
            return {renamed(name): renamed(own) for name, own in value.items()}
        if isinstance(value, list):
            return [renamed(own) for own in value]
        return other.get(value, value) if isinstance(value, str) else value

    twin = tw.ForestModel(replace(read_forest(model), feature_names=tuple("abcd")))
    expected = tw.feature_bill(twin, plain, tw.Costs(**renamed({"per_feature": PRICES, **about})))
    for table in (X, X.to_numpy()):
        found = tw.feature_bill(model, table, costs)
        np.testing.assert_allclose(found.per_sample, expected.per_sample)


def test_names_as_the_library_has_them_are_right_as_well():
    X, y = samples()
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(X.rename(columns=str.strip), y)
    theirs = {name.strip().replace(" ", "_"): price for name, price in PRICES.items()}
    own = {name.strip(): price for name, price in PRICES.items()}
    table = X.set_axis(list(theirs), axis=1)
    for frame in (X.rename(columns=str.strip), table):
        for prices in (theirs, own):
            bill = tw.feature_bill(model, frame, prices)
            assert bill.feature_names == tuple(frame)
            np.testing.assert_array_equal(
                bill.per_sample, tw.feature_bill(model, X.to_numpy(), own).per_sample
            )
    with pytest.raises(InputError, match="There is no price for 'age'"):
        tw.feature_bill(model, table, {name: 1.0 for name in theirs if name != "age"})


def test_underscores_are_no_blanks_where_both_are_there():
    names = ("a b", "a_b", "c", "d")
    X, y = samples(names=names)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    prices = dict(zip(names, [1.0, 10.0, 0.0, 0.0], strict=True))
    used = tw.feature_bill(model, X, prices)
    np.testing.assert_allclose(used.per_sample, used.used @ [1.0, 10.0, 0.0, 0.0])
    with pytest.raises(InputError, match="no price for 'a b'"):
        tw.feature_bill(model, X, {"a_b": 1.0, "c": 1.0, "d": 1.0})


@pytest.mark.parametrize(
    ("learner", "name"), [("LightGBM", "dose[mg]"), ("LightGBM", "a:b"), ("XGBoost", "<5")]
)
def test_names_that_a_library_refuses_are_refused_before_training(learner, name):
    names = [name, *NAMES[1:]]
    X, y = samples(names=names)
    costs = dict.fromkeys(names, 1.0)
    model = tw.PrunedEnsembleClassifier(LEARNERS[learner](), costs=costs, budget=2)
    with pytest.raises(InputError, match="trains on no column named"):
        model.fit(X, y)
    fitted = tw.PrunedEnsembleClassifier(LEARNERS["CatBoost"](), costs=costs, budget=2).fit(X, y)
    assert set(fitted.pruned_.required_features) <= set(names)


def test_estimators_take_names_that_a_library_changes():
    X, y = samples()
    model = tw.PrunedEnsembleClassifier(LEARNERS["LightGBM"](), costs=PRICES, cv=2).fit(X, y)
    assert tuple(model.feature_names_in_) == NAMES
    assert tw.feature_bill(model, X).feature_names == NAMES
    np.testing.assert_array_equal(model.predict(X), model.model_.predict(X))
