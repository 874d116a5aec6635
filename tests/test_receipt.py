"""Receipts of single rows against a walk that writes everything down."""

import pickle

import numpy as np
import pytest
from builders import forest_of, leaf, split
from cost_cases import priced_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from models import fitted
from receipts import story_of
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import forest_model, read_forest
from thriftwood.billing import bills_of
from thriftwood.billing.receipt import make_receipt
from thriftwood.costs import read_prices
from thriftwood.errors import InputError
from thriftwood.forest import collapse
from thriftwood.support.columns import Columns

HEART = tw.datasets.load_heart()
FOREST = RandomForestClassifier(10, max_depth=4, random_state=0).fit(HEART.frame(), HEART.y)

HALF, NO, YES = (0.5, 0.5), leaf((1.0, 0.0)), leaf((0.0, 1.0))


def close(number):
    return pytest.approx(number, rel=1e-9, abs=1e-9)


def receipts_of(bill):
    return [bill.receipt(row) for row in range(len(bill.per_sample))]


# --- laws


@settings(max_examples=150)
@given(priced_cases(most_trees=3, most_splits=5, most_rows=6))
def test_receipts_tell_what_was_met_in_order_and_what_each_thing_added(case):
    for row, receipt in enumerate(receipts_of(tw.feature_bill(case.forest, case.X, case.costs))):
        story = story_of(case.forest, case.X, case.costs, row, case.names)
        assert [(one.feature, one.tree) for one in receipt.purchases] == [
            (feature, tree) for feature, tree, _ in story.purchases
        ]
        for purchase, (_, _, parts) in zip(receipt.purchases, story.purchases, strict=True):
            assert dict(purchase.items) == close(parts)
            assert purchase.price == close(sum(parts.values()))
        assert dict(receipt.shared) == close(story.shared)
        assert receipt.test_cost == close(case.costs.per_split * story.n_tests)


@settings(max_examples=150)
@given(priced_cases())
def test_a_receipt_adds_up_to_the_bill(case):
    bill = tw.feature_bill(case.forest, case.X, case.costs)
    receipts = receipts_of(bill)
    assert [receipt.total for receipt in receipts] == close(bill.per_sample.tolist())
    assert [receipt.sample for receipt in receipts] == list(range(len(receipts)))
    for receipt in receipts:
        assert f"{receipt.total:.6g}" in str(receipt)


@settings(max_examples=100)
@given(priced_cases(), st.randoms(use_true_random=False))
def test_the_order_of_buying_moves_items_but_not_their_sum(case, random):
    n_samples = len(case.X)
    prices = read_prices(case.costs, Columns(case.forest.n_features, case.names), n_samples)
    bill = tw.feature_bill(case.forest, case.X, case.costs)
    for row, receipt in enumerate(receipts_of(bill)):
        uses = [(one.feature, one.tree, one.value) for one in receipt.purchases]
        paid_by = bills_of(prices, bill.used).shared
        shared = [item for item, payers in paid_by.items() if payers[row]]
        tests = receipt.test_cost
        assert make_receipt(prices, row, uses, tests, shared) == receipt
        bought_already = [(feature, 99, value) for feature, _, value in uses]
        again = uses + bought_already
        assert make_receipt(prices, row, again, tests, shared) == receipt
        random.shuffle(uses)
        other = make_receipt(prices, row, uses, tests, shared)
        assert [(one.feature, one.tree) for one in other.purchases] == [use[:2] for use in uses]
        assert other.total == close(receipt.total)
        assert dict(other.shared) == close(dict(receipt.shared))
        assert sorted(item for one in other.purchases for item in one.items) == sorted(
            item for one in receipt.purchases for item in one.items
        )


# --- every library


def lightgbm_model(kind):
    return pytest.importorskip("boosters_lightgbm").grown(kind)


def xgboost_model(kind):
    return pytest.importorskip("xgboost_models").fitted(kind)[:2]


def catboost_model(kind):
    return pytest.importorskip("test_adapter_catboost").fitted(kind)[:2]


def hist_model(kind):
    del kind
    boosters = pytest.importorskip("test_adapter_sklearn_hist")
    return boosters.classifier()[:2]


def gradient_boosting(kind):
    del kind
    X = fitted("random_forest_regressor").X
    y = fitted("random_forest_regressor").y
    return GradientBoostingRegressor(n_estimators=6, random_state=0).fit(X, y), X


def own_model(kind):
    model, X, _ = fitted(kind)
    return forest_model(read_forest(model)), X


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda kind: fitted(kind)[:2], "missing_random_forest"),
        (lambda kind: fitted(kind)[:2], "extra_trees_regressor"),
        (lambda kind: fitted(kind)[:2], "bagging_column_subsets"),
        (lambda kind: fitted(kind)[:2], "budget_forest"),
        (lambda kind: fitted(kind)[:2], "single_leaf"),
        (own_model, "missing_random_forest"),
        (gradient_boosting, ""),
        (hist_model, ""),
        (lightgbm_model, "classifier_of_a_frame"),
        (lightgbm_model, "zero_as_missing"),
        (xgboost_model, "categories"),
        (catboost_model, "symmetric_of_three"),
    ],
)
def test_the_first_trees_alone_ask_for_what_a_receipt_says(make, kind):
    model, X = make(kind)
    forest = read_forest(model)
    prices = np.arange(1.0, forest.n_features + 1)
    bill = tw.feature_bill(model, X, prices)
    rows = range(0, len(X), 11)
    receipts = [bill.receipt(row) for row in rows]
    assert [receipt.total for receipt in receipts] == close(bill.per_sample[rows].tolist())
    tree_of = forest.tree_of(np.arange(forest.n_nodes))
    for tree in range(forest.n_trees):
        for depth in range(forest.depth.max() + 1):
            first = (tree_of < tree) | ((tree_of == tree) & (forest.depth < depth))
            used = tw.feature_bill(collapse(forest, forest.is_split & first)[0], X).used
            for row, receipt in zip(rows, receipts, strict=True):
                some = np.flatnonzero(used[row])
                bought = [one.feature for one in receipt.purchases[: len(some)]]
                assert sorted(bought) == some.tolist()
                assert all(one.tree <= tree for one in receipt.purchases[: len(some)])


# --- what it says


def test_values_are_what_the_row_has():
    bill = tw.feature_bill(FOREST, HEART.frame(), HEART.prices)
    for row in (0, 87, -1):
        for one in bill.receipt(row).purchases:
            found = HEART.X[row, one.feature]
            assert one.value is None if np.isnan(found) else one.value == np.float32(found)
            assert one.name == HEART.feature_names[one.feature]
    missing = [row for row in range(len(HEART.X)) if np.isnan(HEART.X[row]).any()]
    assert any("= missing" in str(bill.receipt(row)) for row in missing)


def test_categories_go_by_their_labels():
    frames = pytest.importorskip("boosters_lightgbm")
    model, X = frames.grown("classifier_of_a_frame")
    bill = tw.feature_bill(model, X)
    said = set()
    for row in range(60):
        for one in bill.receipt(row).purchases:
            if one.name == "ward":
                letter = X["ward"].iloc[row]
                assert one.value == (letter if isinstance(letter, str) else None)
                said.add(one.value)
    assert len(said) > 3


def test_what_came_with_another_feature_costs_nothing_more():
    # The first tree asks for an index that takes two tests of the blood, the second for one of
    # these, and then for something else of the blood.
    forest = forest_of(
        split(2, 0.5, NO, YES, HALF),
        split(0, 0.5, split(3, 0.5, NO, YES, HALF), YES, HALF),
        n_features=4,
    )
    costs = tw.Costs(
        per_feature=[12.41, 9.31, 0.5, 3.0],
        groups={"blood": [0, 1, 3]},
        group_fee={"blood": 2.1},
        requires={2: [0, 1]},
        per_split=0.25,
        unit="CAD",
    )
    receipt = tw.feature_bill(forest, np.zeros((1, 4)), costs).receipt(0)
    index, test, other = receipt.purchases
    assert index.items == (
        ("feature 2", 0.5),
        ("feature 0", 12.41),
        ("feature 1", 9.31),
        ("blood", 2.1),
    )
    assert test.items == ()
    assert other.items == (("feature 3", 3.0),)
    assert str(receipt).splitlines() == [
        "Receipt of sample 0: 28.07 CAD for 3 features",
        "  tree 0  feature 2 = 0      24.32  feature 2 0.5 + feature 0 12.41 + feature 1 9.31 "
        "+ blood 2.1",
        "  tree 1  feature 0 = 0          0  already at hand",
        "  tree 1  feature 3 = 0          3",
        "          tests               0.75",
    ]


def test_a_known_value_is_used_and_not_paid():
    known = np.zeros_like(HEART.X, dtype=bool)
    known[0] = True
    bill = tw.feature_bill(FOREST, HEART.frame(), HEART.prices.for_samples(known=known))
    receipt = bill.receipt(0)
    assert receipt.total == 0
    assert len(receipt.purchases) == bill.used[0].sum() > 5
    assert all(one.items == () for one in receipt.purchases)
    assert bill.receipt(1) == tw.feature_bill(FOREST, HEART.frame(), HEART.prices).receipt(1)


def test_rows_of_a_batch_pay_for_each_other():
    forest = forest_of(split(0, 0.5, NO, split(1, 0.5, NO, YES, HALF), HALF), n_features=2)
    costs = tw.Costs(per_feature=[1.0, 6.0], shared_by={1: ["q", "q", "q", "r"]})
    bill = tw.feature_bill(forest, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], costs)
    only_other, own, _, alone = receipts_of(bill)
    assert only_other.shared == (("feature 1", 2.0),)
    assert str(only_other).endswith("feature 1              2  needed by others of the batch")
    assert own.purchases[1].items == (("feature 1", 2.0),)
    assert own.shared == alone.shared == ()
    assert alone.total == 1


def test_a_row_that_is_asked_nothing_has_an_empty_receipt():
    bill = tw.feature_bill(forest_of(NO, n_features=2), np.zeros((2, 2)))
    assert str(bill.receipt(1)) == "Receipt of sample 1: 0 for 0 features"


# --- which row


def test_rows_count_from_the_end_too():
    bill = tw.feature_bill(FOREST, HEART.frame(), HEART.prices)
    n_samples = len(HEART.X)
    assert bill.receipt(-1) == bill.receipt(n_samples - 1)
    assert bill.receipt(-n_samples) == bill.receipt(np.int64(0))


@pytest.mark.parametrize(
    ("i", "words"),
    [
        (303, "has 303 samples: there is no sample 303"),
        (-304, "there is no sample -304"),
        (10**30, "there is no sample 1000"),
        (1.0, r"The sample is 1\.0: pass its number"),
        ("first", "The sample is 'first'"),
        (None, "The sample is None"),
        (True, "The sample is True"),
        ([0], "pass its number"),
    ],
)
def test_other_rows_are_refused(i, words):
    bill = tw.feature_bill(FOREST, HEART.frame())
    with pytest.raises(InputError, match=words):
        bill.receipt(i)


def test_a_pickled_bill_still_writes_receipts():
    bill = tw.feature_bill(FOREST, HEART.frame(), HEART.prices)
    again = pickle.loads(pickle.dumps(bill))
    assert [again.receipt(row) for row in range(5)] == [bill.receipt(row) for row in range(5)]


def test_a_receipt_does_not_change_with_the_users_array():
    X = HEART.X.astype(np.float32)
    bill = tw.feature_bill(FOREST, X, HEART.costs)
    before = bill.receipt(5)
    X[:] = 0
    assert bill.receipt(5) == before
