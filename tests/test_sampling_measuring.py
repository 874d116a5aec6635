"""Costs and losses of nested points on all rows, block by block."""

import numpy as np
import pytest
from builders import NUMBERS, pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import FOREST, HEART
from samples import given_rows, nested_steps, random_steps
from thriftwood.problem.task import task_of

import thriftwood as tw
from thriftwood.distributed import measuring
from thriftwood.distributed.measuring import RowsInBlocks, measured_from, paid_by

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


def assert_measured_as_by_definition(rows, step, n_points, rtol=1e-9):
    """Compare with the figures of each mask, from the purchases of all rows at once."""
    measured = RowsInBlocks(rows, n_jobs=1).measure(step, n_points)
    task = task_of(rows, n_jobs=1)
    figures = [task.figures(step >= point) for point in range(n_points)]
    costs, losses = zip(*((one.cost, one.loss) for one in figures), strict=True)
    np.testing.assert_allclose(measured.costs, costs, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(measured.losses, losses, rtol=rtol, atol=1e-12)


@settings(max_examples=60)
@given(st.data(), st.booleans())
def test_blocks_of_any_size_add_up_to_the_figures_of_each_point(data, numbers):
    kind = {"values": NUMBERS, "classes": None} if numbers else {}
    forest, X, y, prices, weights = data.draw(pruning_cases(**kind))
    rows = given_rows(forest, X, y, costs=prices, sample_weight=weights)
    step, n_points = data.draw(nested_steps(forest))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "BLOCK_ROWS", data.draw(st.integers(1, 3)))
        assert_measured_as_by_definition(rows, step, n_points)


@pytest.mark.parametrize("costs", [None, HEART.costs, HEART.prices, EVERYTHING, 0 * HEART.costs])
@pytest.mark.parametrize("loss", ["error", "log_loss"])
def test_every_kind_of_price_and_weight_is_measured(monkeypatch, costs, loss):
    monkeypatch.setattr(measuring, "BLOCK_ROWS", 50)
    rows = given_rows(
        FOREST,
        HEART.frame().to_numpy(),
        HEART.y,
        costs=costs,
        loss=loss,
        sample_weight=WEIGHTS,
        class_weight="balanced",
    )
    assert_measured_as_by_definition(rows, *random_steps(rows.forest, 7))


def test_counted_errors_and_whole_prices_are_exact_and_threads_change_nothing(monkeypatch):
    rows = given_rows(FOREST, HEART.X, HEART.y, sample_weight=WEIGHTS)
    step, n_points = random_steps(rows.forest, 9)
    at_once = RowsInBlocks(rows).measure(step, n_points)
    monkeypatch.setattr(measuring, "BLOCK_ROWS", 30)
    for n_jobs in (1, 2):
        measured = RowsInBlocks(rows, n_jobs).measure(step, n_points)
        assert measured.costs.tolist() == at_once.costs.tolist()
        assert measured.losses.tolist() == at_once.losses.tolist()
    uneven = [
        RowsInBlocks(
            given_rows(FOREST, HEART.X, HEART.y, costs=EVERYTHING, loss="brier"), n_jobs
        ).measure(step, n_points)
        for n_jobs in (1, 2)
    ]
    assert uneven[0].costs.tolist() == uneven[1].costs.tolist()
    assert uneven[0].losses.tolist() == uneven[1].losses.tolist()


def test_sums_of_parts_of_the_rows_can_be_added_in_any_order():
    rows = given_rows(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    step, n_points = random_steps(rows.forest, 6)
    parts = [rows.take(np.arange(first, rows.n_samples, 3)) for first in (2, 0, 1)]
    losses = [RowsInBlocks(part).losses for part in parts]
    paid = [paid_by(part, step, n_points) for part in parts]
    total = measured_from(
        parts[0], losses[0] + losses[1] + losses[2], paid[0] + paid[1] + paid[2], step
    )
    whole = RowsInBlocks(rows).measure(step, n_points)
    np.testing.assert_allclose(total.costs, whole.costs, rtol=1e-12)
    np.testing.assert_allclose(total.losses, whole.losses, rtol=1e-12)
