"""The decomposition: exact like the others, and every round between a profit and a bound."""

import pickle
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from builders import closure, closures
from hypothesis import given, settings
from hypothesis import strategies as st
from test_solvers import random_forest_like

from thriftwood.closure import ClosureSolution, Flow, check_certificate
from thriftwood.closure.problem import LARGEST_TOTAL
from thriftwood.errors import CertificateError, InputError
from thriftwood.solvers import brute_force, dantzig_wolfe, linear_program, min_cut
from thriftwood.solvers.dantzig_wolfe import components_of, respond

# Nobody can pay the item alone, and shares must be found: more than one round is needed.
SHARED = partial(random_forest_like, n_projects=400, n_items=150, degree=20)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("master", [min_cut, linear_program])
def test_it_agrees_with_the_minimum_cut_on_middle_sized_problems(seed, master):
    rng = np.random.default_rng(seed)
    problem = random_forest_like(rng, 400, 300, rng.integers(2, 25))
    for tradeoff in (Fraction(1, 10), Fraction(1), Fraction(rng.random() * 3)):
        priced, _ = problem.at(tradeoff)
        solution = dantzig_wolfe(priced, master=master)
        assert check_certificate(priced, solution).gap == 0
        np.testing.assert_array_equal(solution.kept, min_cut(priced).kept)


@settings(max_examples=200)
@given(closures(), st.floats(0, 3))
def test_it_agrees_at_any_tradeoff(problem, tradeoff):
    priced, _ = problem.at(Fraction(tradeoff))
    solution = dantzig_wolfe(priced)
    assert check_certificate(priced, solution).gap == 0
    np.testing.assert_array_equal(solution.kept, min_cut(priced).kept)


@pytest.mark.parametrize("seed", range(6))
def test_profits_rise_and_bounds_fall_until_they_meet(seed):
    rounds = dantzig_wolfe(SHARED(np.random.default_rng(seed))).rounds
    assert rounds[-1].gap == 0
    for earlier, later in pairwise(rounds):
        assert earlier.gap > 0
        assert earlier.n_columns > 0
        assert earlier.n_pieces < later.n_pieces
        assert earlier.profit <= later.profit <= later.bound <= earlier.bound


def test_a_tolerance_stops_earlier_and_is_kept():
    problem = SHARED(np.random.default_rng(0))
    exact = dantzig_wolfe(problem)
    tolerance = exact.rounds[0].gap
    assert tolerance > 0
    rough = dantzig_wolfe(problem, tolerance=tolerance)
    assert len(rough.rounds) == 1
    assert problem.profit(rough.kept) >= problem.profit(exact.kept) - tolerance
    with pytest.raises(CertificateError, match="only proves"):
        check_certificate(problem, rough)


def test_it_says_when_it_gives_up():
    problem = SHARED(np.random.default_rng(0))
    with pytest.raises(CertificateError, match=r"After 1 rounds? .* gap of \d+. Allow more rounds"):
        dantzig_wolfe(problem, max_rounds=1)


def test_components_answer_the_same_wherever_they_are_sent():
    problem = SHARED(np.random.default_rng(0))
    components = components_of(problem)
    projects = np.concatenate([component.projects for component in components])
    arcs = np.concatenate([component.arcs for component in components])
    assert sorted(projects) == list(range(problem.n_projects))
    assert sorted(arcs) == list(range(problem.n_arcs))
    for component in components:
        prices = problem.costs[problem.arc_item[component.arcs]]
        here, there = (
            respond(component, prices),
            respond(pickle.loads(pickle.dumps(component)), prices),
        )
        np.testing.assert_array_equal(here.chosen, there.chosen)
        np.testing.assert_array_equal(here.values, there.values)


def test_wrong_options_are_refused():
    problem = closure([1], [-1], [[]], [])
    with pytest.raises(InputError, match="`tolerance` is -1"):
        dantzig_wolfe(problem, tolerance=-1)
    with pytest.raises(InputError, match="`max_rounds` is 0"):
        dantzig_wolfe(problem, max_rounds=0)


def test_a_master_that_proves_nothing_is_found_out():
    def lazy(problem):
        nothing = Flow(np.zeros(problem.n_projects, dtype=np.int64), np.zeros(problem.n_arcs, int))
        return ClosureSolution(np.zeros(problem.n_projects, dtype=bool), nothing)

    with pytest.raises(CertificateError, match="does not prove its answer"):
        dantzig_wolfe(SHARED(np.random.default_rng(0)), master=lazy)


def test_the_largest_numbers_are_exact():
    huge = LARGEST_TOTAL // 4
    needs = [[0, 1, 2], [0, 1], [1, 2], [0, 2]]
    for extra in (-1, 0, 1):
        gains = [huge - 1, huge, huge + extra, huge]
        problem = closure(gains, [-1, -1, -1, 2], needs, [huge, huge + 1, 4 * huge])
        solution = dantzig_wolfe(problem)
        assert check_certificate(problem, solution).gap == 0
        np.testing.assert_array_equal(solution.kept, brute_force(problem).kept)
