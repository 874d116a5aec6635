"""The decomposition: exact like the others, and every round between a profit and a bound."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise

import joblib
import numpy as np
import pytest
from builders import closure, closures, instance_of, pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from test_solvers import random_forest_like

from thriftwood import paper
from thriftwood.closure import LARGEST_TOTAL, ClosureSolution, Flow, check_certificate
from thriftwood.errors import CertificateError, InputError
from thriftwood.solvers import (
    DantzigWolfe,
    brute_force,
    linear_program,
    min_cut,
)
from thriftwood.solvers.subproblems import batches_of, subproblem_workers

# Nobody can pay the item alone, and shares must be found: more than one round is needed.
SHARED = partial(random_forest_like, n_projects=400, n_items=150, degree=20)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("master", [min_cut, linear_program])
def test_it_agrees_with_the_minimum_cut_on_middle_sized_problems(seed, master):
    rng = np.random.default_rng(seed)
    problem = random_forest_like(rng, 400, 300, rng.integers(2, 25))
    for tradeoff in (Fraction(1, 10), Fraction(1), Fraction(rng.random() * 3)):
        priced, _ = problem.at(tradeoff)
        solution = DantzigWolfe(master=master)(priced)
        assert check_certificate(priced, solution).gap == 0
        np.testing.assert_array_equal(solution.kept, min_cut(priced).kept)


@settings(max_examples=200)
@given(closures(), st.floats(0, 3))
def test_it_agrees_at_any_tradeoff(problem, tradeoff):
    priced, _ = problem.at(Fraction(tradeoff))
    solution = DantzigWolfe()(priced)
    assert check_certificate(priced, solution).gap == 0
    np.testing.assert_array_equal(solution.kept, min_cut(priced).kept)


@pytest.mark.parametrize("seed", range(30))
def test_where_sets_tie_it_takes_the_smallest(seed):
    rng = np.random.default_rng(seed)
    problem = random_forest_like(rng, 40, 12, 3)
    for _ in range(20):
        tied = replace(
            problem, gains=rng.integers(-2, 5, 40), costs=rng.integers(0, 5, problem.n_items)
        )
        np.testing.assert_array_equal(DantzigWolfe()(tied).kept, min_cut(tied).kept)


@pytest.mark.parametrize("seed", range(6))
def test_it_takes_tens_of_rounds_at_most(seed):
    solution = DantzigWolfe()(SHARED(np.random.default_rng(seed)))
    assert len(solution.rounds) <= 15


def test_columns_that_count_cut_pieces():
    problem = SHARED(np.random.default_rng(1))
    n_trees = int((problem.requires < 0).sum())
    rounds = DantzigWolfe()(problem).rounds
    for earlier, later in pairwise(rounds):
        assert earlier.n_columns <= min(n_trees, later.n_pieces - earlier.n_pieces)
    assert sum(one.n_columns for one in rounds) < rounds[-1].n_pieces - rounds[0].n_pieces


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_worker_gets_a_batch_of_trees(n_jobs, monkeypatch):
    asked_for = []

    def remember(problem, n_batches):
        asked_for.append(n_batches)
        return batches_of(problem, n_batches)

    monkeypatch.setattr("thriftwood.solvers.dantzig_wolfe.batches_of", remember)
    with joblib.parallel_config("threading"):
        DantzigWolfe(n_jobs=n_jobs)(SHARED(np.random.default_rng(0)))
    assert asked_for == [n_jobs]


def test_charges_beyond_all_numbers_are_refused_by_all():
    """Twelve items of 2**60 each would wrap around to a negative charge."""
    problem = closure([5, 7], [-1, 0], [range(12), []], [LARGEST_TOTAL] * 12)
    with subproblem_workers(problem, batches_of(problem), 1) as solve:
        _, kept = solve(problem.costs[problem.arc_item])
    assert not kept.any()


@pytest.mark.parametrize("seed", range(6))
def test_profits_rise_and_bounds_fall_until_they_meet(seed):
    rounds = DantzigWolfe()(SHARED(np.random.default_rng(seed))).rounds
    assert rounds[-1].gap == 0
    for earlier, later in pairwise(rounds):
        assert earlier.gap > 0
        assert earlier.n_columns > 0
        assert earlier.n_pieces < later.n_pieces
        assert earlier.profit <= later.profit <= later.bound <= earlier.bound


def test_a_tolerance_stops_earlier_and_is_kept():
    problem = SHARED(np.random.default_rng(0))
    first = DantzigWolfe()(problem).rounds[0]
    share = first.gap / first.bound
    assert share > 0
    assert len(DantzigWolfe(tolerance=share * 1.0001)(problem).rounds) == 1
    assert len(DantzigWolfe(tolerance=share * 0.9999)(problem).rounds) > 1


@pytest.mark.parametrize("max_rounds", [1, 2, 3])
def test_after_the_last_round_it_returns_what_is_proven(max_rounds):
    problem = SHARED(np.random.default_rng(0))
    solution = DantzigWolfe(max_rounds=max_rounds)(problem)
    certificate = check_certificate(problem, solution)
    last = solution.rounds[-1]
    assert len(solution.rounds) == max_rounds
    assert (certificate.profit, certificate.bound) == (last.profit, last.bound)
    assert 0 < last.gap == solution.gap == certificate.gap
    assert last.profit <= problem.profit(min_cut(problem).kept) <= last.bound


@settings(max_examples=100)
@given(closures(), st.floats(0, 3))
def test_the_first_round_is_proven_on_the_whole_problem(problem, tradeoff):
    priced, _ = problem.at(Fraction(tradeoff))
    solution = DantzigWolfe(max_rounds=1)(priced)
    certificate = check_certificate(priced, solution)
    (only,) = solution.rounds
    assert (certificate.profit, certificate.bound) == (only.profit, only.bound)


def test_a_gap_that_is_claimed_wrongly_is_found_out():
    problem = SHARED(np.random.default_rng(0))
    rough, exact = DantzigWolfe(max_rounds=1)(problem), DantzigWolfe()(problem)
    claims_the_optimum = ClosureSolution(rough.kept, rough.flow)
    with pytest.raises(CertificateError, match="claims a gap of 0"):
        check_certificate(problem, claims_the_optimum)
    too_modest = replace(exact, gap=rough.gap)
    with pytest.raises(CertificateError, match=f"claims a gap of {rough.gap}"):
        check_certificate(problem, too_modest)


@pytest.mark.parametrize("n_batches", [1, 2, 7, 10_000])
def test_batches_are_whole_trees_and_answer_as_one(n_batches):
    problem = SHARED(np.random.default_rng(0))
    together, apart = batches_of(problem), batches_of(problem, n_batches)
    n_trees = int((problem.requires < 0).sum())
    assert len(apart) <= min(n_batches, n_trees)
    assert len(apart) > 1 or n_batches == 1
    projects = np.concatenate([batch.projects for batch in apart])
    arcs = np.concatenate([batch.arcs for batch in apart])
    assert sorted(projects) == list(range(problem.n_projects))
    assert sorted(arcs) == list(range(problem.n_arcs))
    prices = problem.costs[problem.arc_item] // 3
    with (
        subproblem_workers(problem, together, 1) as solve_all,
        subproblem_workers(problem, apart, 1) as solve_each,
    ):
        for here, there in zip(solve_all(prices), solve_each(prices), strict=True):
            np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tolerance": -1e-9}, "`tolerance` is -1e-09"),
        ({"tolerance": 1}, "`tolerance` is 1: it must be below 1"),
        ({"max_rounds": 0}, "`max_rounds` is 0"),
        ({"n_jobs": 0}, "`n_jobs` is 0"),
        ({"progress": "yes"}, "`progress` is 'yes'"),
        ({"master": "simplex"}, "`master` is 'simplex'"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        DantzigWolfe(**options)


def test_a_line_tells_rounds_and_gap(capsys, monkeypatch):
    monkeypatch.setattr("thriftwood.support.progress.PAUSE", 0.0)
    first = DantzigWolfe(progress=True)(SHARED(np.random.default_rng(0))).rounds[0]
    drawn = capsys.readouterr().err
    gap = f"{first.gap / first.bound:.2g}"
    assert f"Pruning by trees: round 1, gap {gap}, {first.n_pieces} pieces" in drawn
    assert drawn.endswith(" \r")


def test_a_master_that_proves_nothing_is_found_out():
    def lazy(problem):
        nothing = Flow(np.zeros(problem.n_projects, dtype=np.int64), np.zeros(problem.n_arcs, int))
        return ClosureSolution(np.zeros(problem.n_projects, dtype=bool), nothing)

    with pytest.raises(CertificateError, match="does not prove its answer"):
        DantzigWolfe(master=lazy)(SHARED(np.random.default_rng(0)))


def test_the_largest_numbers_are_exact():
    huge = LARGEST_TOTAL // 4
    needs = [[0, 1, 2], [0, 1], [1, 2], [0, 2]]
    for extra in (-1, 0, 1):
        gains = [huge - 1, huge, huge + extra, huge]
        problem = closure(gains, [-1, -1, -1, 2], needs, [huge, huge + 1, 4 * huge])
        solution = DantzigWolfe()(problem)
        assert check_certificate(problem, solution).gap == 0
        np.testing.assert_array_equal(solution.kept, brute_force(problem).kept)


@settings(max_examples=200)
@given(pruning_cases(), st.integers(0, 2**32 - 1))
def test_a_subproblem_has_the_optimum_of_the_papers_network_program(case, seed):
    instance = instance_of(case)
    forest, losses = instance.forest, instance.problem.node_losses.total
    (problem, index), purchases = instance.problem.closure, instance.problem.purchases
    splits = np.flatnonzero(forest.is_split)
    most = max(losses.max(), 1.0)  # in the program everything is divided by it
    unit = float(index.gain_unit) / most
    eighths = np.random.default_rng(seed).integers(0, 4, problem.n_arcs) / 8
    prices = np.rint(eighths / unit).astype(np.int64)
    with subproblem_workers(problem, batches_of(problem), 1) as solve:
        values, _ = solve(prices)

    node = splits[problem.arc_project()]
    feature = purchases.cost_item[problem.arc_item]
    row = purchases.item_payer[problem.arc_item]
    weight = dict(zip(instance.z_names, losses / most, strict=True))
    for t, k, i, price in zip(forest.tree_of(node), feature, row, prices, strict=True):
        weight[f"w({t + 1})_{k + 1},{i + 1}"] = price * unit

    roots = forest.tree_start[:-1]
    number = {node: project for project, node in enumerate(splits)}
    for tree, root in enumerate(roots):
        network = paper.network_form(paper.tree_equalities(instance, tree))
        program = linprog(
            [weight[name] for name in network.column_names],
            A_eq=network.matrix,
            b_eq=network.right_side,
        )
        gained = max(values[number[root]], 0) * unit if root in number else 0.0
        np.testing.assert_allclose(program.fun, losses[root] / most - gained, atol=1e-6)
