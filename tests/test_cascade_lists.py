"""Cascades of lists: who goes on, what that costs, and rules that are tuned on queries."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rankings import documents, lists, ranker, ranker_path
from test_rankings import of_queries

import thriftwood as tw
from thriftwood.cascade import CascadeRanker
from thriftwood.cascade.kernels import measure_lists
from thriftwood.cascade.list_tuning import Lists
from thriftwood.errors import InputError
from thriftwood.forest import ListRule, walk_lists

VALID, NEW = documents(60, seed=1), documents(50, seed=2)
COSTS = tw.Costs(
    per_feature={k: 1.0 + k / 2 for k in range(6)},
    groups={"pair": [3, 4]},
    group_fee={"pair": 1.5},
    per_query={0: 4.0, 2: 1.0},
    requires={5: [0]},
)


@cache
def cascade(priced=True, max_cost=np.inf):
    X, y, qid = documents()
    costs = COSTS if priced else None
    path = tw.prune_path(ranker(), X, y, qid=qid, costs=costs)
    return path.cascade(VALID.X, VALID.y, qid=VALID.qid, stages=6, max_cost=max_cost)


# --- who goes on


@st.composite
def staged_lists(draw):
    """Draw queries, scores of documents at three stages, with ties, and a rule."""
    grades, _, query = draw(lists(most_queries=3, most=6))
    n = len(query)
    value = st.sampled_from([-1.0, 0.0, 0.5, 2.0, 3.0])
    scores = np.array([[draw(value) for _ in range(3)] for _ in range(n)])
    counts = st.sampled_from([math.inf, 0, 1, 2, 3, 100])
    return grades, query, scores, np.array([draw(counts), draw(counts), 0.0])


def plain_walk(query, scores, thresholds):
    """Return stages and the order of each query by the words of the law."""
    stage, listed = np.zeros(len(query), dtype=int), {}
    first_end = next(k for k, one in enumerate(thresholds) if one == 0)
    in_use = [k for k in range(first_end + 1) if thresholds[k] < math.inf]
    for one in np.unique(query):
        here, below = [i for i in range(len(query)) if query[i] == one], []
        for number in in_use:
            stage[here] = number
            margin = {i: sum(scores[j, number] > scores[i, number] for j in here) for i in here}
            stop = [i for i in here if margin[i] >= thresholds[number]]
            ties = sorted({scores[i, number] for i in stop})
            below += [[i for i in stop if scores[i, number] == value] for value in ties]
            here = [i for i in here if margin[i] < thresholds[number]]
        listed[one] = below
    # The documents that stop early are below; of one stage the better are above.
    return stage, listed


def walked(query, scores, rule):
    walk = walk_lists(rule, query)
    try:
        number, here = next(walk)
        while True:
            number, here = walk.send(scores[here, number])
    except StopIteration as end:
        return end.value


def in_use(thresholds):
    first_end = int(np.argmax(thresholds == 0))
    return [k for k in range(first_end + 1) if thresholds[k] < math.inf]


@given(staged_lists())
@settings(deadline=None, max_examples=200)
def test_documents_go_on_while_few_are_better_and_stand_above_those_that_stop(drawn):
    _, query, scores, thresholds = drawn
    found = walked(query, scores, ListRule(in_use(thresholds), thresholds))
    stage, listed = plain_walk(query, scores, thresholds)
    np.testing.assert_array_equal(found.stage, stage)
    for ties in listed.values():
        n_above = sum(map(len, ties))
        for tie in ties:
            n_above -= len(tie)
            assert all(found.predictions[i] == -n_above for i in tie)


@given(staged_lists())
@settings(deadline=None, max_examples=100)
def test_the_kernel_that_tunes_measures_what_lists_score_and_pay(drawn):
    grades, query, scores, thresholds = drawn
    order = np.argsort(query, kind="stable")
    grades, query, scores = grades[order].astype(float), query[order], scores[order]
    query = np.unique(query, return_inverse=True)[1]
    rng = np.random.default_rng(len(query))
    own = np.cumsum(rng.integers(0, 3, scores.shape), axis=1).astype(float)
    needs = rng.random((*scores.shape, 2)) < 0.5
    sizes = np.bincount(query)
    discount = 1 / np.log2(np.arange(sizes.max()) + 2) * (np.arange(sizes.max()) < 3)
    ideal = [np.sort(grades[query == q])[::-1] @ discount[: sizes[q]] for q in range(len(sizes))]
    some = Lists(
        start=np.append(0, np.cumsum(sizes)),
        scores=scores,
        order=np.column_stack([np.lexsort((-one, query)) for one in scores.T]),
        own=own,
        needs=needs,
        item_price=np.array([2.0, 5.0]),
        gains=np.array([grades, grades]),
        discount_sum=np.append(0.0, np.cumsum(discount)),
        per_ideal=np.array([[1 / one if one else 0.0 for one in ideal]] * 2),
    )
    figures = np.empty((len(sizes), 3))
    measure_lists(some, thresholds, figures)
    found = walked(query, scores, ListRule(in_use(thresholds), thresholds))
    np.testing.assert_allclose(
        figures[:, 0], of_queries("ndcg@3", grades, found.predictions, query), atol=1e-12
    )
    for q in range(len(sizes)):
        here = np.flatnonzero(query == q)
        paid = own[here, found.stage[here]].sum()
        paid += needs[here, found.stage[here]].any(axis=0) @ [2.0, 5.0]
        assert figures[q, 2] == pytest.approx(paid)


@given(staged_lists(), st.sampled_from([0.0, 1.0, 3.0, 4.5, 7.0, 20.0]))
@settings(deadline=None, max_examples=200)
def test_no_query_pays_more_than_the_limit_and_the_best_go_on_first(drawn, max_cost):
    _, query, scores, thresholds = drawn
    per_document, per_query = np.array([0.5, 1.0, 2.5]), np.array([0.0, 1.0, 1.5])
    rule = ListRule(in_use(thresholds), thresholds, max_cost, per_document, per_query)
    found, free = walked(query, scores, rule), walked(query, scores, ListRule(*rule[:2]))
    assert (found.stage <= free.stage).all()
    for one in np.unique(query):
        stage = found.stage[query == one]
        paid = per_document[stage[stage >= 0]].sum()
        paid += per_query[stage.max()] if stage.max() >= 0 else 0.0
        assert paid <= max_cost + 1e-12
    if max_cost == 20.0 and len(query) < 6:
        np.testing.assert_array_equal(found.stage, free.stage)


# --- cascades of a path


def test_what_a_stage_buys_is_part_of_what_the_next_buys():
    stages = cascade().stages
    bills = [tw.feature_bill(forest, NEW.X) for forest in stages.forests]
    for cheap, rich in pairwise(bills):
        assert (cheap.used <= rich.used).all()


@pytest.mark.parametrize("budget", [None, 3.0, 20.0, 45.0, np.inf])
def test_bills_are_those_of_the_stages_where_documents_stop(budget):
    ranker_ = cascade().at(budget=budget)
    found = ranker_.decision_path(NEW.X, NEW.qid)
    bill = ranker_.bill(NEW.X, NEW.qid)
    for number in np.unique(found.stage):
        here = found.stage == number
        used = tw.feature_bill(ranker_.stages.forests[number], NEW.X[here]).used
        np.testing.assert_array_equal(bill.used[here], used)
    prices = np.array([1.0 + k / 2 for k in range(6)])
    needs = bill.used.copy()
    needs[:, 0] |= bill.used[:, 5]
    own = needs @ prices + 1.5 * needs[:, 3:5].any(axis=1)
    expected = [
        own[NEW.qid == one].sum() + needs[NEW.qid == one][:, [0, 2]].any(axis=0) @ [4.0, 1.0]
        for one in dict.fromkeys(NEW.qid.tolist())
    ]
    np.testing.assert_allclose(bill.per_query, expected)
    np.testing.assert_allclose(
        tw.feature_bill(ranker_, NEW.X, qid=NEW.qid).per_sample, bill.per_sample
    )


@pytest.mark.parametrize("max_cost", [np.inf, 20.0])
def test_rules_cost_and_score_what_they_say_on_the_queries_that_tuned_them(max_cost):
    """Within a limit for each query, too, if the rules were made for it."""
    made = cascade(max_cost=max_cost)
    rules = made.rules
    assert rules.costs[-1] <= max_cost
    for number in range(0, len(rules), 5):
        one = made.at(budget=rules.costs[number], max_cost=max_cost)
        np.testing.assert_array_equal(one.stages.thresholds, rules.thresholds[number])
        assert one.bill(VALID.X, VALID.qid).per_query.mean() == pytest.approx(rules.costs[number])
        assert one.score(VALID.X, VALID.y, VALID.qid) == pytest.approx(1 - rules.errors[number])
    assert (np.diff(rules.costs) > 0).all()


def test_evaluations_are_those_of_every_rule_from_dear_to_cheap():
    made = cascade()
    measured = made.evaluate(NEW.X, NEW.y, qid=NEW.qid, quantiles=[0.5])
    for point in (0, len(made.rules) // 2, -1):
        one = made.at(budget=made.rules.costs[::-1][point])
        bill = one.bill(NEW.X, NEW.qid)
        assert measured.score[point] == pytest.approx(one.score(NEW.X, NEW.y, NEW.qid))
        assert measured.cost_per_query[point] == pytest.approx(bill.per_query.mean())
        assert measured.query_cost_quantiles[point, 0] == pytest.approx(np.median(bill.per_query))
    whole = tw.prune_path(ranker(), NEW.X, NEW.y).evaluate(NEW.X, NEW.y, qid=NEW.qid, points=[0])
    assert measured.original.score == pytest.approx(whole.original.score)


def test_a_cascade_is_as_good_as_the_whole_for_less():
    choice = cascade(priced=False).choice
    assert choice.cost < 0.7 * choice.cost_before
    assert choice.given_up <= choice.standard_error
    assert f"of {len(np.unique(VALID.qid))} queries" in str(cascade(priced=False))


@pytest.mark.parametrize("max_cost", [0.0, 5.0, 20.0, 60.0])
def test_a_limit_holds_for_every_query(max_cost):
    limited = cascade().at(budget=np.inf, max_cost=max_cost)
    for some in (VALID, NEW):
        assert limited.bill(some.X, some.qid).per_query.max() <= max_cost + 1e-9
    better = cascade().at(budget=np.inf, max_cost=1e6)
    np.testing.assert_array_equal(
        better.predict(NEW.X, NEW.qid), cascade().at(budget=np.inf).predict(NEW.X, NEW.qid)
    )


def test_the_order_of_samples_says_nothing():
    mixed = np.random.default_rng(0).permutation(len(NEW.y))
    found = cascade().predict(NEW.X, NEW.qid)
    np.testing.assert_array_equal(cascade().predict(NEW.X[mixed], NEW.qid[mixed]), found[mixed])


def test_refitted_stages_ask_for_the_same():
    X, y, qid = documents()
    path = ranker_path()
    plain, refitted = (
        path.cascade(VALID.X, VALID.y, qid=VALID.qid, stages=[2, 5, -2], refit=own)
        for own in (None, (X, y, None, qid))
    )
    for one, other in zip(plain.stages.forests, refitted.stages.forests, strict=True):
        np.testing.assert_array_equal(one.threshold, other.threshold)
    changed = [
        (one.values != other.values).any()
        for one, other in zip(plain.stages.forests, refitted.stages.forests, strict=True)
    ]
    assert any(changed)


def test_other_scores_of_rankings_choose_rules():
    made = ranker_path().cascade(VALID.X, VALID.y, qid=VALID.qid, stages=4, scoring="mrr")
    assert made.choice.scoring == "mrr"
    expected = of_queries("mrr", NEW.y, made.predict(NEW.X, NEW.qid), NEW.qid).mean()
    assert made.score(NEW.X, NEW.y, NEW.qid) == pytest.approx(expected)


def test_rankers_are_the_same_when_they_are_read_again(tmp_path):
    made = cascade().at(budget=20.0, max_cost=60.0)
    made.save(tmp_path / "ranker.tw")
    again = CascadeRanker.load(tmp_path / "ranker.tw")
    np.testing.assert_array_equal(again.predict(NEW.X, NEW.qid), made.predict(NEW.X, NEW.qid))
    bills = [one.bill(NEW.X, NEW.qid).per_query for one in (again, made)]
    np.testing.assert_array_equal(*bills)
    assert again.rules.costs.tolist() == made.rules.costs.tolist()
    data = (tmp_path / "ranker.tw").read_bytes()
    (tmp_path / "cut.tw").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"damaged|no ranker"):
        CascadeRanker.load(tmp_path / "cut.tw")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"qid": None}, "for a ranker pass `qid`"),
        ({"scoring": "roc_auc"}, "lists are tuned by a score of rankings"),
        ({"samples": "out_of_bag"}, "`samples` is 'out_of_bag'"),
        ({"costs": tw.Costs(shared_by=VALID.qid)}, "`shared_by`"),
    ],
)
def test_what_no_cascade_can_be_made_of_is_said(options, words):
    with pytest.raises(InputError, match=words):
        ranker_path().cascade(VALID.X, VALID.y, **({"qid": VALID.qid} | options))


def test_a_ranker_made_by_hand_needs_no_rules():
    found = cascade()
    bare = CascadeRanker(found.stages, found.prices)
    assert str(bare).startswith("CascadeRanker: ")
    assert bare.choice is None
    np.testing.assert_array_equal(bare.predict(NEW.X, NEW.qid), found.predict(NEW.X, NEW.qid))


def test_documents_without_queries_are_not_ranked():
    for call in (cascade().predict, cascade().bill):
        with pytest.raises(InputError, match="pass `qid`"):
            call(NEW.X)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (NEW.y[:5], "`y` has shape"),
        (np.where(NEW.y > 0, "good", "bad"), "`y` holds something that is not a number"),
        (NEW.y - 1, "grades of relevance"),
        (None, "`y` is None"),
        (np.where(NEW.y > 0, np.nan, 1.0), "NaN"),
    ],
)
def test_lists_are_scored_by_grades(y, words):
    with pytest.raises(InputError, match=words):
        cascade().score(NEW.X, y, NEW.qid)
