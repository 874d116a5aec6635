"""Stages: nested forests, and rows that stop as soon as one is sure."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import HEART, PATH

import thriftwood as tw
from thriftwood.errors import ForestError
from thriftwood.forest import (
    SKIPPED,
    Stages,
    collapse,
    leaves,
    one_stage,
    predict,
    predict_stages,
    scores,
    value_ranges,
)
from thriftwood.forest.collapse import is_top_of
from thriftwood.forest.stages import TIE_BREAK
from thriftwood.forest.table import read_rows
from thriftwood.support.draws import uniform_per_row

ROWS = read_rows(HEART.X, PATH.forest).values
POINTS = (12, 6, 2, 0)
FORESTS = tuple(collapse(PATH.forest, PATH.kept_nodes(point))[0] for point in POINTS)


def stages_of(*thresholds):
    return Stages(FORESTS[: len(thresholds) + 1], [*thresholds, 0.0]).check()


def test_one_stage_is_the_forest():
    predicted = predict_stages(one_stage(FORESTS[1]).check(), ROWS)
    np.testing.assert_array_equal(predicted.stage, 0)
    np.testing.assert_array_equal(predicted.predictions, predict(FORESTS[1], ROWS))


@given(st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, SKIPPED]), min_size=0, max_size=3))
def test_a_row_stops_where_it_is_first_sure_enough(thresholds):
    stages = stages_of(*thresholds)
    predicted = predict_stages(stages, ROWS)
    for row in range(0, len(ROWS), 7):
        one = ROWS[row : row + 1]
        for number, forest in enumerate(stages.forests):
            margin = stages.margins(number, one, scores(forest, one))[0]
            if stages.thresholds[number] == SKIPPED:
                assert np.isnan(predicted.margins[row, number])
                continue
            assert predicted.margins[row, number] == margin
            if margin >= stages.thresholds[number]:
                break
        assert predicted.stage[row] == number
        assert np.isnan(predicted.margins[row, number + 1 :]).all()
        np.testing.assert_array_equal(predicted.predictions[row], predict(forest, one)[0])


@pytest.mark.parametrize(
    ("found", "gaps"), [([[-2.0], [0.0], [3.0]], [2, 0, 3]), ([[1.0, 4, 3], [2, 2, 0]], [1, 0])]
)
def test_margins_are_gaps_but_for_a_draw(found, gaps):
    forest, rows = FORESTS[1], ROWS[: len(found)]
    margins = one_stage(forest).margins(0, rows, np.array(found))
    np.testing.assert_allclose(margins, gaps, rtol=TIE_BREAK)
    assert (margins >= gaps).all()


def test_a_draw_depends_on_what_every_row_buys_alone():
    forest = FORESTS[0]
    found = np.ones((len(ROWS), 1))
    margins = one_stage(forest).margins(0, ROWS, found)
    assert len(np.unique(margins)) > 5
    other = ROWS + 1
    other[:, forest.features_at_roots] = ROWS[:, forest.features_at_roots]
    np.testing.assert_array_equal(one_stage(forest).margins(0, other, found), margins)
    used = tw.feature_bill(forest, HEART.X).used
    assert used[:, forest.features_at_roots].all()


def test_forests_must_be_nested_and_alike():
    assert all(is_top_of(small, FORESTS[-1]) for small in FORESTS)
    assert not is_top_of(FORESTS[-1], FORESTS[0])
    cheap, rich = FORESTS[0], FORESTS[-1]
    moved = replace(cheap, threshold=cheap.threshold + cheap.is_split)
    for forests in ((rich, cheap), (moved, rich), (replace(cheap, classes=[0, 2]), rich)):
        with pytest.raises(ForestError, match="stage 0 is no part of the next"):
            Stages(forests, [0.5, 0.0]).check()
    for thresholds in ([0.5, 0.1], [-0.1, 0.0], [np.nan, 0.0]):
        with pytest.raises(ForestError, match="Thresholds are at least 0"):
            Stages((cheap, rich), thresholds).check()
    for forests, thresholds in (((), []), ((cheap,), [0.0, 0.0])):
        with pytest.raises(ForestError, match="a threshold for each"):
            Stages(forests, thresholds).check()


def test_ranges_hold_the_leaves_below_and_are_reached():
    forest = FORESTS[-1]
    low, high = value_ranges(forest, leaves_only=True)
    is_leaf = ~forest.is_split
    np.testing.assert_array_equal(low[is_leaf], forest.values[is_leaf])
    np.testing.assert_array_equal(high[is_leaf], forest.values[is_leaf])
    for h in np.flatnonzero(forest.is_split):
        below = [forest.left[h], forest.right[h]]
        np.testing.assert_array_equal(low[h], low[below].min(axis=0))
        np.testing.assert_array_equal(high[h], high[below].max(axis=0))
    reached = forest.values[leaves(forest, ROWS)]
    roots = forest.tree_start[:-1]
    assert (reached >= low[roots]).all()
    assert (reached <= high[roots]).all()


def test_ranges_of_all_nodes_hold_those_of_leaves_and_every_node_itself():
    forest = FORESTS[-1]
    least, greatest = value_ranges(forest, leaves_only=False)
    low, high = value_ranges(forest, leaves_only=True)
    for h in reversed(range(forest.n_nodes)):
        below = [h] if forest.left[h] < 0 else [h, forest.left[h], forest.right[h]]
        low[h] = np.minimum(low[h], np.min([forest.values[h], *low[below]], axis=0))
        high[h] = np.maximum(high[h], np.max([forest.values[h], *high[below]], axis=0))
    np.testing.assert_array_equal(least, low)
    np.testing.assert_array_equal(greatest, high)


def test_splits_must_send_missing_values_the_same_way():
    cheap, rich = FORESTS[0], FORESTS[-1]
    assert not is_top_of(replace(cheap, missing_left=~cheap.missing_left & cheap.is_split), rich)


def test_all_missing_values_draw_alike():
    one, other = np.full((2, 3), np.nan), np.full((2, 3), np.nan)
    other.view(np.uint64)[:] |= np.uint64(5)  # another NaN
    assert np.isnan(other).all()
    np.testing.assert_array_equal(uniform_per_row(one), uniform_per_row(other))
    np.testing.assert_array_equal(
        uniform_per_row(np.zeros((1, 2))), uniform_per_row(-np.zeros((1, 2)))
    )
    assert (uniform_per_row(np.zeros((1, 2)), 1) != uniform_per_row(np.zeros((1, 2)), 2)).all()
