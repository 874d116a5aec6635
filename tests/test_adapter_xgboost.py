"""XGBoost: a forest says what the model says, and a written model is a true one."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from adapter_laws import (
    awkward_rows,
    check_new_values,
    check_predictions,
    check_reading,
    check_same,
    check_writing,
)
from models import random_kept
from xgboost_models import (
    KINDS,
    categories_frame,
    fitted,
    latent,
    leaf,
    matrix,
    rows,
    score,
    two,
)

import thriftwood as tw
from thriftwood.adapters import read_forest, write_model
from thriftwood.forest import Forest, collapse, scores

CATEGORIES = ("categories", "categories_one_by_one")
NUMBERS = tuple(kind for kind in KINDS if kind not in CATEGORIES)


def finite(table: np.ndarray) -> np.ndarray:
    """The rows that XGBoost accepts: it refuses infinity."""
    with np.errstate(over="ignore"):
        return table[~np.isinf(table.astype(np.float32)).any(axis=1)]


def hard_rows(kind: str) -> Any:
    case = fitted(kind)
    if kind in CATEGORIES:
        return categories_frame(150, seed=7)
    table = finite(awkward_rows(read_forest(case.model), np.asarray(case.X), 900))
    assert len(table) > 100
    return pd.DataFrame(table, columns=case.X.columns) if kind == "named" else table


def booster_of(model: Any) -> xgb.Booster:
    return model if isinstance(model, xgb.Booster) else model.get_booster()


def written(kind: str) -> tuple[Any, Forest]:
    model = fitted(kind).model
    forest = read_forest(model)
    kept = random_kept(forest, 3, 0.6)
    return write_model(model, kept), collapse(forest, kept)[0]


# --- reading


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_gives_every_row_the_score_of_the_model_from_the_same_leaves(kind: str) -> None:
    check_reading(fitted(kind).model, hard_rows(kind), score, leaf)


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_predicts_what_the_model_predicts(kind: str) -> None:
    def says(model: Any, X: Any) -> np.ndarray:
        if hasattr(model, "predict_proba"):
            return model.predict_proba(X)
        if isinstance(model, xgb.Booster) and kind == "booster_softmax":
            return np.exp(score(model, X)) / np.exp(score(model, X)).sum(axis=1, keepdims=True)
        found = model.predict(matrix(model, X) if isinstance(model, xgb.Booster) else X)
        if read_forest(model).link == "logistic":
            return np.column_stack([1 - found, found])
        return found

    check_predictions(fitted(kind).model, hard_rows(kind), says)


@pytest.mark.parametrize("kind", ["classifier", "categories", "booster_dart"])
def test_reading_twice_gives_the_same_forest(kind: str) -> None:
    model = fitted(kind).model
    assert read_forest(model).has_same_trees(read_forest(model))


@pytest.mark.parametrize("kind", KINDS)
def test_gains_are_those_that_xgboost_recorded(kind: str) -> None:
    model = fitted(kind).model
    forest = read_forest(model)
    table = booster_of(model).trees_to_dataframe()
    table = table[(table["Feature"] != "Leaf") & (table["Tree"] < forest.n_trees)]
    assert forest.n_splits == len(table)
    np.testing.assert_allclose(
        np.sort(forest.gains[forest.is_split]), np.sort(table["Gain"]), rtol=1e-6
    )
    assert (forest.gains[~forest.is_split] == 0).all()


def test_only_the_trees_that_predict_are_read() -> None:
    model = fitted("stopped_early").model
    assert read_forest(model).n_trees == model.best_iteration + 1
    assert read_forest(model.get_booster()).n_trees == model.get_booster().num_boosted_rounds()


def test_names_and_labels_come_from_the_model() -> None:
    forest = read_forest(fitted("categories").model)
    assert forest.feature_names == ("size", "colour", "shop", "age")
    assert forest.category_labels == {
        1: ("blue", "green", "grey", "pink", "red"),
        2: (3, 5, 9, 11, 20, 21, 22),
    }
    assert read_forest(fitted("classifier").model).feature_names is None


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_by_number_and_by_label_give_the_same_score(kind: str) -> None:
    model = fitted(kind).model
    frame = categories_frame(150, seed=7)
    codes = frame.assign(colour=frame["colour"].cat.codes, shop=frame["shop"].cat.codes)
    codes = codes.astype(float).replace({"colour": {-1.0: np.nan}})
    codes.loc[::5, "colour"] = [50, -1, 1e8, 2, 2.7, 3][: len(codes[::5])] * 5
    forest = check_reading(model, codes.to_numpy(), score)
    polars = pl.DataFrame(
        {
            "size": frame["size"].to_numpy(),
            "colour": [None if pd.isna(c) else c for c in frame["colour"]],
            "shop": frame["shop"].cat.codes.to_numpy(),
            "age": frame["age"].to_numpy(),
        }
    )
    bill = tw.feature_bill(model, polars)
    np.testing.assert_array_equal(bill.per_example, tw.feature_bill(model, frame).per_example)
    assert (forest.category_set >= 0).any()


def test_labels_in_another_order_are_the_same_labels() -> None:
    model = fitted("categories").model
    frame = categories_frame(80, seed=8)
    names = ["red", "pink", "blue", "grey", "green"]
    check_reading(model, frame.assign(colour=frame["colour"].cat.set_categories(names)), score)


def test_labels_that_xgboost_garbles_are_left_out() -> None:
    frame = categories_frame()
    frame["colour"] = frame["colour"].cat.rename_categories({"red": "rosé"})
    model = xgb.XGBRegressor(n_estimators=2, enable_categorical=True, n_jobs=1)
    model.fit(frame, latent(rows()))
    assert list(read_forest(model).category_labels) == [2]


@pytest.mark.parametrize(
    "kind", ["classifier", "several_trees_a_round", "categories", "dart_regressor"]
)
@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_a_saved_model_in_a_booster_gives_the_same_forest(
    kind: str, ending: str, tmp_path: Path
) -> None:
    model = fitted(kind).model
    model.get_booster().save_model(tmp_path / f"model.{ending}")
    loaded = xgb.Booster(model_file=tmp_path / f"model.{ending}")
    check_same(read_forest(loaded), read_forest(model.get_booster()))


# --- writing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_reading_what_was_written_gives_the_collapsed_forest(kind: str, share: float) -> None:
    pruned = check_writing(fitted(kind).model, hard_rows(kind), score, share=share)
    check_reading(pruned, hard_rows(kind), score, leaf)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_can_be_written_with_new_values(kind: str) -> None:
    check_new_values(fitted(kind).model, hard_rows(kind), score)


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_survives_pickling_and_saving(kind: str, tmp_path: Path) -> None:
    pruned, forest = written(kind)
    X = hard_rows(kind)
    again = pickle.loads(pickle.dumps(pruned))
    check_same(read_forest(again), forest)
    np.testing.assert_array_equal(score(again, X), score(pruned, X))
    pruned.save_model(tmp_path / "pruned.ubj")
    loaded = type(pruned)()
    loaded.load_model(tmp_path / "pruned.ubj")
    check_same(read_forest(loaded), forest)
    np.testing.assert_array_equal(score(loaded, X), score(pruned, X))


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_of_features_add_up_to_the_score(kind: str) -> None:
    pruned, _ = written(kind)
    booster, X = booster_of(pruned), hard_rows(kind)
    shares = booster.predict(matrix(booster, X), pred_contribs=True)
    expected = booster.predict(matrix(booster, X), output_margin=True)
    np.testing.assert_allclose(shares.sum(axis=-1), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_knows_its_trees(kind: str) -> None:
    pruned, forest = written(kind)
    booster = booster_of(pruned)
    table = booster.trees_to_dataframe()
    np.testing.assert_array_equal(
        table.groupby("Tree").size().to_numpy(), np.diff(forest.tree_start)
    )
    used = set(table.loc[table["Feature"] != "Leaf", "Feature"])
    assert set(booster.get_score(importance_type="gain")) == used
    document = json.loads(booster.save_raw("json"))["learner"]
    assert document["feature_names"] == (booster.feature_names or [])


@pytest.mark.parametrize("kind", ["classifier", "stopped_early", "named", "categories"])
def test_a_written_estimator_is_like_the_model(kind: str) -> None:
    model, X, y = fitted(kind)
    pruned, forest = written(kind)
    assert repr(pruned.get_params()) == repr(model.get_params())
    assert pruned.n_features_in_ == model.n_features_in_
    assert getattr(pruned, "best_iteration", None) == getattr(model, "best_iteration", None)
    assert booster_of(pruned).feature_names == booster_of(model).feature_names
    assert booster_of(pruned).feature_types == booster_of(model).feature_types
    assert booster_of(pruned).attributes() == booster_of(model).attributes()
    assert read_forest(booster_of(pruned)).n_trees == forest.n_trees  # no tree is left over
    pruned.fit(X, y, **({"eval_set": [(X, y)], "verbose": False} if "early" in kind else {}))


def test_the_bill_counts_the_features_on_the_way() -> None:
    model, X, _ = fitted("classifier")
    forest = read_forest(model)
    nothing = write_model(model, np.zeros(forest.n_nodes, dtype=bool))
    assert tw.feature_bill(nothing, X).mean == 0
    bill = tw.feature_bill(model, X)
    assert bill.per_example.min() >= 1
    pruned, _ = written("classifier")
    assert (tw.feature_bill(pruned, X).per_example <= bill.per_example).all()


# --- what inner nodes say


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
    ("rate", "l2", "l1", "most"),
    [(0.3, 1, 0, 0), (0.07, 5.5, 0, 0), (1.0, 0, 0, 0), (0.2, 2, 4, 0)],
)
@pytest.mark.parametrize("loaded", [False, True])
def test_every_node_says_what_the_formula_of_boosting_gives_for_its_rows(
    method: str, objective: str, rate: float, l2: float, l1: float, most: float, loaded: bool
) -> None:
    """Value = -rate * soft(G, l1) / (H + l2), G and H over the rows of the node."""
    if loaded and l1:
        pytest.skip("a saved model does not know its L1 penalty")
    X = rows()
    y = latent(X) if objective == "squared" else two(X)
    kind = xgb.XGBRegressor if objective == "squared" else xgb.XGBClassifier
    model = kind(
        n_estimators=3,
        max_depth=3,
        learning_rate=rate,
        reg_lambda=l2,
        reg_alpha=l1,
        max_delta_step=most,
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
            soft = np.sign(pull) * max(abs(pull) - l1, 0)
            expected = -rate * soft / (mass + l2)
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
    bias = scores(forest, X.astype(np.float32)) - leaves_sum(forest, X)
    np.testing.assert_allclose(bias, np.full_like(bias, bias[0, 0]))
    # The hessian of these losses is 1 for every row: the mean over the leaves is that over rows.
    root = forest.values[forest.tree_start[:-1], 0].sum()
    assert root == pytest.approx(float(leaves_sum(forest, X).mean()), rel=1e-5)
    assert leaves_only_root(booster)[0] == pytest.approx(float(score(booster, X).mean()), rel=1e-5)


def leaves_sum(forest: Forest, X: np.ndarray) -> np.ndarray:
    return scores(forest, X.astype(np.float32)) - forest.bias
