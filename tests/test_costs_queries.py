"""Prices per query: paid once for all documents of a query, like a fee that they share."""

import numpy as np
import pytest
from builders import forest_of, leaf, split
from cost_cases import priced_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from rankings import documents, ranker

import thriftwood as tw
from thriftwood.errors import InputError
from thriftwood.forest import LEAF

PRICES = tw.Costs(
    per_feature={k: 1.0 + k for k in range(6)},
    groups={"index": [1, 2]},
    per_query={0: 5.0, "index": 3.0},
    requires={3: [0]},
    unit="ms",
)


@st.composite
def cases(draw):
    """Draw a forest and its rows, prices per query, and the queries of the rows."""
    case = draw(priced_cases())
    features = list(range(case.forest.n_features) if case.names is None else case.names)
    prices = st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=1, max_size=len(features))
    per_query = dict(zip(features, draw(prices), strict=False))
    rows = st.lists(st.sampled_from("abc"), min_size=len(case.y), max_size=len(case.y))
    return case, per_query, np.array(draw(rows))


@given(cases())
@settings(max_examples=80)
def test_a_price_per_query_is_a_fee_that_its_documents_share(drawn):
    case, per_query, qid = drawn
    own = tw.Costs(per_feature=np.arange(1.0, case.forest.n_features + 1), per_query=per_query)
    fees = {f"of {feature}": price for feature, price in per_query.items()}
    shared = tw.Costs(
        per_feature=own.per_feature,
        groups={f"of {feature}": [feature] for feature in per_query},
        group_fee=fees,
        shared_by=dict.fromkeys(fees, qid),
    )
    bills = [
        tw.feature_bill(case.forest, case.X, costs, qid=qid).per_sample for costs in (own, shared)
    ]
    np.testing.assert_array_equal(*bills)
    paths = [
        tw.prune_path(case.forest, case.X, case.y, costs=costs, qid=qid) for costs in (own, shared)
    ]
    np.testing.assert_array_equal(paths[0].drop_step, paths[1].drop_step)
    np.testing.assert_array_equal(paths[0].costs, paths[1].costs)
    measured = [
        path.evaluate(case.X, case.y, qid=qid, scoring="accuracy", costs=costs)
        for path, costs in zip(paths, (None, shared), strict=True)  # a path knows prices per query
    ]
    np.testing.assert_array_equal(measured[0].cost, measured[1].cost)
    np.testing.assert_array_equal(measured[0].cost_quantiles, measured[1].cost_quantiles)


def test_a_query_pays_once_and_every_document_for_itself():
    X, _, qid = documents()
    bill = tw.feature_bill(ranker(), X, PRICES, qid=qid)
    expected = plain_bills(ranker(), X, qid)
    np.testing.assert_allclose(bill.per_query, expected)
    assert bill.per_sample.sum() == pytest.approx(sum(expected))
    assert bill.fees["feature 0 (query)"] > 0 < bill.fees["index (query)"]
    np.testing.assert_allclose(bill.quantiles([0, 1], per="query"), [min(expected), max(expected)])
    assert f"{np.mean(expected):.6g} ms per query" in str(bill)
    receipt = bill.receipt(0)
    assert receipt.total == pytest.approx(bill.per_sample[0])


def plain_bills(model, X, qid):
    """Return the bill of every query by the meaning of `PRICES`, document by document."""
    forest = tw.prune_path(model, X, np.zeros(len(X))).forest
    bills = []
    for query in dict.fromkeys(qid.tolist()):
        needs_query, needs_index, total = False, False, 0.0
        for row in X[qid == query].astype(np.float32).astype(float):
            used = set()
            for root in forest.tree_start[:-1]:
                node = root
                while forest.left[node] != LEAF:
                    feature = forest.feature[node]
                    used.add(int(feature))
                    is_left = row[feature] <= forest.threshold[node]
                    node = forest.left[node] if is_left else forest.right[node]
            used |= {0} if 3 in used else set()
            total += sum(1.0 + k for k in used)
            needs_query |= 0 in used
            needs_index |= bool(used & {1, 2})
        bills.append(total + 5.0 * needs_query + 3.0 * needs_index)
    return bills


def test_the_cost_of_a_path_is_the_bill_of_its_points():
    X, y, qid = documents()
    path = tw.prune_path(ranker(), X, y, costs=PRICES, qid=qid)
    for point in (0, len(path) // 2, -2):
        bill = tw.feature_bill(path[point].model, X, PRICES, qid=qid)
        assert path.costs[point] == pytest.approx(bill.mean)
    other = documents(30, seed=1)
    measured = path.evaluate(other.X, other.y, qid=other.qid, points=[1])
    bill = tw.feature_bill(path[1].model, other.X, PRICES, qid=other.qid)
    assert measured.cost_per_query[0] == pytest.approx(bill.per_query.mean())


def test_prices_per_query_are_written_to_files_and_printed(tmp_path):
    costs = tw.Costs(
        per_feature={"length": 0.0, "bm25": 1.0}, per_query={"length": 2.0, "bm25": 0.5}, unit="ms"
    )
    for name in ("prices.csv", "prices.json", "prices.toml"):
        costs.to_file(tmp_path / name)
        assert tw.Costs.from_file(tmp_path / name).given == costs.given
    assert "per_query" in str(costs)


def test_prices_per_query_leave_nothing_else_to_pay():
    forest = forest_of(split(0, 0.5, leaf((1, 0)), leaf((0, 1)), (1, 0)), n_features=1)
    bill = tw.feature_bill(forest, [[0.0], [1.0]], tw.Costs(per_query={0: 3.0}), qid=[1, 1])
    assert bill.per_sample.tolist() == [1.5, 1.5]


def test_a_column_that_only_queries_pay_for_needs_no_other_price():
    X, _, qid = documents()
    more = {"groups": {"index": [1, 2]}, "per_query": {0: 5.0, "index": 2.0}}
    own = dict.fromkeys(range(1, 6), 1.0)
    bills = [
        tw.feature_bill(ranker(), X, tw.Costs(per_feature=prices, **more), qid=qid)
        for prices in (own, {0: 0.0, **own})
    ]
    np.testing.assert_array_equal(bills[0].per_sample, bills[1].per_sample)
    assert min(bills[0].fees.values()) > 0


def without_queries(X, *_):
    tw.feature_bill(ranker(), X, PRICES)


def path_without_queries(X, y, _):
    tw.prune_path(ranker(), X, y, costs=PRICES)


def other_samples_without_queries(X, y, qid):
    tw.prune_path(ranker(), X, y, costs=PRICES, qid=qid).evaluate(X, y)


def too_few_queries(X, _, qid):
    tw.feature_bill(ranker(), X, qid=qid[:3])


def quantiles_of_queries(X, *_):
    tw.feature_bill(ranker(), X).quantiles(per="query")


def prices_of_nothing(*_):
    tw.Costs(per_feature={"a": 1.0}, per_query={"b": 1.0})


def no_feature(X, _, qid):
    tw.feature_bill(ranker(), X, tw.Costs(per_feature={2: 1.0}, per_query={0: 5.0}), qid=qid)


def partitions(X, y, qid):
    tw.pruning_problem(ranker(), X, y, qid=qid, decomposition=tw.DualDecomposition())


def chunks(X, y, qid):
    tw.prune_path(ranker(), iter([(X[:50], y[:50]), (X[50:], y[50:])]), qid=qid)


def chunks_with_prices(X, y, _):
    tw.prune_path(ranker(), iter([(X[:50], y[:50]), (X[50:], y[50:])]), costs=PRICES)


def subsamples(X, y, qid):
    tw.pruning_problem(ranker(), X, y, costs=PRICES, qid=qid, subsample=100)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (without_queries, "pass `qid`"),
        (path_without_queries, "pass `qid`"),
        (other_samples_without_queries, "pass `qid`"),
        (too_few_queries, "ids, one for each"),
        (quantiles_of_queries, "knows no queries"),
        (prices_of_nothing, "neither .* 0, if only queries pay"),
        (partitions, "several partitions"),
        (chunks, "several partitions"),
        (chunks_with_prices, "several partitions"),
        (no_feature, "no price for 1"),
        (subsamples, "subsample"),
    ],
)
def test_what_is_missing_is_said(call, words):
    with pytest.raises(InputError, match=words):
        call(*documents())
