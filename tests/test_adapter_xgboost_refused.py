"""XGBoost models that cannot be read are refused in a sentence, and nothing is imported unasked."""

import json
import subprocess
import sys
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from adapter_laws import check_predictions, check_reading
from xgboost_models import FEW, fitted, latent, rows, score, three, two

from thriftwood.adapters import read_forest, write_model
from thriftwood.adapters.xgboost_trees import read_tree
from thriftwood.errors import ForestError, UnfittedModelError, UnsupportedModelError

WRAPPERS = (
    xgb.XGBClassifier,
    xgb.XGBRegressor,
    xgb.XGBRanker,
    xgb.XGBRFClassifier,
    xgb.XGBRFRegressor,
)


@pytest.mark.parametrize("kind", WRAPPERS)
def test_a_model_that_is_not_fitted_is_refused(kind: type) -> None:
    for attempt in (read_forest, lambda model: write_model(model, np.zeros(1, dtype=bool))):
        with pytest.raises(UnfittedModelError, match=rf"{kind.__name__} is not fitted: call fit"):
            attempt(kind())


def test_a_booster_without_training_is_refused() -> None:
    with pytest.raises(UnfittedModelError, match=r"not trained.*load a model"):
        read_forest(xgb.Booster())


def test_a_booster_without_trees_is_refused() -> None:
    X = rows()
    booster = xgb.train({"nthread": 1}, xgb.DMatrix(X, latent(X)), 0)
    with pytest.raises(ForestError, match="no tree"):
        read_forest(booster)


def two_outputs(X: np.ndarray) -> np.ndarray:
    return np.column_stack([latent(X), two(X)])


@pytest.mark.parametrize(
    ("model", "target", "sentence"),
    [
        (xgb.XGBRegressor(booster="gblinear", n_jobs=1), latent, "linear model.*'gbtree'"),
        (xgb.XGBRegressor(**FEW), two_outputs, "2 outputs.*one model per output"),
        (
            xgb.XGBRegressor(multi_strategy="multi_output_tree", **FEW),
            two_outputs,
            "2 outputs.*one model per output",
        ),
        (
            xgb.XGBRegressor(objective="reg:quantileerror", quantile_alpha=[0.2, 0.8], **FEW),
            latent,
            "2 outputs",
        ),
        (xgb.XGBClassifier(objective="binary:hinge", **FEW), two, "binary:hinge.*binary:logistic"),
        (xgb.XGBClassifier(objective="binary:logitraw", **FEW), two, "logitraw.*get_booster"),
        (xgb.XGBRegressor(missing=-999.0, **FEW), latent, "takes -999 for a missing value.*NaN"),
        (xgb.XGBClassifier(missing=0, **FEW), three, "takes 0 for a missing value"),
    ],
)
def test_what_a_forest_cannot_say_is_refused(model: Any, target: Any, sentence: str) -> None:
    model = deepcopy(model).fit(rows(), target(rows()))
    for attempt in (read_forest, lambda model: write_model(model, np.zeros(1, dtype=bool))):
        with pytest.raises(UnsupportedModelError, match=sentence):
            attempt(model)


def test_the_advice_on_missing_values_is_true() -> None:
    X = rows()
    coded = np.nan_to_num(X, nan=-999.0)
    model = xgb.XGBClassifier(missing=-999.0, **FEW).fit(coded, three(X))
    before = score(model, coded)
    model.set_params(missing=np.nan)
    np.testing.assert_array_equal(score(model, X), before)
    check_reading(model, X, score)


def own_loss(margin: np.ndarray, data: Any) -> tuple[np.ndarray, np.ndarray]:
    return margin - data.get_label(), np.ones_like(margin)


def test_an_objective_of_one_s_own_is_read_as_scores() -> None:
    X = rows()
    booster = xgb.train({"nthread": 1}, xgb.DMatrix(X, latent(X)), 3, obj=own_loss)
    forest = check_reading(booster, X, score)
    assert forest.link == "identity"
    assert not forest.is_classifier


def log_loss(labels: np.ndarray, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p = 1 / (1 + np.exp(-margin))
    return p - labels, p * (1 - p)


def test_a_classifier_with_an_objective_of_one_s_own_is_read_as_it_predicts() -> None:
    model = xgb.XGBClassifier(objective=log_loss, **FEW).fit(rows(), two(rows()))
    check_reading(model, rows(), score)
    check_predictions(model, rows(), lambda model, X: model.predict_proba(X))


def damaged(change: Any) -> dict[str, Any]:
    booster = fitted("classifier").model.get_booster()
    document = json.loads(booster.save_raw("json"))
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    change(tree)
    return tree


DAMAGE = {
    "child_outside": lambda tree: tree["left_children"].__setitem__(0, 10_000),
    "negative_child": lambda tree: tree["right_children"].__setitem__(0, -7),
    "one_child": lambda tree: tree["right_children"].__setitem__(0, -1),
    "cycle": lambda tree: tree["left_children"].__setitem__(1, 0),
    "short_list": lambda tree: tree["sum_hessian"].pop(),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_trees_are_refused(name: str) -> None:
    """XGBoost itself loads some of them, and would then walk out of its memory."""
    with pytest.raises(ForestError, match="model is damaged"):
        read_tree(damaged(DAMAGE[name]), 1)


def test_a_tree_in_another_form_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match=r"another form.*base_weights"):
        read_tree(damaged(lambda tree: tree.pop("base_weights")), 1)


def test_a_model_whose_score_is_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    booster = fitted("booster_logistic").model
    true = booster.inplace_predict(rows()[:1])
    monkeypatch.setattr(type(booster), "inplace_predict", lambda *_arguments, **_named: true + 0.1)
    with pytest.raises(UnsupportedModelError, match="cannot be reproduced"):
        read_forest(booster)


def test_impossible_masks_are_refused() -> None:
    model = fitted("classifier").model
    forest = read_forest(model)
    with pytest.raises(ForestError, match="names a leaf"):
        write_model(model, np.ones(forest.n_nodes, dtype=bool))
    with pytest.raises(ForestError, match="parent is not kept"):
        write_model(model, forest.is_split & (forest.parent != -1))


def test_boosters_are_imported_only_by_those_who_use_them() -> None:
    program = (
        "import sys\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "from thriftwood.adapters import read_forest\n"
        "read_forest(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))\n"
        "try:\n"
        "    read_forest('no model')\n"
        "except TypeError:\n"
        "    print(sorted({'xgboost', 'catboost', 'lightgbm'} & set(sys.modules)))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
