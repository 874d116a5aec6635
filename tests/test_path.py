"""`tw.prune_path`: every point optimal, nested, and what it says it is."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from builders import TRADEOFFS, pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import ForestError, InputError
from thriftwood.forest import Forest

HEART = tw.datasets.load_heart()
FOREST = RandomForestClassifier(12, max_features=None, random_state=0).fit(HEART.X, HEART.y)
PATH = tw.prune_path(FOREST, HEART.X, HEART.y, costs=HEART.costs)
NHANES = tw.datasets.load_nhanes()
TRAIN, VALID = np.arange(0, 1500), np.arange(1500, 2200)


def heart_path(model=FOREST, X=HEART.X, **options):
    return tw.prune_path(model, X, HEART.y, **{"costs": HEART.costs} | options)


@pytest.fixture(scope="module")
def nhanes():
    """A forest on NHANES, its path, and rows that neither has seen."""
    X, y = NHANES.X[TRAIN], NHANES.y[TRAIN]
    forest = RandomForestClassifier(
        10, max_features=None, min_samples_leaf=2, random_state=0, n_jobs=1
    ).fit(X, y)
    path = tw.prune_path(forest, X, y, costs=NHANES.costs)
    return forest, path, NHANES.X[VALID], NHANES.y[VALID]


def assert_same_path(path, other):
    np.testing.assert_array_equal(path.drop_step, other.drop_step)
    np.testing.assert_allclose(path.tradeoffs, other.tradeoffs, rtol=1e-12)
    np.testing.assert_allclose(path.costs, other.costs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9, atol=1e-12)


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


@pytest.mark.parametrize("solver", ["min_cut", "linear_program"])
def test_between_breakpoints_and_at_them_the_path_is_optimal(solver):
    rng = np.random.default_rng(0)
    upper = np.append(PATH.tradeoffs[1:], 2 * PATH.tradeoffs[-1])
    for index in rng.choice(len(PATH), 6, replace=False):
        between = rng.uniform(PATH.tradeoffs[index], upper[index])
        for tradeoff in (between, float(PATH.tradeoffs[index])):
            pruned = tw.prune(
                FOREST, HEART.X, HEART.y, costs=HEART.costs, tradeoff=tradeoff, solver=solver
            )
            assert pruned.certificate.gap == 0
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
    assert path.resolution == 0
    rng = np.random.default_rng(0)
    for index in rng.choice(len(path) - 1, 8, replace=False):
        tradeoff = rng.uniform(*path.tradeoffs[index : index + 2])
        pruned = tw.prune(forest, X, y, costs=NHANES.costs, tradeoff=tradeoff)
        assert pruned.certificate.gap == 0
        point = path.at(tradeoff=tradeoff)
        assert (point.index, point.n_splits) == (index, pruned.n_splits)
        assert point.objective == pytest.approx(pruned.objective, rel=1e-12)
    monkeypatch.setattr("thriftwood.solvers.path.FEW_ARCS", 500)
    np.testing.assert_array_equal(
        tw.prune_path(forest, X, y, costs=NHANES.costs, n_jobs=2).drop_step, path.drop_step
    )


LOSSES = {
    "error": lambda p, label: float(p.argmax() != label),
    "expected_error": lambda p, label: 1 - p[label],
    "brier": lambda p, label: ((p - np.eye(2)[label]) ** 2).sum() / 2,
}


def all_prunings(forest, X, y, weights, prices, loss="error"):
    """Return cost and loss of every pruning of a small forest, by predicting with each."""
    splits = np.flatnonzero(forest.is_split)
    parent = forest.parent
    for flags in product((False, True), repeat=len(splits)):
        kept = np.zeros(forest.n_nodes, dtype=bool)
        kept[splits] = flags
        if any(parent[h] >= 0 and not kept[parent[h]] for h in np.flatnonzero(kept)):
            continue
        total_cost = total_loss = 0.0
        for row, label, weight in zip(X, y, weights, strict=True):
            bought = set()
            for root in forest.tree_start[:-1]:
                node = root
                while kept[node]:
                    bought.add(int(forest.feature[node]))
                    goes_left = row[forest.feature[node]] <= forest.threshold[node]
                    node = forest.left[node] if goes_left else forest.right[node]
                total_loss += weight * LOSSES[loss](forest.values[node], label) / forest.n_trees
            total_cost += weight * sum(prices[feature] for feature in bought)
        yield total_cost / weights.sum(), total_loss / weights.sum()


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
    assert point.loss - point.bound <= best + 1e-9
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
    monkeypatch.setattr("thriftwood.solvers.path.FEW_ARCS", 500)
    assert_same_path(heart_path(n_jobs=2), PATH)
    assert heart_path(n_jobs=2).costs.tolist() == PATH.costs.tolist()


# --- losses and rows


@pytest.mark.parametrize("loss", ["error", "expected_error", "brier", "log_loss"])
def test_losses_are_what_the_trees_lose(loss):
    path = heart_path(loss=loss)
    assert path.loss_name == loss
    label = np.searchsorted(FOREST.classes_, HEART.y)
    for point in (path[0], path[len(path) // 2]):
        probabilities = [tree.predict_proba(HEART.X) for tree in point.model.estimators_]
        by_hand = {
            "error": lambda p: np.mean(p.argmax(axis=1) != label),
            "expected_error": lambda p: np.mean(1 - p[np.arange(len(label)), label]),
            "brier": lambda p: brier_score_loss(label, p[:, 1]),
            "log_loss": lambda p: log_loss(label, p),
        }[loss]
        assert point.loss == pytest.approx(np.mean([by_hand(p) for p in probabilities]), rel=1e-6)


@pytest.mark.parametrize("loss", ["expected_error", "brier", "log_loss"])
def test_paths_of_real_numbers_agree_with_single_cuts(loss):
    path = heart_path(loss=loss)
    assert path.resolution < 1e-9
    for index in (0, len(path) // 3, 2 * len(path) // 3):
        tradeoff = (path.tradeoffs[index] + path.tradeoffs[index + 1]) / 2
        pruned = tw.prune(FOREST, HEART.X, HEART.y, costs=HEART.costs, loss=loss, tradeoff=tradeoff)
        assert path.at(tradeoff=tradeoff).objective == pytest.approx(pruned.objective, rel=1e-8)


@pytest.mark.parametrize("rows", ["in_bag", "out_of_bag"])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(6, random_state=0),
        ExtraTreesClassifier(6, bootstrap=True, random_state=0),
        BaggingClassifier(n_estimators=6, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_losses_can_be_counted_on_the_rows_in_or_out_of_each_bag(model, rows):
    model.fit(HEART.X, HEART.y)
    path = heart_path(model, rows=rows)
    point = path[len(path) // 2]
    mistakes = counted = 0
    for tree, sample in zip(point.model.estimators_, model.estimators_samples_, strict=True):
        drawn = np.bincount(sample, minlength=len(HEART.y))
        times = drawn if rows == "in_bag" else drawn == 0
        wrong = tree.predict(HEART.X) != np.searchsorted(model.classes_, HEART.y)
        mistakes += (times * wrong).sum()
        counted += times.sum()
    assert point.loss == pytest.approx(mistakes / counted)
    assert point.cost == pytest.approx(tw.feature_bill(point.model, HEART.X, HEART.costs).mean)
    at = tw.prune(
        model, HEART.X, HEART.y, costs=HEART.costs, rows=rows, tradeoff=point.tradeoff * (1 + 1e-6)
    )
    assert at.n_splits == point.n_splits


def test_rows_that_nobody_knows_are_refused():
    tree = DecisionTreeClassifier(random_state=0).fit(HEART.X, HEART.y)
    with pytest.raises(InputError, match="does not know which rows"):
        heart_path(tree, rows="in_bag")
    with pytest.raises(InputError, match="choose 'all', 'in_bag', 'out_of_bag'"):
        heart_path(rows="some")
    whole = ExtraTreesClassifier(3, random_state=0).fit(HEART.X, HEART.y)
    with pytest.raises(InputError, match="none is out of bag"):
        heart_path(whole, rows="out_of_bag")
    for n_rows in (50, 2 * len(HEART.y)):
        X, y = np.resize(HEART.X, (n_rows, 13)), np.resize(HEART.y, n_rows)
        with pytest.raises(InputError, match="trained on 303 rows, but X has"):
            tw.prune_path(FOREST, X, y, rows="in_bag")


def test_rows_without_weight_cannot_be_all_that_counts():
    model = RandomForestClassifier(2, random_state=0).fit(HEART.X, HEART.y)
    seen = np.unique(np.concatenate(model.estimators_samples_))
    out_everywhere = np.setdiff1d(np.arange(len(HEART.y)), seen)
    weights = np.zeros(len(HEART.y))
    weights[np.intersect1d(*model.estimators_samples_)] = 1
    with pytest.raises(InputError, match="no row counts that has any weight"):
        heart_path(model, rows="out_of_bag", sample_weight=weights)
    path = heart_path(model, rows="in_bag")
    with pytest.raises(InputError, match="no row counts that has any weight"):
        path.evaluate(HEART.X, HEART.y, rows="out_of_bag", sample_weight=weights)
    assert path.evaluate(HEART.X, HEART.y, rows="in_bag").n_rows == 303 - len(out_everywhere)


def test_what_was_pruned_on_a_row_is_not_measured_on_it_as_out_of_bag():
    with pytest.raises(InputError, match="rows='in_bag'"):
        PATH.evaluate(HEART.X, HEART.y, rows="out_of_bag")


def test_out_of_bag_errors_of_noise_are_those_of_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)
    model = RandomForestClassifier(40, max_features=None, random_state=0).fit(X, y)
    path = tw.prune_path(model, X, y, rows="in_bag")
    measured = path.evaluate(X, y, rows="out_of_bag", points=[0])
    assert measured.error[0] > 0.44


@pytest.mark.parametrize("loss", ["error", "brier"])
@pytest.mark.parametrize("seed", [0, 1])
def test_gains_that_rounding_swallows_are_in_the_resolution(seed, loss):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(300, 4)), np.exp(5 * rng.normal(size=300))
    model = RandomForestRegressor(5, max_features=2, bootstrap=False, random_state=0).fit(X, y)
    path = tw.prune_path(model, X, y)
    assert path.original.loss == 0
    assert 0 < path.losses[0] <= path.resolution
    assert path.at(max_loss_increase=0).loss <= path.resolution
    rich = path.at(budget=1e9)
    assert rich.loss - rich.bound <= path.original.loss
    assert path.resolution < 1e-9 * path.losses[-1]
    other = heart_path(loss=loss)
    assert other.losses[0] - other.resolution <= min(other.losses[0], other.original.loss)


def test_tiny_weights_still_cost_something():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    path = tw.prune_path(tree, X, y, costs=[0, np.pi], sample_weight=[1e-7, 1, 1e-7, 1])
    assert path.costs[-1] == 0
    assert path.at(budget=0).cost == 0


def test_a_model_that_was_fitted_again_is_refused():
    model = RandomForestClassifier(3, random_state=0).fit(HEART.X, HEART.y)
    path = heart_path(model, rows="in_bag")
    model.fit(HEART.X[:, ::-1], HEART.y)
    with pytest.raises(InputError, match="fitted again"):
        path.at(index=0)
    with pytest.raises(InputError, match="fitted again"):
        path.evaluate(HEART.X, HEART.y, rows="out_of_bag")


def test_columns_are_known_by_the_names_that_the_path_was_given():
    frame = HEART.frame()
    path = heart_path(X=frame, costs=dict(zip(frame.columns, HEART.costs, strict=True)))
    assert path.forest.feature_names == tuple(frame.columns)
    assert path.evaluate(frame, HEART.y, points=[0]).error == pytest.approx(
        PATH.evaluate(HEART.X, HEART.y, points=[0]).error
    )
    with pytest.raises(InputError, match="Column 0 of X is named"):
        path.evaluate(frame[frame.columns[::-1]], HEART.y)


def test_regressors_have_a_path_too():
    y = HEART.X[:, 3]
    X = np.delete(HEART.X, 3, axis=1)
    model = RandomForestRegressor(8, max_features=None, random_state=0).fit(X, y)
    path = tw.prune_path(model, X, y)
    point = path[len(path) // 2]
    squared = [(tree.predict(X) - y) ** 2 for tree in point.model.estimators_]
    assert point.loss == pytest.approx(np.mean(squared))
    measured = path.evaluate(X, y, points=[0, point.index])
    assert measured.error[1] == pytest.approx(np.mean((point.model.predict(X) - y) ** 2))
    assert measured.vote_error is None
    assert "squared" in path.loss_name


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
        assert point.bound >= 0
        affordable = PATH.losses[PATH.costs <= budget]
        assert point.loss == affordable.min()
    exact = PATH.at(budget=PATH.costs[3])
    assert (exact.index, exact.bound) == (3, PATH.resolution)
    assert PATH.at(budget=1e9).index == PATH.at(budget=np.inf).index == 0
    assert PATH.at(budget=1e9).bound == PATH.resolution == 0
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
    with pytest.raises(InputError, match="not within a budget"):
        tw.prune(FOREST, HEART.X, HEART.y, budget=2, solver="linear_program")


# --- mixtures


def test_a_mixture_meets_the_budget_on_average():
    budget = (PATH.costs[2] + 2 * PATH.costs[3]) / 3
    mixture = PATH.mix(budget=budget)
    assert (mixture.rich.index, mixture.cheap.index) == (2, 3)
    assert mixture.probability == pytest.approx(1 / 3)
    assert mixture.cost == pytest.approx(budget)
    within = PATH.at(budget=budget)
    assert mixture.loss == pytest.approx(within.loss - within.bound)
    bills = [
        np.where(
            PATH.mix(budget=budget, random_state=seed).model.draws_rich(HEART.X),
            tw.feature_bill(mixture.rich.model, HEART.X, HEART.costs).per_example,
            tw.feature_bill(mixture.cheap.model, HEART.X, HEART.costs).per_example,
        ).mean()
        for seed in range(200)
    ]
    spread = np.std(bills) / np.sqrt(len(bills))
    assert abs(np.mean(bills) - budget) < 4 * spread


def test_a_row_gets_the_same_draw_in_any_company():
    model = PATH.mix(budget=(PATH.costs[2] + PATH.costs[3]) / 2, random_state=7).model
    draws = model.draws_rich(HEART.X)
    assert 0.3 < draws.mean() < 0.7
    np.testing.assert_array_equal(model.draws_rich(HEART.X[::-1]), draws[::-1])
    np.testing.assert_array_equal(model.draws_rich(HEART.X[:10]), draws[:10])
    for mine, name in ((model.predict, "predict"), (model.predict_proba, "predict_proba")):
        rich, cheap = getattr(model.rich, name), getattr(model.cheap, name)
        np.testing.assert_array_equal(mine(HEART.X)[draws], rich(HEART.X)[draws])
        np.testing.assert_array_equal(mine(HEART.X)[~draws], cheap(HEART.X)[~draws])
    keys = np.arange(len(draws))
    by_key = model.draws_rich(HEART.X, keys)
    assert (by_key != draws).any()
    np.testing.assert_array_equal(model.draws_rich(HEART.X[::-1], keys), by_key)
    np.testing.assert_array_equal(
        model.predict(HEART.X, keys)[by_key], model.rich.predict(HEART.X)[by_key]
    )
    with pytest.raises(InputError, match="keys for 303 rows"):
        model.draws_rich(HEART.X, keys[1:])
    other = PATH.mix(budget=(PATH.costs[2] + PATH.costs[3]) / 2, random_state=8).model
    assert (other.draws_rich(HEART.X) != draws).any()


def test_at_the_ends_a_mixture_is_one_model():
    rich = PATH.mix(budget=PATH.costs[0] + 1)
    assert rich.probability == 1
    assert rich.cost == PATH.costs[0]
    assert PATH.mix(budget=0).cost == 0
    assert PATH.mix(budget=PATH.costs[4]).cost == pytest.approx(PATH.costs[4])
    with pytest.raises(InputError, match="`random_state`"):
        PATH.mix(budget=1, random_state="seed")


# --- evaluation


def test_evaluation_equals_predicting_with_each_written_model(nhanes):
    forest, path, X, y = nhanes
    points = [0, 1, len(path) // 4, len(path) // 2, -2, -1]
    measured = path.evaluate(X, y, points=points, quantiles=[0, 0.25, 1])
    label = np.searchsorted(forest.classes_, y)
    for k, index in enumerate(points):
        model = path[index].model
        probabilities = model.predict_proba(X)
        # Where two classes are equal but for rounding, either may be predicted.
        top_two = np.sort(probabilities, axis=1)[:, -2:]
        tied = (np.diff(top_two, axis=1)[:, 0] < 1e-9).mean()
        assert abs(measured.error[k] - np.mean(model.predict(X) != y)) <= tied
        votes = np.stack([tree.predict_proba(X).argmax(axis=1) for tree in model.estimators_])
        counts = np.stack([(votes == c).sum(axis=0) for c in range(len(forest.classes_))])
        assert measured.vote_error[k] == np.mean(counts.argmax(axis=0) != label)
        labels = np.arange(len(forest.classes_))
        assert measured.log_loss[k] == pytest.approx(log_loss(label, probabilities, labels=labels))
        assert measured.brier[k] == pytest.approx(
            brier_score_loss(label, probabilities, labels=labels)
        )
        bill = tw.feature_bill(model, X, NHANES.costs).per_example
        assert measured.cost[k] == pytest.approx(bill.mean())
        np.testing.assert_allclose(
            measured.cost_quantiles[k], np.quantile(bill, [0, 0.25, 1]), atol=1e-9
        )
    assert measured.points.tolist() == [index % len(path) for index in points]


def test_evaluating_some_points_gives_what_evaluating_all_gives(nhanes):
    _, path, X, y = nhanes
    everything = path.evaluate(X, y)
    some = path.evaluate(X, y, points=[3, 1])
    for name in ("error", "standard_error", "vote_error", "log_loss", "brier", "cost"):
        np.testing.assert_array_equal(getattr(some, name), getattr(everything, name)[[3, 1]])
    assert len(everything.points) == len(path)
    assert len(everything.to_frame()) == len(path)


def test_weights_of_rows_count_them_again(nhanes):
    _, path, X, y = nhanes
    times = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = path.evaluate(X, y, points=[0, 5], sample_weight=times)
    repeated = path.evaluate(np.repeat(X, times, axis=0), np.repeat(y, times), points=[0, 5])
    for name in ("error", "log_loss", "brier", "cost"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name))


def test_out_of_bag_error_is_that_of_the_trees_that_did_not_see_a_row():
    model = RandomForestClassifier(60, max_features=None, oob_score=True, random_state=0)
    model.fit(HEART.X, HEART.y)
    path = heart_path(model, rows="in_bag")
    measured = path.evaluate(HEART.X, HEART.y, rows="out_of_bag", points=[0])
    probabilities = np.zeros((len(HEART.y), 2))
    for tree, sample in zip(path[0].model.estimators_, model.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(HEART.y)), sample)
        probabilities[out] += tree.predict_proba(HEART.X[out])
    by_hand = np.mean(model.classes_[probabilities.argmax(axis=1)] != HEART.y)
    assert measured.error[0] == pytest.approx(by_hand, abs=2 / len(HEART.y))
    assert abs(measured.error[0] - (1 - model.oob_score_)) < 0.03


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"points": [10**6]}, "there is no point 1000000"),
        ({"points": []}, "`points`"),
        ({"points": [0.5]}, "`points`"),
        ({"quantiles": [2]}, "between 0 and 1"),
        ({"quantiles": [[0.5]]}, "list of numbers"),
        ({"rows": "other"}, "`rows` is 'other'"),
    ],
)
def test_evaluation_refuses_what_makes_no_sense(wrong, words):
    with pytest.raises(InputError, match=words):
        PATH.evaluate(HEART.X, HEART.y, **wrong)


# --- choosing


def test_rules_choose_what_they_say(nhanes):
    _, path, X, y = nhanes
    measured = path.evaluate(X, y)
    lowest = path.choose(X, y, rule="lowest_error").index
    assert measured.error[lowest] == measured.error.min()
    assert (measured.error[lowest + 1 :] > measured.error.min()).all()
    best = int(measured.error.argmin())
    most = measured.error[best] + measured.standard_error[best]
    one_se = path.choose(X, y).index
    assert measured.error[one_se] <= most
    assert (measured.error[one_se + 1 :] > most).all()
    assert one_se >= lowest
    within = path.choose(X, y, rule="error_increase", limit=0.02).index
    assert measured.error[within] <= measured.error[0] + 0.02
    assert (measured.error[within + 1 :] > measured.error[0] + 0.02).all()
    budget = float(np.median(measured.cost))
    affordable = path.choose(X, y, rule="budget", limit=budget)
    assert measured.cost[affordable.index] <= budget
    assert measured.error[affordable.index] == measured.error[measured.cost <= budget].min()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rule": "best"}, "no rule 'best'"),
        ({"rule": "budget"}, "`limit` is None"),
        ({"rule": "error_increase", "limit": -1}, "`limit` is -1"),
        ({"rule": "lowest_error", "limit": 1}, "takes no `limit`"),
    ],
)
def test_rules_refuse_what_makes_no_sense(wrong, words):
    with pytest.raises(InputError, match=words):
        PATH.choose(HEART.X, HEART.y, **wrong)


# --- files, tables, pictures, words


@pytest.mark.parametrize("with_model", [True, False])
def test_a_saved_path_comes_back(tmp_path, with_model):
    file = tmp_path / "path.tw"
    PATH.save(file)
    assert [entry.name for entry in tmp_path.iterdir()] == ["path.tw"]
    loaded = tw.PruningPath.load(file, FOREST if with_model else None)
    assert_same_path(loaded, PATH)
    assert loaded.original == PATH.original
    assert loaded.forest.feature_names == PATH.forest.feature_names
    point = loaded.at(budget=200)
    assert type(point.model) is (RandomForestClassifier if with_model else Forest)
    assert point.n_splits == PATH.at(budget=200).n_splits
    measured = loaded.evaluate(HEART.X, HEART.y, points=[2])
    assert measured.error == PATH.evaluate(HEART.X, HEART.y, points=[2]).error


def test_files_that_hold_no_path_are_refused(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(InputError, match="There is no file"):
        tw.PruningPath.load(missing)
    text = tmp_path / "text"
    for content in ("hello", ""):
        text.write_text(content)
        with pytest.raises(InputError, match="no path that"):
            tw.PruningPath.load(text)
    file = tmp_path / "path.tw"
    PATH.save(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)
    file.write_bytes(whole)
    other = RandomForestClassifier(3, random_state=1).fit(HEART.X, HEART.y)
    with pytest.raises(InputError, match="another model"):
        tw.PruningPath.load(file, other)


def test_a_file_of_a_later_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("thriftwood.pruning.storage.VERSION", 2)
    PATH.save(tmp_path / "path")
    monkeypatch.undo()
    with pytest.raises(InputError, match="version 2"):
        tw.PruningPath.load(tmp_path / "path")


def test_changed_files_are_refused_or_harmless(tmp_path):
    file = tmp_path / "path.tw"
    PATH.save(file)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), 60, replace=False):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            loaded = tw.PruningPath.load(file)
        except InputError:
            continue
        assert_same_path(loaded, PATH)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("drop_step", lambda steps: steps[:3]),
        ("drop_step", lambda steps: steps + 10**6),
        ("drop_step", lambda steps: steps.astype(float)),
        ("prices", lambda prices: prices[:1]),
        ("losses", lambda losses: losses[1:]),
        ("forest_left", lambda left: left + 1),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, name, change):
    file = tmp_path / "path.tw"
    PATH.save(file)
    with np.load(file) as content:
        arrays = dict(content)
    for wrong in (
        {**arrays, name: change(arrays[name])},
        {k: arrays[k] for k in arrays if k != name},
    ):
        with file.open("wb") as stream:
            np.savez(stream, **wrong)
        with pytest.raises((InputError, ForestError)):
            tw.PruningPath.load(file)


@pytest.mark.parametrize("file", ["missing/path", ".", "", None, 3])
def test_nothing_is_left_where_saving_fails(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        PATH.save(file)
    assert not list(tmp_path.iterdir())


def test_the_path_is_a_table():
    frame = PATH.to_frame()
    assert len(frame) == len(PATH)
    assert frame.columns.tolist() == ["tradeoff", "cost", "loss", "n_splits", "n_features"]


def test_drop_values_say_when_each_split_goes():
    values = PATH.drop_values
    assert np.isnan(values[~PATH.forest.is_split]).all()
    for index in (0, 1, len(PATH) - 2):
        kept = PATH.kept_nodes(index)
        np.testing.assert_array_equal(kept, np.nan_to_num(values) > PATH.tradeoffs[index])
    free = heart_path(costs=np.zeros(HEART.X.shape[1]))
    assert len(free) == 1
    assert set(free.drop_values[free.forest.is_split]) == {0, np.inf}


def test_the_path_can_be_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = PATH.plot()
    assert len(ax.lines[0].get_xdata()) == len(PATH)
    measured = PATH.evaluate(HEART.X, HEART.y)
    PATH.plot(ax, measured=measured)
    with pytest.raises(InputError, match=r"path\.evaluate"):
        PATH.plot(measured=measured.to_frame())
    assert ax.get_legend() is not None
    plt.close("all")


def test_words():
    text = repr(PATH)
    assert f"{len(PATH)} optimal prunings" in text
    assert "RandomForestClassifier" in text
    assert "lowest error" in repr(PATH.evaluate(HEART.X, HEART.y))
    assert "expected cost" in repr(PATH.mix(budget=100))


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
