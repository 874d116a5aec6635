"""All solvers agree, prove their answers, and take the smallest of several optima."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from builders import closure, closures, from_python
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thriftwood.closure import check_certificate, exact_sum, kernels, merge_twin_items
from thriftwood.errors import CertificateError, InputError, RangeError
from thriftwood.solvers import (
    DantzigWolfe,
    brute_force,
    linear_program,
    min_cut,
    read_solver,
)


@pytest.mark.parametrize("solver", [min_cut, linear_program, DantzigWolfe()])
@settings(max_examples=400)
@given(problem=closures())
def test_a_solver_finds_the_smallest_optimum_and_proves_it(solver, problem):
    solution = solver(problem)
    assert check_certificate(problem, solution).gap == 0
    np.testing.assert_array_equal(solution.kept, brute_force(problem).kept)


@settings(max_examples=200)
@given(closures(), st.floats(0, 3))
def test_solvers_agree_at_any_tradeoff(problem, tradeoff):
    priced, _ = problem.at(Fraction(tradeoff))
    total = exact_sum(np.abs(priced.gains)) + exact_sum(priced.costs)
    assume(total < 2**50)  # beyond that doubles are too coarse
    np.testing.assert_array_equal(min_cut(priced).kept, linear_program(priced).kept)


@settings(max_examples=200)
@given(closures(), st.floats(0, 3))
def test_the_linear_program_proves_its_answer_or_says_that_it_cannot(problem, tradeoff):
    priced, _ = problem.at(Fraction(tradeoff))
    try:
        answer = linear_program(priced).kept
    except CertificateError:
        return
    np.testing.assert_array_equal(min_cut(priced).kept, answer)


def test_the_linear_program_refuses_numbers_too_large_for_doubles():
    problem = closure([2**59 + 1, 1], [-1, -1], [[0, 1], [1]], [2**59, 2])
    assert min_cut(problem).kept.tolist() == brute_force(problem).kept.tolist()
    with pytest.raises(CertificateError, match="Use the solver 'min_cut'"):
        linear_program(problem)


@settings(max_examples=200)
@given(closures())
def test_merged_twins_keep_the_smallest_optimum_and_carry_the_flow_back(problem):
    smaller, undo = merge_twin_items(problem)
    smaller.check()
    assert smaller.n_projects <= problem.n_projects
    assert smaller.n_arcs <= problem.n_arcs
    solution = undo(linear_program(smaller))
    assert check_certificate(problem, solution).gap == 0
    np.testing.assert_array_equal(solution.kept, brute_force(problem).kept)
    without_flow = undo(brute_force(smaller))
    assert without_flow.flow is None
    np.testing.assert_array_equal(without_flow.kept, solution.kept)


def test_twins_are_merged_at_the_sum_of_their_costs():
    problem = closure([9, 9], [-1, -1], [[0, 1, 2, 4], [0, 1, 3]], [1, 2, 3, 4, 5])
    merged, _ = merge_twin_items(problem)
    assert sorted(merged.costs.tolist()) == [3, 4, 8]


merge_twins = from_python(kernels.merge_twins)


@settings(max_examples=200)
@given(closures(), st.integers(0, 2**32 - 1))
def test_twins_are_items_that_exactly_the_same_of_some_projects_need(problem, seed):
    rng = np.random.default_rng(seed)
    arcs = problem.arc_start.copy(), problem.arc_item.copy()
    some = np.flatnonzero(rng.random(problem.n_projects) < 0.7)
    inside = rng.random(problem.n_items) < 0.7
    start, merged, group, n_groups = merge_twins(*arcs, some, inside)
    needs = [set(arcs[1][arcs[0][h] : arcs[0][h + 1]]) for h in some]
    needed_by = [
        frozenset(k for k, items in enumerate(needs) if j in items) for j in range(len(inside))
    ]
    for j, one in enumerate(needed_by):
        assert (group[j] == -1) == (not inside[j] or not one)
        for other in np.flatnonzero(group >= 0):
            if group[j] != -1:
                assert (group[j] == group[other]) == (one == needed_by[other])
    assert n_groups == len(set(group) - {-1})
    for k, items in enumerate(needs):
        assert sorted(merged[start[k] : start[k + 1]]) == sorted({group[j] for j in items} - {-1})


def test_items_that_are_no_twins_are_not_taken_for_twins_by_their_numbers():
    problem = closure([9, 9], [-1, -1], [[0, 1], [1, 2]], [1, 1, 1])
    arcs = problem.arc_start.copy(), problem.arc_item.copy(), np.arange(2)
    group_by, merge_arcs = from_python(kernels.group_by), from_python(kernels.merge_arcs)
    for numbers, is_right in (
        ([1, 2, 3], True),
        ([1, 1, 3], False),
        ([1, 2, 1], False),
        ([1, 2, 0], False),
    ):
        group, sizes = group_by(np.array(numbers, dtype=np.uint64), np.ones(3, dtype=bool))
        space = np.zeros(3, dtype=np.int64), np.empty(4, dtype=np.int32)
        found = merge_arcs(arcs, group, sizes, sizes.copy(), np.empty_like(sizes), *space)
        assert found == is_right


def random_forest_like(rng, n_projects, n_items, degree):
    """A middle-sized problem: many chains whose projects share items."""
    requires = np.array([rng.integers(-1, h) if h % 9 else -1 for h in range(n_projects)])
    needs = [rng.choice(n_items, rng.integers(0, degree), replace=False) for _ in requires]
    gains = rng.integers(-5, 40, n_projects)
    return closure(gains, requires, needs, rng.integers(0, 20, n_items))


@pytest.mark.parametrize("seed", range(12))
def test_solvers_agree_on_middle_sized_problems(seed):
    rng = np.random.default_rng(seed)
    problem = random_forest_like(rng, 400, 300, rng.integers(2, 25))
    for tradeoff in (Fraction(1, 10), Fraction(1), Fraction(rng.random() * 3)):
        priced, _ = problem.at(tradeoff)
        by_cut, by_program = min_cut(priced), linear_program(priced)
        assert check_certificate(priced, by_cut).gap == 0
        assert check_certificate(priced, by_program).gap == 0
        np.testing.assert_array_equal(by_cut.kept, by_program.kept)


def test_the_fast_kernel_agrees_with_plain_augmenting_paths():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = random_forest_like(rng, 30, 20, 6)
        assert surplus_left(problem, min_cut(problem).flow) == naive_surplus(problem)


def surplus_left(problem, flow):
    rest = np.concatenate([problem.gains - flow.to_required, -problem.costs])
    for project, above in enumerate(problem.requires):
        if above >= 0:
            rest[above] += flow.to_required[project]
    np.subtract.at(rest, problem.arc_project(), flow.to_item)
    np.add.at(rest, problem.n_projects + problem.arc_item, flow.to_item)
    return rest[rest > 0].sum()


def naive_surplus(problem):
    """The obvious twin: move one surplus along one shortest residual path at a time."""
    rest = dict(enumerate(np.concatenate([problem.gains, -problem.costs]).tolist()))
    arcs = [(h, int(above)) for h, above in enumerate(problem.requires) if above >= 0]
    items = problem.n_projects + problem.arc_item
    arcs += list(zip(problem.arc_project().tolist(), items.tolist(), strict=True))
    flow = dict.fromkeys(arcs, 0)
    while True:
        path = _path_to_open(rest, flow)
        if path is None:
            return sum(amount for amount in rest.values() if amount > 0)
        first, last = path[0], path[-1]
        amount = min(rest[first], -rest[last])
        for arc in pairwise(path):
            if arc not in flow:
                amount = min(amount, flow[arc[::-1]])
        for arc in pairwise(path):
            if arc in flow:
                flow[arc] += amount
            else:
                flow[arc[::-1]] -= amount
        rest[first] -= amount
        rest[last] += amount


def _path_to_open(rest, flow):
    came_from = {vertex: None for vertex, amount in rest.items() if amount > 0}
    queue = list(came_from)
    for vertex in queue:
        if rest[vertex] < 0:
            path = [vertex]
            while came_from[path[-1]] is not None:
                path.append(came_from[path[-1]])
            return path[::-1]
        for tail, head in flow:
            if tail == vertex and head not in came_from:
                came_from[head] = vertex
                queue.append(head)
            elif head == vertex and flow[tail, head] > 0 and tail not in came_from:
                came_from[tail] = vertex
                queue.append(tail)
    return None


def test_brute_force_refuses_what_it_cannot_finish():
    with pytest.raises(RangeError, match=r"2\*\*21"):
        brute_force(closure([1] * 21, [-1] * 21, [[]] * 21, []))


def test_unknown_solvers_are_refused_by_name():
    with pytest.raises(InputError, match=r"'simplex'.*'min_cut', 'linear_program' or 'dantz"):
        read_solver("simplex")
