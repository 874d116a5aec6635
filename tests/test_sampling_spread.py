"""The spread of the rows along a path: one sweep gives what each point alone would."""

from itertools import product

import numpy as np
import pytest
from builders import NUMBERS, THREE_CLASSES, pruning_cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import fitted
from paths import FOREST, HEART
from samples import given_rows, nested_steps, plain_spread, random_steps
from thriftwood.problem.task import task_of

import thriftwood as tw
from thriftwood.distributed import spread
from thriftwood.distributed.spread import spread_along


def assert_spread_as_by_definition(rows, step, n_points, loss, **options):
    found = spread_along(rows, task_of(rows, n_jobs=1), step, n_points, **options)
    expected = plain_spread(rows, step, n_points, loss)
    size = 10 + rows.prices.prices.sum()  # what is squared is rounded
    for power, (own, plain) in enumerate(
        zip((found.of_loss, found.of_both, found.of_bill), expected, strict=True)
    ):
        np.testing.assert_allclose(own, plain, rtol=1e-9, atol=1e-12 * size**power)
    for point, tradeoff in product(range(n_points), (0.0, 0.3)):
        variance = (1.0, 2 * tradeoff, tradeoff**2) @ expected[:, point]
        assert found.standard_error(point, tradeoff) ** 2 == pytest.approx(
            max(variance, 0.0), rel=1e-6, abs=1e-12 * size**2
        )


KINDS = {
    "two": ({}, ["error", "expected_error", "brier"]),
    "three": ({"values": THREE_CLASSES, "classes": (0, 1, 2)}, ["error", "brier"]),
    "numbers": ({"values": NUMBERS, "classes": None}, ["squared_error", "absolute_error"]),
}


@settings(max_examples=80)
@given(st.data(), st.sampled_from(list(KINDS)), st.booleans())
def test_one_sweep_equals_every_point_from_scratch(data, kind, weigh_classes):
    case, losses = KINDS[kind]
    forest, X, y, prices, weights = data.draw(pruning_cases(**case))
    assume(len(y) > 1)
    loss = data.draw(st.sampled_from(losses))
    class_weight = {0: 3.0} if weigh_classes and kind != "numbers" else None
    rows = given_rows(
        forest,
        X,
        y,
        costs=tw.Costs(per_feature=prices, per_split=data.draw(st.sampled_from([0.0, 0.5]))),
        loss=loss,
        sample_weight=weights,
        class_weight=class_weight,
    )
    step, n_points = data.draw(nested_steps(forest))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spread, "MOST_PAIRS", data.draw(st.sampled_from([1, 4, 1000])))
        assert_spread_as_by_definition(rows, step, n_points, loss)


def own_loss(values):
    return 1.0 - values**2


def own_distance(prediction, target):
    return np.abs(prediction - target) ** 1.5


def test_losses_of_the_users_own_spread_too():
    rows = given_rows(FOREST, HEART.X, HEART.y, costs=HEART.costs, loss=own_loss)
    some = rows.take(np.arange(0, rows.n_samples, 5))
    steps = random_steps(rows.forest, 4)
    assert_spread_as_by_definition(some, *steps, lambda p, label: 1 - p[label] ** 2)
    model, X, y = fitted("random_forest_regressor")
    rows = given_rows(model, X, y, loss=own_distance)
    steps = random_steps(rows.forest, 4)
    assert_spread_as_by_definition(rows, *steps, lambda v, target: abs(v[0] - target) ** 1.5)


@pytest.mark.parametrize("per_split", [0.0, 0.25])
def test_where_losses_are_those_of_all_rows_only_bills_differ(per_split):
    costs = tw.Costs(per_feature=HEART.costs, per_split=per_split)
    rows = given_rows(FOREST, HEART.X[::4], HEART.y[::4], costs=costs)
    steps = random_steps(rows.forest, 5)
    assert_spread_as_by_definition(rows, *steps, lambda *_: 0.0, losses_vary=False)


def test_what_the_model_pays_is_the_same_for_all_rows():
    model_only = tw.Costs(
        per_feature=0 * HEART.costs, per_model=[9.0] * 13, per_node=2.0, predictions=10
    )
    rows = given_rows(FOREST, HEART.X, HEART.y, costs=model_only)
    steps = random_steps(rows.forest, 5)
    found = spread_along(rows, task_of(rows, 1), *steps)
    assert not found.of_bill.any()
    assert not found.of_both.any()
    assert found.of_loss.any()
