"""Items in partitions: the same answers as from all items at once, or a proven gap."""

from fractions import Fraction

import numpy as np
import pytest
from decomposed import cut_by_items, decomposed, decomposed_closures, large_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from thriftwood.closure import ClosureProblem
from thriftwood.distributed.dual import (
    DualDecomposition,
    decomposed_cut,
    decomposed_path,
    join_subproblems,
)
from thriftwood.distributed.dual.ascent import (
    dual_ascent,
    first_multipliers,
    split_by,
    whole_multipliers,
)
from thriftwood.distributed.hull import lower_hull
from thriftwood.errors import InputError
from thriftwood.solvers import min_cut, parametric_cut

PRICES = st.sampled_from([0, Fraction(1, 7), Fraction(1, 2), 1, Fraction(5, 3), 3])
ASCENT_ALONE = DualDecomposition(max_rounds=6, most_gathered=0)


def profit_at(problem, kept, price):
    return Fraction(int(problem.gains[kept].sum())) - price * int(
        problem.costs[problem.needed_items(kept)].sum()
    )


def best_profit(problem, price):
    return profit_at(problem, min_cut(problem.at(Fraction(price))[0]).kept, price)


def is_closed(problem, kept):
    inner = kept & (problem.requires >= 0)
    return kept[problem.requires[inner]].all()


@settings(max_examples=200)
@given(decomposed_closures(), st.data())
def test_joined_shards_cost_what_the_whole_costs(case, data):
    problem, parts = case
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=problem.n_projects)), dtype=bool)
    kept = kept[: problem.n_projects]
    joined = join_subproblems(parts)
    assert joined.cost_of(kept) == problem.costs[problem.needed_items(kept)].sum()
    assert sum(part.cost_of(kept) for part in parts) == joined.cost_of(kept)
    np.testing.assert_array_equal(joined.weight, sum(part.weight for part in parts))
    assert joined.n_arcs <= problem.n_arcs


@settings(max_examples=400)
@given(decomposed_closures(), PRICES)
def test_shards_find_the_smallest_optimum_and_prove_it(case, price):
    problem, parts = case
    price = Fraction(price)
    found = decomposed_cut(decomposed(problem, parts), price, DualDecomposition())
    np.testing.assert_array_equal(found.kept, min_cut(problem.at(price)[0]).kept)
    assert found.certificate.gap == 0
    assert Fraction(found.certificate.profit, found.scale) == best_profit(problem, price)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_parts", [2, 5])
def test_shards_that_disagree_settle_on_the_smallest_optimum(seed, n_parts):
    problem = large_problem(seed)
    part_of_item = np.random.default_rng(seed).integers(n_parts, size=problem.n_items)
    parts = cut_by_items(problem, part_of_item, n_parts)
    for price in (Fraction(1, 3), Fraction(1), Fraction(2)):
        found = decomposed_cut(decomposed(problem, parts), price, DualDecomposition())
        np.testing.assert_array_equal(found.kept, min_cut(problem.at(price)[0]).kept)
        assert found.certificate.gap == 0
        assert found.rounds[-1].gap == 0


@pytest.mark.parametrize("seed", range(4))
def test_rounds_of_prices_alone_prove_how_far_they_are(seed):
    problem = large_problem(seed)
    parts = cut_by_items(problem, np.arange(problem.n_items) % 4, 4)
    first = last = 0.0
    for price in (Fraction(1, 3), Fraction(1), Fraction(2)):
        found = decomposed_cut(decomposed(problem, parts), price, ASCENT_ALONE)
        assert is_closed(problem, found.kept)
        profit = profit_at(problem, found.kept, price)
        assert Fraction(found.certificate.profit, found.scale) == profit
        assert profit <= best_profit(problem, price)
        assert best_profit(problem, price) <= Fraction(found.certificate.bound, found.scale)
        gaps = [one.gap for one in found.rounds]
        assert gaps == sorted(gaps, reverse=True)
        first, last = first + gaps[0], last + gaps[-1]
    assert last < 0.8 * first


@settings(max_examples=300)
@given(decomposed_closures())
def test_a_gathered_path_is_the_path_of_the_whole(case):
    problem, parts = case
    path, rounds = decomposed_path(decomposed(problem, parts), DualDecomposition())
    whole = parametric_cut(problem)
    np.testing.assert_array_equal(path.breakpoint_of, whole.breakpoint_of)
    np.testing.assert_array_equal(path.gain, whole.gain)
    np.testing.assert_array_equal(path.cost, whole.cost)
    assert rounds[-1].gap == 0


@settings(max_examples=300)
@given(decomposed_closures())
def test_a_path_by_rounds_is_nested_exact_and_within_its_slack(case):
    check_path_by_rounds(*case)


@pytest.mark.parametrize("seed", range(4))
def test_a_large_path_by_rounds_is_nested_exact_and_within_its_slack(seed):
    problem = large_problem(seed)
    path = check_path_by_rounds(problem, cut_by_items(problem, np.arange(problem.n_items) % 3, 3))
    assert path.slack < 0.05 * problem.gains[problem.gains > 0].sum()


def check_path_by_rounds(problem, parts):
    path, _ = decomposed_path(decomposed(problem, parts), ASCENT_ALONE)
    gain_per_cost = path.breakpoints
    assert gain_per_cost == sorted(set(gain_per_cost))
    for point in range(path.n_breakpoints + 1):
        kept = path.kept(point)
        assert is_closed(problem, kept)
        assert (
            problem.gains[kept & (path.breakpoint_of < path.n_breakpoints)].sum()
            == path.gain[point:].sum()
        )
        assert problem.costs[problem.needed_items(kept)].sum() == path.cost[point:].sum()
    for price in [Fraction(0), *gain_per_cost]:
        best = best_profit(problem, price)
        here = max(profit_at(problem, path.kept(k), price) for k in range(path.n_breakpoints + 1))
        assert here <= best <= here + Fraction(path.slack) + Fraction(1, 10**6)
    return path


@pytest.mark.parametrize("seed", range(6))
def test_what_rounds_report_of_a_path_is_what_the_path_proves(seed):
    problem = large_problem(seed)
    parts = cut_by_items(problem, np.arange(problem.n_items) % 3, 3)
    for tolerance in (0.0, 0.02):
        options = DualDecomposition(max_rounds=9, tolerance=tolerance, most_gathered=0)
        path, rounds = decomposed_path(decomposed(problem, parts), options)
        assert rounds[-1].gap == pytest.approx(path.slack)
        gaps = [one.gap for one in rounds]
        assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_a_certificate_proves_what_the_rounds_reached(seed):
    problem = large_problem(seed)
    parts = cut_by_items(problem, np.arange(problem.n_items) % 4, 4)
    found = decomposed_cut(decomposed(problem, parts), Fraction(1), ASCENT_ALONE)
    gap = found.certificate.gap / found.scale
    assert gap == pytest.approx(found.rounds[-1].gap, rel=1e-6, abs=1e-6)


def test_prices_without_a_simple_fraction_are_proven_too():
    for seed in range(8):
        problem = large_problem(seed, n_items=60)
        problem = ClosureProblem(
            problem.gains * 2**40,
            problem.requires,
            problem.arc_start,
            problem.arc_item,
            problem.costs * 2**36,
        )
        price = Fraction(np.sqrt(7.0 + seed))
        parts = cut_by_items(problem, np.arange(problem.n_items) % 3, 3)
        found = decomposed_cut(decomposed(problem, parts), price, DualDecomposition())
        assert found.certificate.gap == 0
        exact = profit_at(problem, found.kept, price)
        assert float(exact) == pytest.approx(float(best_profit(problem, price)), rel=1e-9)


@settings(max_examples=200)
@given(decomposed_closures(), PRICES)
def test_bounds_of_every_round_hold(case, price):
    problem, parts = case
    best = best_profit(problem, Fraction(price))
    rounds = dual_ascent(decomposed(problem, parts))
    for _, point in zip(range(4), rounds, strict=False):
        assert best <= Fraction(point.bounds(np.array([float(price)]))[0]) + Fraction(1, 10**9)


def test_a_tolerance_ends_the_rounds_early():
    problem = large_problem(0)
    parts = cut_by_items(problem, np.arange(problem.n_items) % 4, 4)
    closure = decomposed(problem, parts)
    loose = DualDecomposition(max_rounds=50, tolerance=0.2, most_gathered=0)
    found = decomposed_cut(closure, Fraction(1), loose)
    assert len(found.rounds) < 50
    assert found.certificate.gap <= 0.2 * found.certificate.bound
    assert len(decomposed_path(closure, loose)[1]) < 50


def test_nothing_is_gathered_beyond_the_limit():
    problem = large_problem(1)
    parts = cut_by_items(problem, np.arange(problem.n_items) % 4, 4)
    closure = decomposed(problem, parts)
    for most in (0, 5, 50, 500):
        options = DualDecomposition(max_rounds=3, most_gathered=most)
        found = decomposed_cut(closure, Fraction(1), options)
        assert max(one.n_gathered for one in found.rounds) <= most
        assert Fraction(found.certificate.profit, found.scale) <= best_profit(problem, 1)
        assert best_profit(problem, 1) <= Fraction(found.certificate.bound, found.scale)


@settings(max_examples=200)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_shares_add_up_exactly(n_parts, n_projects, seed):
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 1.0, 3.0, 1e6], size=(n_parts, n_projects))
    weight[0] += 1e-3
    amounts = rng.integers(-(2**55), 2**55, size=n_projects)
    parts = split_by(weight, amounts)
    np.testing.assert_array_equal(parts.sum(axis=0), amounts)
    assert ((parts == 0) | (np.sign(parts) == np.sign(amounts))).all()
    gains = rng.integers(-(2**40), 2**40, size=n_projects)
    whole = whole_multipliers(first_multipliers(gains, weight), gains, 2**10)
    np.testing.assert_array_equal(whole.sum(axis=0), gains * 2**10)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(-5, 9), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_hull_holds_what_is_best_at_some_price(steps):
    gain = np.cumsum([one[0] for one in steps])[::-1].copy()
    cost = np.cumsum([one[1] for one in steps])[::-1].copy()
    hull = lower_hull(cost, -gain)
    assert (np.diff(gain[hull]) < 0).all()
    assert (np.diff(cost[hull]) < 0).all()
    falls = -np.diff([gain[hull], cost[hull]]).T
    prices = [Fraction(int(gained), int(paid)) for gained, paid in falls]
    assert prices == sorted(set(prices))
    for price in [Fraction(0), Fraction(1, 3), *prices, Fraction(20)]:
        worth = [int(g) - price * int(c) for g, c in zip(gain, cost, strict=True)]
        assert max(worth) == max(worth[place] for place in hull)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_rounds": 0},
        {"max_rounds": 2.5},
        {"tolerance": -0.1},
        {"tolerance": 1.0},
        {"most_gathered": -1},
        {"progress": "yes"},
    ],
    ids=lambda wrong: "-".join(map(str, *wrong.items())),
)
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        DualDecomposition(**wrong)
