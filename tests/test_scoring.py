"""Predictions of a forest: the leaves of a plain walk, whose values are added tree by tree."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import fitted, forests_of_all_splits, hard_rows, walk

from thriftwood.adapters import read_forest
from thriftwood.forest import Forest, leaves, route_samples, scores
from thriftwood.forest.prediction import MIN_BLOCK
from thriftwood.forest.table import read_table

more_examples = settings(deadline=None, max_examples=120)

NEXT_TO_ZERO = np.float32(1e-35)
SPECIAL = [
    *(np.nan, np.inf, -np.inf, 1e300, -1e300),
    *(NEXT_TO_ZERO, -NEXT_TO_ZERO, np.nextafter(NEXT_TO_ZERO, np.float32(1)), 1e-40, 0.0, -0.0),
    *(-1.0, -0.999, -0.5, 0.1, np.float32(0.1), 0.5, 1.0, 1.5, 2.0, 3.0, 3.999, 4.0),
]


@st.composite
def forests_and_rows(draw: st.DrawFn) -> tuple[Forest, np.ndarray]:
    """A forest with rows at and around all that its splits tell apart."""
    forest = draw(forests_of_all_splits())
    row = st.lists(st.sampled_from(SPECIAL), min_size=forest.n_features, max_size=forest.n_features)
    rows = np.array(draw(st.lists(row, min_size=1, max_size=20)), dtype=np.float64)
    return forest, read_table(rows, forest.input_dtype).values


def leaves_of_a_walk(forest: Forest, rows: np.ndarray) -> np.ndarray:
    return np.array([[walk(forest, t, row)[-1] for t in range(forest.n_trees)] for row in rows])


@given(forests_and_rows())
@more_examples
def test_rows_end_where_a_plain_walk_ends(drawn: tuple[Forest, np.ndarray]) -> None:
    forest, rows = drawn
    np.testing.assert_array_equal(leaves(forest, rows), leaves_of_a_walk(forest, rows))


@given(forests_and_rows())
@more_examples
def test_values_are_added_in_the_order_of_the_trees(drawn: tuple[Forest, np.ndarray]) -> None:
    forest, rows = drawn
    expected = np.zeros((len(rows), forest.n_outputs))
    for of_tree in leaves_of_a_walk(forest, rows).T:
        expected += forest.values[of_tree]
    if forest.combine == "mean":
        expected /= forest.n_trees
    np.testing.assert_array_equal(scores(forest, rows), expected + forest.bias)


@given(forests_and_rows())
@more_examples
def test_routes_lead_where_a_plain_walk_ends(drawn: tuple[Forest, np.ndarray]) -> None:
    forest, rows = drawn
    routes = route_samples(forest, read_table(rows, forest.input_dtype))
    for tree, expected in enumerate(leaves_of_a_walk(forest, rows).T):
        for node in range(forest.tree_start[tree], forest.tree_start[tree + 1]):
            if forest.is_split[node]:
                continue
            there = routes.order[tree, routes.start[node] : routes.stop[node]]
            assert there.tolist() == np.flatnonzero(expected == node).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("more", [-1, 0, 1, MIN_BLOCK + 5])
def test_many_rows_are_predicted_as_one_by_one(more: int, n_jobs: int, dtype: type) -> None:
    forest = replace(
        read_forest(fitted("missing_random_forest").model), input_dtype=np.dtype(dtype)
    )
    few = read_table(hard_rows(forest)[-150:], forest.input_dtype).values
    which = np.arange(MIN_BLOCK + more) % len(few)
    many = read_table(few[which], forest.input_dtype).values
    for say in (scores, leaves):
        alone = np.concatenate([say(forest, few[i : i + 1]) for i in range(len(few))])
        np.testing.assert_array_equal(say(forest, many, n_jobs), alone[which])
