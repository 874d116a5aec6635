"""Mixtures of two points: the budget is met on average, each row drawn alike."""

import numpy as np
import pytest
from paths import HEART, PATH

import thriftwood as tw
from thriftwood.errors import InputError


def test_a_mixture_meets_the_budget_on_average():
    budget = (PATH.costs[2] + 2 * PATH.costs[3]) / 3
    mixture = PATH.mix(budget=budget)
    assert (mixture.rich.index, mixture.cheap.index) == (2, 3)
    assert mixture.probability == pytest.approx(1 / 3)
    assert mixture.cost == pytest.approx(budget)
    within = PATH.at(budget=budget)
    assert mixture.loss == pytest.approx(within.loss - within.proof.gap)
    bills = [
        np.where(
            PATH.mix(budget=budget, random_state=seed).draws_rich(HEART.X),
            tw.feature_bill(mixture.rich.model, HEART.X, HEART.costs).per_sample,
            tw.feature_bill(mixture.cheap.model, HEART.X, HEART.costs).per_sample,
        ).mean()
        for seed in range(200)
    ]
    spread = np.std(bills) / np.sqrt(len(bills))
    assert abs(np.mean(bills) - budget) < 4 * spread


def test_a_row_gets_the_same_draw_in_any_company():
    model = PATH.mix(budget=(PATH.costs[2] + PATH.costs[3]) / 2, random_state=7)
    draws = model.draws_rich(HEART.X)
    assert 0.3 < draws.mean() < 0.7
    np.testing.assert_array_equal(model.draws_rich(HEART.X[::-1]), draws[::-1])
    np.testing.assert_array_equal(model.draws_rich(HEART.X[:10]), draws[:10])
    for mine, name in ((model.predict, "predict"), (model.predict_proba, "predict_proba")):
        rich, cheap = getattr(model.rich.model, name), getattr(model.cheap.model, name)
        np.testing.assert_array_equal(mine(HEART.X)[draws], rich(HEART.X)[draws])
        np.testing.assert_array_equal(mine(HEART.X)[~draws], cheap(HEART.X)[~draws])
    keys = np.arange(len(draws))
    by_key = model.draws_rich(HEART.X, keys)
    assert (by_key != draws).any()
    np.testing.assert_array_equal(model.draws_rich(HEART.X[::-1], keys), by_key)
    np.testing.assert_array_equal(
        model.predict(HEART.X, keys)[by_key], model.rich.model.predict(HEART.X)[by_key]
    )
    with pytest.raises(InputError, match="keys for 303 samples"):
        model.draws_rich(HEART.X, keys[1:])
    other = PATH.mix(budget=(PATH.costs[2] + PATH.costs[3]) / 2, random_state=8)
    assert (other.draws_rich(HEART.X) != draws).any()


def test_at_the_ends_a_mixture_is_one_model():
    rich = PATH.mix(budget=PATH.costs[0] + 1)
    assert rich.probability == 1
    assert rich.cost == PATH.costs[0]
    assert PATH.mix(budget=0).cost == 0
    assert PATH.mix(budget=PATH.costs[4]).cost == pytest.approx(PATH.costs[4])
    with pytest.raises(InputError, match="`random_state`"):
        PATH.mix(budget=1, random_state="seed")
