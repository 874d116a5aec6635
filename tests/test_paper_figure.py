"""The example of the paper's Figure 1, to the letter."""

import numpy as np
import pytest
from builders import plain_closure, routes_of
from figure_one import (
    EQUALITIES_1,
    EQUALITIES_2,
    EXAMPLE,
    FOREST,
    NETWORK_1,
    NETWORK_2,
    TREE_OF_1,
    TREE_OF_2,
)
from scipy.optimize import linprog

from thriftwood.closure import check_certificate
from thriftwood.solvers import min_cut


def above(node):
    """The node and its predecessors."""
    line = [node]
    while FOREST.parent[line[-1]] >= 0:
        line.append(int(FOREST.parent[line[-1]]))
    return line


def first_uses_of_example(nodes):
    """Feature -> first node that tests it on the example's way, from the routes."""
    routes = routes_of(FOREST, EXAMPLE)
    found = {}
    for node in nodes:
        passed = routes.stop[node] > routes.start[node]
        if FOREST.is_split[node] and passed:
            found.setdefault(int(FOREST.feature[node]), node)
    return found


def equalities_of(nodes):
    """The equality constraints of IP3 for one tree: leaves, then (as printed) the features.

    Each w is the z of a fictitious last child of its first-use node, so that rows in pre-order of
    these children make neighbouring rows differ by a network arc.
    """
    uses = first_uses_of_example(nodes)
    columns = [("z", node) for node in nodes] + [("w", feature) for feature in sorted(uses)]
    leaves = [(node, above(node)) for node in nodes if not FOREST.is_split[node]]
    rows = [{("z", above_leaf) for above_leaf in line} for _, line in leaves]
    for feature, node in sorted(uses.items(), key=lambda use: -use[1]):
        rows.append({("z", passed) for passed in above(node)} | {("w", feature)})
    return [[int(column in row) for column in columns] for row in rows]


def row_operations(rows):
    """The paper's way to a network matrix: -r1, r1 - r2, ..., r(n-1) - r(n), r(n)."""
    rows = np.array(rows)
    return np.vstack([-rows[:1], rows[:-1] - rows[1:], rows[-1:]])


@pytest.mark.parametrize(
    ("nodes", "equalities", "network"),
    [(TREE_OF_1, EQUALITIES_1, NETWORK_1), (TREE_OF_2, EQUALITIES_2, NETWORK_2)],
)
def test_constraint_matrices_are_those_printed(nodes, equalities, network):
    made = equalities_of(nodes)
    # The paper lists the columns of w by feature and the rows r of w from the deepest use up.
    assert made == equalities
    np.testing.assert_array_equal(row_operations(made), network)
    assert all(sorted(column[column != 0]) == [-1, 1] for column in row_operations(made).T)


def test_naive_formulation_has_the_fractional_vertex_of_the_paper():
    #        z1 z2 z3 z4 z5 w1 w2
    point = [0, 1, 0.5, 0.5, 0.5, 0.5, 0.5]
    equal = np.array([[1, 0, 1, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0, 0], [1, 1, 0, 0, 0, 0, 0]])
    at_least = np.array([[0, 0, 0, -1, 0, 1, 0], [0, 0, -1, 0, 0, 1, 0], [0, 0, 0, -1, 0, 0, 1]])
    z1, z2 = np.eye(7)[:2]
    np.testing.assert_array_equal(equal @ point, 1)
    assert (at_least @ point >= 0).all()
    active = np.vstack([equal[:2], at_least, z1, z2])
    np.testing.assert_array_equal(at_least @ point, 0)
    assert np.linalg.matrix_rank(active) == 7  # so the point is a vertex


def ip3(errors, prices, tradeoff):
    """Solve the relaxation of IP3 for the two trees and the one example."""
    names = [("z", node) for node in range(12)]
    blocks = [(nodes, first_uses_of_example(nodes)) for nodes in (TREE_OF_1, TREE_OF_2)]
    names += [("w", tree, feature) for tree, (_, uses) in enumerate(blocks) for feature in uses]
    names += [("w", feature) for feature in range(3)]
    number = {name: column for column, name in enumerate(names)}
    equal, at_most = [], []
    for tree, (nodes, uses) in enumerate(blocks):
        own = [("z", node) for node in nodes] + [("w", tree, feature) for feature in sorted(uses)]
        for row in equalities_of(nodes):
            line = np.zeros(len(names))
            line[[number[name] for name in own]] = row
            equal.append(line)
        for feature in uses:
            line = np.zeros(len(names))
            line[number["w", tree, feature]], line[number["w", feature]] = 1, -1
            at_most.append(line)
    objective = np.zeros(len(names))
    objective[:12] = np.array(errors) / 2
    for feature in range(3):
        objective[number["w", feature]] = tradeoff * prices[feature]
    return linprog(
        objective, at_most, np.zeros(len(at_most)), equal, np.ones(len(equal)), (0, None)
    )


@pytest.mark.parametrize("seed", range(60))
def test_ip3_is_integral_and_has_our_optimum(seed):
    rng = np.random.default_rng(seed)
    errors = rng.integers(0, 4, FOREST.n_nodes).astype(float)
    prices = rng.integers(0, 4, 3).astype(float)
    tradeoff = float(rng.choice([0.125, 0.5, 1.0]))
    relaxed = ip3(errors, prices, tradeoff)
    np.testing.assert_allclose(relaxed.x, np.rint(relaxed.x), atol=1e-9)

    routes = routes_of(FOREST, EXAMPLE)
    problem, index, _ = plain_closure(FOREST, routes, errors, prices, np.ones(1))
    priced, scale = problem.at(index.in_units(tradeoff))
    certificate = check_certificate(priced, min_cut(priced))
    all_leaves = (errors[0] + errors[5]) / 2
    fall = float(certificate.profit * index.gain_unit / scale) / FOREST.n_trees
    assert all_leaves - fall == pytest.approx(relaxed.fun)
