"""`tw.cost_complexity_path`: scikit-learn's on one tree, the weakest link of each on a forest."""

import numpy as np
import pytest
from builders import pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from models import assert_equal_forests
from paths import FOREST, HEART, PATH
from prunings import LOSSES, cost_and_loss, trees_alone
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest

NUMBERS = np.delete(HEART.X, 3, axis=1), HEART.X[:, 3]
LABELS = HEART.X, HEART.y
# Model, rows, our name of its impurity, and how many of ours one of scikit-learn's units is.
TREES = {
    "gini": (DecisionTreeClassifier(random_state=0), LABELS, "expected_error", 1.0),
    "entropy": (
        DecisionTreeClassifier(criterion="entropy", min_samples_leaf=3, random_state=0),
        LABELS,
        "log_loss",
        np.log(2),
    ),
    "squared error": (
        DecisionTreeRegressor(min_samples_leaf=4, random_state=0),
        NUMBERS,
        "squared_error",
        1.0,
    ),
}


# --- one tree: scikit-learn


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("weighted", [False, True])
def test_one_tree_has_the_path_of_scikit_learn(name, weighted):
    model, (X, y), loss, unit = TREES[name]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    tree = clone(model).fit(X, y, sample_weight=weights)
    theirs = clone(model).cost_complexity_pruning_path(X, y, sample_weight=weights)
    path = tw.cost_complexity_path(tw.pruning_problem(tree, X, y, loss=loss, sample_weight=weights))
    noise = 1e-9 * path.tradeoffs[-1]
    alphas = theirs.ccp_alphas * unit
    real = alphas[alphas > noise]
    gaps = np.diff(real, prepend=0) > noise
    np.testing.assert_allclose(path.tradeoffs[1:], real[gaps], rtol=1e-7)
    at_point = np.searchsorted(alphas, path.tradeoffs + noise, side="right") - 1
    impurities = theirs.impurities[at_point] * unit
    np.testing.assert_allclose(path.losses, impurities, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", TREES)
def test_between_breakpoints_the_tree_is_that_of_scikit_learn(name):
    model, (X, y), loss, unit = TREES[name]
    path = tw.cost_complexity_path(tw.pruning_problem(clone(model).fit(X, y), X, y, loss=loss))
    upper = np.append(path.tradeoffs[1:], 2 * path.tradeoffs[-1])
    for index, inside in enumerate((path.tradeoffs + upper) / 2):
        theirs = clone(model).set_params(ccp_alpha=inside / unit).fit(X, y)
        assert_equal_forests(read_forest(path[index].model), read_forest(theirs))
        assert path.at(tradeoff=inside).index == index
        assert path.n_splits[index] + 1 == theirs.get_n_leaves()


# --- a forest: one tradeoff for all trees


@pytest.mark.parametrize("criterion", ["gini", "squared error"])
def test_a_forest_is_that_of_scikit_learn_on_the_rows_in_each_bag(criterion):
    _, (X, y), loss, _ = TREES[criterion]
    kind = RandomForestClassifier if criterion == "gini" else RandomForestRegressor
    model = kind(5, min_samples_leaf=2, random_state=0)
    path = tw.cost_complexity_path(
        tw.pruning_problem(clone(model).fit(X, y), X, y, loss=loss, samples="in_bag")
    )
    for index in np.random.default_rng(0).choice(len(path) - 1, 8, replace=False):
        inside = float(path.tradeoffs[index : index + 2].mean())
        theirs = clone(model).set_params(ccp_alpha=inside).fit(X, y)
        assert_equal_forests(read_forest(path[index].model), read_forest(theirs))


@settings(max_examples=100)
@given(pruning_cases(most_splits=6), st.sampled_from(list(LOSSES)))
def test_every_tree_is_pruned_at_its_weakest_link(case, loss):
    forest, X, y, prices, weights = case
    path = tw.cost_complexity_path(
        tw.pruning_problem(forest, X, y, costs=prices, sample_weight=weights, loss=loss)
    )
    links = np.concatenate(
        [weakest_links(tree, X, y, weights, loss) for tree in trees_alone(forest)]
    )
    np.testing.assert_allclose(path.drop_values, links, rtol=1e-6, atol=1e-9)


def weakest_links(tree, X, y, weights, loss):
    """Return the tradeoff at which each split of a tree goes: Breiman's algorithm, step by step."""
    prices = np.zeros(tree.n_features)

    def loss_of(kept):
        return cost_and_loss(tree, X, y, weights, prices, kept, loss)[1]

    goes_at = np.full(tree.n_nodes, np.nan)
    kept = tree.is_split.copy()
    while kept.any():
        links = {}
        for node in np.flatnonzero(kept):
            below = kept & is_below(tree, node)
            links[node] = (loss_of(kept & ~below) - loss_of(kept)) / below.sum(), below
        weakest, below = min(links.values(), key=lambda link: link[0])
        goes_at[below] = max(weakest, 0.0)
        kept &= ~below
    return goes_at


def is_below(tree, top):
    """Return which nodes are in the subtree of a node."""
    below = np.zeros(tree.n_nodes, dtype=bool)
    below[top] = True
    for node in range(top + 1, tree.n_nodes):
        below[node] = below[tree.parent[node]]
    return below


# --- costs are only reported


def test_costs_change_nothing_but_the_bills():
    path = tw.cost_complexity_path(tw.pruning_problem(FOREST, HEART.X, HEART.y, costs=HEART.costs))
    other = tw.cost_complexity_path(tw.pruning_problem(FOREST, HEART.X, HEART.y))
    np.testing.assert_array_equal(path.drop_step, other.drop_step)
    np.testing.assert_array_equal(path.tradeoffs, other.tradeoffs)
    for index in (0, 1, len(path) // 2, -2, -1):
        bill = tw.feature_bill(path[index].model, HEART.X, HEART.costs).mean
        assert path.costs[index] == pytest.approx(bill, abs=1e-12)
        assert other.costs[index] == pytest.approx(tw.feature_bill(path[index].model, HEART.X).mean)
    assert (path.costs[-1], path.losses[0]) == (0, pytest.approx(PATH.losses[0]))


def test_prices_that_no_optimum_could_use_can_be_reported():
    costs = np.resize([1e-20, 1.0], HEART.X.shape[1])
    path = tw.cost_complexity_path(tw.pruning_problem(FOREST, HEART.X, HEART.y, costs=costs))
    assert path.costs[0] == pytest.approx(tw.feature_bill(path[0].model, HEART.X, costs).mean)
