"""`subsample=`: nearly optimal prunings, with figures of all samples and an estimate."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from builders import TRADEOFFS, forest_of, leaf, pruning_cases, split
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import fitted
from paths import FOREST, HEART, NHANES, PATH, TRAIN, assert_same_path, heart_path, heart_problem
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import thriftwood as tw
from thriftwood.distributed.subsampling import draw_samples, subsampled_problem
from thriftwood.pruning.sampled import STANDARD_ERRORS, standard_errors

SUBSAMPLED = heart_path(subsample=150)


def subsampled_path(model, X, y, subsample, **options):
    return tw.prune_path(tw.pruning_problem(model, X, y, subsample=subsample, **options))


def assert_laws_of_a_path(path):
    assert path.tradeoffs[0] == 0
    assert (np.diff(path.tradeoffs) > 0).all()
    assert (np.diff(path.costs) < 0).all()
    assert (np.diff(path.losses) > 0).all()
    assert (np.diff(path.n_splits) < 0).all()
    assert (np.diff(path.n_features) <= 0).all()
    for a, b in pairwise(range(len(path))):
        assert (path.kept_nodes(a) >= path.kept_nodes(b)).all()
        at_step = path.tradeoffs[b]
        assert path.losses[a] + at_step * path.costs[a] == pytest.approx(
            path.losses[b] + at_step * path.costs[b], rel=1e-9
        )
    assert path.costs[-1] == 0
    assert path.proof.gaps.shape == (len(path),)
    assert (path.proof.gaps >= 0).all()


def assert_figures_of_all_samples(path, problem):
    assert vars(path.original) == pytest.approx(
        vars(problem.figures(problem.forest.is_split)), rel=1e-9
    )
    for index in range(len(path)):
        figures = vars(problem.figures(path.kept_nodes(index)))
        found = {name: getattr(path[index], name) for name in figures}
        assert found == pytest.approx(figures, rel=1e-9, abs=1e-12)


# --- laws


@settings(max_examples=60)
@given(st.data(), st.sampled_from(["error", "brier", "log_loss"]), st.booleans())
def test_a_path_of_a_subsample_is_a_path_with_the_figures_of_all_samples(data, loss, weigh_classes):
    forest, X, y, prices, weights = data.draw(pruning_cases(most_rows=8))
    assume(len(y) > 2)
    options = {
        "costs": prices,
        "loss": loss,
        "sample_weight": weights,
        "class_weight": {0: 2.0} if weigh_classes else None,
    }
    path = subsampled_path(forest, X, y, data.draw(st.integers(2, len(y) - 1)), **options)
    assert_laws_of_a_path(path)
    assert_figures_of_all_samples(path, tw.pruning_problem(forest, X, y, **options))
    exact = tw.prune_path(forest, X, y, **options)
    for tradeoff in (*path.tradeoffs, *exact.tradeoffs):
        found, best = (one.at(tradeoff=float(tradeoff)).objective for one in (path, exact))
        rounded = exact.proof.gap + tradeoff * exact.proof.cost_gap
        assert found >= best - rounded - 1e-9 * (1 + abs(best))
    # Losses are those of all rows, so at no price the sample misses nothing.
    assert path.losses[0] == pytest.approx(exact.losses[0], abs=1e-9)


@pytest.mark.parametrize("kind", ["random_forest_regressor", "extra_trees_classifier", "stump"])
@pytest.mark.parametrize("costs", [[1.0, 2.5, 4.0, 8.0], [0.0, 1.0, 0.0, 2.0], [0.0] * 4])
def test_models_and_prices_of_all_kinds_can_be_subsampled(kind, costs):
    model, X, y = fitted(kind)
    path = subsampled_path(model, X, y, 30, costs=costs)
    assert_laws_of_a_path(path)
    assert_figures_of_all_samples(path, tw.pruning_problem(model, X, y, costs=costs))


def test_fees_and_models_are_paid_as_on_all_samples():
    costs = tw.Costs(
        per_feature=HEART.prices.per_feature,
        groups=HEART.prices.groups,
        group_fee=HEART.prices.group_fee,
        per_model={4: 500.0},
        per_split=0.01,
        per_node=0.5,
        predictions=1_000,
    )
    path = heart_path(costs=costs, subsample=100)
    assert_laws_of_a_path(path)
    assert_figures_of_all_samples(path, tw.pruning_problem(FOREST, HEART.X, HEART.y, costs=costs))


def test_what_no_drawn_sample_passes_does_not_stay_for_ever():
    """A free split leads to one that costs something and gains, on a row that is not drawn."""
    yes, no = (0.0, 1.0), (1.0, 0.0)
    below = split(1, 0.0, leaf(no), leaf(yes), no)
    forest = forest_of(split(0, 0.0, leaf(no), below, no), n_features=2)
    rare = int(np.setdiff1d(np.arange(40), draw_samples(40, 10))[0])
    X, y = np.zeros((40, 2)), np.zeros(40, dtype=int)
    X[rare], y[rare] = 1, 1
    path = subsampled_path(forest, X, y, 10, costs=[0, 1])
    assert_laws_of_a_path(path)
    assert path.n_splits.tolist() == [2, 1]
    assert path.losses.tolist() == [0, 1 / 40]
    assert path.costs.tolist() == [1 / 40, 0]


@pytest.mark.parametrize("free", [(), (2, 11, 12)])
def test_recorded_gains_are_the_same_for_all_samples_and_only_bills_are_drawn(free):
    model = HistGradientBoostingClassifier(max_iter=12, max_depth=4, random_state=0)
    model.fit(HEART.X, HEART.y)
    costs = HEART.costs.copy()
    costs[list(free)] = 0
    path = subsampled_path(model, HEART.X, HEART.y, 20, costs=costs)
    assert_laws_of_a_path(path)
    assert_figures_of_all_samples(path, tw.pruning_problem(model, HEART.X, HEART.y, costs=costs))
    exact = tw.prune_path(model, HEART.X, HEART.y, costs=costs)
    assert path.losses[0] == exact.losses[0] == 0
    assert path.original.cost == pytest.approx(exact.original.cost)


def test_costs_are_what_evaluate_measures():
    measured = SUBSAMPLED.evaluate(HEART.X, HEART.y)
    np.testing.assert_allclose(measured.cost, SUBSAMPLED.costs, rtol=1e-9, atol=1e-12)


def test_the_same_samples_are_drawn_every_time_and_threads_change_nothing():
    again = heart_path(subsample=150, n_jobs=2)
    for name in ("drop_step", "tradeoffs", "costs", "losses"):
        np.testing.assert_array_equal(getattr(again, name), getattr(SUBSAMPLED, name))
    np.testing.assert_array_equal(again.proof.gaps, SUBSAMPLED.proof.gaps)
    drawn = draw_samples(303, 150)
    assert len(np.unique(drawn)) == 150
    assert (np.diff(drawn) > 0).all()
    assert drawn.max() < 303
    assert (draw_samples(303, 150, seed=1) != drawn).any()


@pytest.mark.parametrize("subsample", [303, 304, np.int64(10**6)])
def test_as_many_as_there_are_samples_is_no_subsample(subsample):
    path = heart_path(subsample=subsample)
    assert_same_path(path, PATH)
    assert path.proof.is_exact
    pruned = tw.prune(heart_problem(subsample=subsample, samples="in_bag"), tradeoff=0.001)
    assert pruned.proof.certificate.gap == pruned.proof.gap == 0


# --- the estimate


def by_subsample(problem):
    """Return the optimal path by the losses of all samples and the bills of the subsample."""
    return tw.prune_path(replace(problem, subsample=None))


def standard_error(problem, tradeoff):
    path = by_subsample(problem)
    errors = standard_errors(problem, path.drop_step, len(path))
    return tradeoff * errors[path.at(tradeoff=tradeoff).index]


def estimate(problem, objective, tradeoff):
    """Estimate by definition how much better the best pruning may be than an objective."""
    promised = by_subsample(problem).at(tradeoff=tradeoff).objective
    return max(objective - promised + STANDARD_ERRORS * standard_error(problem, tradeoff), 0.0)


def test_on_average_a_subsample_promises_too_much_and_the_estimate_covers_what_it_misses():
    X, y = NHANES.X[TRAIN], NHANES.y[TRAIN]
    model = RandomForestClassifier(5, max_features=None, min_samples_leaf=5, random_state=0)
    whole = tw.pruning_problem(model.fit(X, y), X, y, costs=NHANES.costs)
    exact = tw.prune_path(whole)
    tradeoffs = (1e-4, 1e-3, 5e-3)
    best = np.array([exact.at(tradeoff=tradeoff).objective for tradeoff in tradeoffs])
    promised, covered, errors = [], [], []
    for seed in range(12):
        problem = subsampled_problem(whole, 300, seed)
        path, own = tw.prune_path(problem), by_subsample(problem)
        found = np.array([path.at(tradeoff=tradeoff).objective for tradeoff in tradeoffs])
        estimates = [estimate(problem, f, t) for f, t in zip(found, tradeoffs, strict=True)]
        promised.append([own.at(tradeoff=tradeoff).objective for tradeoff in tradeoffs])
        errors.append([standard_error(problem, tradeoff) for tradeoff in tradeoffs])
        covered.append(found - best <= np.array(estimates) + 1e-12)
        assert (found >= best - 1e-9).all()
    noise = np.mean(errors, axis=0) / np.sqrt(len(errors))
    assert (np.mean(promised, axis=0) <= best + STANDARD_ERRORS * noise).all()
    assert np.mean(covered) >= 0.9
    # What the draws promise differs about as much as each of them says.
    np.testing.assert_allclose(np.std(promised, axis=0), np.mean(errors, axis=0), rtol=0.7)


def test_the_estimate_counts_what_a_path_that_had_no_time_misses():
    X, y = NHANES.X, NHANES.y
    model = RandomForestClassifier(20, max_features=None, min_samples_leaf=5, random_state=0)
    whole = tw.pruning_problem(model.fit(X, y), X, y, costs=NHANES.costs)
    exact = tw.prune_path(whole)
    for seed in range(4):
        path = tw.prune_path(subsampled_problem(whole, 1000, seed), time_limit=0)
        assert not path.proof.is_finished
        for tradeoff in exact.tradeoffs.tolist():
            found, best = path.at(tradeoff=tradeoff), exact.at(tradeoff=tradeoff)
            assert found.objective - best.objective <= found.proof.gap
        budgeted = path.at(budget=20)
        assert budgeted.loss - exact.at(budget=20).loss <= budgeted.proof.gap
        assert "from a subsample whose path was stopped early" in repr(budgeted)


def test_the_estimate_is_that_at_both_ends_of_a_point():
    problem = heart_problem(subsample=150)
    ends_of = zip(SUBSAMPLED.tradeoffs[:-1], SUBSAMPLED.tradeoffs[1:], strict=True)
    for index, ends in enumerate(ends_of):
        cost, loss = SUBSAMPLED.costs[index], SUBSAMPLED.losses[index]
        estimates = [estimate(problem, loss + t * cost, float(t)) for t in ends]
        assert SUBSAMPLED.proof.gaps[index] == pytest.approx(max(estimates))


def test_losses_of_all_samples_miss_far_less_than_those_of_the_subsample():
    whole = heart_problem()
    tradeoffs = PATH.tradeoffs[1 :: len(PATH) // 6].tolist()
    missed, missed_by_own = [], []
    for seed in range(3):
        path = tw.prune_path(subsampled_problem(whole, 100, seed))
        drawn = draw_samples(303, 100, seed)
        own = tw.prune_path(FOREST, HEART.X[drawn], HEART.y[drawn], costs=HEART.costs)
        for tradeoff in tradeoffs:
            best = PATH.at(tradeoff=tradeoff).objective
            missed.append(path.at(tradeoff=tradeoff).objective - best)
            figures = whole.figures(own.kept_nodes(own.at(tradeoff=tradeoff).index))
            missed_by_own.append(figures.loss + tradeoff * figures.cost - best)
    assert np.mean(missed) < np.mean(missed_by_own) / 3


# --- points


@given(TRADEOFFS)
@settings(max_examples=10)
def test_prune_gives_the_point_of_the_path(tradeoff):
    pruned = tw.prune(heart_problem(subsample=150), tradeoff=tradeoff)
    point = SUBSAMPLED.at(tradeoff=tradeoff)
    assert pruned.objective == point.objective
    assert pruned.tradeoff == tradeoff
    assert pruned.proof.gap == point.proof.gap == SUBSAMPLED.proof.gaps[point.index]
    assert (pruned.proof.n_drawn, pruned.proof.n_samples) == (150, 303)


def test_within_a_budget_the_rest_of_it_counts_too():
    index = len(SUBSAMPLED) // 2
    cost, tradeoff = SUBSAMPLED.costs[index], SUBSAMPLED.tradeoffs[index]
    budget = (cost + SUBSAMPLED.costs[index - 1]) / 2
    pruned = tw.prune(heart_problem(subsample=150), budget=budget)
    assert pruned.cost == cost
    expected = SUBSAMPLED.proof.gaps[index] + tradeoff * (budget - cost)
    assert pruned.proof.gap == pytest.approx(expected)
    rich = SUBSAMPLED.at(budget=np.inf)
    assert rich.index == 0
    assert rich.proof.gap == SUBSAMPLED.proof.gaps[0]


def test_refitting_keeps_what_is_known():
    pruned = SUBSAMPLED.at(budget=100).refit(HEART.X, HEART.y)
    assert pruned.proof.n_drawn == 150


def test_nothing_is_called_optimal():
    point = SUBSAMPLED.at(tradeoff=0.001)
    words = "A subsample of 150 of 303 samples: the best pruning may be better by about"
    assert words in repr(point)
    assert "(estimated)" in repr(point)
    within = repr(SUBSAMPLED.at(budget=50))
    assert "less within the budget (estimated)" in within
    for words in (repr(point), within, repr(SUBSAMPLED)):
        assert "optimal" not in words
        assert "from a subsample" in words
        assert "No pruning" not in words
    with pytest.raises(tw.errors.InputError, match=r"subsample.*no mixture is optimal"):
        SUBSAMPLED.mix(budget=50)
