"""The cost meter against a plain walk that keeps a receipt."""

import numpy as np
import pytest
from builders import pruning_cases
from cost_cases import priced_cases
from hypothesis import given, settings
from receipts import Tariff, names_of, receipts, rows_as_compared
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError

HEART = tw.datasets.load_heart()
FOREST = RandomForestClassifier(10, random_state=0).fit(HEART.X, HEART.y)


def receipt(forest, row):
    """The features that a row meets in any tree."""
    bought = set()
    for root in forest.tree_start[:-1]:
        node = root
        while forest.left[node] >= 0:
            feature = int(forest.feature[node])
            bought.add(feature)
            goes_left = (
                forest.missing_left[node]
                if np.isnan(row[feature])
                else row[feature] <= forest.threshold[node]
            )
            node = forest.left[node] if goes_left else forest.right[node]
    return bought


def test_every_row_pays_for_the_features_it_meets_once():
    bill = tw.feature_bill(FOREST, HEART.X, HEART.costs)
    forest = read_forest(FOREST)
    receipts = [receipt(forest, row) for row in HEART.X]
    expected = [sum(HEART.costs[feature] for feature in bought) for bought in receipts]
    np.testing.assert_allclose(bill.per_sample, expected)
    share = [np.mean([feature in bought for bought in receipts]) for feature in range(13)]
    np.testing.assert_allclose(bill.bought, share)
    np.testing.assert_allclose(bill.by_feature, np.array(share) * HEART.costs)
    assert bill.by_feature.sum() == pytest.approx(bill.mean)


@settings(max_examples=50)
@given(pruning_cases(most_trees=4, most_splits=6))
def test_odd_forests_too(case):
    forest, X, _, prices, _ = case
    bill = tw.feature_bill(forest, X, prices)
    bought = [list(receipt(forest, row)) for row in X]
    np.testing.assert_allclose(bill.per_sample, [sum(prices[features]) for features in bought])
    assert [np.flatnonzero(row).tolist() for row in bill.used] == list(map(sorted, bought))


@settings(max_examples=100)
@given(priced_cases())
def test_used_is_what_rows_are_tested_for_at_any_price(case):
    used = tw.feature_bill(case.forest, case.X, case.costs).used
    for row, values in enumerate(rows_as_compared(case.forest, case.X)):
        assert set(np.flatnonzero(used[row])) == receipt(case.forest, values)
    with pytest.raises(ValueError, match="read-only"):
        used[0, 0] = True


@settings(max_examples=100)
@given(priced_cases())
def test_a_group_pays_its_fee_and_its_features(case):
    bill = tw.feature_bill(case.forest, case.X, case.costs)
    paid = receipts(case.forest, case.X, case.costs, case.names)
    names = names_of(case.forest, case.names)
    tariff = Tariff(case.costs, names, len(case.X))
    assert list(bill.by_group) == list(case.costs.groups or {})
    for group, found in bill.by_group.items():
        members = [k for k, name in enumerate(names) if group in tariff.groups_of(name)]
        expected = paid.by_feature[members].sum() + paid.fees.get(group, 0)
        assert found == pytest.approx(expected, abs=1e-9)


def test_groups_in_groups_without_fees_are_on_the_bill():
    costs = tw.Costs(
        per_feature=HEART.costs,
        groups={"visit": ["blood", 7], "blood": [4, 5], "nothing": []},
        group_fee={"blood": 2.1},
    )
    bill = tw.feature_bill(FOREST, HEART.X, costs)
    blood = bill.by_feature[[4, 5]].sum() + bill.fees["blood"]
    assert bill.by_group["blood"] == pytest.approx(blood)
    inside = bill.by_feature[[4, 5, 7]].sum()
    assert bill.by_group["visit"] == pytest.approx(inside)  # the fee of the group inside is not its
    assert bill.by_group["nothing"] == 0
    lines = repr(bill).splitlines()[-3:]
    assert lines[0].split()[:2] == ["visit", f"{bill.by_group['visit']:.6g}"]
    assert lines[1].endswith(f"in all, {bill.fees['blood']:.6g} of it the shared fee")


def test_many_groups_are_cut_short():
    groups = {f"group {k}": [k] for k in range(13)}
    bill = tw.feature_bill(FOREST, HEART.X, tw.Costs(per_feature=HEART.costs, groups=groups))
    assert len(bill.by_group) == 13
    assert repr(bill).endswith("... and 5 more groups")


def test_quantiles_are_those_of_the_rows():
    bill = tw.feature_bill(FOREST, HEART.X, HEART.prices)
    ordered = np.sort(bill.per_sample)
    np.testing.assert_array_equal(bill.quantiles([0, 1]), ordered[[0, -1]])
    np.testing.assert_array_equal(bill.quantiles(0.5), ordered[[151]])  # of 303 rows
    low, middle, high = bill.quantiles()
    assert ordered[0] <= low <= middle <= high <= ordered[-1]
    assert np.mean(bill.per_sample <= high) >= 0.9
    assert bill.quantiles([]).shape == (0,)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([0.5, 1.5], "`shares` is .*: each must lie between 0 and 1"),
        (-0.1, "between 0 and 1"),
        ([np.nan], "between 0 and 1"),
        ([[0.5]], "`shares` must be a list of numbers"),
        ("half", "`shares` holds something that is not a number"),
    ],
)
def test_bad_shares_are_refused(shares, words):
    with pytest.raises(InputError, match=words):
        tw.feature_bill(FOREST, HEART.X).quantiles(shares)


def test_names_come_from_the_model_or_the_frame():
    assert tw.feature_bill(FOREST, HEART.frame()).feature_names == HEART.feature_names
    assert tw.feature_bill(FOREST, HEART.X).feature_names is None


def test_repr_is_readable():
    text = repr(tw.feature_bill(FOREST, HEART.X, HEART.costs))
    assert text.startswith("FeatureBill: mean ")
    assert "13 of 13 features bought" in text
    assert text.endswith("... and 5 more")
