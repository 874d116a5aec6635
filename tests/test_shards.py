"""Items in shards: the same answers as from all items at once, or a proven gap."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_crews import ListCrew, large_problem, projects_of, sharded_closures, shards_of

from thriftwood.closure import ClosureProblem
from thriftwood.distributed.dual.at_tradeoff import sharded_cut
from thriftwood.distributed.dual.hull import on_hull
from thriftwood.distributed.dual.options import RowShards
from thriftwood.distributed.dual.rounds import price_rounds
from thriftwood.distributed.dual.shard import join_shards
from thriftwood.distributed.dual.shares import first_shares, split_by, whole_shares
from thriftwood.distributed.dual.whole_path import sharded_path
from thriftwood.errors import InputError
from thriftwood.solvers import min_cut, parametric_cut

PRICES = st.sampled_from([0, Fraction(1, 7), Fraction(1, 2), 1, Fraction(5, 3), 3])
ROUNDS_ALONE = RowShards(max_rounds=6, most_gathered=0)


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
@given(sharded_closures(), st.data())
def test_joined_shards_cost_what_the_whole_costs(case, data):
    problem, shards = case
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=problem.n_projects)), dtype=bool)
    kept = kept[: problem.n_projects]
    joined = join_shards(shards)
    assert joined.cost_of(kept) == problem.costs[problem.needed_items(kept)].sum()
    assert sum(shard.cost_of(kept) for shard in shards) == joined.cost_of(kept)
    np.testing.assert_array_equal(joined.presence, sum(shard.presence for shard in shards))
    assert joined.n_arcs <= problem.n_arcs


@settings(max_examples=400)
@given(sharded_closures(), PRICES)
def test_shards_find_the_smallest_optimum_and_prove_it(case, price):
    problem, shards = case
    price = Fraction(price)
    found = sharded_cut(ListCrew(shards), projects_of(problem, shards), price, RowShards())
    np.testing.assert_array_equal(found.kept, min_cut(problem.at(price)[0]).kept)
    assert found.proof.certificate.gap == 0
    assert Fraction(found.proof.certificate.profit, found.scale) == best_profit(problem, price)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_shards", [2, 5])
def test_shards_that_disagree_settle_on_the_smallest_optimum(seed, n_shards):
    problem = large_problem(seed)
    shard_of_item = np.random.default_rng(seed).integers(n_shards, size=problem.n_items)
    shards = shards_of(problem, shard_of_item, n_shards)
    for price in (Fraction(1, 3), Fraction(1), Fraction(2)):
        found = sharded_cut(ListCrew(shards), projects_of(problem, shards), price, RowShards())
        np.testing.assert_array_equal(found.kept, min_cut(problem.at(price)[0]).kept)
        assert found.proof.certificate.gap == 0
        assert found.rounds[-1].gap == 0


@pytest.mark.parametrize("seed", range(4))
def test_rounds_of_prices_alone_prove_how_far_they_are(seed):
    problem = large_problem(seed)
    shards = shards_of(problem, np.arange(problem.n_items) % 4, 4)
    first = last = 0.0
    for price in (Fraction(1, 3), Fraction(1), Fraction(2)):
        found = sharded_cut(ListCrew(shards), projects_of(problem, shards), price, ROUNDS_ALONE)
        assert is_closed(problem, found.kept)
        profit = profit_at(problem, found.kept, price)
        assert Fraction(found.proof.certificate.profit, found.scale) == profit
        assert profit <= best_profit(problem, price)
        assert best_profit(problem, price) <= Fraction(found.proof.certificate.bound, found.scale)
        gaps = [one.gap for one in found.rounds]
        assert gaps == sorted(gaps, reverse=True)
        first, last = first + gaps[0], last + gaps[-1]
    assert last < 0.8 * first


@settings(max_examples=300)
@given(sharded_closures())
def test_a_gathered_path_is_the_path_of_the_whole(case):
    problem, shards = case
    n_arcs = sum(shard.n_arcs for shard in shards)
    found = sharded_path(ListCrew(shards), projects_of(problem, shards), n_arcs, RowShards())
    whole = parametric_cut(problem)
    np.testing.assert_array_equal(found.path.breakpoint_of, whole.breakpoint_of)
    np.testing.assert_array_equal(found.path.gain, whole.gain)
    np.testing.assert_array_equal(found.path.cost, whole.cost)
    assert found.rounds[-1].gap == 0


@settings(max_examples=300)
@given(sharded_closures())
def test_a_path_by_rounds_is_nested_exact_and_within_its_slack(case):
    check_path_by_rounds(*case)


@pytest.mark.parametrize("seed", range(4))
def test_a_large_path_by_rounds_is_nested_exact_and_within_its_slack(seed):
    problem = large_problem(seed)
    path = check_path_by_rounds(problem, shards_of(problem, np.arange(problem.n_items) % 3, 3))
    assert path.slack < 0.05 * problem.gains[problem.gains > 0].sum()


def check_path_by_rounds(problem, shards):
    path = sharded_path(ListCrew(shards), projects_of(problem, shards), 10**9, ROUNDS_ALONE).path
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
    shards = shards_of(problem, np.arange(problem.n_items) % 3, 3)
    for tolerance in (0.0, 0.02):
        options = RowShards(max_rounds=9, tolerance=tolerance, most_gathered=0)
        found = sharded_path(ListCrew(shards), projects_of(problem, shards), 10**9, options)
        assert found.rounds[-1].gap == pytest.approx(found.path.slack)
        gaps = [one.gap for one in found.rounds]
        assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_a_certificate_proves_what_the_rounds_reached(seed):
    problem = large_problem(seed)
    shards = shards_of(problem, np.arange(problem.n_items) % 4, 4)
    found = sharded_cut(ListCrew(shards), projects_of(problem, shards), Fraction(1), ROUNDS_ALONE)
    gap = found.proof.certificate.gap / found.scale
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
        shards = shards_of(problem, np.arange(problem.n_items) % 3, 3)
        found = sharded_cut(ListCrew(shards), projects_of(problem, shards), price, RowShards())
        assert found.proof.certificate.gap == 0
        exact = profit_at(problem, found.kept, price)
        assert float(exact) == pytest.approx(float(best_profit(problem, price)), rel=1e-9)


@settings(max_examples=200)
@given(sharded_closures(), PRICES)
def test_bounds_of_every_round_hold(case, price):
    problem, shards = case
    best = best_profit(problem, Fraction(price))
    rounds = price_rounds(ListCrew(shards), projects_of(problem, shards))
    for _, agreement in zip(range(4), rounds, strict=False):
        assert best <= Fraction(agreement.bounds(np.array([float(price)]))[0]) + Fraction(1, 10**9)


def test_a_tolerance_ends_the_rounds_early():
    problem = large_problem(0)
    shards = shards_of(problem, np.arange(problem.n_items) % 4, 4)
    crew, projects = ListCrew(shards), projects_of(problem, shards)
    loose = RowShards(max_rounds=50, tolerance=0.2, most_gathered=0)
    found = sharded_cut(crew, projects, Fraction(1), loose)
    assert len(found.rounds) < 50
    assert found.proof.certificate.gap <= 0.2 * found.proof.certificate.bound
    assert len(sharded_path(crew, projects, 10**9, loose).rounds) < 50


def test_nothing_is_gathered_beyond_the_limit():
    problem = large_problem(1)
    shards = shards_of(problem, np.arange(problem.n_items) % 4, 4)
    crew, projects = ListCrew(shards), projects_of(problem, shards)
    for most in (0, 5, 50, 500):
        options = RowShards(max_rounds=3, most_gathered=most)
        found = sharded_cut(crew, projects, Fraction(1), options)
        assert max(one.n_gathered for one in found.rounds) <= most
        assert Fraction(found.proof.certificate.profit, found.scale) <= best_profit(problem, 1)
        assert best_profit(problem, 1) <= Fraction(found.proof.certificate.bound, found.scale)


@settings(max_examples=200)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_shares_add_up_exactly(n_shards, n_projects, seed):
    rng = np.random.default_rng(seed)
    presence = rng.choice([0.0, 1.0, 3.0, 1e6], size=(n_shards, n_projects))
    presence[0] += 1e-3
    amounts = rng.integers(-(2**55), 2**55, size=n_projects)
    parts = split_by(presence, amounts)
    np.testing.assert_array_equal(parts.sum(axis=0), amounts)
    assert ((parts == 0) | (np.sign(parts) == np.sign(amounts))).all()
    gains = rng.integers(-(2**40), 2**40, size=n_projects)
    whole = whole_shares(first_shares(gains, presence), gains, 2**10)
    np.testing.assert_array_equal(whole.sum(axis=0), gains * 2**10)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(-5, 9), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_hull_holds_what_is_best_at_some_price(steps):
    gain = np.cumsum([one[0] for one in steps])[::-1].copy()
    cost = np.cumsum([one[1] for one in steps])[::-1].copy()
    hull = on_hull(gain, cost)
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
        RowShards(**wrong)
