"""Price lists wherever costs are taken: estimators, growing, files, evaluation, data sets."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from shared_data import SHARED, needs_shared_data
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV

import thriftwood as tw
from thriftwood.costs import read_prices
from thriftwood.errors import InputError, RangeError
from thriftwood.support.columns import Columns

HEART = tw.datasets.load_heart()
X, y = HEART.X, HEART.y
FOREST = RandomForestClassifier(10, max_features=None, max_depth=4, random_state=0).fit(X, y)
KNOWN = np.random.default_rng(0).random(X.shape) < 0.3
UPKEEP = tw.Costs(
    per_feature=HEART.prices.per_feature,
    groups=HEART.prices.groups,
    group_fee=HEART.prices.group_fee,
    per_model={"B": 5_000.0, 11: 2_000.0},
    per_split=0.01,
    per_node=0.5,
    predictions=1_000,
    unit="CAD",
)


def test_a_patient_of_heart_pays_every_fee_once_to_the_cent():
    """Whoever takes several tests of a group pays less than their single prices, by its fee."""
    bill = tw.feature_bill(FOREST, X, HEART.prices)
    alone = tw.feature_bill(FOREST, X, HEART.costs)
    taken = np.array([tw.feature_bill(FOREST, X, price).per_sample for price in np.eye(13)])
    saved = np.zeros(len(X))
    for fee, group in ((2.10, [4, 5]), (101.90, [7, 12]), (86.30, [8, 9, 10])):
        saved += fee * np.maximum(taken[group].sum(axis=0) - 1, 0)
    np.testing.assert_allclose(alone.per_sample - bill.per_sample, saved, atol=1e-9)
    assert saved.max() > 100
    assert bill.unit == "CAD"


@needs_shared_data
def test_the_prices_of_thyroid_know_that_one_test_is_computed_from_two():
    thyroid = tw.datasets.load_dataset("thyroid_ann", SHARED)
    names = list(thyroid.feature_names)
    rows = slice(0, 400)
    only = np.zeros_like(thyroid.X[rows])
    only[:, names.index("FTI")] = thyroid.X[rows, names.index("FTI")]
    stump = RandomForestClassifier(1, max_features=None, max_depth=1, random_state=0)
    stump.fit(only, thyroid.y[rows])
    bill = tw.feature_bill(stump, only, thyroid.prices)
    assert bill.per_sample == pytest.approx(12.41 + 9.31 + 2.10)  # TT4, T4U, blood taken once
    assert bill.bought[names.index("TT4")] == 1


@pytest.mark.parametrize("costs", [HEART.prices, UPKEEP, HEART.prices.for_samples(known=KNOWN)])
def test_an_estimator_prunes_as_the_function_does(costs):
    estimator = tw.PrunedEnsembleClassifier(
        RandomForestClassifier(10, max_features=None, max_depth=4, random_state=0),
        costs=costs,
        tradeoff=0.0005,
    )
    fitted = clone(estimator).fit(X, y)
    pruned = tw.prune(FOREST, X, y, costs=costs, tradeoff=0.0005)
    assert fitted.pruned_.cost == pytest.approx(pruned.cost)
    assert fitted.pruned_.n_splits == pruned.n_splits


def test_folds_take_the_prices_of_their_rows_along():
    costs = HEART.prices.for_samples(known=KNOWN)
    estimator = tw.PrunedEnsembleClassifier(FOREST, costs=costs, cv=3).fit(X, y)
    free = tw.PrunedEnsembleClassifier(FOREST, costs=HEART.prices, cv=3).fit(X, y)
    assert (estimator.evaluation_.cost[0]) < free.evaluation_.cost[0]
    out_of_bag = tw.PrunedEnsembleClassifier(FOREST, costs=costs, cv="out_of_bag").fit(X, y)
    assert out_of_bag.evaluation_.n_samples <= len(y)


def test_a_search_over_price_lists_works():
    estimator = tw.PrunedEnsembleClassifier(FOREST, tradeoff=0.001)
    search = GridSearchCV(estimator, {"costs": [HEART.prices, UPKEEP]}, cv=2).fit(X, y)
    assert search.best_params_["costs"].unit == "CAD"


def grown(costs, **options):
    forest = tw.BudgetForestClassifier(10, impurity="entropy", random_state=0, **options)
    trees = [tree.tree_ for tree in forest.fit(X, y, costs=costs).estimators_]
    return [(tree.feature.tolist(), tree.threshold.tolist()) for tree in trees]


LABORATORY = [4, 5, 7, 9, 11, 12]


def with_a_fee(fee):
    return tw.Costs(per_feature=np.ones(13), groups={"lab": LABORATORY}, group_fee={"lab": fee})


def test_trees_grow_with_all_prices_in_mind():
    alone = np.ones(13)
    alone[LABORATORY] += 3.0
    assert grown(with_a_fee(3.0)) == grown(alone)
    assert grown(with_a_fee(3.0)) != grown(np.ones(13))
    known = with_a_fee(3.0).for_samples(known=KNOWN * (np.arange(13) > 6))
    assert grown(with_a_fee(3.0)) != grown(known)


def test_fees_that_were_paid_above_no_longer_count():
    alone = np.ones(13)
    alone[LABORATORY] += 3.0
    assert grown(with_a_fee(3.0), free_once_bought=True) != grown(alone, free_once_bought=True)
    assert grown(with_a_fee(0.0), free_once_bought=True) == grown(None, free_once_bought=True)


def test_what_a_feature_brings_along_is_added_up():
    costs = tw.Costs(
        per_feature=[1.0, 2.0, 4.0],
        groups={"g": [0, 1]},
        group_fee={"g": 8.0},
        requires={2: [0]},
        per_model={"g": 100.0},
        predictions=10,
        per_split=0.25,
        per_node=5.0,
        known={1: [True, False, False, False]},
        shared_by={0: [0, 0, 1, 1]},
    )
    prices = read_prices(costs, Columns(3, None), 4)
    own = np.array([1.0 / 2, 2.0 * 3 / 4, 4.0])  # half a price each; three of four pay; all pay
    fees = np.array([8.0, 8.0 * 3 / 4, 8.0])
    upkeep = 100.0 / 10
    brought = np.array([0.0, 0.0, own[0]])  # the third takes the first, its fee and its upkeep
    expected = own + fees + upkeep + brought + 0.25 + 5.0 / 10
    np.testing.assert_allclose(prices.bundle_prices(), expected)


def test_a_budget_holds_for_whole_bills():
    grow = tw.BudgetForestClassifier(40, max_depth=3, random_state=0)
    bills = []
    for n_trees in range(1, 41):
        forest = clone(grow).set_params(n_estimators=n_trees).fit(X, y, costs=UPKEEP)
        bills.append(tw.feature_bill(forest, X, UPKEEP).mean)
    assert bills[0] < bills[-1]
    budget = (bills[0] + bills[-1]) / 2
    within = clone(grow).set_params(budget=budget).fit(X, y, costs=UPKEEP)
    n_allowed = sum(bill <= budget for bill in bills)
    assert len(within.estimators_) == n_allowed
    tied = HEART.prices.for_samples(known=KNOWN)
    with pytest.raises(InputError, match="bills of `X_valid` are not known"):
        clone(within).fit(X, y, costs=tied, X_valid=X[:10])


@pytest.mark.parametrize("kind", ["per_sample", "known"])
def test_frames_go_by_name_for_some_of_the_rows_too(kind):
    rng = np.random.default_rng(0)
    frame = HEART.frame()
    table = rng.integers(1, 9, X.shape).astype(float) if kind == "per_sample" else KNOWN
    named = pd.DataFrame(table, columns=HEART.feature_names)
    shuffled = named[named.columns[::-1]]
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(frame, y)
    rows = np.arange(0, 300, 3)
    bills = [
        tw.feature_bill(forest, frame.iloc[rows], tw.Costs(**{kind: given}).take(rows)).per_sample
        for given in (table, named, shuffled)
    ]
    np.testing.assert_array_equal(bills[0], bills[1])
    np.testing.assert_array_equal(bills[0], bills[2])


@pytest.mark.parametrize("costs", [{"per_split": 1e308}, {"per_node": 1e307, "predictions": 1}])
def test_infinite_costs_are_refused(costs):
    for call in (
        lambda: tw.prune(FOREST, X, y, costs=tw.Costs(**costs), tradeoff=0.1),
        lambda: tw.prune_path(FOREST, X, y, costs=tw.Costs(**costs)),
        lambda: tw.feature_bill(FOREST, X, tw.Costs(**costs)),
    ):
        with pytest.raises(RangeError, match="bills are infinite"):
            call()


def test_prices_of_rows_are_not_dropped_by_accident():
    tied = HEART.prices.for_samples(known=KNOWN)
    with pytest.raises(InputError, match="`known` belongs to other samples"):
        tied.for_samples(shared_by=np.zeros(303))
    with pytest.raises(InputError, match="`per_split` does not belong to samples"):
        tied.for_samples(per_split=1.0)
    assert not tied.for_samples(known=None).is_tied_to_samples


def test_rows_that_share_have_one_weight_everywhere():
    shared = HEART.prices.for_samples(shared_by=np.arange(303) // 3)
    shared = replace(shared, weigh_bills=True)
    path = tw.prune_path(FOREST, X, y, costs=shared)
    weights = np.arange(1.0, 304)
    forest = tw.BudgetForestClassifier(3, max_depth=2, budget=1000)
    for call in (
        lambda: tw.prune_path(FOREST, X, y, costs=shared, sample_weight=weights),
        lambda: path.evaluate(X, y, costs=shared, sample_weight=weights),
        lambda: forest.fit(X, y, costs=shared, sample_weight=weights),
    ):
        with pytest.raises(InputError, match="shares what it pays with samples of another"):
            call()


def test_long_chains_are_read():
    n_features = 3000
    chain = tw.Costs(
        per_feature=np.ones(n_features),
        requires={k: [k + 1] for k in range(n_features - 1)},
        groups={f"g{k}": [f"g{k + 1}"] for k in range(1000)} | {"g1000": [0]},
        group_fee={"g0": 5.0},
    )
    assert read_prices(chain, Columns(n_features, None), 1).bundle_prices()[0] == n_features + 5


def test_ids_stay_apart_in_lists():
    stump = RandomForestClassifier(1, max_depth=1, max_features=None, random_state=0).fit(X, y)
    large = [2**60 + i for i in range(302)] + [0.5]
    bill = tw.feature_bill(stump, X, tw.Costs(per_feature=np.ones(13), shared_by=large))
    assert bill.mean == 1
    with pytest.raises(InputError, match="missing in row 1"):
        tw.feature_bill(stump, X[:2], tw.Costs(per_feature=np.ones(13), shared_by=["q", np.nan]))


def test_a_path_keeps_its_prices_in_a_file(tmp_path):
    path = tw.prune_path(FOREST, X, y, costs=UPKEEP)
    path.save(tmp_path / "path")
    loaded = tw.PruningPath.load(tmp_path / "path", FOREST)
    assert loaded.prices.names == path.prices.names
    assert loaded.prices.unit == "CAD"
    np.testing.assert_allclose(loaded.evaluate(X, y).cost, path.costs)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(path)).evaluate(X, y).cost, path.costs)


def test_rows_that_are_not_those_of_the_prices_need_prices_of_their_own(tmp_path):
    tied = HEART.prices.for_samples(known=KNOWN)
    path = tw.prune_path(FOREST, X, y, costs=tied)
    path.save(tmp_path / "path")
    loaded = tw.PruningPath.load(tmp_path / "path", FOREST)
    for one in (path, loaded):
        with pytest.raises(InputError, match=r"pass `costs` for these samples"):
            one.evaluate(X[:50], y[:50])
        measured = one.evaluate(X[:50], y[:50], costs=tied.take(np.arange(50)))
        everything = tw.feature_bill(one.at(index=0).model, X[:50], tied.take(np.arange(50)))
        assert measured.cost[0] == pytest.approx(everything.mean)
        chosen = one.choose(X[:50], y[:50], costs=tied.take(np.arange(50)), rule="best_score")
        assert chosen.index in (None, *range(len(path)))


@pytest.mark.parametrize("path_of", [tw.prune_path, tw.each_tree_path])
def test_regressors_pay_like_classifiers(path_of):
    age = X[:, 0]
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, age)
    problem = tw.pruning_problem(forest, X, age, costs=UPKEEP, loss="absolute_error")
    path = path_of(problem)
    for point in (0, len(path) // 2):
        bill = tw.feature_bill(path[point].model, X, UPKEEP)
        assert bill.mean == pytest.approx(path.costs[point])


def test_the_unit_is_shown():
    path = tw.prune_path(FOREST, X, y, costs=UPKEEP)
    assert "CAD" in repr(path)
    assert path.plot().get_xlabel() == "mean bill (CAD)"
    printed = repr(tw.feature_bill(FOREST, X, UPKEEP))
    for words in ("CAD per sample", "B ", "shared", "tests", "model"):
        assert words in printed


def test_the_papers_programs_refuse_what_they_do_not_know():
    from thriftwood import paper

    with pytest.raises(InputError, match="one price per feature and nothing else"):
        paper.read_instance(FOREST, X, y, costs=UPKEEP)
    plain = paper.read_instance(FOREST, X, y, costs=tw.Costs(per_feature=HEART.costs))
    np.testing.assert_array_equal(plain.problem.prices.prices, HEART.costs)
