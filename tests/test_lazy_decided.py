"""Stopping as soon as a label is decided: the same labels, never a higher bill."""

from dataclasses import replace

import numpy as np
import pytest
import xgboost_models
from boosted import VALUES
from boosters_lightgbm import grown
from builders import THREE_CLASSES, TWO_CLASSES, forest_of, leaf, split, trees
from cost_cases import costs_for, priced_cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lazy_twin import FORMS, ask, assert_decides_alike
from paths import FOREST, HEART, NHANES, PATH
from shared_data import SHARED, needs_shared_data
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import thriftwood as tw
from thriftwood.acquisition.decided_kernels import PriceArrays
from thriftwood.acquisition.traversal import price_arrays
from thriftwood.adapters import forest_model, read_forest
from thriftwood.costs import read_prices
from thriftwood.support.columns import Columns

# --- real data


def test_a_forest_on_heart():
    for model in (FOREST, PATH.at(budget=400).model):
        full, stopped = assert_decides_alike(model, HEART.X, HEART.prices)
        assert stopped < full
        np.testing.assert_array_equal(
            ask(model, HEART.X, stop="decided")[0].labels, model.predict(HEART.X)
        )


def test_forests_and_boosters_on_nhanes():
    people = NHANES.X[:1500], NHANES.y[:1500]
    others = NHANES.X[1500:2300]
    options = {"max_features": None, "min_samples_leaf": 5, "random_state": 0}
    for model in (
        RandomForestClassifier(12, **options),
        HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=8, random_state=0),
    ):
        model.fit(*people)
        full, stopped = assert_decides_alike(model, others, NHANES.costs)
        assert stopped < full
        answer, _ = ask(model, others[:50], stop="decided")
        np.testing.assert_array_equal(answer.labels, model.predict(others[:50]))


@needs_shared_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["miniboone_tiny", "covertype"])
def test_other_data(name):
    try:
        data = tw.datasets.load_dataset(name, SHARED, download=False)
    except tw.errors.DatasetError:
        pytest.skip(f"{name} is not there")
    rows = np.random.default_rng(0).permutation(len(data.y))[:2500]
    X, y = data.X[rows], data.y[rows]
    forest = RandomForestClassifier(40, max_features=None, random_state=0).fit(X[:1500], y[:1500])
    boosted = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X[:1500], y[:1500])
    for model in (forest, boosted):
        full, stopped = assert_decides_alike(model, X[1500:])
        assert stopped < full


@pytest.mark.parametrize("kind", ["classifier", "classifier_of_words", "random_forest"])
def test_lightgbm(kind):
    assert_decides_alike(*grown(kind))


@pytest.mark.parametrize("kind", ["one_against_rest", "binary", "rf_multiclass"])
def test_boosters_of_lightgbm(kind):
    model, X = grown(kind)
    assert_decides_alike(forest_model(read_forest(model)), X)


@pytest.mark.parametrize("kind", ["classifier", "classifier_of_three", "forest_classifier"])
def test_xgboost(kind):
    model, X, _ = xgboost_models.fitted(kind)
    assert_decides_alike(model, X)


# --- small forests, where ties are frequent


@st.composite
def forests_with_links(draw):
    """Draw forests of every link, with prices, and rows."""
    link = draw(st.sampled_from(["two", "three", "logistic", "softmax", "one_against_rest"]))
    said = {
        "two": TWO_CLASSES,
        "three": THREE_CLASSES,
        "logistic": VALUES[1],
        "softmax": VALUES[3],
        # So large that shares are 1 for several classes.
        "one_against_rest": [*VALUES[3], (40.0, 50.0, 0.0), (50.0, 40.0, 45.0), (-60.0, 0.0, 0.0)],
    }[link]
    n_classes = 2 if link in ("two", "logistic") else 3
    n_features = draw(st.integers(1, 4))
    grown_trees = draw(st.lists(trees(n_features, 4, said), min_size=1, max_size=5))
    is_one = link == "logistic"
    forest = forest_of(
        *grown_trees,
        n_features=n_features,
        classes=None if is_one else tuple(range(n_classes)),
        combine="mean" if link in ("two", "three") else "sum",
    )
    if link not in ("two", "three"):
        bias = st.sampled_from([0.0, 0.25, -0.5, 1.5])
        forest = replace(
            forest,
            combine=draw(st.sampled_from(["mean", "sum"])),
            link="logistic" if link in ("logistic", "one_against_rest") else "softmax",
            classes=np.arange(n_classes),
            bias=[draw(bias) for _ in range(forest.n_outputs)],
        ).check()
    n_samples = draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 3), min_size=n_features, max_size=n_features)
    X = np.array([draw(row) for _ in range(n_samples)], dtype=float)
    return forest, X, draw(costs_for(list(range(n_features)), n_samples))


@settings(max_examples=150)
@given(case=forests_with_links(), form=st.sampled_from(FORMS))
def test_small_forests_of_every_link_under_every_price(case, form):
    forest, X, costs = case
    assert_decides_alike(forest, X, costs, form)


def test_ties_go_to_the_first_class_without_buying_more():
    """Two trees say 'first' for sure; two that say 'second' at most could only make a tie."""
    sure, unsure = leaf((1.0, 0.0)), split(0, 1.0, leaf((0.0, 1.0)), leaf((1.0, 0.0)), (0.5, 0.5))
    forest = forest_of(sure, sure, unsure, unsure, n_features=1)
    answer, shop = ask(forest, np.zeros((1, 1)), stop="decided")
    assert answer.labels[0] == 0
    assert not shop.sold
    turned = forest_of(
        *[leaf((0.0, 1.0))] * 2,
        *[split(0, 1.0, leaf((1.0, 0.0)), leaf((0.0, 1.0)), (0.5, 0.5))] * 2,
        n_features=1,
    )
    answer, shop = ask(turned, np.zeros((1, 1)), stop="decided")
    assert answer.labels[0] == 0  # a tie, which only the value can tell from a win of the second
    assert shop.sold


def test_the_cheap_and_telling_value_is_asked_for_first():
    """One tree is almost sure; the other, cheaper per unit of doubt, decides."""
    small = split(0, 1.0, leaf((0.6, 0.4)), leaf((0.5, 0.5)), (0.55, 0.45))
    large = split(1, 1.0, leaf((1.0, 0.0)), leaf((0.0, 1.0)), (0.5, 0.5))
    forest = forest_of(small, large, n_features=2)
    for prices, first in (([1.0, 1.0], 1), ([1.0, 9.0], 1), ([1.0, 11.0], 0), ([0.0, 1.0], 0)):
        _, shop = ask(forest, np.zeros((1, 2)), costs=prices, stop="decided")
        assert next(iter(shop.sold)) == (0, first), prices


def test_a_fee_that_is_paid_is_not_weighed_again():
    """After feature 0 feature 1 costs less than feature 2; before, with its fee, more."""
    forest = forest_of(
        *[split(k, 1.0, leaf((1.0, 0.0)), leaf((0.0, 1.0)), (0.5, 0.5)) for k in (0, 1, 2)],
        n_features=3,
    )
    X = np.array([[0.0, 3.0, 3.0]])
    for fee, order in ((1.0, [0, 1, 2]), (9.0, [2, 0, 1])):
        costs = tw.Costs(
            per_feature=[0.0, 2.5, 3.0], groups={"blood": [0, 1]}, group_fee={"blood": fee}
        )
        _, shop = ask(forest, X, costs=costs, stop="decided")
        assert [feature for _, feature in shop.sold] == order[: len(shop.sold)]
        assert len(shop.sold) > 1


@given(priced_cases(most_trees=4, most_splits=5))
@settings(max_examples=40)
def test_receipts_have_the_order_of_buying(case):
    assume(case.forest.feature_names == case.names)
    answer, shop = ask(case.forest, np.asarray(case.X), costs=case.costs, stop="decided")
    names = case.forest.feature_names or range(case.forest.n_features)
    for row in range(len(answer)):
        assert [names[one.feature] for one in answer.receipt(row).purchases] == [
            feature for buyer, feature in shop.sold if buyer == row
        ]
        assert answer.receipt(row).total == pytest.approx(answer.bill.per_sample[row])


def test_prices_that_are_read_are_those_that_are_weighed():
    """Rows that share a cost item weigh their part of it, and the model's own is no row's."""
    costs = tw.Costs(
        per_feature=[3.0, 1.0], shared_by={0: [7, 7, 8]}, per_model=[5.0, 5.0], predictions=10
    )
    arrays = PriceArrays(*price_arrays(read_prices(costs, Columns(2, None), 3)))
    np.testing.assert_allclose(arrays.amount, [2.0, 1.0, 0.0, 0.0])


def test_shares_that_round_to_one_tie():
    """Against the rest, 40 and 60 are both as sure as numbers can say: the first class wins."""
    tree = split(0, 1.0, leaf((30.0, 60.0, 0.0)), leaf((50.0, 60.0, 0.0)), (40.0, 60.0, 0.0))
    forest = forest_of(tree, n_features=1, classes=(0, 1, 2), combine="sum")
    model = tw.ForestModel(replace(forest, link="logistic"))
    X = np.array([[0.0], [2.0]])
    np.testing.assert_array_equal(model.predict(X), [1, 0])
    answer, _ = ask(model, X, stop="decided")
    np.testing.assert_array_equal(answer.labels, [1, 0])


def test_of_values_that_tell_as_much_for_their_price_the_lowest_column_is_bought_first():
    trees = [split(k, 1.0, leaf((0.9, 0.1)), leaf((0.1, 0.9)), (0.5, 0.5)) for k in (2, 1, 3)]
    answer, _ = ask(forest_of(*trees, n_features=4), np.zeros((1, 4)), stop="decided")
    assert [one.feature for one in answer.receipt(0).purchases] == [1, 2]
