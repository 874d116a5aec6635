"""`tw.Costs` on real forests, against a mixed-integer program of what prices mean."""

import numpy as np
import pytest
from builders import TRADEOFFS
from cost_cases import priced_cases
from cost_program import solve_by_program
from hypothesis import given, settings
from prunings import trees_alone
from receipts import every_pruning, least_objective, loss_of, receipts
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest

HEART = tw.datasets.load_heart()
ROWS = slice(0, 120)
X, Y = HEART.X[ROWS], HEART.y[ROWS]
MODEL = RandomForestClassifier(6, max_depth=6, random_state=0).fit(X, Y)
FOREST = read_forest(MODEL)
TRADEOFFS_HERE = [1e-4, 5e-4, 2e-3, 1e-2]


@settings(max_examples=100)
@given(priced_cases(), TRADEOFFS)
def test_the_program_and_all_prunings_by_receipts_agree(case, tradeoff):
    forest, rows, y, costs, weights, names = case
    tradeoff = min(tradeoff, 100.0)  # the program's numbers are floats
    objective, kept = solve_by_program(forest, rows, y, costs, tradeoff, names, weights)
    prunings = every_pruning(forest, rows, y, costs, names, weights)
    assert objective == pytest.approx(least_objective(prunings, tradeoff), rel=1e-6, abs=1e-6)
    cost = receipts(forest, rows, costs, names, weights, kept).mean
    loss = loss_of(forest, rows, y, weights, kept)
    assert loss + tradeoff * cost == pytest.approx(objective, rel=1e-6, abs=1e-6)


def random_costs(seed):
    """Return prices of many kinds for the rows and columns above."""
    rng = np.random.default_rng(seed)
    n_samples, n_features = X.shape
    groups = {
        "blood": [4, 5],
        "treadmill": [8, 9, 10],
        "scan": [7, 12, "treadmill"],
        "visit": ["blood", "scan", 6, 3],
    }
    kinds = {
        "per_feature": rng.integers(0, 1000, n_features) / 100,
        "per_sample": {int(k): rng.integers(0, 500, n_samples) / 100 for k in rng.choice(13, 3)},
        "known": rng.random((n_samples, n_features)) < 0.2,
        "shared_by": {
            "visit": rng.integers(0, 30, n_samples),
            "blood": rng.integers(0, 10, n_samples),
            11: rng.integers(0, 20, n_samples),
            2: rng.integers(0, 45, n_samples),
        },
        "requires": {12: [7], 10: [9, 8], 9: [8], 11: [10, 12], 0: [1]},
        "per_model": {"scan": 500.0, 11: 120.0, 0: 30.5, "blood": 90.0},
        "per_split": 0.07,
        "per_node": 5.0,
    }
    left_out = rng.choice(list(kinds), rng.integers(0, 5), replace=False) if seed else []
    chosen = {name: value for name, value in kinds.items() if name not in left_out}
    for k in set(chosen.get("per_sample", {})) & set(chosen.get("shared_by", {})):
        del chosen["per_sample"][k]  # a batch pays one price
    fees = {"blood": 2.1, "treadmill": 4.0, "scan": 11.9, "visit": 1.0}
    return tw.Costs(groups=groups, group_fee=fees, predictions=1000, **chosen)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tradeoff", TRADEOFFS_HERE)
def test_on_a_real_forest_the_objective_is_that_of_the_program(seed, tradeoff):
    costs = random_costs(seed)
    objective, kept = solve_by_program(FOREST, X, Y, costs, tradeoff)
    pruned = tw.prune(MODEL, X, Y, costs=costs, tradeoff=tradeoff)
    assert pruned.objective == pytest.approx(objective, rel=1e-7, abs=1e-9)
    mine = read_forest(pruned.model)
    assert pruned.cost == pytest.approx(receipts(mine, X, costs).mean)
    assert pruned.loss == pytest.approx(loss_of(mine, X, Y))
    assert pruned.n_splits <= kept.sum()  # the smallest optimum is taken


@pytest.mark.parametrize("seed", range(6))
def test_on_a_real_forest_the_path_has_the_objective_of_the_program(seed):
    costs = random_costs(seed)
    path = tw.prune_path(MODEL, X, Y, costs=costs)
    rng = np.random.default_rng(seed)
    for index in rng.choice(len(path) - 1, min(2, len(path) - 1), replace=False):
        tradeoff = float(rng.uniform(*path.tradeoffs[index : index + 2]))
        objective, kept = solve_by_program(FOREST, X, Y, costs, tradeoff)
        assert path.at(tradeoff=tradeoff).objective == pytest.approx(objective, rel=1e-7, abs=1e-9)
        cost = receipts(FOREST, X, costs, kept=path.kept_nodes(index)).mean
        assert path.costs[index] == pytest.approx(cost)
        assert path.n_splits[index] <= kept.sum()


@pytest.mark.parametrize("seed", range(6))
def test_on_a_real_forest_each_tree_alone_has_the_objective_of_its_program(seed):
    costs = random_costs(seed)
    path = tw.each_tree_path(tw.pruning_problem(MODEL, X, Y, costs=costs))
    tradeoff = float(path.tradeoffs[1:].mean())
    kept = path.kept_nodes(path.at(tradeoff=tradeoff).index)
    parts = np.split(kept, FOREST.tree_start[1:-1])
    for tree, own in zip(trees_alone(FOREST), parts, strict=True):
        objective, _ = solve_by_program(tree, X, Y, costs, tradeoff)
        cost = receipts(tree, X, costs, kept=own).mean
        loss = loss_of(tree, X, Y, kept=own)
        assert loss + tradeoff * cost == pytest.approx(objective, rel=1e-7, abs=1e-9)
