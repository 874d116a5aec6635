"""The cost meter against a plain walk that keeps a receipt."""

import numpy as np
import pytest
from builders import pruning_cases
from hypothesis import given, settings
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest

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
    np.testing.assert_allclose(bill.per_example, expected)
    share = [np.mean([feature in bought for bought in receipts]) for feature in range(13)]
    np.testing.assert_allclose(bill.bought, share)
    np.testing.assert_allclose(bill.by_feature, np.array(share) * HEART.costs)
    assert bill.by_feature.sum() == pytest.approx(bill.mean)


@settings(max_examples=50)
@given(pruning_cases(most_trees=4, most_splits=6))
def test_odd_forests_too(case):
    forest, X, _, prices, _ = case
    bill = tw.feature_bill(forest, X, prices)
    expected = [sum(prices[list(receipt(forest, row))]) for row in X]
    np.testing.assert_allclose(bill.per_example, expected)


def test_names_come_from_the_model_or_the_frame():
    assert tw.feature_bill(FOREST, HEART.frame()).feature_names == HEART.feature_names
    assert tw.feature_bill(FOREST, HEART.X).feature_names is None


def test_repr_is_readable():
    text = repr(tw.feature_bill(FOREST, HEART.X, HEART.costs))
    assert text.startswith("FeatureBill: mean ")
    assert "13 of 13 features bought" in text
    assert text.endswith("... and 5 more")
