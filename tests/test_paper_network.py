"""Total unimodularity: what the paper's matrices have of it, and the flaw in its proof."""

from itertools import combinations

import numpy as np
import pytest
from builders import forest_of, instance_of, leaf, pruning_cases, split
from figure_one import EQUALITIES_1, EQUALITIES_2, EVEN, EXAMPLE, FOREST, NETWORK_1, NETWORK_2
from hypothesis import given, settings
from hypothesis import strategies as st
from prunings import trees_alone

from thriftwood import paper
from thriftwood.errors import InputError

FIGURE = paper.read_instance(FOREST, EXAMPLE, [1])


def stump(feature):
    return split(feature, 0.5, leaf(EVEN), leaf(EVEN), EVEN)


def network_of(instance):
    """All trees' network matrices, one below the other, and the constraints between trees."""
    trees = range(instance.forest.n_trees)
    networks = [paper.network_form(paper.tree_equalities(instance, tree)) for tree in trees]
    return paper.stacked(*networks, paper.sharing_constraints(instance))


def largest_minor(matrix):
    """Return the largest determinant, signs aside, of all square submatrices."""
    n_samples, n_columns = matrix.shape
    largest = 0.0
    for size in range(1, min(n_samples, n_columns) + 1):
        columns = np.array(list(combinations(range(n_columns), size)))
        for rows in combinations(range(n_samples), size):
            minors = np.linalg.det(matrix[list(rows)][:, columns].swapaxes(0, 1))
            largest = max(largest, np.abs(minors).max())
    return round(largest, 6)


@pytest.mark.parametrize(
    ("tree", "equalities", "network", "columns"),
    [
        (0, EQUALITIES_1, NETWORK_1, "z_1 z_2 z_3 z_4 z_5 w(1)_1,1 w(1)_2,1"),
        (1, EQUALITIES_2, NETWORK_2, "z_6 z_7 z_8 z_9 z_10 z_11 z_12 w(2)_2,1 w(2)_3,1"),
    ],
)
def test_the_matrices_are_those_printed(tree, equalities, network, columns):
    made = paper.tree_equalities(FIGURE, tree)
    turned = paper.network_form(made)
    np.testing.assert_array_equal(made.matrix.toarray(), equalities)
    np.testing.assert_array_equal(turned.matrix.toarray(), network)
    assert made.column_names == turned.column_names == tuple(columns.split())
    n = len(equalities)
    assert turned.row_names == ("-r_1", *(f"r_{r} - r_{r + 1}" for r in range(1, n)), f"r_{n}")
    np.testing.assert_array_equal(turned.right_side, [-1, *[0] * (n - 1), 1])


@settings(max_examples=150)
@given(pruning_cases(most_splits=6, most_rows=6))
def test_every_column_of_the_network_form_has_a_1_and_a_minus_1(case):
    instance = instance_of(case)
    for tree in range(instance.forest.n_trees):
        columns = paper.network_form(paper.tree_equalities(instance, tree)).matrix.toarray().T
        assert all(sorted(column[column != 0]) == [-1, 1] for column in columns)


@pytest.mark.parametrize("tree", [2, -1, "a", 0.0])
def test_trees_that_are_not_there_are_refused(tree):
    with pytest.raises(InputError, match="numbered from 0 to 1"):
        paper.tree_equalities(FIGURE, tree)


def test_fictitious_leaves_need_their_place_in_the_pre_order():
    """An example that goes left: with its row after all leaves there would be no network."""
    tree = split(0, 0.5, stump(1), leaf(EVEN), EVEN)
    instance = paper.read_instance(forest_of(tree, n_features=2), [[0.0, 0.0]], [1])
    made = paper.tree_equalities(instance, 0)
    uses = ("use of w(1)_2,1", "use of w(1)_1,1")
    assert made.row_names == ("leaf_3", "leaf_4", uses[0], "leaf_5", uses[1])
    leaves_first = made.matrix.toarray()[[0, 1, 3, 2, 4]]
    turned = np.diff(leaves_first, axis=0, prepend=0, append=0)
    assert (np.count_nonzero(turned, axis=0) > 2).any()


@settings(max_examples=25)
@given(pruning_cases(most_trees=1, most_splits=3, most_rows=2))
def test_equalities_of_a_tree_are_totally_unimodular_before_and_after(case):
    made = paper.tree_equalities(instance_of(case), 0)
    if sum(made.shape) <= 16:
        assert largest_minor(made.matrix.toarray()) == 1
        assert largest_minor(paper.network_form(made).matrix.toarray()) == 1


@pytest.mark.parametrize(
    ("trees", "rows"),
    [
        ([stump(0)], [[0.0, 0.0], [1.0, 0.0]]),
        ([split(0, 0.5, leaf(EVEN), stump(1), EVEN)], [[1.0, 0.0]]),
        ([stump(0), stump(0)], [[0.0, 0.0]]),
        ([stump(0), stump(1)], [[0.0, 0.0]]),
    ],
)
def test_ip3_is_totally_unimodular(trees, rows):
    instance = paper.read_instance(forest_of(*trees, n_features=2), rows, [1] * len(rows))
    assert largest_minor(paper.ip3(instance, 1.0).constraints.matrix.toarray()) == 1


@settings(max_examples=150)
@given(pruning_cases(most_splits=6, most_rows=6), st.randoms(use_true_random=False))
def test_any_columns_of_ip3_have_signs_that_prove_it(case, random):
    """Ghouila-Houri: signs for any columns such that every row adds up to -1, 0 or 1.

    The z of a way down take turns, beginning with 1, so those of a row add up to 0 or 1; every w
    gets -1.
    """
    instance = instance_of(case)
    constraints = paper.ip3(instance, 1.0).constraints
    taken = {name for name in constraints.column_names if random.random() < 0.6}
    sign = dict.fromkeys(taken, -1)
    above = {}  # how many of the z above a node are taken
    for node, parent in enumerate(instance.forest.parent):
        above[node] = above[parent] + (instance.z_names[parent] in taken) if parent >= 0 else 0
        if instance.z_names[node] in taken:
            sign[instance.z_names[node]] = 1 - 2 * (above[node] % 2)
    signs = np.array([sign.get(name, 0) for name in constraints.column_names])
    assert (np.abs(constraints.matrix @ signs) <= 1).all()


def test_networks_of_trees_that_share_features_are_not_totally_unimodular():
    """The paper's proof says they are; the theorem is right, because IP3's own matrix is."""
    trees = split(0, 0.5, stump(1), stump(1), EVEN), stump(1)
    instance = paper.read_instance(
        forest_of(*trees, n_features=2), [[0.0, 0.0], [1.0, 0.0]], [0, 1]
    )
    stacked = network_of(instance)
    place = {name: column for column, name in enumerate(stacked.column_names)}
    names = ["z_5", "w(1)_2,1", "w(1)_2,2", "w(2)_2,1", "w(2)_2,2", "w_2,1", "w_2,2"]
    columns = stacked.matrix.toarray()[:, [place[name] for name in names]]
    first, second = (paper.tree_equalities(instance, tree).shape[0] + 1 for tree in (0, 1))
    shares = [row for row, name in enumerate(stacked.row_names) if "_2," in name]
    rows = [3, 6, first + 3, *shares]
    assert [stacked.row_names[row] for row in rows[:3]] == ["r_3 - r_4", "r_6 - r_7", "r_3 - r_4"]
    assert min(shares) >= first + second
    assert abs(np.linalg.det(columns[rows])) == pytest.approx(2)


def test_ip1_is_not_totally_unimodular():
    (tree_1, _) = trees_alone(FOREST)
    instance = paper.read_instance(tree_1, EXAMPLE, [1])
    assert largest_minor(paper.ip1(instance, 1.0).constraints.matrix.toarray()) == 2
