"""Forests: what contradicts itself is refused, and collapsing gives exactly what was asked for."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import (
    KINDS,
    assert_equal_forests,
    fitted,
    forests_and_masks,
    masks_of,
    random_kept,
    small_forests,
    walk,
)

from thriftwood.adapters import read_forest
from thriftwood.errors import ForestError, ThriftwoodError
from thriftwood.forest import Forest, collapse, leaves

ARRAYS = ("tree_start", "feature", "threshold", "left", "right", "missing_left", "values")

few_examples = settings(deadline=None, max_examples=60)


def two_trees() -> Forest:
    """The forest that the docstring of `Forest` draws."""
    return Forest(
        tree_start=[0, 5, 8],
        feature=[0, -1, 1, -1, -1, 2, -1, -1],
        threshold=[0.5, 0, -1.5, 0, 0, 2.0, 0, 0],
        left=[1, -1, 3, -1, -1, 6, -1, -1],
        right=[2, -1, 4, -1, -1, 7, -1, -1],
        missing_left=[True, False, False, False, False, True, False, False],
        values=[[0.5, 0.5], [1, 0], [0.25, 0.75], [0.5, 0.5], [0, 1], [0.5, 0.5], [1, 0], [0, 1]],
        n_features=3,
        classes=np.array(["no", "yes"]),
        feature_names=("age", "pulse", "sugar"),
    )


def changed(array: str, node: int, entry: float) -> dict[str, np.ndarray]:
    """Another entry at one place of one array of `two_trees`."""
    entries = np.array(getattr(two_trees(), array))
    entries[node] = entry
    return {array: entries}


# --- check


def test_a_consistent_forest_passes_its_check() -> None:
    forest = two_trees()
    assert forest.check() is forest
    assert (forest.n_trees, forest.n_nodes, forest.n_splits) == (2, 8, 3)
    assert forest.is_classifier


@given(small_forests())
@few_examples
def test_every_drawn_forest_passes_its_check(forest: Forest) -> None:
    assert forest.check() is forest


CONTRADICTIONS = {
    "child_of_a_later_tree": (changed("right", 2, 6), "Node 2 of tree 0 has a child outside"),
    "child_beyond_all_trees": (changed("left", 5, 8), "Node 0 of tree 1 has a child outside"),
    "child_below_zero": (changed("left", 2, -7), "Node 2 of tree 0 has a child outside"),
    "child_of_an_earlier_tree": (changed("left", 5, 3), "Node 0 of tree 1 has a child"),
    "cycle": (changed("right", 2, 0), "Node 2 of tree 0 has a child that does not come after it"),
    "own_child": (changed("left", 2, 2), "Node 2 of tree 0 has a child that does not come after"),
    "shared_child": (changed("right", 2, 3), "Node 3 of tree 0 is the child of two nodes"),
    "child_of_two_parents": (changed("left", 0, 3), "Node 3 of tree 0 is the child of two nodes"),
    "orphan": (
        {**changed("left", 5, -1), **changed("right", 5, -1), **changed("feature", 5, -1)},
        "Node 1 of tree 1 is no root and nobody's child",
    ),
    "left_child_only": (changed("right", 5, -1), "Node 0 of tree 1 has one child"),
    "right_child_only": (changed("left", 0, -1), "Node 0 of tree 0 has one child"),
    "feature_too_large": (changed("feature", 5, 3), "Node 0 of tree 1 tests a feature outside 0"),
    "split_without_feature": (changed("feature", 2, -1), "Node 2 of tree 0 tests a feature outs"),
    "feature_at_a_leaf": (changed("feature", 4, 1), "Node 4 of tree 0 is a leaf that tests"),
    "nan_threshold": (changed("threshold", 2, np.nan), "Node 2 of tree 0 splits at NaN"),
    "nan_value": (changed("values", 7, np.nan), "Node 2 of tree 1 has a value that is not finite"),
    "infinite_value": (changed("values", 0, np.inf), "Node 0 of tree 0 has a value that is not"),
    "short_threshold": ({"threshold": np.zeros(7)}, r"`threshold` has shape \(7,\)"),
    "long_left": ({"left": np.full(9, -1)}, r"`left` has shape \(9,\)"),
    "short_right": ({"right": np.full(3, -1)}, r"`right` has shape \(3,\)"),
    "flags_in_a_table": ({"missing_left": np.zeros((8, 1))}, r"`missing_left` has shape \(8, 1\)"),
    "features_in_a_table": ({"feature": np.full((8, 1), -1)}, r"`feature` has shape \(8, 1\)"),
    "flat_values": ({"values": np.zeros(8)}, r"`values` has shape \(8,\)"),
    "values_of_fewer_nodes": ({"values": np.zeros((7, 2))}, r"`values` has shape \(7, 2\)"),
    "another_number_of_classes": ({"classes": np.array(["a"])}, "1 classes but 2 values per node"),
    "regression_with_two_values": ({"classes": None}, "one value per node, this one 2"),
    "another_number_of_names": ({"feature_names": ("age",)}, "3 features but 1 names"),
    "empty_tree": ({"tree_start": [0, 5, 5, 8]}, "Tree 1 has no node"),
    "trees_that_overlap": ({"tree_start": [0, 6, 5, 8]}, "Tree 1 has no node"),
    "late_start": ({"tree_start": [1, 5, 8]}, "`tree_start` must begin with 0"),
    "early_end": ({"tree_start": [0, 5]}, "`tree_start` must begin .* end with .* 8"),
    "no_tree": ({"tree_start": [0]}, "`tree_start` must begin with 0"),
    "starts_in_a_table": ({"tree_start": [[0, 8]]}, "`tree_start` must begin with 0"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_each_contradiction_has_its_own_sentence(name: str) -> None:
    changes, sentence = CONTRADICTIONS[name]
    with pytest.raises(ForestError, match=sentence) as caught:
        replace(two_trees(), **changes).check()
    assert isinstance(caught.value, ThriftwoodError)
    assert str(caught.value).endswith(".")


def test_a_forest_without_any_node_is_refused() -> None:
    nothing = Forest([0, 0], [], [], [], [], [], np.empty((0, 1)), n_features=1)
    with pytest.raises(ForestError, match="Tree 0 has no node"):
        nothing.check()


@pytest.mark.parametrize("threshold", [np.inf, -np.inf])
def test_a_split_at_infinity_is_allowed(threshold: float) -> None:
    forest = replace(two_trees(), **changed("threshold", 0, threshold))
    assert forest.check() is forest


# --- read-only


@pytest.mark.parametrize("name", [*ARRAYS, "classes", "parent", "depth", "is_split"])
def test_nobody_can_write_to_an_array_of_a_forest(name: str) -> None:
    array = getattr(two_trees(), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[1]


@pytest.mark.parametrize("name", ["left", "n_features", "classes"])
def test_nobody_can_put_another_array_in_its_place(name: str) -> None:
    forest = two_trees()
    with pytest.raises(FrozenInstanceError):
        setattr(forest, name, getattr(forest, name))


@pytest.mark.parametrize("name", [*ARRAYS, "classes"])
@pytest.mark.parametrize("given_as", ["array", "view", "read_only_view"])
def test_a_forest_does_not_change_with_the_arrays_it_was_made_from(
    name: str, given_as: str
) -> None:
    source = np.array(getattr(two_trees(), name))
    given_array = source if given_as == "array" else source.view()
    given_array.flags.writeable = given_as != "read_only_view"
    forest = replace(two_trees(), **{name: given_array})
    before = np.array(getattr(forest, name))
    assert source.flags.writeable, "the caller's own array must stay writable"
    source[...] = source[::-1].copy()
    assert source.tolist() != before.tolist()
    np.testing.assert_array_equal(getattr(forest, name), before)


# --- parent, depth, tree_of


@given(small_forests())
@few_examples
def test_a_parent_is_who_has_the_node_as_a_child(forest: Forest) -> None:
    assert (forest.parent[forest.tree_start[:-1]] == -1).all()
    assert np.count_nonzero(forest.parent == -1) == forest.n_trees
    for node in np.flatnonzero(forest.parent != -1):
        parent = forest.parent[node]
        assert node in (forest.left[parent], forest.right[parent])


@given(small_forests())
@few_examples
def test_depth_counts_the_splits_above_a_node(forest: Forest) -> None:
    for node in range(forest.n_nodes):
        steps, above = 0, forest.parent[node]
        while above != -1:
            steps, above = steps + 1, forest.parent[above]
        assert forest.depth[node] == steps


@given(small_forests())
@few_examples
def test_a_node_is_of_the_tree_whose_range_it_is_in(forest: Forest) -> None:
    for node, tree in enumerate(forest.tree_of(np.arange(forest.n_nodes))):
        assert forest.tree_start[tree] <= node < forest.tree_start[tree + 1]


def test_the_picture_of_the_docstring() -> None:
    forest = two_trees()
    assert forest.parent.tolist() == [-1, 0, 0, 2, 2, -1, 5, 5]
    assert forest.depth.tolist() == [0, 1, 1, 2, 2, 0, 1, 1]
    assert repr(forest) == "Forest(2 trees, 8 nodes, 3 splits, 3 features, 2 classes)"


# --- collapse


@given(forests_and_masks())
@few_examples
def test_collapse_keeps_exactly_the_kept_splits(drawn: tuple[Forest, np.ndarray]) -> None:
    forest, kept = drawn
    collapsed, origin = collapse(forest, kept)
    collapsed.check()
    assert origin[collapsed.is_split].tolist() == np.flatnonzero(kept).tolist()
    assert collapsed.n_trees == forest.n_trees


@given(forests_and_masks())
@few_examples
def test_a_collapsed_forest_is_a_sub_forest(drawn: tuple[Forest, np.ndarray]) -> None:
    forest, kept = drawn
    collapsed, origin = collapse(forest, kept)
    assert (np.diff(origin) > 0).all()
    assert origin[collapsed.tree_start[:-1]].tolist() == forest.tree_start[:-1].tolist()
    np.testing.assert_array_equal(collapsed.values, forest.values[origin])
    np.testing.assert_array_equal(collapsed.depth, forest.depth[origin])
    split = np.flatnonzero(collapsed.is_split)
    for name in ("feature", "threshold", "missing_left"):
        there = getattr(forest, name)[origin[split]]
        np.testing.assert_array_equal(getattr(collapsed, name)[split], there)
    for name in ("left", "right"):
        there = getattr(forest, name)[origin[split]]
        np.testing.assert_array_equal(origin[getattr(collapsed, name)[split]], there)


@given(forests_and_masks(), st.integers(0, 2**32 - 1))
@few_examples
def test_a_row_walks_the_same_way_until_its_new_leaf(
    drawn: tuple[Forest, np.ndarray], seed: int
) -> None:
    forest, kept = drawn
    collapsed, origin = collapse(forest, kept)
    row = np.random.default_rng(seed).choice([-2, -0.5, 0, 0.1, 2, np.nan], forest.n_features)
    for tree in range(forest.n_trees):
        short = origin[walk(collapsed, tree, row)].tolist()
        assert short == walk(forest, tree, row)[: len(short)]


@given(small_forests())
@few_examples
def test_keeping_every_split_changes_nothing(forest: Forest) -> None:
    collapsed, origin = collapse(forest, forest.is_split)
    assert_equal_forests(collapsed, forest)
    assert origin.tolist() == list(range(forest.n_nodes))


@pytest.mark.parametrize("kind", KINDS)
def test_keeping_every_split_of_a_model_changes_nothing(kind: str) -> None:
    forest = read_forest(fitted(kind).model)
    assert_equal_forests(collapse(forest, forest.is_split)[0], forest)


@given(small_forests())
@few_examples
def test_keeping_nothing_leaves_the_roots(forest: Forest) -> None:
    collapsed, origin = collapse(forest, np.zeros(forest.n_nodes, dtype=bool))
    assert origin.tolist() == forest.tree_start[:-1].tolist()
    assert collapsed.n_splits == 0
    assert collapsed.tree_start.tolist() == list(range(forest.n_trees + 1))


@given(st.data(), forests_and_masks())
@few_examples
def test_collapsing_twice_is_collapsing_once_with_the_smaller_mask(
    data: st.DataObject, drawn: tuple[Forest, np.ndarray]
) -> None:
    forest, kept = drawn
    smaller = data.draw(masks_of(forest, inside=kept))
    once, origin_once = collapse(forest, smaller)
    between, origin = collapse(forest, kept)
    twice, origin_twice = collapse(between, smaller[origin])
    assert_equal_forests(once, twice)
    assert origin_once.tolist() == origin[origin_twice].tolist()


def test_collapse_leaves_the_forest_as_it_was() -> None:
    forest = two_trees()
    collapse(forest, random_kept(forest, seed=0, share=0.5))
    assert_equal_forests(forest, two_trees())


IMPOSSIBLE_MASKS = {
    "a_leaf": ([0, 1], "names a leaf"),
    "a_split_below_a_collapsed_one": ([2, 5], "whose parent is not kept"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE_MASKS)
def test_impossible_masks_are_refused(name: str) -> None:
    nodes, sentence = IMPOSSIBLE_MASKS[name]
    kept = np.zeros(8, dtype=bool)
    kept[nodes] = True
    with pytest.raises(ForestError, match=sentence):
        collapse(two_trees(), kept)


@pytest.mark.parametrize(
    "kept",
    [np.zeros(7, dtype=bool), np.zeros((8, 1), dtype=bool), np.zeros(8, dtype=int), np.arange(3)],
    ids=["short", "table", "numbers", "indices"],
)
def test_what_is_not_a_mask_over_the_nodes_is_refused(kept: np.ndarray) -> None:
    with pytest.raises(ForestError, match="one entry for each of the 8 nodes"):
        collapse(two_trees(), kept)


@pytest.mark.parametrize("value", [-0.999, -0.5, -0.0, 0.0, 0.5, 1.0])
def test_nothing_is_in_a_set_without_categories(value: float) -> None:
    """Not even what is cut off to 0: the set that follows has category 0."""
    forest = replace(
        two_trees(),
        category_set=[0, -1, -1, -1, -1, -1, -1, -1],
        set_start=[0, 0, 1],
        in_set=[True],
    ).check()
    row = np.full((1, 3), value, dtype=np.float32)
    assert leaves(forest, row)[0, 0] != forest.left[0]


@few_examples
@given(small_forests())
def test_a_pickled_forest_is_the_same_and_as_frozen(forest: Forest) -> None:
    forest.layout, forest.parent, forest.depth
    again = pickle.loads(pickle.dumps(forest))
    assert again.has_same_trees(forest)
    assert again.feature_names == forest.feature_names
    for name in ARRAYS:
        assert not getattr(again, name).flags.writeable
    assert "parent" not in vars(again)
