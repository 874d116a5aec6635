"""`sample=`: nearly the optimal prunings, with figures of all rows and an estimate of the rest."""

from itertools import pairwise

import numpy as np
import pytest
from builders import TRADEOFFS, forest_of, leaf, pruning_cases, split
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import fitted
from paths import FOREST, HEART, NHANES, PATH, TRAIN, assert_same_path, heart_path
from samples import given_rows
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from thriftwood.distributed.sampling import (
    STANDARD_ERRORS,
    drawn_rows,
    optima_of,
    path_on_all_rows,
    sampled_path,
)
from thriftwood.problem.task import task_of

import thriftwood as tw
from thriftwood.distributed.measuring import RowsInBlocks

SAMPLED = heart_path(sample=150)


def assert_laws_of_a_path(path):
    assert path.tradeoffs[0] == 0
    assert (np.diff(path.tradeoffs) > 0).all()
    assert (np.diff(path.costs) < 0).all()
    assert (np.diff(path.losses) > 0).all()
    assert (np.diff(path.n_splits) < 0).all()
    assert (np.diff(path.n_features) <= 0).all()
    assert path.fits()
    for a, b in pairwise(range(len(path))):
        assert (path.kept_nodes(a) >= path.kept_nodes(b)).all()
        at_step = path.tradeoffs[b]
        assert path.losses[a] + at_step * path.costs[a] == pytest.approx(
            path.losses[b] + at_step * path.costs[b], rel=1e-9
        )
    assert path.costs[-1] == 0
    assert path.proof.errors.shape == (len(path),)
    assert (path.proof.errors >= 0).all()


def assert_figures_of_all_rows(path, rows):
    task = task_of(rows, n_jobs=1)
    assert vars(path.original) == pytest.approx(vars(task.original()), rel=1e-9)
    for index in range(len(path)):
        figures = task.figures(path.kept_nodes(index))
        assert vars(path._figures(index)) == pytest.approx(vars(figures), rel=1e-9, abs=1e-12)


# --- laws


@settings(max_examples=60)
@given(st.data(), st.sampled_from(["error", "brier", "log_loss"]), st.booleans())
def test_a_sampled_path_is_a_path_with_the_figures_of_all_rows(data, loss, weigh_classes):
    forest, X, y, prices, weights = data.draw(pruning_cases(most_rows=8))
    assume(len(y) > 2)
    options = {
        "costs": prices,
        "loss": loss,
        "sample_weight": weights,
        "class_weight": {0: 2.0} if weigh_classes else None,
    }
    path = tw.prune_path(forest, X, y, **options, sample=data.draw(st.integers(2, len(y) - 1)))
    assert_laws_of_a_path(path)
    assert_figures_of_all_rows(path, given_rows(forest, X, y, **options))
    exact = tw.prune_path(forest, X, y, **options)
    for tradeoff in (*path.tradeoffs, *exact.tradeoffs):
        found, best = (one.at(tradeoff=float(tradeoff)).objective for one in (path, exact))
        rounded = exact.proof.resolution + tradeoff * exact.proof.cost_resolution
        assert found >= best - rounded - 1e-9 * (1 + abs(best))
    # Losses are those of all rows, so at no price the sample misses nothing.
    assert path.losses[0] == pytest.approx(exact.losses[0], abs=1e-9)


@pytest.mark.parametrize("kind", ["random_forest_regressor", "extra_trees_classifier", "stump"])
@pytest.mark.parametrize("costs", [[1.0, 2.5, 4.0, 8.0], [0.0, 1.0, 0.0, 2.0], [0.0] * 4])
def test_models_and_prices_of_all_kinds_can_be_sampled(kind, costs):
    model, X, y = fitted(kind)
    path = tw.prune_path(model, X, y, costs=costs, sample=30)
    assert_laws_of_a_path(path)
    assert_figures_of_all_rows(path, given_rows(model, X, y, costs=costs))


def test_fees_and_models_are_paid_as_on_all_rows():
    costs = tw.Costs(
        per_feature=HEART.prices.per_feature,
        groups=HEART.prices.groups,
        group_fee=HEART.prices.group_fee,
        per_model={4: 500.0},
        per_split=0.01,
        per_node=0.5,
        predictions=1_000,
    )
    path = heart_path(costs=costs, sample=100)
    assert_laws_of_a_path(path)
    assert_figures_of_all_rows(path, given_rows(FOREST, HEART.X, HEART.y, costs=costs))


def test_what_no_drawn_row_passes_does_not_stay_for_ever():
    """A free split leads to one that costs something and gains, on a row that is not drawn."""
    yes, no = (0.0, 1.0), (1.0, 0.0)
    below = split(1, 0.0, leaf(no), leaf(yes), no)
    forest = forest_of(split(0, 0.0, leaf(no), below, no), n_features=2)
    rare = int(np.setdiff1d(np.arange(40), drawn_rows(40, 10))[0])
    X, y = np.zeros((40, 2)), np.zeros(40, dtype=int)
    X[rare], y[rare] = 1, 1
    path = tw.prune_path(forest, X, y, costs=[0, 1], sample=10)
    assert_laws_of_a_path(path)
    assert path.n_splits.tolist() == [2, 1]
    assert path.losses.tolist() == [0, 1 / 40]
    assert path.costs.tolist() == [1 / 40, 0]


@pytest.mark.parametrize("free", [(), (2, 11, 12)])
def test_recorded_gains_are_the_same_for_all_rows_and_only_bills_are_drawn(free):
    model = HistGradientBoostingClassifier(max_iter=12, max_depth=4, random_state=0)
    model.fit(HEART.X, HEART.y)
    costs = HEART.costs.copy()
    costs[list(free)] = 0
    path = tw.prune_path(model, HEART.X, HEART.y, costs=costs, sample=20)
    assert_laws_of_a_path(path)
    assert_figures_of_all_rows(path, given_rows(model, HEART.X, HEART.y, costs=costs))
    exact = tw.prune_path(model, HEART.X, HEART.y, costs=costs)
    assert path.losses[0] == exact.losses[0] == 0
    assert path.original.cost == pytest.approx(exact.original.cost)


def test_costs_are_what_evaluate_measures():
    measured = SAMPLED.evaluate(HEART.X, HEART.y)
    np.testing.assert_allclose(measured.cost, SAMPLED.costs, rtol=1e-9, atol=1e-12)


def test_the_same_rows_are_drawn_every_time_and_threads_change_nothing():
    again = heart_path(sample=150, n_jobs=2)
    for name in ("drop_step", "tradeoffs", "costs", "losses", "sampling_errors"):
        np.testing.assert_array_equal(getattr(again, name), getattr(SAMPLED, name))
    rows = drawn_rows(303, 150)
    assert len(np.unique(rows)) == 150
    assert (np.diff(rows) > 0).all()
    assert rows.max() < 303
    assert (drawn_rows(303, 150, seed=1) != rows).any()


@pytest.mark.parametrize("sample", [303, 304, np.int64(10**6)])
def test_as_many_as_there_are_rows_is_no_sample(sample):
    path = heart_path(sample=sample)
    assert_same_path(path, PATH)
    assert path.method == "ensemble"
    assert path.proof.errors is None
    assert path.sampled is None
    pruned = tw.prune(
        FOREST, HEART.X, HEART.y, costs=HEART.costs, tradeoff=0.001, sample=sample, samples="in_bag"
    )
    assert pruned.proof.certificate.gap == pruned.bound == 0
    assert pruned.proof.error is None


@pytest.mark.parametrize("own_losses", [True, False])
def test_a_sample_of_all_rows_is_exact_and_says_that_nothing_is_missed(own_losses):
    rows = given_rows(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    every = RowsInBlocks(rows)
    optima = optima_of(FOREST, rows, rows.n_samples, None if own_losses else every.losses, 1, False)
    path = path_on_all_rows(optima, every.measure)
    assert_same_path(path, PATH)
    assert path.proof.errors == pytest.approx(0, abs=1e-12)


# --- the estimate


@pytest.mark.parametrize("own_losses", [True, False])
def test_on_average_a_sample_promises_too_much_and_the_estimate_covers_what_it_misses(own_losses):
    X, y = NHANES.X[TRAIN], NHANES.y[TRAIN]
    model = fitted_on_nhanes()
    rows = given_rows(model, X, y, costs=NHANES.costs)
    exact = tw.prune_path(model, X, y, costs=NHANES.costs)
    every = RowsInBlocks(rows)
    losses = None if own_losses else every.losses
    tradeoffs = (1e-4, 1e-3, 5e-3)
    best = np.array([exact.at(tradeoff=tradeoff).objective for tradeoff in tradeoffs])
    promised, covered, errors = [], [], []
    for seed in range(12):
        sample = rows.take(drawn_rows(rows.n_samples, 300, seed))
        optima = optima_of(model, sample, rows.n_samples, losses, 1, False)
        path = path_on_all_rows(optima, every.measure)
        found = np.array([path.at(tradeoff=tradeoff).objective for tradeoff in tradeoffs])
        estimates = [optima.estimate(f, t) for f, t in zip(found, tradeoffs, strict=True)]
        promised.append([optima.least_objective(tradeoff) for tradeoff in tradeoffs])
        errors.append([optima.standard_error(tradeoff) for tradeoff in tradeoffs])
        covered.append(found - best <= np.array(estimates) + 1e-12)
        assert (found >= best - 1e-9).all()
    noise = np.mean(errors, axis=0) / np.sqrt(len(errors))
    assert (np.mean(promised, axis=0) <= best + STANDARD_ERRORS * noise).all()
    assert np.mean(covered) >= 0.9
    # What the draws promise differs about as much as each of them says.
    np.testing.assert_allclose(np.std(promised, axis=0), np.mean(errors, axis=0), rtol=0.7)


def fitted_on_nhanes():
    forest = RandomForestClassifier(5, max_features=None, min_samples_leaf=5, random_state=0)
    return forest.fit(NHANES.X[TRAIN], NHANES.y[TRAIN])


def test_the_estimate_is_that_at_both_ends_of_a_point():
    rows = given_rows(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    every = RowsInBlocks(rows)
    sample = rows.take(drawn_rows(303, 150))
    optima = optima_of(FOREST, sample, 303, every.losses, 1, False)
    for index, upper in enumerate(SAMPLED.tradeoffs[1:]):
        ends = [
            optima.estimate(SAMPLED.losses[index] + tradeoff * SAMPLED.costs[index], tradeoff)
            for tradeoff in (SAMPLED.tradeoffs[index], upper)
        ]
        assert SAMPLED.proof.errors[index] == pytest.approx(max(ends))
    assert optima.standard_error(0.0) == 0  # losses are of all rows


def test_losses_of_all_rows_miss_far_less_than_those_of_the_sample():
    rows = given_rows(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    every = RowsInBlocks(rows)
    tradeoffs = PATH.tradeoffs[1:]
    missed = {}
    for losses in (None, every.losses):
        missed[losses is None] = [
            path_on_all_rows(
                optima_of(FOREST, rows.take(drawn_rows(303, 100, seed)), 303, losses, 1, False),
                every.measure,
            )
            .at(tradeoff=float(tradeoff))
            .objective
            - PATH.at(tradeoff=float(tradeoff)).objective
            for seed in range(3)
            for tradeoff in tradeoffs[:: len(tradeoffs) // 6]
        ]
    assert np.mean(missed[False]) < np.mean(missed[True]) / 3


# --- points


@given(TRADEOFFS)
@settings(max_examples=10)
def test_prune_gives_the_point_of_the_sampled_path(tradeoff):
    options = {"costs": HEART.costs, "sample": 150}
    pruned = tw.prune(FOREST, HEART.X, HEART.y, tradeoff=tradeoff, **options)
    point = SAMPLED.at(tradeoff=tradeoff)
    assert pruned.objective == point.objective
    assert pruned.tradeoff == tradeoff
    assert pruned.proof.error == point.proof.error == SAMPLED.proof.errors[point.index]
    assert pruned.bound is pruned.proof.certificate is None
    assert pruned.sampled == (150, 303)


def test_within_a_budget_the_rest_of_it_counts_too():
    index = len(SAMPLED) // 2
    cost, tradeoff = SAMPLED.costs[index], SAMPLED.tradeoffs[index]
    budget = (cost + SAMPLED.costs[index - 1]) / 2
    pruned = tw.prune(FOREST, HEART.X, HEART.y, costs=HEART.costs, budget=budget, sample=150)
    assert pruned.cost == cost
    assert pruned.bound is None
    expected = SAMPLED.proof.errors[index] + tradeoff * (budget - cost)
    assert pruned.proof.error == pytest.approx(expected)
    rich = SAMPLED.at(budget=np.inf)
    assert rich.index == 0
    assert rich.proof.error == SAMPLED.proof.errors[0]


def test_refitting_keeps_what_is_known():
    pruned = SAMPLED.at(budget=100).refit(HEART.X, HEART.y)
    assert pruned.sampled == (150, 303)
    assert pruned.proof.error is not None


def test_nothing_is_called_optimal():
    point = SAMPLED.at(tradeoff=0.001)
    assert "A sample of 150 of 303 rows: the best pruning may be better by about" in repr(point)
    assert "(estimated)" in repr(point)
    within = repr(SAMPLED.at(budget=50))
    assert "less within the budget (estimated)" in within
    for words in (repr(point), within, repr(SAMPLED)):
        assert "optimal" not in words
        assert "from a sample of the rows" in words
        assert "No pruning" not in words
    with pytest.raises(tw.errors.InputError, match=r"sample of the rows.*no mixture is optimal"):
        SAMPLED.mix(budget=50)


def test_other_seeds_draw_other_rows():
    rows = given_rows(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    one, other = (sampled_path(FOREST, rows, 50, 1, False, seed=seed) for seed in (1, 2))
    assert (one.drop_step != other.drop_step).any()
