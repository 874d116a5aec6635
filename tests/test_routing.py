"""Routing: the rows of a node's slice are those that a plain walk sends through it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import KINDS, NAMES, as_float32, fitted, hard_rows, small_forests, walk

from thriftwood.adapters import read_forest
from thriftwood.errors import InputError, ThriftwoodError
from thriftwood.forest import Forest, Routes, first_uses, route_samples
from thriftwood.forest.table import read_rows, read_table

few_examples = settings(deadline=None, max_examples=60)

SPECIAL = [np.nan, np.inf, -np.inf, 1e300, -1.0, -0.5, -0.0, 0.0, 0.1, np.float32(0.1), 1.0, 5.0]


@st.composite
def forests_and_rows(draw: st.DrawFn) -> tuple[Forest, np.ndarray]:
    """A small forest with rows whose values often lie exactly at its thresholds."""
    forest = draw(small_forests())
    row = st.lists(st.sampled_from(SPECIAL), min_size=forest.n_features, max_size=forest.n_features)
    return forest, np.array(draw(st.lists(row, min_size=1, max_size=12)))


def routes_of(forest: Forest, rows: object, n_jobs: int | None = None) -> Routes:
    return route_samples(forest, read_rows(rows, forest), n_jobs)


def assert_slices_are_those_of_a_walk(forest: Forest, rows: np.ndarray) -> None:
    routes = routes_of(forest, rows)
    cast = as_float32(rows)
    for tree in range(forest.n_trees):
        passing: dict[int, list[int]] = {}
        for number, row in enumerate(cast):
            for node in walk(forest, tree, row):
                passing.setdefault(node, []).append(number)
        for node in range(forest.tree_start[tree], forest.tree_start[tree + 1]):
            there = routes.order[tree, routes.start[node] : routes.stop[node]].tolist()
            assert sorted(there) == passing.get(node, [])
            assert forest.is_split[node] or there == sorted(there)


@given(forests_and_rows())
@few_examples
def test_a_node_s_slice_holds_the_rows_that_pass_it(drawn: tuple[Forest, np.ndarray]) -> None:
    assert_slices_are_those_of_a_walk(*drawn)


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_s_slice_holds_the_rows_that_pass_it_in_models(kind: str) -> None:
    forest = read_forest(fitted(kind).model)
    assert_slices_are_those_of_a_walk(forest, hard_rows(forest))


@given(forests_and_rows())
@few_examples
def test_each_tree_orders_every_row_once(drawn: tuple[Forest, np.ndarray]) -> None:
    forest, rows = drawn
    routes = routes_of(forest, rows)
    assert routes.n_samples == len(rows)
    np.testing.assert_array_equal(
        np.sort(routes.order, axis=1), np.tile(np.arange(len(rows)), (forest.n_trees, 1))
    )
    assert (routes.n_samples_of[forest.tree_start[:-1]] == len(rows)).all()
    split = forest.is_split
    assert (
        routes.n_samples_of[split]
        == routes.n_samples_of[forest.left[split]] + routes.n_samples_of[forest.right[split]]
    ).all()


@pytest.mark.parametrize("n_jobs", [2, -1])
@pytest.mark.parametrize("kind", ["random_forest_classifier", "missing_bagging"])
def test_threads_change_nothing(kind: str, n_jobs: int) -> None:
    forest = read_forest(fitted(kind).model)
    alone, together = (routes_of(forest, hard_rows(forest), n) for n in (1, n_jobs))
    for name in ("order", "start", "stop"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))


@pytest.mark.parametrize("name", ["order", "start", "stop"])
def test_nobody_can_write_to_routes(name: str) -> None:
    forest = read_forest(fitted("stump").model)
    array = getattr(routes_of(forest, hard_rows(forest)), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0


def test_a_table_of_doubles_is_rounded_to_what_the_model_compares() -> None:
    forest = read_forest(fitted("best_first_tree").model)
    rows = hard_rows(forest)
    doubles = route_samples(forest, read_table(rows, np.dtype(np.float64)))
    singles = routes_of(forest, rows)
    np.testing.assert_array_equal(doubles.order, singles.order)
    np.testing.assert_array_equal(doubles.stop, singles.stop)


# --- first uses


@given(small_forests())
@few_examples
def test_first_uses_are_the_splits_without_an_ancestor_of_their_feature(forest: Forest) -> None:
    expected = []
    for node in np.flatnonzero(forest.is_split):
        above, seen = forest.parent[node], set()
        while above != -1:
            seen.add(forest.feature[above])
            above = forest.parent[above]
        if forest.feature[node] not in seen:
            expected.append((int(forest.feature[node]), int(node)))
    assert first_uses(forest).tolist() == [node for _, node in sorted(expected)]


@given(forests_and_rows())
@few_examples
def test_a_row_meets_each_feature_first_at_exactly_one_split(
    drawn: tuple[Forest, np.ndarray],
) -> None:
    forest, rows = drawn
    uses = set(first_uses(forest).tolist())
    for tree in range(forest.n_trees):
        for row in as_float32(rows):
            splits = walk(forest, tree, row)[:-1]
            bought = [forest.feature[node] for node in splits if node in uses]
            assert len(bought) == len(set(bought))
            assert set(bought) == {forest.feature[node] for node in splits}


# --- tables that do not fit


@pytest.mark.parametrize("n_columns", [3, 5])
def test_another_number_of_columns_is_refused(n_columns: int) -> None:
    forest = read_forest(fitted("stump").model)
    sentence = f"X has {n_columns} columns, but the model was trained on 4 features"
    with pytest.raises(InputError, match=sentence) as caught:
        routes_of(forest, np.zeros((2, n_columns)))
    assert isinstance(caught.value, ThriftwoodError)


def test_another_name_is_refused() -> None:
    forest = read_forest(fitted("named_columns").model)
    frame = pd.DataFrame(np.zeros((2, 4)), columns=["age", "pulse", "salt", "scan"])
    with pytest.raises(InputError, match=r"Column 2 of X is named 'salt', but .* 'sugar' there"):
        routes_of(forest, frame)


def test_another_order_of_names_is_refused() -> None:
    forest = read_forest(fitted("named_columns").model)
    frame = pd.DataFrame(np.zeros((2, 4)), columns=NAMES)[["age", "scan", "sugar", "pulse"]]
    with pytest.raises(InputError, match=r"Column 1 of X is named 'scan', but .* 'pulse' there"):
        routes_of(forest, frame)


def test_names_matter_only_where_both_have_them() -> None:
    named = read_forest(fitted("named_columns").model)
    rows = hard_rows(named)
    frame = pd.DataFrame(rows, columns=[name.upper() for name in NAMES])
    unnamed = replace(named, feature_names=None)
    expected = routes_of(unnamed, rows)
    np.testing.assert_array_equal(routes_of(unnamed, frame).order, expected.order)
    np.testing.assert_array_equal(routes_of(named, rows).order, expected.order)
