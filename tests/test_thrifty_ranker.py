"""Rankers in one call: nested sets of features, bought for the documents that may be first."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from rankings import Documents, documents
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold
from test_rankings import of_queries

import thriftwood as tw
from thriftwood.cascade import CascadeRanker
from thriftwood.costs import read_prices
from thriftwood.errors import InputError
from thriftwood.estimators.thrifty_ranker import _best_means
from thriftwood.support.columns import Columns
from thriftwood.thrifty import FittedStages, LabelledData, PricedUnits
from thriftwood.thrifty.cross_fitting import make_folds
from thriftwood.thrifty.learners import best_booster
from thriftwood.thrifty.ordering import Trial, trial_folds

MANY, NEW = documents(120, seed=5), documents(60, seed=6)
COSTS = tw.Costs(
    per_feature={k: 1.0 + k for k in range(6)},
    per_query={0: 5.0},
    groups={"pair": [3, 4]},
    group_fee={"pair": 2.0},
)


@cache
def thrifty(**options):
    model = tw.ThriftyRanker(effort="quick", random_state=0, **options)
    return model.fit(MANY.X, MANY.y, qid=MANY.qid)


@cache
def priced():
    return (
        thrifty()
        .__class__(costs=COSTS, effort="quick", random_state=0)
        .fit(MANY.X, MANY.y, qid=MANY.qid)
    )


def ranker_on(data):
    """Return a ranker of LightGBM."""
    order = np.argsort(data.qid, kind="stable")
    model = lightgbm.LGBMRanker(n_estimators=50, num_leaves=7, n_jobs=1, verbose=-1)
    sizes = np.unique(data.qid, return_counts=True)[1]
    return model.fit(data.X[order], data.y[order], group=sizes)


def test_sets_are_nested_and_all_of_them_are_at_the_end():
    for model in (thrifty(), priced()):
        sets = model.cascade_.stages.sets
        assert all(a < b for a, b in pairwise(sets))
        assert sets[-1] == frozenset(range(6))


def test_what_is_spent_brings_better_lists():
    measured = thrifty().evaluate(NEW.X, NEW.y, qid=NEW.qid)
    dear, cheap = measured.score[0], measured.score[-1]
    assert dear > cheap + 2 * measured.score_error.max()
    assert measured.cost_per_query[0] > measured.cost_per_query[-1]
    scores = thrifty().frontier_
    assert scores.score[-1] > scores.score[0]
    assert scores.scoring == "ndcg@10"


def test_stages_before_are_counted_in_only_where_lists_are_better_for_it():
    """Where features tell different things, a mean with models that lack some is much worse."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(4_000, 5)), np.repeat(np.arange(250), 16)
    y = np.digitize(X.sum(axis=1) + rng.normal(size=4_000), [2.0, 4.0])
    seen, new = (Documents(X[some], y[some], qid[some]) for some in (qid < 150, qid >= 150))
    model = tw.ThriftyRanker(effort="quick", random_state=0).fit(seen.X, seen.y, qid=seen.qid)
    stages = model.cascade_.stages
    full, chosen, of_all = (
        of_queries("ndcg@10", new.y, values, new.qid).mean()
        for values in (
            ranker_on(seen).predict(new.X),
            stages.outputs(len(stages) - 1, new.X)[:, 0],
            replace(stages, begins=(0,) * len(stages)).outputs(len(stages) - 1, new.X)[:, 0],
        )
    )
    assert chosen > full - 0.01 > of_all + 0.02


def test_each_stage_predicts_the_mean_that_ranks_unseen_documents_best():
    rng = np.random.default_rng(0)
    outputs = NEW.X[:, [1, 2, 3]] + rng.normal(size=(len(NEW.y), 3))
    order = np.argsort(NEW.qid, kind="stable")
    data = LabelledData(NEW.X, NEW.y.astype(float), np.ones(len(NEW.y)), 0, NEW.qid).take(order)
    members = (("a",), ("b", "c"), ("d",))
    fitted = FittedStages(members, (), (), order, outputs[order][:, :, None], np.empty(0))
    begins, means = _best_means(fitted, data)
    weights = np.array([1, 2, 1])
    for number, first in enumerate(begins):
        tried = [
            outputs[order][:, own : number + 1]
            @ weights[own : number + 1]
            / sum(weights[own : number + 1])
            for own in range(number + 1)
        ]
        losses = [data.mean_loss(one[:, None]) for one in tried]
        assert losses[first] == min(losses)
        np.testing.assert_allclose(means[:, number], tried[first])


@pytest.mark.parametrize("budget", [None, 12.0, 40.0, np.inf])
def test_lists_and_bills_are_those_of_the_stages_where_documents_stop(budget):
    model = priced().at(budget=budget)
    assert model.cost_ <= (np.inf if budget is None else budget)
    found = model.decision_path(NEW.X, NEW.qid)
    sets = model.cascade_.stages.sets
    own = np.array([sum(1.0 + k for k in s) + 2.0 * bool(s & {3, 4}) for s in sets])
    needs = np.array([0 in s for s in sets])
    bill = model.bill(NEW.X, NEW.qid)
    expected = [
        own[found.stage[NEW.qid == q]].sum() + 5.0 * needs[found.stage[NEW.qid == q]].any()
        for q in dict.fromkeys(NEW.qid.tolist())
    ]
    np.testing.assert_allclose(bill.per_query, expected)
    assert model.score(NEW.X, NEW.y, NEW.qid) == pytest.approx(
        of_queries("ndcg@10", NEW.y, model.predict(NEW.X, NEW.qid), NEW.qid).mean()
    )
    assert "of 120 queries" in str(model.cascade_) or budget is not None


def test_a_limit_holds_for_every_query():
    model = tw.ThriftyRanker(costs=COSTS, max_cost=30.0, effort="quick", random_state=0)
    model.fit(MANY.X, MANY.y, qid=MANY.qid)
    for some in (MANY, NEW):
        assert model.at(budget=np.inf).bill(some.X, some.qid).per_query.max() <= 30.0 + 1e-9


@pytest.mark.parametrize("limit", [0.5, 30.0])
def test_what_a_model_with_a_limit_tells_of_itself_is_within_the_limit(limit):
    """Below the cheapest stage nothing is bought, and no score claims otherwise."""
    model = tw.ThriftyRanker(max_cost=limit, effort="quick", random_state=0)
    model.fit(MANY.X, MANY.y, qid=MANY.qid)
    assert model.frontier_.cost.max() <= limit
    assert (np.diff(model.frontier_.score) > 0).all()
    any_order = of_queries("ndcg@10", MANY.y, np.zeros(len(MANY.y)), MANY.qid).mean()
    assert (model.score_ > any_order + 1e-9) == (limit > 1)
    if limit < 1:
        assert (model.cost_, model.score_) == (0, pytest.approx(any_order))
    fresh = model.evaluate(NEW.X, NEW.y, qid=NEW.qid)
    assert fresh.cost_per_query.max() <= limit


def test_features_bought_lazily_make_the_same_lists():
    model = priced().at(budget=40.0)
    for query in np.unique(NEW.qid)[:8]:
        listed = np.flatnonzero(NEW.qid == query)
        asked = []

        def fetch(requests, asked=asked):
            asked += requests
            return [NEW.X[document, feature] for (_, document), feature in requests]

        found = tw.LazyPredictor(model, acquire_many=fetch).rank(query, listed, k=4)
        ranks = model.predict(NEW.X[listed], [0] * len(listed))
        assert found.documents == tuple(listed[np.argsort(-ranks, kind="stable")[:4]].tolist())
        bill = model.bill(NEW.X[listed], [0] * len(listed))
        assert found.cost == pytest.approx(bill.per_sample.sum())
        assert len(asked) == bill.used.sum()


@pytest.mark.parametrize(
    "estimator",
    [
        lightgbm.LGBMRanker(n_estimators=5, num_leaves=4, n_jobs=1, verbose=-1),
        xgboost.XGBRanker(n_estimators=5, max_depth=2, n_jobs=1),
        catboost.CatBoostRanker(iterations=5, depth=2, verbose=0, allow_writing_files=False),
        RandomForestRegressor(5, max_depth=4, n_jobs=1),
    ],
    ids=lambda one: type(one).__name__,
)
def test_learners_of_the_users_make_stages(estimator):
    model = tw.ThriftyRanker(estimator=estimator, effort="quick", random_state=0)
    model.fit(MANY.X, MANY.y, qid=MANY.qid)
    constant = of_queries("ndcg@10", NEW.y, np.zeros(len(NEW.y)), NEW.qid).mean()
    assert model.at(budget=np.inf).score(NEW.X, NEW.y, NEW.qid) > constant + 0.05


def test_weights_of_0_leave_documents_out():
    kept = np.random.default_rng(0).random(len(MANY.y)) < 0.8
    weighed, fewer = (
        tw.ThriftyRanker(effort="quick", random_state=0).fit(*own, **more)
        for own, more in (
            ((MANY.X, MANY.y), {"qid": MANY.qid, "sample_weight": kept.astype(float)}),
            ((MANY.X[kept], MANY.y[kept]), {"qid": MANY.qid[kept]}),
        )
    )
    assert weighed.cascade_.stages.sets[-1] == fewer.cascade_.stages.sets[-1]
    assert weighed.score_ == pytest.approx(fewer.score_, abs=0.05)


def test_a_part_of_what_a_dear_feature_tells_is_bought_before_it():
    """Though elimination keeps the dear one, and cheaper ones, which tell nothing, come first."""
    rng = np.random.default_rng(0)
    n_queries, size = 60, 10
    query = np.repeat(np.arange(n_queries), size).astype(np.int32)
    told = rng.normal(size=len(query))
    whole = told + 0.2 * rng.normal(size=len(query))
    title = told + 1.0 * rng.normal(size=len(query))
    length = 0.5 * told + rng.normal(size=len(query))
    X = np.column_stack([whole, title, length, rng.normal(size=(n_queries, 14))[query]])
    data = LabelledData(X, np.digitize(told, [1.0, 2.0]) * 1.0, np.ones(len(query)), 0, query)
    units = PricedUnits(read_prices([5, 1, 0.1] + [0.05] * 14, Columns(17, None), len(query)))
    trial = Trial(data, units, best_booster((40,), data, 15), 0, None)
    core = [frozenset(), frozenset([2]), frozenset([0, 2])]
    sets = trial.dearer_last(core, frozenset(range(17)), np.inf)
    assert min(units.price(own) for own in sets if 1 in own) < 5


def test_folds_are_of_whole_queries():
    order = np.argsort(MANY.qid, kind="stable")
    data = LabelledData(
        MANY.X[order], MANY.y[order].astype(float), np.ones(len(order)), 0, MANY.qid[order]
    )
    for folds in (make_folds(data, 0), trial_folds(data, 0)):
        for train, held_out in folds:
            assert not set(data.query[train]) & set(data.query[held_out])
            assert (np.diff(data.query[train]) >= 0).all()
    assert sorted(np.concatenate([own for _, own in make_folds(data, 0)])) == [*range(len(order))]


def test_rankers_go_to_files_and_back(tmp_path):
    model = priced().at(budget=40.0)
    model.save(tmp_path / "ranker.tw")
    again = CascadeRanker.load(tmp_path / "ranker.tw")
    np.testing.assert_array_equal(again.predict(NEW.X, NEW.qid), model.predict(NEW.X, NEW.qid))
    np.testing.assert_array_equal(
        again.bill(NEW.X, NEW.qid).per_query, model.bill(NEW.X, NEW.qid).per_query
    )


def test_columns_go_by_their_names():
    names = [f"f{k}" for k in range(6)]
    costs = tw.Costs(per_feature=dict.fromkeys(names, 1.0), per_query={"f0": 2.0})
    frame = pd.DataFrame(MANY.X, columns=names)
    model = tw.ThriftyRanker(costs=costs, effort="quick", random_state=0)
    model.fit(frame, MANY.y, qid=MANY.qid)
    assert model.bill(frame, MANY.qid).feature_names == tuple(names)
    with pytest.raises(InputError, match="f0"):
        model.predict(frame[names[::-1]].rename(columns={"f0": "other"}), MANY.qid)


def test_lists_of_one_document_and_grades_that_are_all_alike_buy_nothing():
    for y, qid in ((MANY.y, np.arange(len(MANY.y))), (np.zeros(len(MANY.y)), MANY.qid)):
        model = tw.ThriftyRanker(effort="quick", random_state=0).fit(MANY.X, y, qid=qid)
        assert model.cost_ == 0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"qid": None}, "pass `qid`"),
        ({"qid": np.zeros(len(MANY.y))}, "at least 4 queries"),
        ({"y": MANY.y - 1}, "grades of relevance"),
        ({"y": MANY.y / 2}, "`y` is 0.5 in row .* whole numbers"),
        ({"y": np.where(MANY.y > 0, "good", "bad")}, "`y` holds something that is not a number"),
        ({"y": None}, "`y` is None"),
        ({"y": MANY.y[:4]}, "`y` has shape"),
        ({"scoring": "roc_auc"}, "score of rankings"),
        ({"estimator": lightgbm.LGBMClassifier()}, "pass a ranker, or a regressor of grades"),
        ({"costs": tw.Costs(shared_by=MANY.qid)}, "`shared_by`"),
    ],
)
def test_what_cannot_be_fitted_is_said(changed, words):
    parameters = "scoring", "costs", "estimator"
    own = {name: changed[name] for name in parameters if name in changed}
    given = {"y": MANY.y, "qid": MANY.qid} | {k: v for k, v in changed.items() if k not in own}
    with pytest.raises(InputError, match=words):
        tw.ThriftyRanker(effort="quick", **own).fit(MANY.X, **given)


# --- pruned ensembles of rankers


@pytest.mark.parametrize("kind", ["LightGBM", "XGBoost", "forest"])
def test_rankers_are_grown_pruned_and_chosen_in_one_call(kind):
    estimator = {
        "LightGBM": lightgbm.LGBMRanker(n_estimators=8, num_leaves=4, n_jobs=1, verbose=-1),
        "XGBoost": xgboost.XGBRanker(n_estimators=8, max_depth=2, n_jobs=1),
        "forest": RandomForestRegressor(8, max_depth=4, n_jobs=1),
    }[kind]
    model = tw.PrunedEnsembleRegressor(estimator, costs=COSTS, cv=3, random_state=0)
    model.fit(MANY.X, MANY.y, qid=MANY.qid)
    assert model.evaluation_.scoring == "ndcg@10"
    assert model.evaluation_.n_queries == 120
    assert model.pruned_.cost <= model.path_.original.cost
    assert "120 queries" in str(model.pruned_.choice)
    assert type(model.model_) is type(estimator)


def test_folds_that_split_queries_are_refused():
    model = tw.PrunedEnsembleRegressor(RandomForestRegressor(2, max_depth=2), cv=KFold(3))
    with pytest.raises(InputError, match="both parts"):
        model.fit(MANY.X, MANY.y, qid=MANY.qid)
    with pytest.raises(InputError, match="pass `qid`"):
        tw.PrunedEnsembleRegressor(lightgbm.LGBMRanker(n_estimators=2)).fit(MANY.X, MANY.y)
