"""The path of a closure problem: nested, exact at and between its steps, whoever computes it."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from builders import closure, closures, from_python
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thriftwood.closure import check_certificate, exact_sum
from thriftwood.errors import RangeError
from thriftwood.solvers import (
    brute_force,
    linear_program,
    min_cut,
    parametric_cut,
    plain_parametric_cut,
)
from thriftwood.solvers import parametric_cut_kernels as kernels


def assert_same_path(path, other):
    np.testing.assert_array_equal(path.breakpoint_of, other.breakpoint_of)
    np.testing.assert_array_equal(path.gain, other.gain)
    np.testing.assert_array_equal(path.cost, other.cost)


def product_of_sums(problem) -> int:
    return exact_sum(np.abs(problem.gains)) * exact_sum(problem.costs)


@settings(max_examples=300)
@given(closures())
def test_the_path_is_that_of_trying_everything(problem):
    assume(product_of_sums(problem) < 2**60)
    path = parametric_cut(problem)
    assert path.slack == 0
    assert_same_path(path, plain_parametric_cut(problem, brute_force))


@settings(max_examples=100)
@given(closures(most_projects=30, most_items=20))
def test_the_path_is_that_of_one_cut_after_another(problem):
    assume(product_of_sums(problem) < 2**60)
    assert_same_path(parametric_cut(problem), plain_parametric_cut(problem, min_cut))


@settings(max_examples=200)
@given(closures(most_projects=12, most_items=10), st.floats(0, 4), st.sampled_from([math.inf, 0.0]))
def test_the_path_misses_no_more_than_it_says_at_any_price(problem, price, deadline):
    path = parametric_cut(problem, deadline=deadline)
    priced, scale = problem.at(Fraction(price))
    assume(exact_sum(np.abs(priced.gains)) + exact_sum(priced.costs) < 2**50)
    n_dropped = sum(lambda_ <= Fraction(price) for lambda_ in path.breakpoints)
    kept = path.kept(n_dropped)
    solution = min_cut(priced)
    check_certificate(priced, solution)
    best = priced.profit(solution.kept)
    assert best == priced.profit(linear_program(priced).kept)
    assert best - priced.profit(kept) <= path.slack * scale


@settings(max_examples=200)
@given(closures(most_projects=12, most_items=10))
def test_steps_rise_in_price_and_both_neighbours_are_optimal_there(problem):
    assume(product_of_sums(problem) < 2**60)
    path = parametric_cut(problem)
    prices = path.breakpoints
    assert all(a < b for a, b in pairwise(prices))
    for step, price in enumerate(prices):
        best = exact_profit(problem, plain_best(problem, price), price)
        assert exact_profit(problem, path.kept(step), price) == best
        assert exact_profit(problem, path.kept(step + 1), price) == best


def plain_best(problem, price: Fraction):
    scaled = closure_times(problem, price)
    return min_cut(scaled).kept


def closure_times(problem, price: Fraction):
    gains = problem.gains * price.denominator
    costs = problem.costs * price.numerator
    needs = [problem.arc_item[a:b] for a, b in pairwise(problem.arc_start.tolist())]
    return closure(gains, problem.requires, needs, costs)


def exact_profit(problem, kept, price: Fraction) -> Fraction:
    cost = exact_sum(problem.costs[problem.needed_items(kept)])
    return exact_sum(problem.gains[kept]) - price * cost


@settings(max_examples=100)
@given(closures(most_projects=12, most_items=10), st.integers(1, 1000), st.integers(1, 1000))
def test_units_change_prices_and_nothing_else(problem, gain_unit, cost_unit):
    assume(product_of_sums(problem) * gain_unit * cost_unit < 2**60)
    needs = [problem.arc_item[a:b] for a, b in pairwise(problem.arc_start.tolist())]
    scaled = closure(problem.gains * gain_unit, problem.requires, needs, problem.costs * cost_unit)
    path, other = parametric_cut(problem), parametric_cut(scaled)
    np.testing.assert_array_equal(path.breakpoint_of, other.breakpoint_of)
    ratio = Fraction(gain_unit, cost_unit)
    assert other.breakpoints == [lambda_ * ratio for lambda_ in path.breakpoints]


@settings(max_examples=100)
@given(closures(most_projects=12, most_items=10))
def test_neither_threads_nor_the_size_of_pieces_matter(problem):
    path = parametric_cut(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "FEW_ARCS", 0)
        assert_same_path(parametric_cut(problem), path)
        assert_same_path(parametric_cut(problem, n_jobs=2), path)


fraction_from_below = from_python(kernels.fraction_from_below)


@settings(max_examples=300)
@given(st.integers(1, 2**34), st.integers(1, 2**44), st.integers(1, 2**26))
def test_prices_are_rounded_down_to_a_fraction_that_fits(gain, cost, most):
    scale, price = fraction_from_below(gain, cost, most)
    exact, rounded = Fraction(gain, cost), Fraction(int(price), int(scale))
    assert 1 <= scale <= most
    assert rounded <= exact
    if exact.denominator <= most:
        assert rounded == exact


@settings(max_examples=300)
@given(st.integers(1, 2**12), st.integers(1, 2**12), st.integers(1, 60))
def test_no_fraction_that_fits_is_nearer_from_below(gain, cost, most):
    scale, price = fraction_from_below(gain, cost, most)
    nearest = max(Fraction(gain * a // cost, a) for a in range(1, most + 1))
    assert Fraction(int(price), int(scale)) == nearest


def test_a_price_just_below_a_simple_fraction_is_not_rounded_to_nothing():
    problem = closure([2**41, 2**41], [-1, -1], [[], [0]], [2**49 + 1])
    path = parametric_cut(problem)
    assert path.breakpoint_of.tolist() == [1, 0]
    assert path.slack < 1e-4 * 2**41


def test_what_cannot_be_proven_is_said():
    costs = [2**31 + 1, 2**31 - 5, 2**31 + 3]
    problem = closure([2**58, 2**58], [-1, -1], [[0, 1], [1, 2]], costs)
    path = parametric_cut(problem)
    assert path.slack > 0
    priced, scale = problem.at(path.breakpoints[0] / 2)
    missed = priced.profit(min_cut(priced).kept) - priced.profit(path.kept(0))
    assert missed <= path.slack * scale


@pytest.mark.parametrize("seed", range(20))
def test_gains_that_nearly_cancel_are_divided_all_the_same(seed):
    """Lambda is then smaller than any fraction that fits beside the gains."""
    rng = np.random.default_rng(seed)
    large = 2**45 + rng.integers(2**40)
    gains = [large, -large + rng.integers(2**20), large, *rng.integers(2**25, size=5)]
    needs = [rng.choice(30, 10, replace=False).tolist() for _ in gains]
    costs = (10.0 ** rng.uniform(0, 14, 30)).astype(int).tolist()
    problem = closure(gains, [-1, 0, 1, 1, 2, 2, 4, 3], needs, costs)
    path = parametric_cut(problem)
    assert path.slack < 0.1
    assert all(first < second for first, second in pairwise(path.breakpoints))
    for price in (*path.breakpoints, *(one * 1001 / 1000 for one in path.breakpoints)):
        kept = path.kept(sum(lambda_ <= price for lambda_ in path.breakpoints))
        missed = exact_optimum(problem, price) - exact_profit(problem, kept, price)
        assert missed <= Fraction(path.slack)


def exact_optimum(problem, price):
    """Return the largest profit of all closed sets, as a fraction."""
    sets = (np.array(flags) for flags in product((False, True), repeat=problem.n_projects))
    requires, is_root = problem.requires, problem.requires < 0
    closed = (kept for kept in sets if (~kept | is_root | kept[requires]).all())
    return max(exact_profit(problem, kept, price) for kept in closed)


def test_costs_beyond_the_range_are_refused():
    problem = closure([1, 1], [-1, -1], [[0], [1]], [2**60, 2**60])
    with pytest.raises(RangeError, match="coarser unit"):
        parametric_cut(problem)


def test_progress_ends_with_everything_done():
    problem = closure([3, 2, 1], [-1, 0, 1], [[0], [1], [2]], [1, 1, 1])
    shares = []
    parametric_cut(problem, progress=shares.append)
    assert shares[-1] == 1
    assert all(0 <= share <= 1 for share in shares)


@pytest.mark.parametrize(
    "problem",
    [
        closure([], [], [], []),
        closure([0, 0], [-1, 0], [[0], [1]], [1, 1]),
        closure([1, 1], [-1, 0], [[], []], []),
        closure([1, -1], [-1, 0], [[0], [0]], [0]),
        closure([1, 1, 1], [-1, -1, -1], [[0], [0], [0]], [3]),
    ],
    ids=["nothing", "no gain", "no items", "free items", "shared item"],
)
def test_degenerate_problems(problem):
    assert_same_path(parametric_cut(problem), plain_parametric_cut(problem, brute_force))
