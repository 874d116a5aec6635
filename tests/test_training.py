"""Grown trees are those of the pseudo-code, split by split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thriftwood.training import Growth, grow_tree, rank_columns
from thriftwood.training.plain import grow_plainly


@st.composite
def growing_cases(draw):
    """Draw rows with ties and gaps, classes, weights, prices and every rule."""
    n_rows, n_features = draw(st.integers(1, 24)), draw(st.integers(1, 5))
    n_classes = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    spread = draw(st.sampled_from([1, 3, 1000, 10**6]))  # from all ties to none
    X = rng.integers(0, spread + 1, (n_rows, n_features)).astype(np.float32)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.0, 0.3]))] = np.nan
    label = rng.integers(0, n_classes, n_rows).astype(np.int32)
    weights = draw(st.sampled_from([[1.0], [0.0, 1.0, 2.0], [0.25, 1.5]]))
    weight = rng.choice(weights, n_rows)
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
    if growth.impurity != "powers":
        object.__setattr__(growth, "alpha", draw(st.sampled_from([0.0, 0.0, 0.5, 1.0])))
    return X, label, weight, n_classes, growth, draw(st.integers(0, 2**31))


@settings(max_examples=300, deadline=None)
@given(growing_cases())
def test_a_tree_has_the_splits_of_the_pseudo_code(case):
    X, *rest = case
    fast, plain = grow_tree(rank_columns(X), *rest), grow_plainly(X, *rest)
    assert fast.forest.check().has_same_trees(plain.forest.check())
    np.testing.assert_array_equal(fast.n_rows, plain.n_rows)
    np.testing.assert_array_equal(fast.counts, plain.counts)


@pytest.mark.parametrize("impurity", ["pairs", "entropy"])
@pytest.mark.parametrize("seed", range(3))
def test_few_rows_with_values_far_apart_grow_the_same(impurity, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 3)).astype(np.float32)
    label = ((X.sum(axis=1) > 0) ^ (rng.random(2000) < 0.2)).astype(np.int32)
    weight = (rng.random(2000) < 0.04).astype(np.float64)  # about 80 rows, 25 ranks apart
    rest = (label, weight, 2, Growth(prices=np.ones(3), impurity=impurity), 0)
    fast, plain = grow_tree(rank_columns(X), *rest), grow_plainly(X, *rest)
    assert fast.forest.n_splits > 5
    assert fast.forest.has_same_trees(plain.forest)
