"""Scores of rankings along a path: by plain definitions, scikit-learn and LightGBM."""

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rankings import PLAIN, documents, lists, mean_over_orders, ranker, ranker_path
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, ndcg_score

import thriftwood as tw
from thriftwood.errors import InputError
from thriftwood.problem import read_ranking

more_examples = settings(deadline=None, max_examples=150)
NAMES = ["ndcg@3", "ndcg", "map@2", "map", "mrr", "mrr@2", "ndcg@100", "ap@2"]


def of_queries(name, grades, values, qid):
    """Return what a score of ours is of each query."""
    order = np.argsort(qid, kind="stable")
    query = np.unique(qid[order], return_inverse=True)[1]
    return read_ranking(name).of_queries(grades[order].astype(float), values[order], query)


@given(lists(), st.sampled_from(NAMES))
@more_examples
def test_a_score_is_its_mean_over_all_orders_of_documents_that_are_predicted_alike(drawn, name):
    grades, values, qid = drawn
    measure, _, k = name.partition("@")
    expected = [
        mean_over_orders(
            lambda one: PLAIN[measure](one, int(k or len(grades))),
            grades[qid == query],
            values[qid == query],
        )
        for query in np.unique(qid)
    ]
    np.testing.assert_allclose(of_queries(name, *drawn), expected, atol=1e-12)


@given(lists(most_queries=6, most=12), st.sampled_from([1, 3, 10, None]))
@more_examples
def test_ndcg_is_that_of_scikit_learn_on_every_query(drawn, k):
    grades, values, qid = drawn
    found = of_queries("ndcg" if k is None else f"ndcg@{k}", *drawn)
    for own, query in zip(found, np.unique(qid), strict=True):
        here = qid == query
        if here.sum() > 1:  # scikit-learn refuses a single document
            assert own == pytest.approx(ndcg_score([grades[here]], [values[here]], k=k), abs=1e-12)
        else:
            assert own == (grades[here] > 0)


@given(lists(most_queries=6, most=12), st.sampled_from([1, 3, 10]))
@settings(deadline=None, max_examples=40)
def test_names_of_lightgbm_are_what_it_prints(drawn, k):
    grades, values, qid = drawn
    order = np.argsort(qid, kind="stable")
    data = lightgbm.Dataset(
        np.zeros((len(qid), 1)),
        grades[order],
        group=np.unique(qid, return_counts=True)[1],
        init_score=values[order],
        free_raw_data=False,
    )
    options = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [k], "verbose": -1}
    booster = lightgbm.Booster({**options, "feature_pre_filter": False}, data)
    for _, name, expected, _ in booster.eval_train():
        found = of_queries(f"lightgbm_{name}", *drawn).mean()
        assert found == pytest.approx(expected, abs=1e-6)  # it has gains in single precision


def test_average_precision_without_ties_is_that_of_scikit_learn():
    _, y, qid = documents()
    values = np.random.default_rng(1).normal(size=len(y))
    found = dict(zip(np.unique(qid), of_queries("map", y, values, qid), strict=True))
    for query, own in found.items():
        here = qid == query
        if y[here].any():
            expected = average_precision_score(y[here] > 0, values[here])
            assert own == pytest.approx(expected)


@pytest.mark.parametrize("name", ["ndcg@10", "lightgbm_ndcg@5", "map", "mrr"])
def test_points_of_a_path_score_as_the_models_that_they_write(name):
    X, y, qid = documents(30, seed=1)
    path = ranker_path()
    points = [0, len(path) // 2, -2, -1]
    measured = path.evaluate(X, y, qid=qid, scoring=name, points=points)
    models = [path.model, *(path[point].model for point in points)]
    for score, model in zip([measured.original.score, *measured.score], models, strict=True):
        assert score == pytest.approx(of_queries(name, y, model.predict(X), qid).mean())
    assert measured.n_queries == 30


def test_rankers_are_judged_by_ndcg_unless_something_else_is_asked_for():
    X, y, qid = documents(30, seed=1)
    measured = ranker_path().evaluate(X, y, qid=qid)
    assert measured.scoring == "ndcg@10"
    assert "of 30 queries" in str(measured)
    choice = ranker_path().choose(X, y, qid=qid).choice
    assert choice.scoring == "ndcg@10"
    assert f"On {len(y)} samples of 30 queries" in str(choice)


def test_standard_errors_are_over_queries():
    X, y, qid = documents(60, seed=2)
    path = ranker_path()
    measured = path.evaluate(X, y, qid=qid)
    found = np.array(
        [of_queries("ndcg@10", y, one.predict(X), qid) for one in (path.model, path[-2].model)]
    )
    expected = found.std(axis=1, ddof=1) / np.sqrt(60)
    zero = np.zeros(measured.deviations.shape[1])
    for row, error in zip(measured.deviations[[0, -2]], expected, strict=True):
        assert np.linalg.norm(row - zero) == pytest.approx(error)
    paired = np.diff(found, axis=0)[0].std(ddof=1) / np.sqrt(60)
    assert np.linalg.norm(np.diff(measured.deviations[[0, -2]], axis=0)) == pytest.approx(paired)


def test_other_scores_of_documents_have_standard_errors_over_queries_too():
    X, y, qid = documents(60, seed=2)
    path = ranker_path()
    alone = path.evaluate(X, y, scoring="neg_mean_squared_error", points=[0])
    together = path.evaluate(X, y, qid=qid, scoring="neg_mean_squared_error", points=[0])
    assert together.score == alone.score
    assert together.deviations.shape[1] == 60 < alone.deviations.shape[1]


def test_weights_count_queries_and_leave_out_documents_of_weight_0():
    X, y, qid = documents(30, seed=1)
    path, some = ranker_path(), np.random.default_rng(0).random(len(y)) < 0.7
    weighed = path.evaluate(X, y, qid=qid, sample_weight=some.astype(int), points=[0, -3])
    fewer = path.evaluate(X[some], y[some], qid=qid[some], points=[0, -3])
    np.testing.assert_allclose(weighed.score, fewer.score)
    np.testing.assert_allclose(weighed.query_cost_quantiles, fewer.query_cost_quantiles)
    twice = np.where(qid == qid[0], 2, 1)
    found = path.evaluate(X, y, qid=qid, sample_weight=twice, points=[0]).score[0]
    of_each = of_queries("ndcg@10", y, path[0].model.predict(X), qid)
    weight = np.where(np.unique(qid) == qid[0], 2, 1)
    assert found == pytest.approx(np.average(of_each, weights=weight))


def test_bills_of_queries_are_those_of_their_documents_together():
    X, y, qid = documents(30, seed=1)
    path = ranker_path()
    measured = path.evaluate(X, y, qid=qid, points=[0, -3], quantiles=[0, 0.5, 1])
    for k, point in enumerate([0, -3]):
        bill = tw.feature_bill(path[point].model, X).per_sample
        of_queries = [bill[qid == query].sum() for query in np.unique(qid)]
        assert measured.cost_per_query[k] == pytest.approx(np.mean(of_queries))
        expected = np.quantile(of_queries, [0, 0.5, 1])
        np.testing.assert_allclose(measured.query_cost_quantiles[k], expected)
    assert {"cost_per_query", "query_cost_q0.5"} <= set(measured.to_frame().columns)


def test_classes_that_are_grades_rank_by_the_expected_grade():
    X, y, qid = documents()
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    measured = tw.prune_path(forest, X, y).evaluate(X, y, qid=qid, scoring="ndcg@5", points=[0])
    expected = of_queries("ndcg@5", y, forest.predict_proba(X) @ forest.classes_, qid).mean()
    assert measured.original.score == pytest.approx(expected)


def test_pictures_and_notebooks_show_rankings_not_squared_errors():
    X, y, qid = documents(30, seed=1)
    measured = ranker_path().evaluate(X, y, qid=qid)
    assert "ndcg@10" in measured._repr_html_()
    ax = ranker_path().plot(measured=measured)
    assert ax.get_ylabel() == "ndcg@10"
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), measured.score)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"qid": None}, "pass `qid`"),
        ({"qid": [1, 2]}, "ids, one for each of the samples"),
        ({"qid": 7}, "ids, one for each of the samples"),
        ({"missing": True}, "`qid` is missing in row 3"),
        ({"scoring": "ndcg@0"}, "how many documents count"),
        ({"scoring": "ndgc@10"}, "Did you mean 'ndcg@10'"),
        ({"negative": True}, "`y` is -1 in row 3"),
        ({"scoring": "lightgbm_ndcg@3", "large": True}, "`y` is 31 .* they are from 0 to 30"),
    ],
)
def test_what_cannot_be_judged_is_said(changed, words):
    X, y, qid = documents(30, seed=1)
    y, given = y.astype(float), changed.get("qid", qid)
    if "missing" in changed:
        given = [None if row == 3 else one for row, one in enumerate(qid.tolist())]
    if "negative" in changed:
        y[3] = -1
    if "large" in changed:
        y[3] = 31
    with pytest.raises(InputError, match=words):
        ranker_path().evaluate(X, y, qid=given, scoring=changed.get("scoring", "ndcg@10"))


def test_classes_that_are_no_numbers_have_no_grades():
    X, y, qid = documents()
    words = np.array(["bad", "fair", "good"])[y]
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, words)
    path = tw.prune_path(forest, X, words)
    with pytest.raises(InputError, match="no numbers"):
        path.evaluate(X, words, qid=qid, scoring="ndcg@10")


def test_a_ranker_without_queries_is_told_to_pass_them():
    X, y, _ = documents()
    with pytest.raises(InputError, match="`qid`"):
        tw.prune_path(ranker(), X, y).choose(X, y)
