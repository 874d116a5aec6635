"""`tw.dynamic_programming_path`: the best tree of every size."""

from itertools import pairwise

import numpy as np
import pytest
from builders import pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from models import fitted
from paths import FOREST, HEART, PATH
from prunings import LOSSES, all_masks, cost_and_loss, trees_alone
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError

TREE = DecisionTreeClassifier(random_state=0).fit(HEART.X, HEART.y)
BY_SIZE = tw.dynamic_programming_path(
    tw.pruning_problem(FOREST, HEART.X, HEART.y, costs=HEART.costs)
)


# --- the best of each size


@settings(max_examples=50)
@given(pruning_cases(most_trees=2, most_splits=5), st.sampled_from(list(LOSSES)))
def test_no_tree_of_a_size_loses_less(case, loss):
    forest, X, y, prices, weights = case
    path = tw.dynamic_programming_path(
        tw.pruning_problem(forest, X, y, costs=prices, sample_weight=weights, loss=loss)
    )
    least = [least_of_sizes(tree, X, y, weights, loss) for tree in trees_alone(forest)]
    assert len(path) == max(map(len, least))
    for index, size in enumerate(range(len(path) - 1, -1, -1)):
        kept = path.kept_nodes(index)
        expected = np.mean([tree[min(size, len(tree) - 1)] for tree in least])
        cost, lost = cost_and_loss(forest, X, y, weights, prices, kept, loss)
        assert path.losses[index] == pytest.approx(expected, abs=1e-9)
        assert path.losses[index] == pytest.approx(lost, abs=1e-9)
        assert path.costs[index] == pytest.approx(cost, abs=1e-9)
        assert path.n_features[index] == len(np.unique(forest.feature[kept]))
        sizes = [np.count_nonzero(tree) for tree in np.split(kept, forest.tree_start[1:-1])]
        assert sizes == [min(size, len(tree) - 1) for tree in least]
        assert path.n_splits[index] == sum(sizes)


def least_of_sizes(tree, X, y, weights, loss):
    """Return the least loss of a tree with 0, 1, ... splits, by trying all."""
    least = np.full(tree.n_splits + 1, np.inf)
    for kept in all_masks(tree):
        _, lost = cost_and_loss(tree, X, y, weights, np.zeros(tree.n_features), kept, loss)
        least[kept.sum()] = min(least[kept.sum()], lost)
    return least


@pytest.mark.parametrize("loss", ["error", "expected_error", "brier", "log_loss"])
def test_a_plain_recursion_finds_the_same_losses(loss):
    path = tw.dynamic_programming_path(tw.pruning_problem(TREE, HEART.X, HEART.y, loss=loss))
    expected = recursive_losses(path.forest, loss)
    np.testing.assert_allclose(path.losses[::-1], expected, rtol=1e-9, atol=1e-12)


def recursive_losses(forest, loss):
    label = np.searchsorted(TREE.classes_, HEART.y)
    passes = TREE.decision_path(HEART.X).toarray().astype(bool)
    per_row = {
        "error": lambda p: (p.argmax() != label).astype(float),
        "expected_error": lambda p: 1 - p[label],
        "brier": lambda p: (1 - p[label]) ** 2,
        "log_loss": lambda p: -np.log(np.clip(p[label], np.finfo(float).eps, 1)),
    }[loss]

    def best(node):
        as_leaf = per_row(forest.values[node])[passes[:, node]].sum() / len(label)
        if not forest.is_split[node]:
            return [as_leaf]
        left, right = best(forest.left[node]), best(forest.right[node])
        shares = [[] for _ in range(len(left) + len(right) - 1)]
        for on_the_left, one in enumerate(left):
            for on_the_right, other in enumerate(right):
                shares[on_the_left + on_the_right].append(one + other)
        return [as_leaf, *map(min, shares)]

    return best(0)


@pytest.mark.parametrize("loss", ["error", "expected_error", "log_loss"])
def test_what_cost_complexity_finds_is_the_best_of_its_size_but_it_skips_sizes(loss):
    path = tw.dynamic_programming_path(tw.pruning_problem(TREE, HEART.X, HEART.y, loss=loss))
    other = tw.cost_complexity_path(tw.pruning_problem(TREE, HEART.X, HEART.y, loss=loss))
    same_size = path.losses[len(path) - 1 - other.n_splits]
    np.testing.assert_allclose(same_size, other.losses, rtol=1e-9, atol=1e-12)
    assert len(path) > len(other)


def test_trees_of_a_forest_shrink_together():
    single = [
        tw.dynamic_programming_path(
            tw.pruning_problem(tree, HEART.X, np.searchsorted(FOREST.classes_, HEART.y))
        )
        for tree in FOREST.estimators_
    ]
    assert len(BY_SIZE) == max(map(len, single))
    for index in (0, 3, len(BY_SIZE) // 2, -3, -1):
        size = len(BY_SIZE) - 1 - index % len(BY_SIZE)
        parts = [path[-1 - min(size, len(path) - 1)] for path in single]
        point = BY_SIZE[index]
        assert point.loss == pytest.approx(np.mean([part.loss for part in parts]))
        assert point.n_splits == sum(part.n_splits for part in parts)
        for tree, part in zip(point.model.estimators_, parts, strict=True):
            assert tree.get_n_leaves() == part.n_splits + 1


def test_the_first_point_is_the_model_and_the_last_single_leaves():
    assert BY_SIZE.original.loss == pytest.approx(PATH.original.loss)
    assert BY_SIZE.original.cost == pytest.approx(PATH.original.cost)
    assert BY_SIZE[0].n_splits == PATH.original.n_splits
    assert BY_SIZE[-1].n_splits == BY_SIZE.costs[-1] == 0
    assert BY_SIZE.losses[-1] == pytest.approx(PATH.losses[-1])


def test_points_need_not_be_nested():
    masks = [BY_SIZE.kept_nodes(index) for index in range(len(BY_SIZE))]
    assert any((after & ~before).any() for before, after in pairwise(masks))


@pytest.mark.parametrize(
    "kind",
    ["best_first_tree", "best_first_forest", "single_leaf", "forest_of_leaves", "missing_bagging"],
)
def test_trees_of_any_shape(kind):
    model, X, y = fitted(kind)
    path = tw.dynamic_programming_path(tw.pruning_problem(model, X, y, n_jobs=2))
    assert len(path) == len(tw.dynamic_programming_path(tw.pruning_problem(model, X, y)))
    for index in range(len(path)):
        kept = path.kept_nodes(index)
        assert kept.sum() == path.n_splits[index]
    assert read_forest(path[-1].model).n_splits == 0
    path.evaluate(X, y)


@pytest.mark.parametrize("rows", ["in_bag", "out_of_bag"])
def test_losses_can_be_counted_on_the_rows_in_or_out_of_each_bag(rows):
    model = RandomForestClassifier(4, max_depth=4, random_state=0).fit(HEART.X, HEART.y)
    path = tw.dynamic_programming_path(tw.pruning_problem(model, HEART.X, HEART.y, samples=rows))
    other = tw.prune_path(model, HEART.X, HEART.y, samples=rows)
    assert path.original.loss == pytest.approx(other.original.loss)
    assert path.losses[-1] == pytest.approx(other.losses[-1])
    assert path.losses.min() >= other.losses[0] - 1e-12


# --- picking a point


def test_points_by_size():
    for size in (0, 1, 5, len(BY_SIZE) - 1):
        assert max(tree.get_n_leaves() for tree in BY_SIZE[-1 - size].model.estimators_) == size + 1
    assert "each tree the best of its size" in repr(BY_SIZE[-6])
    with pytest.raises(InputError, match="belong to sizes, not to tradeoffs"):
        BY_SIZE.at(tradeoff=0.1)


def test_each_budget_gets_the_least_loss_within_it():
    for budget in [0.0, *BY_SIZE.costs[::7], BY_SIZE.costs.max() + 1]:
        point = BY_SIZE.at(budget=budget)
        within = BY_SIZE.losses[BY_SIZE.costs <= budget]
        assert point.cost <= budget
        assert point.loss == within.min()
        equal = BY_SIZE.costs[BY_SIZE.losses == point.loss]
        assert point.cost == equal.min()


def test_each_loss_increase_gets_the_cheapest_point():
    for increase in (0, 0.01, 0.1, 10):
        point = BY_SIZE.at(max_loss_increase=increase)
        allowed = BY_SIZE.losses <= BY_SIZE.original.loss + increase + 1e-12
        assert allowed[point.index]
        assert point.cost == BY_SIZE.costs[allowed].min()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "exactly one of `tradeoff`, `index`, `budget`, `max_loss_increase`"),
        ({"index": 10**6}, "`index` is 1000000"),
        ({"budget": -1}, "`budget` is -1"),
    ],
)
def test_what_no_point_answers_is_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        BY_SIZE.at(**wrong)


def test_rules_choose_the_cheapest_of_the_good_enough():
    half = np.arange(len(HEART.y)) % 2 == 0
    model = RandomForestClassifier(8, random_state=0).fit(HEART.X[half], HEART.y[half])
    path = tw.dynamic_programming_path(
        tw.pruning_problem(model, HEART.X[half], HEART.y[half], costs=HEART.costs)
    )
    X, y = HEART.X[~half], HEART.y[~half]
    measured = path.evaluate(X, y)
    assert (np.diff(measured.cost) > 0).any()
    best = measured.score.max()
    least = {"best_score": best, "max_score_decrease": measured.original.score - 0.05}
    for rule, limit in (("best_score", None), ("max_score_decrease", 0.05)):
        chosen = path.choose(X, y, rule=rule, limit=limit)
        good_enough = measured.score >= least[rule] - 1e-12
        assert good_enough[chosen.index]
        assert measured.cost[chosen.index] == pytest.approx(measured.cost[good_enough].min())
