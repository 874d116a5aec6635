"""Where gains reach too far for one unit, low tradeoffs have finer ones."""

from itertools import pairwise

import numpy as np
import pytest
from fuzz.draws import Case
from fuzz.oracle import Oracle
from paths import heart_problem
from sklearn.tree import DecisionTreeRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.forest import kept_by
from thriftwood.problem import certain_splits, closure_at
from thriftwood.pruning.prune_path import nested_path, optimal_proof, refined_path
from thriftwood.solvers import parametric_cut

PRICES = [1.0, 2.0, 3.0]
X_FOUR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
Y_FOUR = np.array([0.0, 4.0, 1e8, 1e8 + 4])


def far_apart(seed):
    """Return a tree on targets of which some are 1e9 times others, as a problem, and its oracle."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (16, 3)).astype(float)
    X[:, 0] = rng.permutation(16) < 8
    y = rng.integers(0, 9, 16) * 10.0 ** rng.choice([0, 4, 8], 16) + 1e9 * X[:, 0]
    tree = DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(X, y)
    case = Case(tree, X, y, "squared_error", {"per_feature": PRICES})
    return tw.pruning_problem(tree, X, y, costs=PRICES), Oracle(case)


def breakpoints(oracle):
    """Return the exact tradeoffs at which one corner of the hull is as good as the next."""
    return [
        float((oracle.loss(poor) - oracle.loss(rich)) / (oracle.cost(rich) - oracle.cost(poor)))
        for rich, poor in pairwise(oracle.hull)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_breakpoints_are_those_of_every_pruning_there_is(seed):
    problem, oracle = far_apart(seed)
    path = tw.prune_path(problem)
    np.testing.assert_allclose(path.tradeoffs[1:], breakpoints(oracle), rtol=1e-9)
    corners = [(float(oracle.cost(one)), float(oracle.loss(one))) for one in oracle.hull]
    np.testing.assert_allclose(np.column_stack([path.costs, path.losses]), corners, rtol=1e-12)


def test_a_path_that_is_done_stays_done_where_no_time_is_left_for_finer_units():
    tree = DecisionTreeRegressor(random_state=0).fit(X_FOUR, Y_FOUR)
    problem = tw.pruning_problem(tree, X_FOUR, Y_FOUR)
    closure, index = problem.closure
    cut = parametric_cut(closure)
    proof = optimal_proof(problem, index, cut)
    plain = nested_path(problem, index.tradeoffs(cut), cut.breakpoint_of, proof)
    path = refined_path(problem, index, cut, deadline=0.0)
    assert path.proof == plain.proof
    np.testing.assert_array_equal(path.tradeoffs, plain.tradeoffs)
    assert tw.prune_path(problem).tradeoffs[1] < plain.tradeoffs[1]


@pytest.mark.parametrize("seed", range(10))
def test_every_optimum_keeps_what_is_certain(seed):
    problem, oracle = far_apart(seed)
    n_certain = 0
    for tradeoff in np.multiply.outer(breakpoints(oracle), [0.01, 0.9, 1.1]).ravel().tolist():
        certain = certain_splits(problem, tradeoff)
        best = oracle.masks[oracle.excess(0, tradeoff)[1]]
        bits = [oracle.bit_of[0, node] for node in np.flatnonzero(problem.forest.is_split)]
        assert (best >> np.array(bits)[certain] & 1).all()
        pruned = tw.prune(problem, tradeoff=tradeoff)
        missed, _ = oracle.excess(oracle.place(kept_bits(problem, pruned, bits)), tradeoff)
        assert missed <= pruned.proof.gap
        assert tw.verify_pruning(problem, pruned, tradeoff=tradeoff).gap == pruned.proof.gap
        n_certain += certain.sum()
    assert n_certain > 0


def kept_bits(problem, pruned, bits):
    """Return the splits of a pruned tree as the oracle numbers them."""
    kept = kept_by(problem.forest, read_forest(pruned.model))[problem.forest.is_split]
    return sum(1 << bit for bit, stays in zip(bits, kept, strict=True) if stays)


@pytest.mark.parametrize("seed", range(3))
def test_many_bands_hide_hardly_more_than_one(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)), 10.0 ** rng.uniform(-9, 9, 20)
    tree = DecisionTreeRegressor(max_leaf_nodes=10, random_state=0).fit(X, y)
    prices = rng.uniform(1, 2, 3)
    path = tw.prune_path(tree, X, y, costs=prices)
    assert path.proof.cost_gap < 1e-9 * path.original.cost
    oracle = Oracle(Case(tree, X, y, "squared_error", {"per_feature": prices.tolist()}))
    problem = tw.pruning_problem(tree, X, y, costs=prices)
    bits = [oracle.bit_of[0, node] for node in np.flatnonzero(problem.forest.is_split)]
    for tradeoff in (path.tradeoffs[1:] * 1.0001).tolist():
        place = oracle.place(kept_bits(problem, path.at(tradeoff=tradeoff), bits))
        assert oracle.excess(place, tradeoff)[0] <= path.proof.gap_at(tradeoff)


def test_small_gains_count_beside_large_ones():
    tree = DecisionTreeRegressor(random_state=0).fit(X_FOUR, Y_FOUR)
    problem = tw.pruning_problem(tree, X_FOUR, Y_FOUR, costs=[1, 1])
    pruned = tw.prune(problem, tradeoff=5)
    assert (pruned.cost, pruned.loss) == (1, 4)
    assert pruned.proof.gap < 1e-9
    path = tw.prune_path(problem)
    assert path.tradeoffs[1] == 4
    assert path.proof.gap_at(5) < 1e-7
    untouched = tw.verify_pruning(problem, tree, tradeoff=0)
    assert (untouched.gap, untouched.is_optimal) == (0, True)
    worse = tw.verify_pruning(problem, tree, tradeoff=5)
    assert not worse.is_optimal
    assert worse.gap == pytest.approx(1)


def test_where_nothing_is_rounded_there_is_one_problem():
    problem = heart_problem()
    assert all(
        one is other for one, other in zip(closure_at(problem, 0.0), problem.closure, strict=True)
    )
