"""XGBoost: a forest says what the model says, and a written model is a true one."""

import json
import pickle
from functools import cache
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
    pruned_pair,
)
from xgboost_models import (
    KINDS,
    categories_frame,
    fitted,
    latent,
    leaf,
    matrix,
    rows,
    score,
)

import thriftwood as tw
from thriftwood.adapters import read_forest, write_model
from thriftwood.forest import Forest, predict

CATEGORIES = ("categories", "categories_one_by_one")
SOME = ("classifier_of_three", "dart_regressor", "categories", "booster_absolute", "stopped_early")


def finite(table: np.ndarray) -> np.ndarray:
    """The rows that XGBoost accepts: it refuses infinity."""
    with np.errstate(over="ignore"):
        return table[~np.isinf(table.astype(np.float32)).any(axis=1)]


@cache
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
    return pruned_pair(fitted(kind).model)


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
        if read_forest(model).is_classifier:
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
    np.testing.assert_array_equal(bill.per_sample, tw.feature_bill(model, frame).per_sample)
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


@pytest.mark.parametrize(
    ("kind", "share"),
    [(kind, 0.6) for kind in KINDS] + [(kind, s) for kind in SOME for s in (0, 1)],
)
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
    assert bill.per_sample.min() >= 1
    pruned, _ = written("classifier")
    assert (tw.feature_bill(pruned, X).per_sample <= bill.per_sample).all()


def test_shares_are_numbers_and_not_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    share = 1 / (1 + np.exp(-X[:, 0]))
    model = xgb.XGBRegressor(objective="reg:logistic", n_estimators=5, n_jobs=1).fit(X, share)
    forest = read_forest(model)
    assert forest.classes is None
    said = predict(forest, X.astype(np.float32))[:, 0]
    np.testing.assert_allclose(said, model.predict(X), rtol=1e-5)
