"""What the inner nodes of XGBoost's trees say: the formula of boosting for their own rows."""

import json
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from packaging.version import Version
from xgboost_models import fitted, latent, rows, score, two

from thriftwood.adapters import read_forest, write_model
from thriftwood.forest import Forest, scores


def leaves_only_root(model: Any) -> np.ndarray:
    """The score of each row when every tree is one leaf."""
    forest = read_forest(model)
    pruned = write_model(model, np.zeros(forest.n_nodes, dtype=bool))
    return score(pruned, rows())


def gradients(objective: str, margin: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    if objective == "squared":
        return margin - y, np.ones(len(y))
    p = 1 / (1 + np.exp(-margin))
    return p - y, p * (1 - p)


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
@pytest.mark.parametrize("objective", ["squared", "logistic"])
@pytest.mark.parametrize(
    ("rate", "l2", "loaded"),
    [(0.3, 1, False), (0.07, 5.5, False), (1.0, 0, False), (0.07, 1, True)],
)
def test_every_node_says_what_the_formula_of_boosting_gives_for_its_rows(
    method: str, objective: str, rate: float, l2: float, loaded: bool
) -> None:
    """Value = -rate * G / (H + l2), G and H over the rows of the node."""
    X = rows()
    y = latent(X) if objective == "squared" else two(X)
    kind = xgb.XGBRegressor if objective == "squared" else xgb.XGBClassifier
    model = kind(
        n_estimators=3,
        max_depth=3,
        learning_rate=rate,
        reg_lambda=l2,
        tree_method=method,
        n_jobs=1,
    ).fit(X, y)
    booster = model.get_booster()
    forest = read_forest(xgb.Booster(model_file=booster.save_raw()) if loaded else model)
    table = X.astype(np.float32)
    for tree in range(forest.n_trees):
        before = forest.bias + np.zeros(len(X))
        if tree:
            before = model.predict(X, output_margin=True, iteration_range=(0, tree))
        g, h = gradients(objective, before.astype(np.float64), y)
        for node, members in node_rows(forest, tree, table).items():
            pull, mass = g[members].sum(), h[members].sum()
            expected = -rate * pull / (mass + l2)
            # Sums of gradients that cancel out leave float32 noise.
            noise = rate * 2e-5 * np.abs(g[members]).sum() / (mass + l2)
            assert forest.values[node, 0] == pytest.approx(expected, rel=2e-4, abs=noise)


def node_rows(forest: Forest, tree: int, table: np.ndarray) -> dict[int, np.ndarray]:
    found = {int(forest.tree_start[tree]): np.arange(len(table))}
    for node in range(forest.tree_start[tree], forest.tree_start[tree + 1]):
        if forest.left[node] < 0:
            continue
        members = found[node]
        column = table[members, forest.feature[node]]
        goes_left = np.where(
            np.isnan(column), forest.missing_left[node], column <= forest.threshold[node]
        )
        found[int(forest.left[node])] = members[goes_left]
        found[int(forest.right[node])] = members[~goes_left]
    return found


def test_a_schedule_of_learning_rates_is_seen_in_the_trees() -> None:
    X = rows()
    planned = [0.5, 0.3, 0.11, 0.02]
    data = xgb.DMatrix(X, latent(X))
    callback = xgb.callback.LearningRateScheduler(planned)
    params = {"max_depth": 3, "nthread": 1, "lambda": 3}
    booster = xgb.train(params, data, 4, callbacks=[callback])
    forest = read_forest(booster)
    table = booster.trees_to_dataframe()
    recorded = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    # The callback speaks after a round: the first one has the rate of the parameters.
    for number, rate in enumerate([0.3, *planned[:-1]]):
        nodes = slice(*forest.tree_start[number : number + 2])
        inner = forest.is_split[nodes]
        weights = np.array(recorded["trees"][number]["base_weights"])  # grown level by level
        assert inner.sum() == (table.loc[table["Tree"] == number, "Feature"] != "Leaf").sum()
        np.testing.assert_allclose(
            forest.values[nodes, 0][inner], rate * weights[inner], rtol=1e-4, atol=1e-12
        )


@pytest.mark.parametrize("kind", ["booster_absolute", "booster_quantile"])
def test_where_leaves_are_set_later_a_node_says_the_mean_of_its_leaves(kind: str) -> None:
    booster, X, _ = fitted(kind)
    forest = read_forest(booster)
    if Version(xgb.__version__) >= Version("3.4"):  # which sets leaves at once, as for other losses
        weights = np.concatenate([recorded_weights(booster, tree) for tree in range(4)])
        inner = forest.is_split
        np.testing.assert_allclose(forest.values[inner, 0], 0.4 * weights[inner], rtol=1e-4)
        return
    bias = scores(forest, X.astype(np.float32)) - leaves_sum(forest, X)
    np.testing.assert_allclose(bias, np.full_like(bias, bias[0, 0]))
    # The hessian of these losses is 1 for every row: the mean over the leaves is that over rows.
    root = forest.values[forest.tree_start[:-1], 0].sum()
    assert root == pytest.approx(float(leaves_sum(forest, X).mean()), rel=1e-5)
    assert leaves_only_root(booster)[0] == pytest.approx(float(score(booster, X).mean()), rel=1e-5)


def leaves_sum(forest: Forest, X: np.ndarray) -> np.ndarray:
    return scores(forest, X.astype(np.float32)) - forest.bias


def recorded_weights(booster: xgb.Booster, tree: int) -> np.ndarray:
    """What XGBoost computed for each node of a tree, before the rate; grown level by level."""
    learner = json.loads(booster.save_raw("json"))["learner"]
    return np.array(learner["gradient_booster"]["model"]["trees"][tree]["base_weights"])


@pytest.mark.parametrize("kind", ["steps", "monotone", "booster_poisson", "penalties"])
@pytest.mark.parametrize("loaded", [False, True])
def test_nodes_keep_the_proportions_of_their_weights_whatever_was_bounded_or_is_not_known(
    kind: str, loaded: bool
) -> None:
    """A saved model does not know its penalties, nor tells bounds the rate: it is near."""
    model = fitted(kind).model
    booster = model if isinstance(model, xgb.Booster) else model.get_booster()
    forest = read_forest(xgb.Booster(model_file=booster.save_raw()) if loaded else model)
    rate = 0.4 if kind == "booster_poisson" else 0.3
    for tree in range(forest.n_trees):
        nodes = slice(*forest.tree_start[tree : tree + 2])
        inner = forest.is_split[nodes] & (np.abs(recorded_weights(booster, tree)) > 1e-6)
        found = forest.values[nodes, 0][inner] / recorded_weights(booster, tree)[inner]
        np.testing.assert_allclose(found, found[0], rtol=1e-4)
        assert 0.5 * rate < found[0] < 1.1 * rate
