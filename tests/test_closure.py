"""The frozen problem, its pricing at a tradeoff, and the certificate."""

from fractions import Fraction

import numpy as np
import pytest
from builders import closure, closures
from hypothesis import given, settings
from hypothesis import strategies as st

from thriftwood.closure import (
    LARGEST_TOTAL,
    ClosureProblem,
    ClosureSolution,
    Flow,
    check_certificate,
    exact_sum,
)
from thriftwood.errors import CertificateError, ClosureError, RangeError
from thriftwood.solvers import brute_force, min_cut

PAIR = closure(gains=[3, 2], requires=[-1, 0], needs=[[0], [0, 1]], costs=[1, 1])


def keep(*flags):
    return np.array(flags, dtype=bool)


def test_profit_pays_each_item_once():
    assert PAIR.profit(keep(False, False)) == 0
    assert PAIR.profit(keep(True, False)) == 3 - 1
    assert PAIR.profit(keep(True, True)) == 3 + 2 - 1 - 1


def test_arrays_are_read_only_and_not_the_callers():
    gains = np.array([1, 2])
    problem = closure(gains, [-1, -1], [[], []], [])
    gains[0] = 7
    assert problem.gains[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        problem.gains[0] = 5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"requires": [-1, 1]}, "comes before"),
        ({"requires": [-1, -2]}, "comes before"),
        ({"requires": [-1]}, "match the number"),
        ({"arc_start": [0, 1]}, "match the number"),
        ({"arc_start": [0, 1, 4]}, "end with the number of arcs"),
        ({"arc_start": [0, 4, 3]}, "must not fall"),
        ({"arc_item": [0, 0, 2]}, "does not exist"),
        ({"arc_item": [0, 0, -1]}, "does not exist"),
        ({"costs": [1, -1]}, "less than 0"),
    ],
)
def test_check_refuses_what_contradicts_itself(change, sentence):
    arrays = PAIR.arrays._asdict()
    with pytest.raises(ClosureError, match=sentence):
        ClosureProblem(**(arrays | change)).check()


def test_numbers_that_do_not_fit_are_refused_not_wrapped():
    with pytest.raises(RangeError, match="gains"):
        closure([2**61, 2**61, 2**61, 2**61], [-1] * 4, [[]] * 4, [])
    with pytest.raises(RangeError, match="costs"):
        closure([1], [-1], [[0, 1, 2]], [2**62, 2**62, 2**62])


@given(st.lists(st.integers(-(2**62), 2**62), max_size=50))
def test_exact_sum_never_wraps(values):
    assert exact_sum(np.array(values, dtype=np.int64)) == sum(values)


@given(closures(), st.fractions(0, 10, max_denominator=1000))
def test_pricing_is_exact_at_simple_fractions(problem, tradeoff):
    priced, scale = problem.at(tradeoff)
    priced.check()
    assert scale % tradeoff.denominator == 0
    np.testing.assert_array_equal(priced.gains, problem.gains * scale)
    total = exact_sum(np.abs(problem.gains))
    for cost, price in zip(problem.costs.tolist(), priced.costs.tolist(), strict=True):
        # Costs beyond all gains may be cut down: nobody buys such an item either way.
        never_bought = cost * tradeoff > total and price > total * scale
        assert price == cost * tradeoff * scale or never_bought


@given(closures(), st.floats(0, 1e6, allow_subnormal=False))
def test_pricing_rounds_less_than_the_smallest_gain(problem, tradeoff):
    priced, scale = problem.at(Fraction(tradeoff))
    priced.check()
    total = exact_sum(np.abs(problem.gains))
    for cost, price in zip(problem.costs.tolist(), priced.costs.tolist(), strict=True):
        true = cost * Fraction(tradeoff)
        error = abs(Fraction(price, scale) - true)
        never_bought = true > total and price > total * scale
        assert error <= Fraction(1, scale) + true / 2**49 or never_bought


def test_a_decimal_tradeoff_means_the_decimal():
    problem = closure([10], [-1], [[0]], [100])
    priced, scale = problem.at(Fraction(0.1))
    assert (scale, priced.gains.tolist(), priced.costs.tolist()) == (10, [100], [100])
    assert not min_cut(priced).kept.any()


@settings(max_examples=200)
@given(closures(), st.fractions(0, 5, max_denominator=50))
def test_the_smallest_optimum_shrinks_as_the_tradeoff_rises(problem, tradeoff):
    less = brute_force(problem.at(tradeoff)[0]).kept
    more = brute_force(problem.at(tradeoff + Fraction(1, 3))[0]).kept
    assert not (more & ~less).any()


def certified(problem):
    solution = min_cut(problem)
    check_certificate(problem, solution)
    return solution


def test_certificate_of_a_known_case():
    certificate = check_certificate(PAIR, certified(PAIR))
    assert (certificate.profit, certificate.bound, certificate.gap) == (3, 3, 0)


@pytest.mark.parametrize(
    ("kept", "to_required", "to_item", "sentence"),
    [
        (keep(False, True), [0, 0], [1, 0, 1], "not closed"),
        (keep(True), [0, 0], [1, 0, 1], "one entry per project"),
        (keep(True, True), [0, 0], [1, 0], "does not match"),
        (keep(True, True), [0, 0], [2, -1, 1], "negative"),
        (keep(True, True), [1, 0], [1, 0, 1], "does not require"),
        (keep(True, True), [0, 0], [0, 0, 0], "only proves"),
        (keep(True, False), [0, 0], [1, 0, 1], "only proves"),
        (keep(True, True), [0, 0], [3 * LARGEST_TOTAL, 3 * LARGEST_TOTAL, 1], "too large"),
    ],
)
def test_certificate_refuses_what_proves_nothing(kept, to_required, to_item, sentence):
    flow = Flow(np.array(to_required, dtype=np.int64), np.array(to_item, dtype=np.int64))
    with pytest.raises(CertificateError, match=sentence):
        check_certificate(PAIR, ClosureSolution(kept, flow))


def test_certificate_refuses_an_answer_without_a_flow():
    with pytest.raises(CertificateError, match="without a flow"):
        check_certificate(PAIR, brute_force(PAIR))


@settings(max_examples=200)
@given(closures(), st.data())
def test_certificate_refuses_any_other_profit(problem, data):
    solution = certified(problem)
    flip = data.draw(st.lists(st.booleans(), min_size=problem.n_projects, max_size=100))
    other = solution.kept ^ np.array(flip[: problem.n_projects], dtype=bool)
    if problem.profit(other) == problem.profit(solution.kept):
        return
    with pytest.raises(CertificateError):
        check_certificate(problem, ClosureSolution(other, solution.flow))
