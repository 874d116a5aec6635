"""The paper's programs have the optima that cuts and paths have, and read as the paper writes."""

from dataclasses import replace

import numpy as np
import pytest
from builders import forest_of, instance_of, leaf, pruning_cases, split
from figure_one import EXAMPLE, FOREST
from hypothesis import given, settings
from hypothesis import strategies as st
from prunings import all_prunings, trees_alone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood import paper
from thriftwood.errors import InputError
from thriftwood.forest import collapse
from thriftwood.solvers import min_cut

HEART = tw.datasets.load_heart()
SOME_TRADEOFFS = st.sampled_from([0.0, 0.05, 0.125, 0.3, 1.0])
# The root of Figure 1's first tree is wrong about its example, everything below is right.
RIGHT_BELOW = split(0, 0.5, leaf((0, 1)), split(1, 0.5, leaf((0, 1)), leaf((0, 1)), (0, 1)), (1, 0))
TREE_1 = paper.read_instance(
    forest_of(RIGHT_BELOW, n_features=2), EXAMPLE[:, :2], [1], costs=[1.0, 0.1]
)


def closure_optimum(instance, tradeoff):
    """The least objective of the closure problem's cut, in the paper's units."""
    problem, index = instance.problem.closure
    priced, scale = problem.at(index.in_units(tradeoff))
    profit = priced.profit(min_cut(priced).kept) * index.gain_unit / scale
    losses, roots = instance.problem.node_losses, instance.forest.tree_start[:-1]
    return (losses.total[roots].sum() - float(profit)) / losses.weight


def breadth_first(forest):
    """The same forest with the nodes of each tree numbered level by level."""
    nodes = np.arange(forest.n_nodes)
    order = np.lexsort((nodes, forest.depth, forest.tree_of(nodes)))
    place = np.argsort(order)
    return replace(
        forest,
        feature=forest.feature[order],
        threshold=forest.threshold[order],
        left=np.where(forest.is_split, place[forest.left], -1)[order],
        right=np.where(forest.is_split, place[forest.right], -1)[order],
        missing_left=forest.missing_left[order],
        values=forest.values[order],
    ).check()


def test_ip1_reads_as_in_the_paper():
    program = paper.ip1(TREE_1, 0.8)
    assert repr(program).splitlines() == [
        "IP1: 7 variables in {0, 1}, 6 constraints",
        "  minimise      z_1 + 0.8 w_1,1 + 0.08 w_2,1",
        "  leaf_2        z_1 + z_2 = 1",
        "  leaf_4        z_1 + z_3 + z_4 = 1",
        "  leaf_5        z_1 + z_3 + z_5 = 1",
        "  w_1,1 at z_3  - z_3 + w_1,1 >= 0",
        "  w_1,1 at z_4  - z_4 + w_1,1 >= 0",
        "  w_2,1 at z_4  - z_4 + w_2,1 >= 0",
    ]


def test_the_fractional_vertex_of_the_paper_is_an_optimum_of_relaxed_ip1():
    program = paper.ip1(TREE_1, 0.8)
    relaxed, best = paper.solve(program.relax()), paper.solve(program)
    np.testing.assert_allclose(relaxed.values, [0, 1, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert not relaxed.is_integral
    assert relaxed.objective == pytest.approx(0.44)
    assert best.objective == pytest.approx(0.8)
    with pytest.raises(InputError, match=r"is fractional \(z_3 is 0.5\), so it is no pruning"):
        paper.kept_splits(TREE_1, relaxed)
    assert paper.solve(paper.ip2(TREE_1, 0.8).relax()).objective == pytest.approx(0.8)


@settings(max_examples=100)
@given(pruning_cases(), SOME_TRADEOFFS)
def test_all_ways_lead_to_the_same_optimum(case, tradeoff):
    forest, X, y, prices, weights = case
    instance = instance_of(case)
    program = paper.ip3(instance, tradeoff)
    relaxed = paper.solve(program.relax())
    assert relaxed.is_integral
    prunings = all_prunings(forest, X, y, weights, prices)
    best = min(loss + tradeoff * cost for cost, loss in prunings)
    for optimum in (
        relaxed.objective,
        paper.solve(program).objective,
        paper.solve(paper.ip1(instance, tradeoff)).objective,
        closure_optimum(instance, tradeoff),
    ):
        assert optimum == pytest.approx(best, rel=1e-6, abs=1e-8)
    assert paper.solve(paper.ip1(instance, tradeoff).relax()).objective <= best + 1e-8


@settings(max_examples=50)
@given(pruning_cases(), SOME_TRADEOFFS)
def test_a_solution_is_a_pruning_with_its_objective(case, tradeoff):
    forest, X, y, prices, weights = case
    instance = instance_of(case)
    solution = paper.solve(paper.ip3(instance, tradeoff).relax())
    kept = paper.kept_splits(instance, solution)
    smaller, _ = collapse(forest, kept)
    as_it_is = paper.read_instance(smaller, X, y, costs=prices, sample_weight=weights)
    leaves = ~smaller.is_split
    loss = as_it_is.mean_losses[leaves].sum()
    cost = as_it_is.mean_prices.sum()
    assert loss + tradeoff * cost == pytest.approx(solution.objective, rel=1e-6, abs=1e-8)


@settings(max_examples=50)
@given(pruning_cases(most_trees=1), SOME_TRADEOFFS)
def test_ip2_is_ip3_of_one_tree(case, tradeoff):
    instance = instance_of(case)
    two, three = paper.ip2(instance, tradeoff), paper.ip3(instance, tradeoff)
    assert paper.solve(two.relax()).objective == pytest.approx(paper.solve(three).objective)
    assert paper.solve(two.relax()).is_integral
    z_names = (f"z_{number}" for number in range(1, instance.forest.n_nodes + 1))
    assert two.constraints.column_names == (*z_names, *instance.w_names)


def test_where_prunings_tie_relaxed_ip3_has_fractional_optima_too():
    """The paper's theorem says that all optima are integral; all vertices are."""
    program = paper.ip3(TREE_1, 1.0)
    all_leaf, one_split = [1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 1, 0, 1, 0]
    halfway = np.mean([all_leaf, one_split], axis=0)
    rows = program.constraints
    assert paper.solve(program.relax()).objective == program.objective @ halfway == 1
    met = {"=": np.equal, "<=": np.less_equal}
    for row, sense, side in zip(rows.matrix @ halfway, rows.senses, rows.right_side, strict=True):
        assert met[sense](row, side)


def test_ip2_is_for_one_tree():
    with pytest.raises(InputError, match="IP2 is for one tree, and here are 2: ip3"):
        paper.ip2(paper.read_instance(FOREST, EXAMPLE, [1]), 1.0)


@settings(max_examples=50)
@given(pruning_cases(most_splits=5))
def test_ip0_is_pruning_at_tradeoff_0(case):
    forest, X, y, prices, weights = case
    solution = paper.solve(paper.ip0(instance_of(case)).relax())
    pruned = tw.prune(forest, X, y, tradeoff=0, costs=prices, sample_weight=weights)
    assert solution.is_integral
    assert solution.objective == pytest.approx(pruned.loss, abs=1e-9)


@settings(max_examples=50)
@given(pruning_cases(most_splits=5))
def test_nodes_are_numbered_in_pre_order_however_the_forest_numbers_them(case):
    forest, X, y, prices, weights = case
    instance = instance_of(case)
    other = instance_of((breadth_first(forest), X, y, prices, weights))
    for program in (lambda read: paper.ip1(read, 0.1), lambda read: paper.ip3(read, 0.1)):
        here, there = program(instance), program(other)
        assert here.constraints.column_names == there.constraints.column_names
        assert here.constraints.row_names == there.constraints.row_names
        np.testing.assert_allclose(here.objective, there.objective)
        assert (here.constraints.matrix != there.constraints.matrix).nnz == 0


@settings(max_examples=60)
@given(pruning_cases())
def test_lp1_is_the_line_between_neighbours_on_the_path(case):
    """And has no integral optimum between them, unless some pruning lies on the line."""
    forest, X, y, prices, weights = case
    instance = instance_of(case)
    path = tw.prune_path(forest, X, y, costs=prices, sample_weight=weights)
    known = np.array(list(all_prunings(forest, X, y, weights, prices)))
    for cost, loss in zip(path.costs, path.losses, strict=True):
        at_point = paper.solve(paper.lp1(instance, cost))
        assert at_point.objective == pytest.approx(loss, abs=1e-6)
        assert at_point.is_integral
    for rich in range(len(path) - 1):
        pair = slice(rich, rich + 2)
        budget, loss = [0.4, 0.6] @ np.column_stack([path.costs[pair], path.losses[pair]])
        between = paper.solve(paper.lp1(instance, budget))
        assert between.objective == pytest.approx(loss, abs=1e-6)
        on_line = np.isclose(known[:, 0], budget, rtol=1e-6) & np.isclose(known[:, 1], loss)
        assert on_line.any() or not between.is_integral
    beyond = paper.solve(paper.lp1(instance, path.costs[0] + 1))
    assert beyond.objective == pytest.approx(path.losses[0], abs=1e-6)


def test_between_points_the_best_pruning_lies_above_lp1():
    stump = split(0, 0.5, leaf((0, 1)), leaf((0, 1)), (1, 0))
    forest = forest_of(stump, RIGHT_BELOW, n_features=2)
    instance = paper.read_instance(forest, EXAMPLE[:, :2], [1])
    path = tw.prune_path(forest, EXAMPLE[:, :2], [1])
    assert path.costs.tolist() == [1, 0]
    program = paper.lp1(instance, 0.5)
    assert paper.solve(program).objective == pytest.approx(0.5)
    assert paper.solve(program.restrict()).objective == pytest.approx(1)
    assert path.at(budget=0.5).loss == 1


def test_where_splits_tie_a_budget_off_the_path_has_an_integral_optimum():
    """Two trees that gain and cost the same drop together; keeping one of them lies between."""
    right_below = [split(feature, 0.5, leaf((0, 1)), leaf((0, 1)), (1, 0)) for feature in range(2)]
    forest = forest_of(*right_below, n_features=2)
    path = tw.prune_path(forest, EXAMPLE[:, :2], [1])
    assert path.costs.tolist() == [2, 0]
    program = paper.lp1(paper.read_instance(forest, EXAMPLE[:, :2], [1]), 1.0)
    assert paper.solve(program.restrict()).objective == pytest.approx(0.5)
    assert paper.solve(program).objective == pytest.approx(0.5)


@settings(max_examples=50)
@given(pruning_cases(most_splits=6, most_rows=6))
def test_sizes_are_those_of_the_matrices_and_within_the_papers_count(case):
    instance = instance_of(case)
    sizes = paper.count_sizes(instance)
    exact, constraints = sizes.exact, paper.ip3(instance, 1.0).constraints
    assert (exact["constraints"], exact["variables"]) == constraints.shape
    for name, start in {"z": "z", "tree_w": "w(", "w": "w_"}.items():
        assert exact[name] == sum(one.startswith(start) for one in constraints.column_names)
    assert all(exact[name] <= most for name, most in sizes.at_most.items())


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (RandomForestClassifier(4, max_depth=3, random_state=0), {}),
        (RandomForestClassifier(4, max_depth=3, random_state=0), {"samples": "in_bag"}),
        (RandomForestClassifier(4, max_depth=3, random_state=0), {"samples": "out_of_bag"}),
        (RandomForestClassifier(3, max_depth=3, random_state=0), {"loss": "brier"}),
        (RandomForestRegressor(3, max_depth=3, random_state=0), {}),
        (DecisionTreeClassifier(max_depth=5), {"sample_weight": np.arange(303.0)}),
    ],
    ids=str,
)
def test_whatever_prune_accepts(model, options):
    model.fit(HEART.X, HEART.y)
    options = {"costs": HEART.costs} | options
    instance = paper.read_instance(model, HEART.X, HEART.y, **options)
    solution = paper.solve(paper.ip3(instance, 1e-4).relax())
    pruned = tw.prune(model, HEART.X, HEART.y, tradeoff=1e-4, **options)
    assert solution.is_integral
    assert solution.objective == pytest.approx(pruned.loss + 1e-4 * pruned.cost)


def test_large_programs_and_solutions_show_their_size_alone():
    forest = RandomForestClassifier(2, max_depth=3, random_state=0).fit(HEART.X, HEART.y)
    program = paper.ip3(paper.read_instance(forest, HEART.X, HEART.y), 0.01)
    assert len(repr(program).splitlines()) == 1
    assert repr(program.constraints).startswith("Constraints(")
    assert len(repr(paper.solve(program.relax())).splitlines()) == 1


def test_a_solution_of_another_forest_is_refused():
    solution = paper.solve(paper.ip0(TREE_1))
    (_, tree_2) = trees_alone(FOREST)
    other = paper.read_instance(tree_2, EXAMPLE, [1])
    with pytest.raises(InputError, match="has no z_6: it is one of another forest"):
        paper.kept_splits(other, solution)


def test_a_tradeoff_and_a_budget_are_numbers_from_0():
    with pytest.raises(InputError, match="`tradeoff` is -1"):
        paper.ip3(TREE_1, -1)
    with pytest.raises(InputError, match="`budget` is nan"):
        paper.lp1(TREE_1, np.nan)
