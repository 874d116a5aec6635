"""`each_tree_path`: every tree optimal alone, at a tradeoff shared by all."""

import numpy as np
import pytest
from builders import pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import FOREST, HEART, PATH, assert_same_path, heart_path
from prunings import LOSSES, all_prunings, trees_alone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.errors import RangeError

ALONE = heart_path(make=tw.each_tree_path)
BOOTSTRAPPED = RandomForestClassifier(5, max_depth=5, random_state=1).fit(HEART.X, HEART.y)


# --- one tree alone is the ensemble of one tree


@settings(max_examples=100)
@given(pruning_cases(most_trees=1, most_splits=6), st.sampled_from(list(LOSSES)))
def test_a_single_tree_has_the_path_of_the_ensemble(case, loss):
    forest, X, y, prices, weights = case
    options = {"costs": prices, "sample_weight": weights, "loss": loss}
    alone = tw.each_tree_path(tw.pruning_problem(forest, X, y, **options))
    together = tw.prune_path(forest, X, y, **options)
    np.testing.assert_allclose(alone.drop_values, together.drop_values, rtol=1e-6)
    whole = all((np.rint(numbers) == numbers).all() for numbers in (prices, weights))
    if whole and loss == "error":
        assert_same_path(alone, together)
        assert together.proof.gap == 0


@pytest.mark.parametrize("loss", ["error", "expected_error", "brier", "log_loss"])
def test_a_single_real_tree_has_the_path_of_the_ensemble(loss):
    tree = DecisionTreeClassifier(random_state=0).fit(HEART.X, HEART.y)
    assert_same_path(
        heart_path(tree, loss=loss, make=tw.each_tree_path), heart_path(tree, loss=loss)
    )


@pytest.mark.parametrize("loss", ["error", "expected_error", "brier", "log_loss"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("free", [(), (0, 2, 7)])
def test_each_tree_drops_its_splits_where_it_would_alone(loss, weighted, free):
    costs = HEART.costs.copy()
    costs[list(free)] = 0
    options = {"costs": costs, "loss": loss}
    if weighted:
        options["sample_weight"] = np.random.default_rng(0).integers(0, 4, len(HEART.y))
    path = heart_path(BOOTSTRAPPED, make=tw.each_tree_path, **options)
    label = np.searchsorted(BOOTSTRAPPED.classes_, HEART.y)
    alone = [tw.prune_path(tree, HEART.X, label, **options) for tree in BOOTSTRAPPED.estimators_]
    expected = np.concatenate([single.drop_values for single in alone])
    np.testing.assert_allclose(path.drop_values, expected, rtol=1e-9)
    every = np.unique(np.concatenate([single.tradeoffs for single in alone]).round(12))
    np.testing.assert_allclose(np.unique(path.tradeoffs.round(12)), every, atol=2e-12)


def test_trees_of_a_regressor_are_pruned_alone_too():
    X, y = np.delete(HEART.X, 3, axis=1), HEART.X[:, 3]
    model = RandomForestRegressor(4, max_depth=4, random_state=0).fit(X, y)
    path = tw.each_tree_path(tw.pruning_problem(model, X, y))
    alone = [tw.prune_path(tree, X, y) for tree in model.estimators_]
    expected = np.concatenate([single.drop_values for single in alone])
    np.testing.assert_allclose(path.drop_values, expected, rtol=1e-6)


# --- optimal for each tree


@settings(max_examples=60)
@given(pruning_cases(), st.sampled_from(list(LOSSES)))
def test_no_pruning_of_a_tree_alone_is_better(case, loss):
    forest, X, y, prices, weights = case
    path = tw.each_tree_path(
        tw.pruning_problem(forest, X, y, costs=prices, sample_weight=weights, loss=loss)
    )
    prunings = [
        np.array(list(all_prunings(tree, X, y, weights, prices, loss)))
        for tree in trees_alone(forest)
    ]
    for tradeoff in [*path.tradeoffs, 2 * path.tradeoffs[-1] + 1]:
        point = path.at(tradeoff=float(tradeoff))
        best = np.mean([(tree[:, 1] + tradeoff * tree[:, 0]).min() for tree in prunings])
        assert objective_alone(point, X, prices, weights) == pytest.approx(best, rel=1e-6, abs=1e-9)


def objective_alone(point, X, prices, weights):
    """Return loss + tradeoff * cost, averaged over trees that share nothing."""
    bills = [
        tw.feature_bill(tree, X, prices).per_sample[weights > 0].mean()
        for tree in trees_alone(point.model)
    ]
    return point.loss + point.tradeoff * np.mean(bills)


@pytest.mark.parametrize("rows", ["all", "in_bag", "out_of_bag"])
@pytest.mark.parametrize("loss", ["error", "log_loss"])
def test_rows_in_and_out_of_bags_count_as_on_the_path_of_the_ensemble(rows, loss):
    path = heart_path(BOOTSTRAPPED, samples=rows, loss=loss, make=tw.each_tree_path)
    together = heart_path(BOOTSTRAPPED, samples=rows, loss=loss)
    assert path.losses[0] == pytest.approx(together.losses[0], abs=1e-12)
    assert path.losses[-1] == pytest.approx(together.losses[-1])
    assert path.original == together.original
    rng = np.random.default_rng(0)
    for index in rng.choice(len(path) - 1, 5, replace=False):
        tradeoff = float(rng.uniform(*path.tradeoffs[index : index + 2]))
        expected = least_objective(path, tradeoff)
        point = path.at(tradeoff=tradeoff)
        bills = [
            tw.feature_bill(tree, HEART.X, HEART.costs).mean for tree in point.model.estimators_
        ]
        assert point.loss + tradeoff * np.mean(bills) == pytest.approx(expected, rel=1e-9)


def least_objective(path, tradeoff):
    """Return the least loss + tradeoff * cost of trees alone, from the leaves up."""
    forest = path.forest
    label = np.searchsorted(BOOTSTRAPPED.classes_, HEART.y)
    times = np.ones((forest.n_trees, len(label)))
    if path.samples != "all":
        for tree, sample in enumerate(BOOTSTRAPPED.estimators_samples_):
            drawn = np.bincount(sample, minlength=len(label))
            times[tree] = drawn if path.samples == "in_bag" else drawn == 0
    per_row = {
        "error": lambda p: (p.argmax() != label).astype(float),
        "log_loss": lambda p: -np.log(np.clip(p[label], np.finfo(float).eps, 1)),
    }[path.loss_name]

    def least(tree, node, passing, bought):
        leaf = (times[tree] * per_row(forest.values[node]))[passing].sum() / times.sum()
        if not forest.is_split[node]:
            return leaf
        feature = int(forest.feature[node])
        price = 0 if feature in bought else HEART.costs[feature]
        cost = price * passing.sum() / len(label) / forest.n_trees
        values = HEART.X[:, feature].astype(np.float32)
        goes_left = values <= forest.threshold[node]
        goes_left |= np.isnan(values) & forest.missing_left[node]
        below = {*bought, feature}
        left = least(tree, forest.left[node], passing & goes_left, below)
        right = least(tree, forest.right[node], passing & ~goes_left, below)
        return min(leaf, tradeoff * cost + left + right)

    everybody = np.ones(len(label), dtype=bool)
    roots = enumerate(forest.tree_start[:-1])
    return sum(least(tree, root, everybody, set()) for tree, root in roots)


# --- what the ensemble pays


def test_costs_are_the_bills_of_the_ensemble():
    for index in (0, 1, len(ALONE) // 2, -2, -1):
        point = ALONE[index]
        bill = tw.feature_bill(point.model, HEART.X, HEART.costs).mean
        assert point.cost == pytest.approx(bill, abs=1e-12)
    assert (np.diff(ALONE.costs) <= 0).all()
    assert (np.diff(ALONE.losses) > 0).all()
    assert (np.diff(ALONE.n_splits) < 0).all()


def test_pruning_the_ensemble_is_never_worse_than_its_bound_for_trees_alone():
    for cost, loss in zip(ALONE.costs, ALONE.losses, strict=True):
        best = PATH.at(budget=float(cost))
        assert best.loss - best.proof.gap <= loss + 1e-12


def test_where_nothing_costs_anything_there_is_nothing_to_share():
    free = np.zeros(HEART.X.shape[1])
    assert_same_path(heart_path(costs=free, make=tw.each_tree_path), heart_path(costs=free))


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr("thriftwood.solvers.parametric_cut_kernels.FEW_ARCS", 50)
    assert_same_path(heart_path(make=tw.each_tree_path, n_jobs=2), ALONE)


# --- bad input


@pytest.mark.parametrize("prices", [(1e-20, 1.0), (1e308, 1e308)])
def test_prices_out_of_range_are_refused_in_the_same_words(prices):
    costs = np.resize(prices, HEART.X.shape[1])
    said = []
    for make in (tw.prune_path, tw.each_tree_path):
        with pytest.raises(RangeError) as refused:
            heart_path(FOREST, costs=costs, make=make)
        said.append(str(refused.value))
    assert said[0] == said[1]
