"""The loss of rankings: by its definition; bounded, descended, and leaves refitted with it."""

from functools import cache

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from rankings import documents, lists, ranker, ranker_path
from scipy.optimize import minimize

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.forest import leaves
from thriftwood.problem import ranking_loss

NEW = documents(30, seed=1)
VALIDATION = (NEW.X, NEW.y, None, NEW.qid)


@cache
def ranker_of(kind):
    """Return a ranker of some kind."""
    X, y, qid = documents()
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], np.unique(qid[order], return_inverse=True)[1]
    if kind.startswith("LightGBM"):
        model = ranker(objective=kind.split()[1])
        return model.booster_ if kind.endswith("booster") else model
    if kind.startswith("XGBoost"):
        model = xgboost.XGBRanker(objective=kind.split()[1], n_estimators=10, max_depth=3, n_jobs=1)
        return model.fit(X, y, qid=qid)
    model = catboost.CatBoostRanker(
        loss_function="YetiRank",
        iterations=10,
        depth=3,
        grow_policy=kind.split()[2],
        verbose=0,
        thread_count=1,
        allow_writing_files=False,
    )
    return model.fit(X, y, group_id=qid)


KINDS = [
    "LightGBM lambdarank",
    "LightGBM lambdarank booster",
    "LightGBM rank_xendcg",
    "XGBoost rank:ndcg",
    "XGBoost rank:pairwise",
    "CatBoost YetiRank SymmetricTree",
    "CatBoost YetiRank Depthwise",
]


def plain_loss(grades, query, weights, scores, before):
    """Return the loss by its definition, with places by `before`."""
    total = 0.0
    for one in np.unique(query[weights > 0]):
        here = np.flatnonzero((query == one) & (weights > 0))
        here = here[np.argsort(-before[here], kind="stable")]
        gain, discount = 2.0 ** grades[here] - 1, 1 / np.log2(np.arange(len(here)) + 2)
        best = np.sort(gain)[::-1] @ discount
        if best == 0:
            continue
        for a, better in enumerate(here):
            for b, worse in enumerate(here):
                if grades[better] > grades[worse]:
                    weight = (gain[a] - gain[b]) * abs(discount[a] - discount[b]) / best
                    margin = scores[better] - scores[worse]
                    total += weights[here].mean() * weight * np.logaddexp(0, -margin)
    return total


@st.composite
def scored_lists(draw):
    """Draw lists with scores of documents, how far these move, and weights."""
    grades, before, query = draw(lists(most_queries=3, most=6))
    numbers = st.lists(st.floats(-6, 6), min_size=len(grades), max_size=len(grades)).map(np.array)
    weights = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=len(grades), max_size=20))
    weights = np.resize(np.array(weights), len(grades))
    weights[0] = 1.0
    return grades.astype(float), query, weights, before, draw(numbers), draw(numbers)


@given(scored_lists())
@settings(deadline=None, max_examples=150)
def test_the_loss_is_that_of_its_definition_and_lies_below_its_bound(drawn):
    grades, query, weights, before, scores, moves = drawn
    loss = ranking_loss(grades, query.astype(np.int32), weights, before)
    now = loss.total(scores[:, None])
    assert now == pytest.approx(plain_loss(grades, query, weights, scores, before), abs=1e-9)
    apart, target, counted = loss.as_squares(scores[:, None])

    def bound(step):
        moved = apart[:, 0] + step * moves - target
        return now + counted @ (moved**2 - apart[:, 0] ** 2)

    for step in (1.0, 0.1, -0.5):
        assert loss.total((scores + step * moves)[:, None]) <= bound(step) + 1e-9
    small = 1e-5  # both have the same slope
    rise = loss.total((scores + small * moves)[:, None]) - now
    assert rise == pytest.approx(bound(small) - now, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_rankers_of_every_kind_are_pruned_descended_and_refitted(kind):
    X, y, qid = documents()
    model = ranker_of(kind)
    pruned = tw.prune_path(model, X, y).at(index=2)
    descended = tw.prune(model, X, y, qid=qid, loss="lambdarank", tradeoff=0.05)
    refitted = pruned.refit(X, y, qid=qid, validation=VALIDATION)
    for one in (pruned, descended, refitted):
        assert type(one.model) is type(model)
        bill = tw.feature_bill(one.model, X)
        assert one.cost == pytest.approx(bill.mean)
        assert bill.mean < tw.feature_bill(model, X).mean
    objectives = descended.proof.objectives
    assert list(objectives) == sorted(objectives, reverse=True)
    before = read_forest(model)
    loss = ranking_loss(
        y.astype(float),
        np.unique(qid, return_inverse=True)[1],
        np.ones(len(y)),
        raw_scores(before, X),
    )
    own = loss.total(raw_scores(read_forest(descended.model), X)[:, None]) / loss.weight
    assert descended.loss == pytest.approx(own, rel=1e-5)
    assert objectives[-1] == pytest.approx(descended.loss + 0.05 * descended.cost)


def raw_scores(forest, X):
    """Return the sum of the leaves of every sample."""
    found = leaves(forest, X.astype(forest.input_dtype))
    return forest.values[found, 0].sum(axis=1) + forest.bias[0]


def test_descent_on_the_loss_of_rankings_is_better_than_recorded_gains():
    X, y, qid = documents()
    path = tw.prune_path(ranker(), X, y)
    for tradeoff in (0.02, 0.1):
        pruned = tw.prune(ranker(), X, y, qid=qid, loss="lambdarank", tradeoff=tradeoff)
        assert pruned.objective <= pruned.proof.objectives[0]
        before = pruned.original
        assert pruned.objective < before.loss + tradeoff * before.cost
        assert pruned.cost < path.original.cost


def test_a_refit_has_the_least_penalised_loss():
    X, y, qid = documents()
    pruned = ranker_path().at(index=-3)
    forest = read_forest(pruned.model)
    found = np.searchsorted(np.flatnonzero(~forest.is_split), leaves(forest, X))
    prior = forest.values[~forest.is_split, 0]
    query = np.unique(qid, return_inverse=True)[1]
    loss = ranking_loss(y.astype(float), query, np.ones(len(y)), prior[found].sum(axis=1))

    def objective(values):
        away = 3.0 * forest.n_trees / 2 * ((values - prior) ** 2).sum()
        return loss.total(values[found].sum(axis=1)[:, None]) + away

    best = minimize(objective, prior, tol=1e-10)
    refitted = read_forest(pruned.refit(X, y, qid=qid, strength=3.0).model)
    assert objective(refitted.values[~refitted.is_split, 0]) == pytest.approx(best.fun, rel=1e-3)
    assert objective(prior) > 1.01 * best.fun


def test_the_strength_of_a_refit_has_the_best_ndcg_on_validation_queries():
    X, y, qid = documents()
    pruned = ranker_path().at(index=-3)
    chosen = pruned.refit(X, y, qid=qid, validation=VALIDATION)
    choice = chosen.refitted.choice
    for strength, error in zip(choice.strengths, choice.errors, strict=True):
        one = pruned
        if strength < np.inf:
            one = pruned.refit(X, y, qid=qid, strength=strength)
        path = tw.prune_path(one.model, X, y)
        score = path.evaluate(NEW.X, NEW.y, qid=NEW.qid, points=[0]).original.score
        assert score == pytest.approx(1 - error, abs=2e-3)
    assert choice.errors.min() == choice.errors[choice.strengths == chosen.refitted.strength]


def test_samples_of_a_query_need_not_be_neighbours():
    X, y, qid = documents()
    order = np.argsort(qid, kind="stable")
    for sorted_, mixed in (
        (
            tw.prune(ranker(), X[order], y[order], qid=qid[order], loss="lambdarank", tradeoff=0.1),
            tw.prune(ranker(), X, y, qid=qid, loss="lambdarank", tradeoff=0.1),
        ),
        (
            ranker_path().at(index=1).refit(X[order], y[order], qid=qid[order], strength=1.0),
            ranker_path().at(index=1).refit(X, y, qid=qid, strength=1.0),
        ),
    ):
        np.testing.assert_allclose(sorted_.model.predict(X), mixed.model.predict(X), atol=1e-4)


def without_queries(X, y, _):
    tw.prune(ranker(), X, y, loss="lambdarank", tradeoff=0.1)


def grades_that_are_none(X, y, qid):
    tw.prune(ranker(), X, y - 1, qid=qid, loss="lambdarank", tradeoff=0.1)


def whole_path(X, y, qid):
    tw.prune_path(ranker(), X, y, qid=qid, loss="lambdarank")


def refit_without_queries(X, y, _):
    ranker_path().at(index=1).refit(X, y, strength=1.0)


def validation_without_queries(X, y, qid):
    ranker_path().at(index=1).refit(X, y, qid=qid, validation=(X, y))


def refit_without_validation(X, y, qid):
    ranker_path().at(index=1).refit(X, y, qid=qid)


def loss_of_classes(X, y, qid):
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, y > 0)
    tw.prune(model, X, y > 0, qid=qid, loss="lambdarank", tradeoff=0.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (without_queries, "pass `qid`"),
        (grades_that_are_none, "grades of relevance"),
        (whole_path, "no exact path"),
        (refit_without_queries, "rankers with `qid`"),
        (validation_without_queries, "Queries are known of some samples only"),
        (refit_without_validation, "pass `validation"),
        (loss_of_classes, "no loss 'lambdarank' for a boosted classifier"),
    ],
)
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(InputError, match=words):
        call(*documents())
