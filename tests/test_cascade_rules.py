"""Rules to stop: tuned for every budget, never beaten by one that was tried."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thriftwood.cascade import (
    StageResults,
    StoppingRules,
    expected_errors,
    temperature_scaling,
    tune_rules,
)
from thriftwood.cascade.rules import not_beaten
from thriftwood.errors import InputError
from thriftwood.forest import SKIPPED


def trial(
    n_samples=60,
    n_stages=4,
    seed=0,
    model_costs=None,
    weights=None,
    atoms=False,
    least_noise=0.3,
    loss_weights=None,
    error_costs=((0, 1), (1, 0)),
) -> StageResults:
    """Return stages that know more and more about a hidden number, and cost more and more."""
    random = np.random.default_rng(seed)
    hidden = random.normal(size=n_samples)
    noise = random.normal(size=(n_samples, n_stages)) * np.linspace(2.0, least_noise, n_stages)
    seen = hidden[:, None] + noise
    margins = np.abs(np.round(seen) if atoms else seen)
    counts = np.ones(n_samples) if weights is None else np.asarray(weights, dtype=float)
    counts /= counts.sum()
    target = (hidden > 0).astype(np.int32)
    weighed = counts if loss_weights is None else np.asarray(loss_weights) / np.sum(loss_weights)
    return StageResults(
        margins=margins,
        margins_of_all=margins,
        labels=(seen > 0).astype(np.int64),
        probability=temperature_scaling(seen[:, -1:], target, counts)[0],
        target=target,
        bills=np.cumsum(random.integers(0, 4, size=(n_samples, n_stages)), axis=1).astype(float),
        weights=counts,
        loss_weights=weighed,
        error_costs=np.array(error_costs, dtype=float),
        model_costs=np.zeros(n_stages) if model_costs is None else np.asarray(model_costs),
    )


def expected(trial: StageResults):
    return expected_errors(
        trial.probability, trial.margins, trial.labels, trial.loss_weights, trial.error_costs
    )


def figures(trial: StageResults, rule) -> tuple[float, float, float]:
    """Return cost, loss and error of a rule, row by row."""
    losses = expected(trial)
    cost = loss = error = 0.0
    for row, (weight, own) in enumerate(zip(trial.weights, trial.loss_weights, strict=True)):
        stage = next(s for s in range(len(rule)) if trial.margins[row, s] >= rule[s])
        cost += weight * trial.bills[row, stage]
        loss += own * losses[row, stage]
        answer = trial.labels[row, stage]
        error += own * trial.error_costs[trial.target[row], answer]
    last = next(s for s in range(len(rule)) if rule[s] == 0)
    return cost + trial.model_costs[last], loss, error


@pytest.mark.parametrize("atoms", [False, True])
@pytest.mark.parametrize("error_costs", [((0, 1), (1, 0)), ((0.5, 3), (20, 0))])
def test_rules_cost_and_lose_what_they_say(atoms, error_costs):
    own = trial(
        atoms=atoms,
        weights=np.arange(60) % 3,
        loss_weights=1 + np.arange(60) % 4,
        error_costs=error_costs,
        model_costs=[0.0, 0.5, 1.0, 4.0],
    )
    rules = tune_rules(own)
    assert len(rules) > 5
    assert rules.fits(4)
    for number, rule in enumerate(rules.thresholds):
        np.testing.assert_allclose(
            (rules.costs[number], rules.losses[number], rules.errors[number]), figures(own, rule)
        )


@given(st.integers(0, 30), st.floats(0, 12))
def test_more_money_never_loses_more_and_the_budget_is_met(seed, budget):
    rules = tune_rules(trial(seed=seed))
    assert (np.diff(rules.costs) > 0).all()
    assert (np.diff(rules.losses) < 0).all()
    if budget >= rules.costs[0]:
        chosen = rules.within(budget)
        assert rules.costs[chosen] <= budget * (1 + 1e-9)
        assert chosen == len(rules) - 1 or rules.costs[chosen + 1] > budget


@pytest.mark.parametrize("seed", range(8))
def test_single_stages_are_among_the_rules(seed):
    """So a cascade is never worse than any of its stages, on the rows that tuned it."""
    own = trial(seed=seed)
    rules = tune_rules(own)
    for stage in range(4):
        rule = np.full(4, SKIPPED)
        rule[[stage, -1]] = 0
        cost, loss, _ = figures(own, rule)
        assert rules.losses[rules.within(cost)] <= loss + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_there_is_a_rule_near_every_budget(seed):
    """However far the bills of stages are apart, and however little a stage tells for its price."""
    bills = np.tile([1.0, 21.0, 44.0, 1877.0], (2000, 1))
    costs = tune_rules(trial(2000, 4, seed)._replace(bills=bills)).costs
    assert (np.diff(costs) < np.maximum(0.4 * costs[1:], 1.5)).all()


def test_without_a_budget_the_cheapest_as_good_as_the_best_is_taken():
    own = trial(n_samples=500, least_noise=1.7)
    rules = tune_rules(own)
    chosen = rules.within(None)
    assert 0 < chosen < len(rules) - 1
    wrong = [own.lost[np.arange(500), (own.margins >= rule).argmax(1)] for rule in rules.thresholds]
    noise = [np.std(one.astype(float) - wrong[-1]) / np.sqrt(500) for one in wrong]
    np.testing.assert_allclose(rules.standard_errors, noise)
    close = rules.losses <= rules.losses[-1] + 0.25 * np.array(noise)
    assert close[chosen]
    assert not close[:chosen].any()


@pytest.mark.parametrize("seed", range(5))
def test_with_two_stages_the_rules_reach_the_best_there_is(seed):
    """Of two stages there is one threshold: try them all, and compare the corners of the hull."""
    own = trial(n_samples=25, n_stages=2, seed=seed)
    rules = tune_rules(own)
    every = [*own.margins[:, 0], 0.0, SKIPPED]
    tried = np.array([figures(own, (threshold, 0.0))[:2] for threshold in every])
    full_bill = own.weights @ own.bills[:, -1]
    for tradeoff in np.geomspace(3.9, 5e-4, 15) / full_bill:
        best = (tried[:, 1] + tradeoff * tried[:, 0]).min()
        mine = (rules.losses + tradeoff * rules.costs).min()
        assert mine >= best - 1e-12
        assert mine <= best + 0.02


@pytest.mark.parametrize("seed", range(3))
def test_no_rule_is_better_than_the_best_of_all(seed):
    """With three stages and few rows every rule can be tried."""
    own = trial(n_samples=9, n_stages=3, seed=seed)
    rules = tune_rules(own)
    choices = [[*np.unique(own.margins[:, s]), 0.0, SKIPPED] for s in (0, 1)]
    tried = np.array([figures(own, (*both, 0.0))[:2] for both in itertools.product(*choices)])
    for cost, loss in zip(rules.costs, rules.losses, strict=True):
        assert loss >= tried[tried[:, 0] <= cost + 1e-9, 1].min() - 1e-12


def test_rules_do_not_depend_on_the_unit_of_prices():
    own = trial()
    rules, scaled = tune_rules(own), tune_rules(own._replace(bills=own.bills * 1024))
    np.testing.assert_array_equal(scaled.thresholds, rules.thresholds)
    np.testing.assert_allclose(scaled.costs, rules.costs * 1024)


def test_a_weight_of_two_is_a_row_twice():
    weights = np.arange(60) % 3
    weighted_trial = trial(weights=weights)
    weighted = tune_rules(weighted_trial)
    own = trial()
    twice = np.repeat(np.arange(60), weights)
    repeated = tune_rules(
        own._replace(
            margins=own.margins[twice],
            margins_of_all=own.margins[twice],
            labels=own.labels[twice],
            probability=weighted_trial.probability[twice],
            target=own.target[twice],
            bills=own.bills[twice],
            weights=np.full(len(twice), 1 / len(twice)),
            loss_weights=np.full(len(twice), 1 / len(twice)),
        )
    )
    for budget in (2.0, 4.0, 8.0):
        ours, theirs = weighted.within(budget), repeated.within(budget)
        assert weighted.losses[ours] == pytest.approx(repeated.losses[theirs], abs=0.02)


def test_stages_that_cost_nothing():
    own = trial()
    rules = tune_rules(own._replace(bills=np.zeros_like(own.bills)))
    assert len(rules) == 1
    assert rules.costs[0] == 0


def test_budgets_are_read():
    rules = tune_rules(trial(model_costs=[1.0, 1, 1, 1]))
    assert rules.within(np.inf) == len(rules) - 1
    for wrong in (-1, np.nan, "much", [3]):
        with pytest.raises(InputError, match="`budget`"):
            rules.within(wrong)
    with pytest.raises(InputError, match=r"No stage costs 0\.5 or less on these samples"):
        rules.within(0.5)
    assert "rules, from cost" in repr(rules)


def test_only_the_best_are_kept():
    costs, losses = np.array([3.0, 1, 2, 2, 3]), np.array([0.5, 0.5, 0.6, 0.4, 0.4])
    np.testing.assert_array_equal(not_beaten(costs, losses), [1, 3])
    thresholds = np.zeros((5, 1))
    assert not StoppingRules(thresholds, costs, losses, losses, losses).fits(1)
    kept = StoppingRules(*(one[[1, 3]] for one in (thresholds, costs, losses, losses, losses)))
    assert kept.fits(1)
    assert not kept.fits(2)


def test_expected_losses_are_likelihoods_that_add_up():
    own = trial(n_samples=4000)
    losses = expected(own)
    np.testing.assert_allclose(own.weights @ losses, own.weights @ own.lost, atol=0.03)
    assert losses.min() >= 0


@pytest.mark.parametrize("stretch", [0.1, 1.0, 30.0])
def test_calibration_undoes_any_stretch(stretch):
    random = np.random.default_rng(0)
    scores = random.normal(size=(20_000, 3)) * 2
    right = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    target = (random.random((20_000, 1)) > right.cumsum(axis=1)).sum(axis=1)
    weights = np.full(20_000, 1 / 20_000)
    found, loss = temperature_scaling(stretch * scores, target, weights)
    np.testing.assert_allclose(found, right, atol=0.02)
    assert loss == pytest.approx(-np.log(found[np.arange(20_000), target]).mean())


def test_one_score_is_that_of_the_second_class():
    scores, target = np.array([[2.0], [-1.0], [0.5], [-3.0]]), np.array([1, 0, 0, 0])
    weights = np.full(4, 0.25)
    two, _ = temperature_scaling(np.column_stack([np.zeros(4), scores]), target, weights)
    one, _ = temperature_scaling(scores, target, weights)
    np.testing.assert_allclose(one, two)
    assert (one.argmax(axis=1) == (scores[:, 0] > 0)).all()
