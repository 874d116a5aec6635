"""Small models of XGBoost of every kind that is read."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import xgboost as xgb
from models import NAMES, Fitted

N_ROWS = 260


def rows(n_samples: int = N_ROWS, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_samples, 4))
    table[:, 3] = rng.integers(-1, 3, size=n_samples)  # many ties, zeros among them
    table[rng.random(table.shape) < 0.15] = np.nan
    return table


def latent(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(1).normal(scale=0.3, size=len(X))
    full = np.nan_to_num(X, nan=0.7)
    return full[:, 0] + np.abs(full[:, 1]) * full[:, 3] + noise


def two(X: np.ndarray) -> np.ndarray:
    return (latent(X) > 0).astype(int)


def three(X: np.ndarray) -> np.ndarray:
    return np.digitize(latent(X), [-0.4, 0.6])


def positive(X: np.ndarray) -> np.ndarray:
    return np.exp(0.5 * latent(X))


FEW: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}
FEW_ROUNDS: dict[str, Any] = {"max_depth": 3, "nthread": 1, "eta": 0.4}


def _estimator(model: Any, target: Callable[[Any], Any], **fit: Any) -> Fitted:
    X = rows()
    return Fitted(model.fit(X, target(X), **fit), X, target(X))


def _booster(objective: str, target: Callable[[Any], Any], **params: Any) -> Fitted:
    X, y = rows(), target(rows())
    data = xgb.DMatrix(X, y)
    if objective.startswith("rank"):
        data.set_group([N_ROWS // 10] * 10)
    if objective == "survival:aft":
        data.set_float_info("label_lower_bound", y)
        data.set_float_info("label_upper_bound", y + 0.5)
    params = {**FEW_ROUNDS, "objective": objective, **params}
    return Fitted(xgb.train(params, data, 4), X, y)


def _stopped_early(model: Any, target: Callable[[Any], Any]) -> Fitted:
    """It was told to stop long before its last round: `predict` uses the best ones only."""
    X = rows()
    other = rows(120, seed=5)
    wrong = np.random.default_rng(0).permutation(target(other))
    model.set_params(early_stopping_rounds=3, n_estimators=12, learning_rate=0.8)
    model.fit(X, target(X), eval_set=[(other, wrong)], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    return Fitted(model, X, target(X))


def categories_frame(n_samples: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "blue", "green", "grey", "pink"], n_samples)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_samples),
            "colour": pd.Categorical(colour),
            "shop": pd.Categorical(rng.choice([3, 5, 9, 11, 20, 21, 22], n_samples)),
            "age": rng.integers(0, 9, n_samples),
        }
    )
    frame.loc[::9, "colour"] = None
    return frame


def categories_target(frame: pd.DataFrame) -> np.ndarray:
    colour = frame["colour"].astype(object).isin(["red", "grey"]).to_numpy()
    shop = frame["shop"].astype(int).to_numpy() % 3
    return frame["size"].to_numpy() * np.where(colour, 1.0, -1.0) + shop


def _categories(model: Any, **params: Any) -> Fitted:
    frame = categories_frame()
    target = categories_target(frame)
    if isinstance(model, xgb.XGBClassifier):
        target = np.digitize(target, [0, 1])
    model.set_params(enable_categorical=True, **params)
    return Fitted(model.fit(frame, target), frame, target)


def _named() -> Fitted:
    frame = pd.DataFrame(rows(), columns=NAMES)
    return Fitted(xgb.XGBClassifier(**FEW).fit(frame, two(rows())), frame, two(rows()))


_MAKERS: dict[str, Callable[[], Fitted]] = {
    "classifier": lambda: _estimator(xgb.XGBClassifier(**FEW), two),
    "classifier_of_three": lambda: _estimator(xgb.XGBClassifier(**FEW), three),
    "regressor": lambda: _estimator(xgb.XGBRegressor(**FEW), latent),
    "ranker": lambda: _estimator(
        xgb.XGBRanker(**FEW), two, qid=np.repeat(np.arange(10), N_ROWS // 10)
    ),
    "forest_classifier": lambda: _estimator(xgb.XGBRFClassifier(**FEW), three),
    "forest_regressor": lambda: _estimator(xgb.XGBRFRegressor(**FEW), latent),
    "dart_classifier": lambda: _estimator(
        xgb.XGBClassifier(booster="dart", rate_drop=0.5, **FEW), three
    ),
    "dart_regressor": lambda: _estimator(
        xgb.XGBRegressor(booster="dart", rate_drop=0.5, one_drop=True, **FEW), latent
    ),
    "exact": lambda: _estimator(xgb.XGBClassifier(tree_method="exact", **FEW), two),
    "exact_with_deleted_nodes": lambda: _estimator(
        xgb.XGBRegressor(tree_method="exact", gamma=6, **FEW), latent
    ),
    "leaf_wise": lambda: _estimator(
        xgb.XGBRegressor(grow_policy="lossguide", max_leaves=9, n_estimators=4, n_jobs=1), latent
    ),
    "several_trees_a_round": lambda: _estimator(
        xgb.XGBClassifier(num_parallel_tree=2, subsample=0.7, **FEW), three
    ),
    "stopped_early": lambda: _stopped_early(xgb.XGBClassifier(**FEW), two),
    "stopped_early_of_three": lambda: _stopped_early(xgb.XGBClassifier(**FEW), three),
    "named": _named,
    "categories": lambda: _categories(xgb.XGBRegressor(**FEW), max_cat_to_onehot=1),
    "categories_one_by_one": lambda: _categories(xgb.XGBClassifier(**FEW), max_cat_to_onehot=20),
    "base_score": lambda: _estimator(xgb.XGBRegressor(base_score=3.5, **FEW), latent),
    "shares": lambda: _estimator(
        xgb.XGBRegressor(objective="reg:logistic", **FEW), lambda X: two(X) * 0.8 + 0.1
    ),
    "penalties": lambda: _estimator(xgb.XGBRegressor(reg_alpha=3, reg_lambda=7, **FEW), latent),
    "steps": lambda: _estimator(xgb.XGBRegressor(max_delta_step=0.1, **FEW), latent),
    "monotone": lambda: _estimator(
        xgb.XGBRegressor(monotone_constraints=(1, 0, 0, -1), **FEW), latent
    ),
    "booster_logistic": lambda: _booster("binary:logistic", two),
    "booster_softmax": lambda: _booster("multi:softmax", three, num_class=3),
    "booster_raw": lambda: _booster("binary:logitraw", two),
    "booster_poisson": lambda: _booster("count:poisson", positive),
    "booster_gamma": lambda: _booster("reg:gamma", positive),
    "booster_tweedie": lambda: _booster("reg:tweedie", positive),
    "booster_absolute": lambda: _booster("reg:absoluteerror", latent),
    "booster_quantile": lambda: _booster("reg:quantileerror", latent, quantile_alpha=0.7),
    "booster_pseudo_huber": lambda: _booster("reg:pseudohubererror", latent),
    "booster_ranking": lambda: _booster("rank:pairwise", two),
    "booster_survival": lambda: _booster("survival:aft", positive),
    "booster_cox": lambda: _booster("survival:cox", positive),
    "booster_dart": lambda: _booster("reg:squarederror", latent, booster="dart", rate_drop=0.5),
}

KINDS = tuple(_MAKERS)


@cache
def fitted(kind: str) -> Fitted:
    """Return a fitted model by the name of its kind; nobody may change it."""
    return _MAKERS[kind]()


def matrix(booster: xgb.Booster, X: Any) -> xgb.DMatrix:
    if hasattr(X, "columns"):
        return xgb.DMatrix(X, enable_categorical=True)
    return xgb.DMatrix(X, feature_names=booster.feature_names, feature_types=booster.feature_types)


def score(model: Any, X: Any) -> np.ndarray:
    """What XGBoost says before its link."""
    if isinstance(model, xgb.Booster):
        return model.predict(matrix(model, X), output_margin=True)
    return model.predict(X, output_margin=True)


def leaf(model: Any, X: Any) -> np.ndarray:
    if isinstance(model, xgb.Booster):
        return model.predict(matrix(model, X), pred_leaf=True).reshape(len(X), -1)
    return model.apply(X).reshape(len(X), -1)
