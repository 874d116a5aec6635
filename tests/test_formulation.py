"""The closure problem says exactly what the paper's IP3 says, on forests small enough to walk."""

from fractions import Fraction

import numpy as np
import pytest
from builders import (
    TRADEOFFS,
    forest_of,
    leaf,
    losses_of,
    plain_closure,
    pruning_cases,
    routes_of,
    split,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from prunings import all_masks, cost_and_loss

from thriftwood.billing import list_purchases
from thriftwood.closure import check_certificate, exact_sum
from thriftwood.costs import plain_prices
from thriftwood.errors import InputError, RangeError
from thriftwood.problem.losses import read_loss
from thriftwood.problem.scaling import whole_numbers
from thriftwood.problem.targets import read_target, read_weights
from thriftwood.solvers import brute_force, linear_program, min_cut
from thriftwood.support.columns import Columns


def build(forest, X, y, prices, weights):
    routes = routes_of(forest, X)
    whole = read_weights(weights, len(X))
    losses = losses_of(forest, routes, read_target(y, forest, len(X)), whole)
    return plain_closure(forest, routes, losses, prices, whole)[:2]


@settings(max_examples=150)
@given(pruning_cases(), TRADEOFFS)
def test_the_optimum_is_that_of_the_paper(case, tradeoff):
    forest, X, y, prices, weights = case
    problem, index = build(*case)
    priced, _ = problem.at(index.in_units(tradeoff))
    kept = index.kept_nodes(min_cut(priced).kept)
    objective = {}
    for mask in all_masks(forest):
        cost, loss = cost_and_loss(forest, X, y, weights, prices, mask, weigh_bills=True)
        objective[mask.tobytes()] = loss + tradeoff * cost
    np.testing.assert_array_equal(kept, index.kept_nodes(brute_force(priced).kept))
    best = min(objective.values())
    assert objective[kept.tobytes()] == pytest.approx(best, rel=1e-6, abs=1e-9)


@settings(max_examples=150)
@given(pruning_cases())
def test_profit_is_the_fall_of_the_objective(case):
    forest, X, y, prices, weights = case
    problem, index = build(*case)
    nothing = np.zeros(forest.n_nodes, dtype=bool)
    _, loss_of_nothing = cost_and_loss(forest, X, y, weights, prices, nothing)
    for mask in all_masks(forest):
        kept = mask[forest.is_split]
        cost, loss = cost_and_loss(forest, X, y, weights, prices, mask, weigh_bills=True)
        total = read_weights(weights, len(X)).sum()
        gain = float(problem.gains[kept].sum() * index.gain_unit) / (total * forest.n_trees)
        paid = float(problem.costs[problem.needed_items(kept)].sum() * index.cost_unit) / total
        assert gain == pytest.approx(loss_of_nothing - loss, rel=1e-6, abs=1e-9)
        assert paid == pytest.approx(cost, rel=1e-6, abs=1e-9 * prices.max())


@settings(max_examples=150)
@given(pruning_cases(most_trees=4, most_splits=6, most_rows=8), TRADEOFFS)
def test_solvers_agree_on_forests_and_prove_it(case, tradeoff):
    problem, index = build(*case)
    priced, _ = problem.at(index.in_units(tradeoff))
    by_cut = min_cut(priced)
    assert check_certificate(priced, by_cut).gap == 0
    if exact_sum(np.abs(priced.gains)) < 2**45:  # beyond, the doubles of HiGHS may be too coarse
        np.testing.assert_array_equal(by_cut.kept, linear_program(priced).kept)


@settings(max_examples=100)
@given(pruning_cases(most_trees=4, most_splits=6), TRADEOFFS, st.sampled_from([0.5, 2.0, 3.0, 0.1]))
def test_dearer_features_and_a_smaller_tradeoff_cancel(case, tradeoff, factor):
    forest, X, y, prices, weights = case
    assume(tradeoff < 1e6)

    def kept(prices, tradeoff):
        problem, index = build(forest, X, y, prices, weights)
        priced, _ = problem.at(index.in_units(tradeoff))
        return index.kept_nodes(min_cut(priced).kept)

    def objective(mask):
        cost, loss = cost_and_loss(forest, X, y, weights, prices, mask, weigh_bills=True)
        return loss + tradeoff * cost

    before, after = kept(prices, tradeoff), kept(prices * factor, tradeoff / factor)
    if factor in (0.5, 2.0):  # powers of two change no digit
        np.testing.assert_array_equal(before, after)
    assert objective(after) == pytest.approx(objective(before), rel=1e-6, abs=1e-9)


def test_of_several_optima_the_smallest_forest_is_taken():
    # The split gains one row of one, at price 1: at tradeoff 1 keeping and dropping are as good.
    stump = split(0, 0.5, leaf((1.0, 0.0)), leaf((0.0, 1.0)), value=(1.0, 0.0))
    forest = forest_of(stump, n_features=1)
    problem, index = build(forest, [[1.0]], [1], np.ones(1), np.ones(1))
    for tradeoff, stays in ((0.999, True), (1.0, False), (1.001, False)):
        priced, _ = problem.at(index.in_units(tradeoff))
        assert min_cut(priced).kept.tolist() == [stays]


def test_a_feature_is_bought_at_its_first_use_and_once_for_all_trees():
    def deep(value):
        return split(0, 2.5, leaf(value), leaf(value), value)

    tree = split(0, 0.5, leaf((1, 0)), split(1, 0.5, deep((0, 1)), leaf((1, 0)), (0, 1)), (1, 0))
    forest = forest_of(tree, tree, n_features=2)
    routes = routes_of(forest, [[1, 0], [0, 0]])
    bought = list_purchases(forest, routes, plain_prices(np.ones(2), Columns(2, None)), np.ones(2))
    items = set(zip(bought.cost_item.tolist(), bought.item_payer.tolist(), strict=True))
    assert items == {(0, 0), (0, 1), (1, 0)}
    root, second, third = bought.arc_start[1], bought.arc_start[2], bought.arc_start[3]
    assert (root, second - root, third - second) == (2, 1, 0)


def test_squared_error_of_a_regression_forest():
    tree = split(0, 0.5, leaf((1.0,)), leaf((4.0,)), value=(2.0,))
    forest = forest_of(tree, n_features=1, classes=None)
    X, y = np.array([[0.0], [1.0]]), np.array([1.5, 4.0])
    losses = losses_of(forest, routes_of(forest, X), y, np.array([1, 2]))
    np.testing.assert_allclose(losses, [0.25 + 2 * 4.0, 0.25, 0.0])


def test_losses_are_refused_by_name():
    forest = forest_of(leaf((1.0, 0.0)), n_features=1)
    with pytest.raises(InputError, match=r"no loss 'hinge' for a classifier: choose 'error'"):
        read_loss("hinge", forest)


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=30), st.integers(0, 4))
def test_decimals_are_kept_exactly(cents, decimals):
    values = np.array(cents) / 10**decimals
    whole, unit, lost = whole_numbers(values, 2**50)
    assert lost == 0
    assert [Fraction(int(w)) * unit for w in whole] == [Fraction(c, 10**decimals) for c in cents]


@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=1, max_size=30))
def test_other_numbers_are_rounded_and_say_what_they_lost(values):
    values = np.array(values)
    whole, unit, lost = whole_numbers(values, 2**40)
    assert np.abs(whole).sum() <= 2**40 + len(values)
    np.testing.assert_array_equal(np.sign(whole), np.sign(values))
    exact = [Fraction(value) for value in values]
    missed = [abs(int(n) * unit - value) for n, value in zip(whole, exact, strict=True)]
    assert max(missed) <= unit + max(map(abs, exact)) / 2**50
    assert sum(missed) <= Fraction(lost) * (1 + Fraction(1, 10**9)) + sum(map(abs, exact)) / 2**49


def test_what_is_within_its_noise_is_nothing():
    whole, _, lost = whole_numbers(np.array([1 / 3, 1e-20]), 2**40, np.array([1e-15, 1e-15]))
    assert (whole > 0).tolist() == [True, False]
    assert lost >= 1e-20


def test_prices_too_far_apart_are_refused():
    trees = [
        split(feature, 0.5, leaf((1.0, 0.0)), leaf((0.0, 1.0)), value=(1.0, 0.0))
        for feature in (0, 1)
    ]
    forest = forest_of(*trees, n_features=2)
    with pytest.raises(RangeError, match="prices reach from 1e-20 to 1"):
        build(forest, [[1.0, 0.0]], [1], np.array([1.0, 1e-20]), np.ones(1))
