"""Grown trees are those of the pseudo-code, split by split."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from builders import from_python
from growing_twin import PlainGrower
from hypothesis import given, settings
from hypothesis import strategies as st

from thriftwood.training import (
    Bundles,
    Growth,
    grow_tree,
    kernels,
    rank_columns,
)


@st.composite
def growing_cases(draw):
    """Draw rows with ties and gaps, classes, weights, prices and every rule."""
    n_samples, n_features = draw(st.integers(1, 24)), draw(st.integers(1, 5))
    n_classes = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    spread = draw(st.sampled_from([1, 3, 1000, 10**6]))  # from all ties to none
    X = rng.integers(0, spread + 1, (n_samples, n_features)).astype(np.float32)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.0, 0.3]))] = np.nan
    label = rng.integers(0, n_classes, n_samples).astype(np.int32)
    weights = draw(st.sampled_from([[1.0], [0.0, 1.0, 2.0], [0.25, 1.5]]))
    weight = rng.choice(weights, n_samples)
    weight[0] = 1.0
    growth = Growth(
        prices=rng.choice(draw(st.sampled_from([[1.0], [0.0, 1.0, 5.0]])), n_features),
        impurity=draw(st.sampled_from(["pairs", "pairs", "powers", "entropy"])),
        power=draw(st.integers(2, 4)),
        max_depth=draw(st.sampled_from([None, None, 1, 3])),
        min_samples_leaf=draw(st.sampled_from([1, 1, 2, 5])),
        min_weight_leaf=draw(st.sampled_from([0.0, 0.0, 1.5, 3.0])),
        max_features=draw(st.sampled_from([None, None, 1, 2])),
        free_once_bought=draw(st.booleans()),
    )
    if draw(st.booleans()):
        growth = with_a_shared_fee(growth, rng)
    if growth.impurity != "powers":
        growth = replace(growth, alpha=draw(st.sampled_from([0.0, 0.0, 0.5, 1.0])))
    return X, label, weight, n_classes, growth, draw(st.integers(0, 2**31))


def with_a_shared_fee(growth, rng):
    """Let some features share a fee, on top of their own prices."""
    n_features = len(growth.prices)
    shares = rng.random(n_features) < 0.6
    fee = rng.choice([0.5, 2.0, 10.0])
    bundles = [
        [(k, growth.prices[k]), *([(n_features, fee)] * int(shares[k]))] for k in range(n_features)
    ]
    return replace(
        growth,
        prices=growth.prices + fee * shares,
        bundles=Bundles(
            start=np.cumsum([0, *map(len, bundles)]).astype(np.int32),
            cost_item=np.array(
                [cost_item for one in bundles for cost_item, _ in one], dtype=np.int32
            ),
            amount=np.array([amount for one in bundles for _, amount in one]),
        ),
    )


@settings(max_examples=300, deadline=None)
@given(growing_cases())
def test_a_tree_has_the_splits_of_the_pseudo_code(case):
    X, *rest = case
    fast, plain = grow_tree(rank_columns(X), *rest), PlainGrower(X, *rest).grow()
    assert fast.forest.check().has_same_trees(plain.forest.check())
    np.testing.assert_array_equal(fast.n_samples, plain.n_samples)
    np.testing.assert_array_equal(fast.counts, plain.counts)


@pytest.mark.parametrize("impurity", ["pairs", "entropy"])
@pytest.mark.parametrize("seed", range(3))
def test_few_rows_with_values_far_apart_grow_the_same(impurity, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 3)).astype(np.float32)
    label = ((X.sum(axis=1) > 0) ^ (rng.random(2000) < 0.2)).astype(np.int32)
    weight = (rng.random(2000) < 0.04).astype(np.float64)  # about 80 rows, 25 ranks apart
    rest = (label, weight, 2, Growth(prices=np.ones(3), impurity=impurity), 0)
    fast, plain = grow_tree(rank_columns(X), *rest), PlainGrower(X, *rest).grow()
    assert fast.forest.n_splits > 5
    assert fast.forest.has_same_trees(plain.forest)


def test_more_values_than_short_codes_can_tell_apart():
    rng = np.random.default_rng(0)
    X = (rng.permutation(70_000)[:, None] * [1, -1]).astype(np.float32)
    label = rng.integers(0, 2, len(X)).astype(np.int32)
    weight = np.zeros(len(X))
    weight[:300] = 1.0
    growth = Growth(prices=np.ones(2))
    columns = rank_columns(X)
    assert columns.n_distinct.max() == 70_000
    many = grow_tree(columns, label, weight, 2, growth, 0)
    few = grow_tree(rank_columns(X[:300]), label[:300], weight[:300], 2, growth, 0)
    assert few.forest.n_splits > 50
    assert many.forest.has_same_trees(few.forest)


def test_random_numbers_are_those_of_splitmix64():
    random_number = from_python(kernels.random_number)
    _, first = random_number(np.uint64(0))
    assert int(first) == 0xE220A8397B1DCDAF
    seed, numbers = np.uint64(1234567), []
    for _ in range(2):
        seed, number = random_number(seed)
        numbers.append(int(number))
    assert numbers == [6457827717110365317, 3203168211198807973]


def test_every_feature_is_tried_first_about_as_often():
    shuffle = from_python(kernels.shuffle)
    order, seed = np.arange(5), np.uint64(0)
    first = np.zeros(5)
    for _ in range(2000):
        seed = shuffle(order, 1, seed)
        assert sorted(order) == [0, 1, 2, 3, 4]
        first[order[0]] += 1
    assert abs(first - 400).max() < 100  # five standard deviations are 90


def root_splits(n_left, n_right, impurity):
    """Say whether a feature that parts these class counts is of use."""
    X = np.repeat([0.0, 1.0], [sum(n_left), sum(n_right)])[:, None].astype(np.float32)
    label = np.concatenate([np.repeat([0, 1], n_left), np.repeat([0, 1], n_right)])
    growth = Growth(prices=np.ones(1), impurity=impurity)
    tree = grow_tree(rank_columns(X), label.astype(np.int32), np.ones(len(X)), 2, growth, 0)
    return tree.forest.n_splits > 0


def test_rounding_is_no_gain_and_a_little_gain_is():
    for n_left in range(1, 6):  # equal shares on both sides tell nothing, whatever doubles say
        for n_right in range(1, 40):
            for share in (2, 3, 5, 7):
                left, right = (n_left, share * n_left), (n_right, share * n_right)
                assert not root_splits(left, right, "entropy")
    assert root_splits((50, 50), (49, 51), "entropy")  # a gain of 0.0001 of the impurity
    assert root_splits((1, 0), (99, 100), "pairs")  # of 0.01


# --- the theorem: the dearest way through a grown tree is near the best possible


def pairs(counts, alpha):
    above = [max(count - alpha, 0) for count in counts]
    return sum(max(above[j] * above[k] - alpha**2, 0) for j in range(len(above)) for k in range(j))


def least_worst_cost(X, label, prices, alpha):
    """Return the least that the dearest row can pay in any tree whose leaves have no impurity."""
    thresholds = [np.unique(column)[:-1] for column in X.T]

    @cache
    def least(rows):
        own = list(rows)
        if pairs(np.bincount(label[own]), alpha) == 0:
            return 0.0
        best = math.inf
        for feature, values in enumerate(thresholds):
            for value in values:
                left = tuple(row for row in own if X[row, feature] <= value)
                right = tuple(row for row in own if X[row, feature] > value)
                if left and right:
                    best = min(best, prices[feature] + max(least(left), least(right)))
        return best

    return least(tuple(range(len(X))))


def worst_cost(tree, prices):
    """Return what the dearest way through a tree costs, every test paid."""

    def below(node):
        if not tree.is_split[node]:
            return 0.0
        return prices[tree.feature[node]] + max(below(tree.left[node]), below(tree.right[node]))

    return below(0)


@st.composite
def consistent_cases(draw):
    """Draw different rows, so that some tree parts the classes."""
    n_features = draw(st.integers(1, 3))
    row = st.tuples(*[st.integers(0, 3)] * n_features)
    X = np.array(draw(st.lists(row, min_size=2, max_size=8, unique=True)), dtype=np.float32)
    label = np.array(draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    prices = np.array([draw(st.sampled_from([1.0, 2.0, 7.0])) for _ in range(n_features)])
    return X, label.astype(np.int32), prices, draw(st.sampled_from([0, 0, 1]))


@settings(max_examples=150, deadline=None)
@given(consistent_cases())
def test_the_dearest_way_costs_at_most_a_logarithm_more_than_in_the_best_tree(case):
    X, label, prices, alpha = case
    growth = Growth(prices=prices, alpha=alpha)
    tree = grow_tree(rank_columns(X), label, np.ones(len(X)), 3, growth, 0).forest
    impurity = pairs(np.bincount(label), alpha)
    best = least_worst_cost(X, label, prices, alpha)
    assert best <= worst_cost(tree, prices) <= (1 + math.log(max(impurity, 1))) * best + 1e-9


def test_the_worse_side_counts_and_not_the_average():
    # Feature 0 parts off a pure half, feature 1 halves the mixed pairs on both sides.
    X = np.array([[0, 0], [0, 1], [0, 0], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]], np.float32)
    label = np.array([0, 0, 0, 0, 0, 1, 0, 1], dtype=np.int32)
    tree = grow_tree(rank_columns(X), label, np.ones(8), 2, Growth(prices=np.ones(2)), 0).forest
    assert tree.feature[0] == 1  # leaves 3 * 1 on either side, feature 0 leaves 2 * 2
    cheap = Growth(prices=np.array([1.0, 3.0]))
    tree = grow_tree(rank_columns(X), label, np.ones(8), 2, cheap, 0).forest
    assert tree.feature[0] == 0  # 1 per 8 removed is less than 3 per 9
    entropy = Growth(prices=np.ones(2), impurity="entropy")
    tree = grow_tree(rank_columns(X), label, np.ones(8), 2, entropy, 0).forest
    assert tree.feature[0] == 0  # on average parting off a pure half is better
