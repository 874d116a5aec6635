"""The lower hull of costs and losses."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thriftwood.distributed.hull import lower_hull, slopes_of

WHOLE = st.integers(0, 12).map(float)
POINTS = st.lists(st.tuples(WHOLE, WHOLE), min_size=1, max_size=9)


def objectives(costs, losses, tradeoff):
    return [
        Fraction(loss) + tradeoff * Fraction(cost) for cost, loss in zip(costs, losses, strict=True)
    ]


@given(POINTS)
def test_at_every_tradeoff_the_hull_has_the_best_point_and_no_point_too_many(points):
    costs, losses = np.array(points).T
    hull = lower_hull(costs, losses)
    ends = [
        Fraction(losses[b] - losses[a]) / Fraction(costs[a] - costs[b]) for a, b in pairwise(hull)
    ]
    assert ends == sorted(set(ends))
    assert all(end > 0 for end in ends)
    inside = [Fraction(0), *ends]
    upper = [*ends, (ends[-1] if ends else Fraction(0)) + 1]
    for point, low, high in zip(hull, inside, upper, strict=True):
        between = (low + high) / 2
        values = objectives(costs, losses, between)
        assert values[point] == min(values)
        for other, value in enumerate(values):
            if value == min(values):  # equal points only, of which the last is taken
                assert (costs[other], losses[other]) == (costs[point], losses[point])
                assert other <= point
    far = objectives(costs, losses, Fraction(10**6))
    assert far[hull[-1]] == min(far)


@given(POINTS)
def test_the_first_point_has_the_least_loss_and_of_these_the_least_cost(points):
    costs, losses = np.array(points).T
    first = lower_hull(costs, losses)[0]
    assert (losses[first], costs[first]) == min(zip(losses, costs, strict=True))


@given(st.lists(st.tuples(st.floats(0.001, 1), st.floats(0, 1)), min_size=1, max_size=20))
def test_slopes_rise_whatever_the_rounding(points):
    costs, losses = np.array(points).T
    hull = lower_hull(costs, losses)
    slopes = slopes_of(costs[hull], losses[hull])
    assert (np.diff(slopes) > 0).all()
    assert (slopes >= 0).all()
    assert (np.diff(costs[hull]) < 0).all()
    assert (np.diff(losses[hull]) > 0).all()


def test_points_on_a_line_are_one_step():
    costs, losses = np.arange(5.0)[::-1], 3.0 * np.arange(5)
    assert lower_hull(costs, losses).tolist() == [0, 4]
    assert slopes_of(costs[[0, 4]], losses[[0, 4]]) == pytest.approx(3)
