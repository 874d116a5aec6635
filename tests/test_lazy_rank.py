"""Ranking the documents of a query, whose features are bought only as far as they may matter."""

import asyncio
from functools import cache

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rankings import documents, ranker, ranker_path
from sklearn.ensemble import RandomForestClassifier
from test_cascade_lists import COSTS, cascade

import thriftwood as tw
from thriftwood.acquisition.lists import undecided
from thriftwood.costs import read_prices
from thriftwood.errors import AcquisitionError, InputError
from thriftwood.support.columns import Columns

NEW = documents(30, seed=3, most=30)
QUERIES = sorted(set(NEW.qid.tolist()))[:12]
LISTS = {query: np.flatnonzero(NEW.qid == query).tolist() for query in QUERIES}


class Store:
    """A feature store, which remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.calls = 0

    def one(self, sample, feature):
        self.calls += 1
        self.asked.append((sample, feature))
        return NEW.X[sample[1], feature]

    def many(self, requests):
        self.calls += 1
        self.asked += requests
        return [NEW.X[document, feature] for (_, document), feature in requests]

    async def one_later(self, sample, feature):
        await asyncio.sleep(0)
        return self.one(sample, feature)

    async def many_later(self, requests):
        await asyncio.sleep(0)
        return self.many(requests)


def expected(model, query, k):
    """Return the first documents of a query by predictions of all of them."""
    listed = LISTS[query]
    found = model.predict(NEW.X[listed], *([[0] * len(listed)] if hasattr(model, "at") else []))
    return tuple(np.array(listed)[np.argsort(-found, kind="stable")[:k]].tolist())


def bill_of(model, query):
    listed = LISTS[query]
    own = None if hasattr(model, "at") else COSTS
    return tw.feature_bill(model, NEW.X[listed], own, qid=[0] * len(listed))


def models():
    cheap = cascade().at(budget=20.0)
    return [ranker(), cascade().at(budget=np.inf), cheap, cascade().at(max_cost=40.0)]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("query", QUERIES[:6])
def test_lists_and_bills_are_those_of_the_model_with_all_values(number, query):
    model, store = models()[number], Store()
    own = {"costs": COSTS} if number == 0 else {}
    found = tw.LazyPredictor(model, acquire_many=store.many, **own).rank(query, LISTS[query], k=5)
    assert found.documents == expected(model, query, 5)
    bill = bill_of(model, query)
    assert found.cost == pytest.approx(bill.per_sample.sum())
    assert len(set(store.asked)) == len(store.asked) == bill.used.sum() == found.answer.n_requests
    assert store.calls == found.answer.n_rounds
    for i in range(len(found.answer)):
        assert found.answer.receipt(i).total == pytest.approx(bill.per_sample[i])


@pytest.mark.parametrize("number", [0, 2])
def test_every_kind_of_source_finds_the_same(number):
    model, query = models()[number], QUERIES[0]
    listed = LISTS[query]
    own = {"costs": COSTS} if number == 0 else {}
    found = [
        tw.LazyPredictor(model, acquire=Store().one, **own).rank(query, listed, 4),
        tw.LazyPredictor(model, acquire_many=Store().many, **own).rank(query, listed, 4),
        asyncio.run(
            tw.LazyPredictor(model, acquire=Store().one_later, **own).rank_async(query, listed, 4)
        ),
        asyncio.run(
            tw.LazyPredictor(model, acquire_many=Store().many_later, **own).rank_async(
                query, listed, 4
            )
        ),
    ]
    table = tw.LazyPredictor(model, **own).rank(query, NEW.X[listed], 4)
    assert tuple(listed[row] for row in table.documents) == found[0].documents
    for one in [*found[1:], table]:
        assert one.cost == pytest.approx(found[0].cost)
        np.testing.assert_array_equal(one.scores, found[0].scores)
    assert len({one.documents for one in found}) == 1


@pytest.mark.parametrize("k", [1, 3, 10, 100])
def test_decided_lists_are_the_same_for_less(k):
    saved = 0.0
    for query, listed in LISTS.items():
        plain, early = (
            tw.LazyPredictor(ranker(), acquire_many=Store().many, costs=COSTS, stop=stop).rank(
                query, listed, k
            )
            for stop in (None, "decided")
        )
        assert early.documents == plain.documents == expected(ranker(), query, k)
        assert early.cost <= plain.cost + 1e-9
        saved += plain.cost - early.cost
    assert saved > 0


@given(
    st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0])] * 3), max_size=6, min_size=1)
)
@settings(deadline=None, max_examples=300)
def test_where_nothing_is_undecided_no_value_changes_the_list(drawn):
    bounds = np.sort(np.array(drawn), axis=1)
    least, value, most = bounds.T
    for k in (1, 2, len(drawn)):
        open_places = undecided(least, most, k)
        fixed = np.where(open_places, value, least)
        # Those that are not open may be anything, once the others are known.
        if undecided(
            np.where(open_places, value, least), np.where(open_places, value, most), k
        ).any():
            continue
        lists = [
            np.argsort(-np.where(open_places, value, other), kind="stable")[:k].tolist()
            for other in (least, value, most)
        ]
        assert lists[0] == lists[1] == lists[2]
        assert np.argsort(-fixed, kind="stable")[:k].tolist() == lists[0]


def test_equal_documents_keep_their_order():
    same = np.repeat(NEW.X[:1], 5, axis=0)
    for stop in (None, "decided"):
        found = tw.LazyPredictor(ranker(), stop=stop).rank("q", same, k=3)
        assert found.documents == (0, 1, 2)


def test_what_is_known_is_not_asked_for_and_costs_nothing():
    query = QUERIES[1]
    known = [{1: NEW.X[i, 1]} for i in LISTS[query]]
    store = Store()
    lazy = tw.LazyPredictor(ranker(), acquire_many=store.many, costs=COSTS)
    plain, found = lazy.rank(query, LISTS[query]), lazy.rank(query, LISTS[query], known=known)
    assert found.documents == plain.documents
    assert found.cost < plain.cost
    assert all(feature != 1 for _, feature in store.asked[plain.answer.n_requests :])


@pytest.mark.parametrize("stop", [None, "decided"])
def test_documents_whose_values_fail_are_told_or_ranked_by_what_there_is(stop):
    query = QUERIES[2]
    listed = LISTS[query]

    def fails(sample, feature):
        if sample[1] == listed[0] and feature == 1:
            raise OSError("no such page")
        return NEW.X[sample[1], feature]

    lazy = tw.LazyPredictor(ranker(), acquire=fails, on_failure="node", stop=stop)
    found = lazy.rank(query, listed, k=len(listed))
    assert sorted(found.documents) == listed
    assert found.answer.failures[0].sample == (query, listed[0])
    with pytest.raises(AcquisitionError, match="no such page") as error:
        tw.LazyPredictor(ranker(), acquire=fails, stop=stop).rank(query, listed)
    assert len(error.value.answer) == len(listed) - 1


def test_lists_shorter_than_k_are_whole():
    found = tw.LazyPredictor(cascade()).rank("q", NEW.X[:3], k=10)
    assert len(found.documents) == 3
    assert found.stages.shape == (3,)
    assert "3 documents, the first 3" in repr(found)


def predict_a_cascade(lazy):
    lazy.predict(NEW.X[:2])


def coroutine(lazy):  # noqa: ARG001
    tw.LazyPredictor(ranker(), acquire=Store().one_later).rank("q", [1])


def no_coroutine(lazy):
    asyncio.run(lazy.rank_async("q", [1]))


def classes(lazy):  # noqa: ARG001
    X, y, _ = documents()
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    tw.LazyPredictor(forest).rank("q", NEW.X[:2])


def limit_of_samples(lazy):  # noqa: ARG001
    tw.LazyPredictor(ranker(), max_cost=3.0).rank("q", NEW.X[:2])


def decided_cascade(lazy):  # noqa: ARG001
    tw.LazyPredictor(cascade(), stop="decided")


def decided_numbers(lazy):  # noqa: ARG001
    tw.LazyPredictor(ranker(), stop="decided").predict(NEW.X[:2])


def none_of_it(lazy):
    lazy.rank("q", NEW.X[:2], k=0)


def no_documents(_lazy):
    tw.LazyPredictor(cascade(), acquire=Store().one).rank("q", [])


def no_rows(lazy):
    lazy.rank("q", NEW.X[:0])


def prices_of_queries(lazy):  # noqa: ARG001
    tw.LazyPredictor(ranker(), costs=COSTS).predict(NEW.X[:2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (predict_a_cascade, "use `lazy.rank"),
        (coroutine, "rank_async"),
        (no_coroutine, "use `lazy.rank"),
        (classes, "predicts classes"),
        (limit_of_samples, "cascade.at"),
        (decided_cascade, "its own rules"),
        (decided_numbers, "`lazy.rank"),
        (none_of_it, "`k` is 0"),
        (no_documents, "`documents` is empty"),
        (no_rows, "X has no rows.* `rank` takes a table"),
        (prices_of_queries, "use `lazy.rank"),
    ],
)
def test_what_cannot_be_ranked_is_said(call, words):
    with pytest.raises(InputError, match=words):
        call(tw.LazyPredictor(cascade()))


def test_a_path_of_a_ranker_is_ranked_lazily_too():
    pruned = ranker_path().at(index=-3)
    found = tw.LazyPredictor(pruned).rank(QUERIES[0], NEW.X[LISTS[QUERIES[0]]], k=3)
    listed = LISTS[QUERIES[0]]
    assert tuple(listed[row] for row in found.documents) == expected(pruned.model, QUERIES[0], 3)


# --- features of the query

OF_QUERY = tw.Costs(per_feature={k: k / 2 for k in range(6)}, per_query={0: 4.0, 2: 1.0})


@cache
def priced_ranker(kind):
    """Return a ranker with prices of which feature 0 is the query's own, and feature 2 is not."""
    X, _, qid = documents(60, seed=1)
    order = np.argsort(qid, kind="stable")
    X, qid = X[order], qid[order]
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] / 2, [0.5, 1.5])
    if kind == "thrifty":
        model = tw.ThriftyRanker(costs=OF_QUERY, effort="quick", random_state=0)
        return model.fit(X, y, qid=qid).at(budget=np.inf), {}
    model = lightgbm.LGBMRanker(n_estimators=20, num_leaves=7, n_jobs=1, verbose=-1)
    model.fit(X, y, group=np.unique(qid, return_counts=True)[1])
    if kind == "cascade":
        path = tw.prune_path(model, X, y, qid=qid, costs=OF_QUERY)
        return path.cascade(X, y, qid=qid, stages=6).at(budget=np.inf), {}
    return model, {"costs": OF_QUERY, "stop": None if kind == "plain" else "decided"}


@pytest.mark.parametrize("kind", ["plain", "decided", "cascade", "thrifty"])
@pytest.mark.parametrize("source", ["one", "many", "one_later", "many_later"])
def test_a_feature_of_the_query_is_asked_for_once(kind, source):
    model, options = priced_ranker(kind)
    n_shared = 0
    for query in QUERIES[:6]:
        store = Store()
        name = "acquire_many" if source.startswith("many") else "acquire"
        lazy = tw.LazyPredictor(model, **{name: getattr(store, source)}, **options)
        rank = lazy.rank_async if source.endswith("later") else lazy.rank
        found = rank(query, LISTS[query], k=5)
        found = asyncio.run(found) if source.endswith("later") else found
        assert found.documents == expected(model, query, 5)
        asked = [feature for _, feature in store.asked]
        used = found.answer.bill.used
        assert asked.count(0) == used[:, 0].any()
        assert [asked.count(k) for k in range(1, 6)] == used[:, 1:].sum(axis=0).tolist()
        assert found.answer.n_requests == len(asked)
        n_shared += used[:, 0].sum() - asked.count(0)
    assert n_shared > 0


@pytest.mark.parametrize("kind", ["plain", "cascade", "thrifty"])
def test_a_table_is_ranked_as_it_is(kind):
    model, options = priced_ranker(kind)
    rows = NEW.X[LISTS[QUERIES[0]]]
    mixed = rows + np.eye(6)[0] * np.linspace(-2, 2, len(rows))[:, None]
    ranks = model.predict(mixed, *([] if options else [[0] * len(rows)]))
    found = tw.LazyPredictor(model, **options).rank("q", mixed, k=len(rows))
    assert found.documents == tuple(np.argsort(-ranks, kind="stable").tolist())


def test_a_query_whose_own_feature_fails_is_asked_once_and_fails_for_all_documents():
    store = Store()

    def many(requests):
        store.many(requests)
        lost = ConnectionError("no language")
        return [lost if k == 0 else NEW.X[document, k] for (_, document), k in requests]

    model, query = priced_ranker("plain")[0], QUERIES[2]
    lazy = tw.LazyPredictor(model, acquire_many=many, costs=OF_QUERY, on_failure="missing")
    found = lazy.rank(query, LISTS[query])
    assert [feature for _, feature in store.asked].count(0) == 1
    assert not found.answer.bill.used[:, 0].any()
    assert len(found.answer.failures) > 1
    assert {failure.feature for failure in found.answer.failures} == {0}
    gap = NEW.X[LISTS[query]].copy()
    gap[:, 0] = np.nan
    order = np.argsort(-model.predict(gap), kind="stable")[:10]
    assert found.documents == tuple(np.array(LISTS[query])[order].tolist())


@pytest.mark.parametrize(
    ("costs", "own"),
    [
        (tw.Costs(per_feature=[0, 1, 0], per_query={0: 2.0, 1: 1.0}), {0}),
        (tw.Costs(per_feature=[0, 1, 0], per_query=[2.0, 1.0, 0.0]), {0}),
        (tw.Costs(per_feature=[0, 1, 0], groups={"own": [2]}, per_query={"own": 1.0}), set()),
        (tw.Costs(per_query={1: 3.0}), {1}),
        (tw.Costs(per_query={1: 3.0}, per_sample=[[0, 0, 1], [0, 2, 0]]), set()),
        (tw.Costs(per_feature=[0, 1, 0]), set()),
        (tw.Costs(groups={"fee": [0, 1]}, group_fee={"fee": 5}, per_query={0: 2.0, 2: 1.0}), {2}),
        (tw.Costs(per_feature=[0, 1, 0], requires={0: [1]}, per_query={0: 2.0, 2: 1.0}), {2}),
    ],
)
def test_a_feature_is_the_querys_own_where_it_alone_pays(costs, own):
    prices = read_prices(costs, Columns(3, None), 2, np.zeros(2, dtype=np.int32))
    assert prices.query_columns == own
