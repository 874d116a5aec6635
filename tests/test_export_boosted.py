"""Boosted models of other libraries predict in every format what they predict at home."""

import numpy as np
import pytest
import test_export_c
import test_export_onnx
import test_export_treelite
from adapter_laws import awkward_rows, rows_of
from export_cases import said_by
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from thriftwood.adapters import read_forest
from thriftwood.formats import export

lightgbm_models = pytest.importorskip("boosters_lightgbm")
xgboost_models = pytest.importorskip("xgboost_models")
catboost_models = pytest.importorskip("test_adapter_catboost")

LIGHTGBM = [
    "regression",
    "poisson",
    "classifier",
    "classifier_of_words",
    "classifier_of_a_frame",
    "one_against_rest",
    "rf_multiclass",
    "zero_as_missing",
    "leaves_alone",
]
SCIKIT_LEARN = {
    "hist_two": (HistGradientBoostingClassifier, lightgbm_models.two, {"max_iter": 5}),
    "hist_three": (HistGradientBoostingClassifier, lightgbm_models.three, {"max_iter": 5}),
    "hist_numbers": (HistGradientBoostingRegressor, lightgbm_models.numbers, {"max_iter": 5}),
    "hist_categories": (
        HistGradientBoostingRegressor,
        lightgbm_models.numbers,
        {"max_iter": 5, "categorical_features": [3]},
    ),
    "hist_poisson": (
        HistGradientBoostingRegressor,
        lightgbm_models.positive,
        {"max_iter": 5, "loss": "poisson"},
    ),
    "gradient_two": (GradientBoostingClassifier, lightgbm_models.two, {"n_estimators": 5}),
    "gradient_three": (GradientBoostingClassifier, lightgbm_models.three, {"n_estimators": 5}),
    "gradient_numbers": (GradientBoostingRegressor, lightgbm_models.numbers, {"n_estimators": 5}),
}
XGBOOST = [
    "classifier_of_three",
    "forest_classifier",
    "dart_regressor",
    "categories",
    "categories_one_by_one",
    "shares",
    "booster_poisson",
]
CATBOOST = ["depth_wise", "symmetric_of_three", "one_against_rest", "missing_right", "poisson"]
MODELS = (
    *LIGHTGBM,
    *SCIKIT_LEARN,
    *(f"xgboost_{name}" for name in XGBOOST),
    *(f"catboost_{name}" for name in CATBOOST),
)


def grown(name):
    """A model, its forest and rows of doubles, the first of which are what it was trained on."""
    if name in LIGHTGBM:
        model, X = lightgbm_models.grown(name)
    elif name.startswith("xgboost"):
        model, X, _ = xgboost_models.fitted(name.removeprefix("xgboost_"))
    elif name.startswith("catboost"):
        model, X, _ = catboost_models.fitted(name.removeprefix("catboost_"))
    else:
        kind, target, options = SCIKIT_LEARN[name]
        X = lightgbm_models.rows(missing=0.1 if name.startswith("hist") else 0.0)
        model = kind(random_state=0, **options).fit(X, target(lightgbm_models.rows(missing=0.0)))
    forest = read_forest(model)
    plain = rows_of(forest, X).astype(np.float64)
    return model, X, forest, plain, np.concatenate([plain, awkward_rows(forest, plain, 200)])


def at_home(model, X):
    """What the library says; of two classes it may only give the second."""
    if hasattr(model, "get_dump"):  # a plain booster of XGBoost
        X = xgboost_models.matrix(model, X)
    said = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return np.asarray(said).reshape(len(said), -1)


@pytest.mark.parametrize("name", MODELS)
def test_onnx(name):
    model, X, forest, plain, rows = grown(name)
    made = export.to_onnx(model, dtype="float64")
    found = test_export_onnx.numbers_of(test_export_onnx.run(made, rows))
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-12, atol=1e-12)
    home = at_home(model, X)
    # XGBoost adds up in float32.
    near = 1e-6 if "xgboost" in name else 1e-9
    np.testing.assert_allclose(found[: len(plain), -home.shape[1] :], home, rtol=near, atol=near)
    if forest.is_classifier and hasattr(model, "predict_proba"):
        labels = test_export_onnx.run(made, plain)["label"]
        assert labels.tolist() == np.ravel(model.predict(X)).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_float32_onnx(name):
    model, _, forest, _, rows = grown(name)
    rows = test_export_onnx.single(rows)
    found = test_export_onnx.numbers_of(test_export_onnx.run(export.to_onnx(model), rows))
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-5, atol=1e-5)


@test_export_c.needs_compiler
@pytest.mark.parametrize("name", MODELS)
def test_c(name, tmp_path):
    _, _, forest, _, rows = grown(name)
    found = test_export_c.Compiled(forest, tmp_path).predict(rows)
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "zero_as_missing"])
def test_treelite(name):
    model, _, forest, _, rows = grown(name)
    rows = test_export_treelite.whole_categories(forest, rows)
    found = test_export_treelite.run(export.to_treelite(model), rows)
    near = 1e-6 if forest.link == "softmax" else 1e-12
    expected = said_by(forest, rows)[:, -found.shape[1] :]
    np.testing.assert_allclose(found, expected, rtol=near, atol=near)


@pytest.mark.parametrize("name", MODELS)
def test_json(name):
    model, _, forest, _, _ = grown(name)
    again = export.from_json(export.to_json(model))
    assert again.has_same_trees(forest)
    np.testing.assert_array_equal(np.array(again.gains), np.array(forest.gains))
