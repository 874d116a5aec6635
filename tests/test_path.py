"""`tw.prune_path`: every point optimal, nested, and what it says it is."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from builders import TRADEOFFS, pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from models import assert_equal_forests
from paths import FOREST, HEART, NHANES, PATH, TRAIN, assert_same_path, heart_path, heart_problem
from prunings import LOSSES, all_prunings
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError

# --- optimal


@settings(max_examples=60)
@given(pruning_cases(), TRADEOFFS)
def test_at_any_tradeoff_the_path_has_the_forest_that_prune_finds(case, tradeoff):
    forest, X, y, prices, weights = case
    options = {"costs": prices, "sample_weight": weights}
    pruned = tw.prune(forest, X, y, tradeoff=tradeoff, **options)
    point = tw.prune_path(forest, X, y, **options).at(tradeoff=tradeoff)
    assert point.objective == pytest.approx(pruned.objective, rel=1e-9, abs=1e-12)
    assert point.tradeoff == pruned.tradeoff
    assert point.original == pruned.original


@pytest.mark.parametrize("solver", ["min_cut", "linear_program", "dantzig_wolfe"])
def test_between_breakpoints_and_at_them_the_path_is_optimal(solver):
    rng = np.random.default_rng(0)
    upper = np.append(PATH.tradeoffs[1:], 2 * PATH.tradeoffs[-1])
    for index in rng.choice(len(PATH), 6, replace=False):
        between = rng.uniform(PATH.tradeoffs[index], upper[index])
        for tradeoff in (between, float(PATH.tradeoffs[index])):
            pruned = tw.prune(
                FOREST, HEART.X, HEART.y, costs=HEART.costs, tradeoff=tradeoff, solver=solver
            )
            assert pruned.proof.certificate.gap == 0
            point = PATH.at(tradeoff=tradeoff)
            assert point.index == index
            assert point.objective == pytest.approx(pruned.objective, rel=1e-9)
            if tradeoff == between:
                assert point.n_splits == pruned.n_splits
        if index > 0:
            before = PATH[index - 1]
            after = PATH[index]
            at_step = PATH.tradeoffs[index]
            assert before.loss + at_step * before.cost == pytest.approx(
                after.loss + at_step * after.cost, rel=1e-9
            )


def test_on_real_data_the_path_is_optimal_between_its_breakpoints(nhanes, monkeypatch):
    forest, path, _, _ = nhanes
    X, y = NHANES.X[TRAIN], NHANES.y[TRAIN]
    assert path.proof.gap == 0
    rng = np.random.default_rng(0)
    for index in rng.choice(len(path) - 1, 8, replace=False):
        tradeoff = rng.uniform(*path.tradeoffs[index : index + 2])
        pruned = tw.prune(forest, X, y, costs=NHANES.costs, tradeoff=tradeoff)
        assert pruned.proof.certificate.gap == 0
        point = path.at(tradeoff=tradeoff)
        assert (point.index, point.n_splits) == (index, pruned.n_splits)
        assert point.objective == pytest.approx(pruned.objective, rel=1e-12)
    monkeypatch.setattr("thriftwood.solvers.parametric_cut_kernels.FEW_ARCS", 500)
    np.testing.assert_array_equal(
        tw.prune_path(forest, X, y, costs=NHANES.costs, n_jobs=2).drop_step, path.drop_step
    )


@settings(max_examples=60)
@given(pruning_cases(most_trees=2), st.floats(0, 1.2))
def test_no_pruning_within_a_budget_beats_the_bound(case, share):
    forest, X, y, prices, weights = case
    path = tw.prune_path(forest, X, y, costs=prices, sample_weight=weights)
    prunings = list(all_prunings(forest, X, y, weights, prices))
    budget = share * max(cost for cost, _ in prunings)
    point = path.at(budget=budget)
    assert point.cost <= budget
    best = min(loss for cost, loss in prunings if cost <= budget * (1 + 1e-9))
    assert point.loss - point.proof.gap <= best + 1e-9
    assert path.losses[0] == pytest.approx(min(loss for _, loss in prunings), abs=1e-9)


@settings(max_examples=80)
@given(pruning_cases(most_trees=2), st.sampled_from(list(LOSSES)), st.booleans())
def test_every_point_is_a_pruning_and_the_hull_of_all(case, loss, ignore_first_row):
    forest, X, y, prices, weights = case
    if ignore_first_row and len(y) > 1:
        weights[0] = 0
    path = tw.prune_path(forest, X, y, costs=prices, sample_weight=weights, loss=loss)
    prunings = np.array(list(all_prunings(forest, X, y, weights, prices, loss)))
    for tradeoff in [*path.tradeoffs, 2 * path.tradeoffs[-1] + 1]:
        point = path.at(tradeoff=float(tradeoff))
        best = (prunings[:, 1] + tradeoff * prunings[:, 0]).min()
        assert point.objective == pytest.approx(best, rel=1e-6, abs=1e-9)


# --- nested, monotone, invariant


@settings(max_examples=60)
@given(pruning_cases())
def test_points_are_nested_and_trade_cost_for_loss(case):
    forest, X, y, prices, weights = case
    path = tw.prune_path(forest, X, y, costs=prices, sample_weight=weights)
    assert (np.diff(path.tradeoffs) > 0).all()
    assert (np.diff(path.costs) < 0).all()
    assert (np.diff(path.losses) > 0).all()
    assert (np.diff(path.n_splits) < 0).all()
    assert (np.diff(path.n_features) <= 0).all()
    for a, b in pairwise(range(len(path))):
        assert (path.kept_nodes(a) >= path.kept_nodes(b)).all()
    # A split stays no longer than its parent.
    below = forest.parent >= 0
    steps = path.drop_step
    assert (steps[below] <= steps[forest.parent[below]]).all()


@pytest.mark.parametrize("seconds", [0, 0.02, 60])
def test_a_path_that_had_no_time_says_what_it_may_miss(nhanes, seconds):
    forest, _, X, y = nhanes
    path = tw.prune_path(forest, X, y, costs=NHANES.costs, time_limit=seconds)
    exact = tw.prune_path(forest, X, y, costs=NHANES.costs)
    if seconds in (0, 60):
        assert path.proof.is_exact == (seconds == 60)
    for tradeoff in [*path.tradeoffs, *exact.tradeoffs]:
        least = (exact.losses + tradeoff * exact.costs).min()
        found = (path.losses + tradeoff * path.costs).min()
        assert found <= least + path.proof.gap + 1e-12
    pruned = path.at(budget=path.costs[0] / 2)
    within = f"proven within {path.proof.gap:.3g} of the least objective"
    assert pruned.proof.words == ("optimal" if path.proof.is_exact else within)
    assert pruned.proof.words in repr(path.at(tradeoff=0.0005))
    assert path.proof.is_exact or within in repr(path)
    best = exact.at(budget=path.costs[0] / 2)
    assert pruned.loss - pruned.proof.gap <= best.loss + 1e-12


@pytest.mark.parametrize("seconds", [None, 0])
def test_words_say_what_rounding_hides_and_no_squared_error_is_below_0(seconds):
    X, y = np.arange(4.0)[:, None], np.array([0, 4, 1e8, 1e8 + 4])
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    path = tw.prune_path(tree, X, y, costs=[1], time_limit=seconds)
    assert path.proof.gap > 100
    assert f"{path.proof.gap:.3g}" in repr(path)
    for pruned in (path.at(budget=1.5), path.at(budget=0.5), path[0]):
        assert 0 <= pruned.proof.gap <= pruned.loss
        assert "below -" not in repr(pruned)


def test_where_nothing_is_rounded_no_words_say_so():
    assert PATH.proof.notes == []
    assert "ounding" not in repr(PATH) + repr(PATH[0])


def test_a_path_that_had_no_time_keeps_to_what_the_loss_may_rise(nhanes):
    forest, _, X, y = nhanes
    path = tw.prune_path(forest, X, y, costs=NHANES.costs, time_limit=0)
    for increase in (0, 0.01):
        point = path.at(max_loss_increase=increase)
        assert point.loss <= path.original.loss + increase + 1e-12 or point.index == 0


def test_the_richest_point_is_the_smallest_forest_of_least_loss():
    first = tw.prune(FOREST, HEART.X, HEART.y, costs=HEART.costs, tradeoff=0)
    assert PATH[0].n_splits == first.n_splits < PATH.original.n_splits
    assert PATH.losses[0] == pytest.approx(first.loss)
    assert PATH.losses[0] < PATH.original.loss
    assert PATH.tradeoffs[0] == 0
    assert PATH.original == first.original


def test_the_last_point_is_single_leaves():
    last = PATH[-1]
    assert last.n_splits == last.n_features == last.cost == 0
    assert "larger budget" in repr(PATH.at(budget=0))
    assert read_forest(last.model).n_nodes == len(FOREST.estimators_)


@pytest.mark.parametrize("index", [0, 1, 5, -1])
def test_figures_are_those_of_the_written_model(index):
    point = PATH[index]
    assert point.cost == pytest.approx(tw.feature_bill(point.model, HEART.X, HEART.costs).mean)
    mistakes = [tree.predict(HEART.X) != HEART.y for tree in point.model.estimators_]
    assert point.loss == pytest.approx(np.mean(mistakes))
    assert point.n_splits == read_forest(point.model).n_splits
    assert type(point.model) is RandomForestClassifier


def test_prices_divide_tradeoffs_and_weights_change_nothing():
    doubled = heart_path(costs=2 * HEART.costs)
    np.testing.assert_array_equal(doubled.drop_step, PATH.drop_step)
    np.testing.assert_allclose(doubled.tradeoffs, PATH.tradeoffs / 2)
    np.testing.assert_allclose(doubled.costs, PATH.costs * 2)
    assert_same_path(heart_path(sample_weight=np.full(len(HEART.y), 3.0)), PATH)


def test_rows_in_any_order_give_the_same_path():
    order = np.random.default_rng(1).permutation(len(HEART.y))
    shuffled = tw.prune_path(FOREST, HEART.X[order], HEART.y[order], costs=HEART.costs)
    assert_same_path(shuffled, PATH)


def test_trees_in_any_order_give_the_same_path():
    reversed_model = RandomForestClassifier(12, max_features=None, random_state=0)
    reversed_model.fit(HEART.X, HEART.y)
    reversed_model.estimators_ = reversed_model.estimators_[::-1]
    path = heart_path(reversed_model)
    steps = np.split(path.drop_step, path.forest.tree_start[1:-1])
    np.testing.assert_array_equal(np.concatenate(steps[::-1]), PATH.drop_step)


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr("thriftwood.solvers.parametric_cut_kernels.FEW_ARCS", 500)
    assert_same_path(heart_path(n_jobs=2), PATH)
    assert heart_path(n_jobs=2).costs.tolist() == PATH.costs.tolist()


# --- picking a point


def test_points_by_index_count_from_both_ends():
    assert PATH[-1].index == len(PATH) - 1
    assert PATH.at(index=-1).cost == PATH.costs[-1]
    assert len(list(PATH)) == len(PATH)
    with pytest.raises(IndexError, match=f"{len(PATH)} points"):
        PATH[len(PATH)]
    with pytest.raises(InputError, match="whole number"):
        PATH["first"]


def test_each_budget_gets_the_best_point_within_it():
    for budget in [0, *PATH.costs, *(PATH.costs + 1e-6), PATH.costs[0] * 10]:
        point = PATH.at(budget=budget)
        assert point.cost <= budget
        assert point.proof.gap >= 0
        affordable = PATH.losses[PATH.costs <= budget]
        assert point.loss == affordable.min()
    exact = PATH.at(budget=PATH.costs[3])
    assert (exact.index, exact.proof.gap) == (3, PATH.proof.gap)
    assert PATH.at(budget=1e9).index == PATH.at(budget=np.inf).index == 0
    assert PATH.at(budget=1e9).proof.gap == PATH.proof.gap == 0
    assert "whatever it costs" in repr(PATH.at(budget=1e9))


def test_the_loss_increase_is_counted_from_the_original_model():
    for increase in (0, 0.01, 0.1, 10):
        point = PATH.at(max_loss_increase=increase)
        assert point.loss <= PATH.original.loss + increase + 1e-12
        if point.index + 1 < len(PATH):
            assert PATH.losses[point.index + 1] > PATH.original.loss + increase
    assert PATH.at(max_loss_increase=10).index == len(PATH) - 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "exactly one"),
        ({"budget": 1, "index": 0}, "exactly one"),
        ({"budget": -1}, "`budget` is -1"),
        ({"budget": np.nan}, "`budget` is nan"),
        ({"budget": "much"}, "`budget` is 'much'"),
        ({"tradeoff": -0.5}, "`tradeoff` is -0.5"),
        ({"index": 10**6}, "`index` is 1000000"),
        ({"index": 1.5}, "`index` is 1.5"),
        ({"index": True}, "`index` is True"),
        ({"max_loss_increase": -1}, "`max_loss_increase` is -1"),
    ],
)
def test_what_no_point_answers_is_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        PATH.at(**wrong)


def test_prune_takes_a_budget_in_one_call():
    pruned = tw.prune(FOREST, HEART.X, HEART.y, costs=HEART.costs, budget=200)
    assert pruned.index == PATH.at(budget=200).index
    assert "within the budget 200" in repr(pruned)
    with pytest.raises(InputError, match="either `tradeoff` or `budget`"):
        tw.prune(FOREST, HEART.X, HEART.y, costs=HEART.costs, budget=200, tradeoff=0.1)
    with pytest.raises(InputError, match="either `tradeoff` or `budget`"):
        tw.prune(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    with pytest.raises(InputError, match="works at a tradeoff"):
        tw.prune(FOREST, HEART.X, HEART.y, budget=2, solver="linear_program")


# --- degenerate


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((5, 2)), [0, 0, 1, 1, 1]),
        (np.arange(10.0).reshape(5, 2), [1, 1, 1, 1, 1]),
        (np.repeat([[0.0, 1.0], [1.0, 0.0]], 4, axis=0), [0, 0, 0, 1, 1, 1, 1, 1]),
    ],
    ids=["constant features", "one class", "duplicate rows"],
)
def test_degenerate_data(X, y):
    model = RandomForestClassifier(3, bootstrap=False, max_features=None, random_state=0)
    model.fit(X, y)
    path = tw.prune_path(model, X, y)
    assert path.costs[-1] == 0
    assert path[-1].model.predict(X).shape == (len(y),)
    assert path.at(budget=0).n_splits == 0
    path.evaluate(X, y)
    path.choose(X, y)


@settings(max_examples=60)
@given(pruning_cases(most_trees=2), st.sampled_from(list(LOSSES)))
def test_where_nothing_costs_anything_only_the_loss_counts(case, loss):
    forest, X, y, prices, weights = case
    options = {"costs": np.zeros(len(prices)), "sample_weight": weights, "loss": loss}
    path = tw.prune_path(forest, X, y, **options)
    assert len(path) == 1
    pruned = tw.prune(forest, X, y, tradeoff=0, **options)
    assert pruned.n_splits == path[0].n_splits
    assert_equal_forests(pruned.model, path[0].model)
    least = min(loss for _, loss in all_prunings(forest, X, y, weights, prices, loss))
    assert path.losses[0] == pytest.approx(least, abs=1e-9)


def test_splits_that_gain_nothing_are_not_on_the_path():
    X = np.arange(8.0)[:, None]
    y = np.array([0, 0, 0, 0, 0, 1, 0, 0])
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    path = tw.prune_path(stump, X, y)
    assert len(path) == 1
    assert path[0].n_splits == 0
    assert path.original.n_splits == 1
    assert path.drop_values[0] == 0


def test_the_share_of_a_gain_is_exact():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    y = np.array([0, 1, 1])
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    path = tw.prune_path(tree, X, y, costs=[1, 1])
    # One mistake of three rows, for 1 + 2/3 features each: 1/3 = tradeoff * 5/3.
    assert len(path) == 2
    assert path.tradeoffs[1] == float(Fraction(1, 5))


def test_a_budget_buys_the_point_that_costs_exactly_that():
    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
    path = tw.prune_path(forest.fit(HEART.X, HEART.y), HEART.X, HEART.y)  # each feature for 1
    for point, cost in enumerate(path.costs):
        assert path.at(budget=float(cost)).index == point
        bill = tw.feature_bill(path[point].model, HEART.X).mean
        assert path.at(budget=bill).index == point
    assert path.at(budget=1).cost == 1.0


def test_a_problem_comes_alone():
    problem = heart_problem()
    for name, value in (("costs", HEART.costs), ("sample_weight", np.ones(303)), ("loss", "brier")):
        with pytest.raises(InputError, match=f"leave out `{name}`"):
            tw.prune_path(problem, **{name: value})
    with pytest.raises(InputError, match="leave out `X`"):
        tw.prune_path(problem, HEART.X)
