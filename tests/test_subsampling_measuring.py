"""Costs and losses of nested prunings on all samples, block by block; how much bills differ."""

from dataclasses import replace

import numpy as np
import pytest
from builders import NUMBERS, pruning_cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nested import nested_steps, plain_bills, random_steps
from paths import FOREST, HEART

import thriftwood as tw
from thriftwood.distributed import subsampling
from thriftwood.distributed.subsampling import figures_from_sums, losses_in_blocks, paid_in_blocks
from thriftwood.problem import Subsample
from thriftwood.pruning.sampled import standard_errors

EVERYTHING = tw.Costs(
    per_feature=HEART.prices.per_feature,
    groups=HEART.prices.groups,
    group_fee=HEART.prices.group_fee,
    per_model={4: 5_000.0, 11: 2_000.0},
    per_split=0.01,
    per_node=0.5,
    predictions=1_000,
)
WEIGHTS = 1.0 + np.arange(len(HEART.y)) % 3


def measure(problem, step, n_points):
    paid = paid_in_blocks(problem, step, n_points)
    weight = problem.in_memory.weights.sum()
    return figures_from_sums(problem, losses_in_blocks(problem), paid, weight, step)


def assert_measured_as_by_definition(problem, step, n_points, rtol=1e-9):
    """Compare with the figures of each mask, from the purchases of all samples at once."""
    costs, losses = measure(problem, step, n_points)
    figures = [problem.figures(step >= point) for point in range(n_points)]
    np.testing.assert_allclose(costs, [one.cost for one in figures], rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(losses, [one.loss for one in figures], rtol=rtol, atol=1e-12)


@settings(max_examples=60)
@given(st.data(), st.booleans())
def test_blocks_of_any_size_add_up_to_the_figures_of_each_point(data, numbers):
    kind = {"values": NUMBERS, "classes": None} if numbers else {}
    forest, X, y, prices, weights = data.draw(pruning_cases(**kind))
    problem = tw.pruning_problem(forest, X, y, costs=prices, sample_weight=weights)
    step, n_points = data.draw(nested_steps(forest))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsampling, "BLOCK_SAMPLES", data.draw(st.integers(1, 3)))
        assert_measured_as_by_definition(problem, step, n_points)


@pytest.mark.parametrize("costs", [None, HEART.costs, HEART.prices, EVERYTHING, 0 * HEART.costs])
@pytest.mark.parametrize("loss", ["error", "log_loss"])
def test_every_kind_of_price_and_weight_is_measured(monkeypatch, costs, loss):
    monkeypatch.setattr(subsampling, "BLOCK_SAMPLES", 50)
    problem = tw.pruning_problem(
        FOREST,
        HEART.frame().to_numpy(),
        HEART.y,
        costs=costs,
        loss=loss,
        sample_weight=WEIGHTS,
        class_weight="balanced",
    )
    assert_measured_as_by_definition(problem, *random_steps(problem.forest, 7))


def test_whole_prices_are_exact_and_threads_change_nothing(monkeypatch):
    problem = tw.pruning_problem(FOREST, HEART.X, HEART.y, sample_weight=WEIGHTS)
    steps = random_steps(problem.forest, 9)
    at_once = np.array(measure(problem, *steps))
    monkeypatch.setattr(subsampling, "BLOCK_SAMPLES", 30)
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(measure(replace(problem, n_jobs=n_jobs), *steps), at_once)
    uneven = tw.pruning_problem(FOREST, HEART.X, HEART.y, costs=EVERYTHING, loss="brier")
    one, two = (measure(replace(uneven, n_jobs=n_jobs), *steps) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def assert_errors_as_by_definition(problem, step, n_points):
    """Compare with the variance of a ratio of two sums, at each point from scratch."""
    weights = problem.in_memory.weights / problem.in_memory.weights.mean()
    n = len(weights)
    drawn = replace(problem, subsample=Subsample(n, 10 * n, None))
    found = standard_errors(drawn, step, n_points)
    for point in range(n_points):
        bills = plain_bills(problem, step >= point)
        off = weights * (bills - (weights @ bills) / n)
        variance = (off @ off) / (n * (n - 1)) * 0.9  # a tenth of the samples was drawn
        size = 10 + problem.prices.prices.sum()  # what is squared is rounded
        assert found[point] ** 2 == pytest.approx(variance, rel=1e-9, abs=1e-12 * size**2)


@settings(max_examples=80)
@given(st.data())
def test_standard_errors_are_those_of_every_point_from_scratch(data):
    forest, X, y, prices, weights = data.draw(pruning_cases())
    assume(len(y) > 1)
    costs = tw.Costs(per_feature=prices, per_split=data.draw(st.sampled_from([0.0, 0.5])))
    problem = tw.pruning_problem(forest, X, y, costs=costs, sample_weight=weights)
    assert_errors_as_by_definition(problem, *data.draw(nested_steps(forest)))


def test_what_the_model_pays_is_the_same_for_all_samples():
    costs = tw.Costs(
        per_feature=0 * HEART.costs, per_model=[9.0] * 13, per_node=2.0, predictions=10
    )
    problem = tw.pruning_problem(FOREST, HEART.X, HEART.y, costs=costs)
    drawn = replace(problem, subsample=Subsample(303, 3030, None))
    assert not standard_errors(drawn, *random_steps(problem.forest, 5)).any()
