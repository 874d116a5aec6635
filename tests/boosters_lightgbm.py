"""Small LightGBM models of every kind that we read, and the rows that they were trained on."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import pandas as pd

N_ROWS = 300
SMALL = {
    "num_leaves": 7,
    "min_data_in_leaf": 5,
    "min_data_per_group": 5,
    "cat_smooth": 1.0,
    "verbose": -1,
    "num_threads": 1,
    "seed": 0,
    "deterministic": True,
    "force_row_wise": True,
}
N_TREES = 5
LETTERS = ("f", "b", "d", "a", "e", "c")


class Grown(NamedTuple):
    """A trained model, and rows that it can predict."""

    model: Any
    X: Any


def rows(seed: int = 0, missing: float = 0.15) -> np.ndarray:
    """Three columns of numbers, one with many zeros, and categories 0 to 5; some are missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 4))
    X[rng.random(N_ROWS) < 0.4, 2] = 0.0
    X[:, 3] = rng.integers(0, 6, N_ROWS)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def rows_of_many_categories() -> np.ndarray:
    """Rows whose categories lie far apart, up to a thousand."""
    X = rows()
    X[:, 3] = np.where(X[:, 3] < 2, X[:, 3], X[:, 3] * 200)
    X[:, 0] += 2 * (X[:, 3] > 500)
    return X


def frame() -> pd.DataFrame:
    """The same rows with names, and letters for the categories."""
    X = pd.DataFrame(rows(), columns=["age", "pulse", "sugar", "ward"])
    letters = [None if np.isnan(code) else LETTERS[int(code)] for code in X["ward"]]
    X["ward"] = pd.Categorical(letters, categories=LETTERS)
    return X


def numbers(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(9).normal(scale=0.3, size=len(X))
    zero = np.nan_to_num(X[:, 2], nan=1.0) == 0.0
    own = np.nan_to_num(X[:, 0], nan=-1.0) * 3 + 1.5 * zero + np.isin(X[:, 3], [1, 4, 5]) * 4
    return own + np.isnan(X[:, 3]) + noise


def two(X: np.ndarray) -> np.ndarray:
    return (numbers(X) > 1.0).astype(int)


def three(X: np.ndarray) -> np.ndarray:
    return np.digitize(numbers(X), [0.0, 2.0])


def positive(X: np.ndarray) -> np.ndarray:
    return np.exp(numbers(X) / 4)


def train(target: Callable[[Any], Any], objective: Any, **options: Any) -> Grown:
    """Train a booster on rows with categories."""
    X = options.pop("X", rows())
    data = lightgbm.Dataset(
        X,
        target(rows() if isinstance(X, pd.DataFrame) else X),
        categorical_feature=options.pop("categorical_feature", [3]),
        group=[N_ROWS // 10] * 10 if "rank" in str(objective) else None,
    )
    keep = options.pop("keep_training_booster", False)
    n_trees = options.pop("n_trees", N_TREES)
    settings = {**SMALL, "objective": objective, **options}
    return Grown(lightgbm.train(settings, data, n_trees, keep_training_booster=keep), X)


def fit(kind: Any, target: Callable[[Any], Any], X: Any = None, **options: Any) -> Grown:
    """Fit a wrapper."""
    model = kind(**{**SMALL, "n_estimators": N_TREES, **options})
    plain = rows()
    return Grown(model.fit(plain if X is None else X, target(plain)), plain if X is None else X)


def words(X: np.ndarray) -> np.ndarray:
    return np.array(["low", "middle", "high"])[three(X)]


def squared(score: np.ndarray, data: lightgbm.Dataset) -> tuple[np.ndarray, np.ndarray]:
    return score - data.get_label(), np.ones(len(score))


def stopped_early() -> Grown:
    """A booster that keeps more trees than it predicts with."""
    X = rows()
    data = lightgbm.Dataset(X[:200], two(X)[:200])
    check = lightgbm.Dataset(X[200:], two(X)[200:], reference=data)
    settings = {**SMALL, "objective": "binary", "learning_rate": 0.9}
    stop = lightgbm.early_stopping(2, verbose=False)
    booster = lightgbm.train(
        settings, data, 40, valid_sets=[check], callbacks=[stop], keep_training_booster=True
    )
    assert 0 < booster.best_iteration < booster.num_trees()
    return Grown(booster, X)


def ranked() -> Grown:
    X = rows()
    model = lightgbm.LGBMRanker(**SMALL, n_estimators=N_TREES)
    return Grown(model.fit(X, three(X), group=[N_ROWS // 10] * 10), X)


RF = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}

_MAKERS: dict[str, Callable[[], Grown]] = {
    "regression": lambda: train(numbers, "regression"),
    "still_training": lambda: train(numbers, "regression", keep_training_booster=True),
    "l1": lambda: train(numbers, "regression_l1"),
    "quantile": lambda: train(numbers, "quantile", alpha=0.8),
    "mape": lambda: train(positive, "mape"),
    "huber": lambda: train(numbers, "huber"),
    "fair": lambda: train(numbers, "fair"),
    "poisson": lambda: train(positive, "poisson"),
    "gamma": lambda: train(positive, "gamma"),
    "tweedie": lambda: train(positive, "tweedie"),
    "binary": lambda: train(two, "binary"),
    "steep_binary": lambda: train(two, "binary", sigmoid=2.5),
    "unbalanced": lambda: train(two, "binary", is_unbalance=True),
    "cross_entropy": lambda: train(two, "cross_entropy"),
    "multiclass": lambda: train(three, "multiclass", num_class=3),
    "one_against_rest": lambda: train(three, "multiclassova", num_class=3, sigmoid=0.5),
    "lambdarank": lambda: train(three, "lambdarank"),
    "rank_xendcg": lambda: train(three, "rank_xendcg"),
    "own_objective": lambda: train(numbers, squared),
    "rf": lambda: train(numbers, "regression", **RF),
    "rf_binary": lambda: train(two, "binary", **RF),
    "rf_multiclass": lambda: train(three, "multiclass", num_class=3, **RF),
    "dart": lambda: train(numbers, "regression", boosting="dart", drop_rate=0.5, skip_drop=0.0),
    "goss": lambda: train(two, "binary", data_sample_strategy="goss", learning_rate=0.5),
    "zero_as_missing": lambda: train(numbers, "regression", zero_as_missing=True),
    "missing_unheard_of": lambda: train(numbers, "regression", use_missing=False),
    "nothing_missing": lambda: train(numbers, "regression", X=rows(missing=0.0)),
    "no_categories": lambda: train(numbers, "regression", categorical_feature="auto"),
    "many_categories": lambda: train(numbers, "regression", X=rows_of_many_categories()),
    "one_against_all_categories": lambda: train(numbers, "regression", max_cat_to_onehot=9),
    "smoothed": lambda: train(numbers, "regression", path_smooth=2.0, lambda_l1=0.5, lambda_l2=3.0),
    "monotone": lambda: train(
        numbers,
        "regression",
        monotone_constraints=[1, 0, 0, 0],
        monotone_constraints_method="advanced",
    ),
    "many_leaves": lambda: train(numbers, "regression", num_leaves=60, min_data_in_leaf=1),
    "leaves_alone": lambda: train(lambda X: np.ones(len(X)), "regression"),
    "stopped_early": stopped_early,
    "frame": lambda: train(numbers, "regression", X=frame(), categorical_feature="auto"),
    "classifier": lambda: fit(lightgbm.LGBMClassifier, two),
    "classifier_of_words": lambda: fit(lightgbm.LGBMClassifier, words),
    "classifier_of_a_frame": lambda: fit(lightgbm.LGBMClassifier, words, frame()),
    "regressor": lambda: fit(lightgbm.LGBMRegressor, numbers),
    "regressor_of_a_frame": lambda: fit(lightgbm.LGBMRegressor, numbers, frame()),
    "random_forest": lambda: fit(
        lightgbm.LGBMClassifier, two, boosting_type="rf", subsample_freq=1, subsample=0.6
    ),
    "ranker": ranked,
}

KINDS = tuple(_MAKERS)
# Only their leaves are worth something: inner nodes are made of these.
RENEWED = ("l1", "quantile", "mape")


def raw_scores(model: Any, X: Any) -> np.ndarray:
    """The scores that LightGBM's link is applied to, from the library alone."""
    booster = booster_of(model)
    score = booster.predict(X, raw_score=True, num_threads=1)
    head = booster.model_to_string().partition("Tree=0")[0]
    if "average_output" in head:  # raw scores are sums, whatever becomes of them
        score = score / booster.current_iteration()
    steepness = re.search(r"sigmoid:(\S+)", head)
    return score * float(steepness[1]) if steepness else score


def leaves_in(model: Any, X: Any) -> np.ndarray:
    return booster_of(model).predict(X, pred_leaf=True, num_threads=1)


def predictions_of(model: Any, X: Any) -> np.ndarray:
    """Probabilities of all classes, or the predicted numbers."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    found = model.predict(X)
    objective = re.search(r"objective=(\S+)", booster_of(model).model_to_string())
    two_classes = objective and objective[1] == "binary"
    return np.column_stack([1 - found, found]) if two_classes else found


def contributions(model: Any, X: Any) -> np.ndarray:
    """SHAP's contributions of all features, added up."""
    booster = booster_of(model)
    per_output = booster.predict(X, pred_contrib=True, num_threads=1)
    shape = (len(X), booster.num_model_per_iteration(), booster.num_feature() + 1)
    return per_output.reshape(shape).sum(axis=2)


def booster_of(model: Any) -> lightgbm.Booster:
    return getattr(model, "booster_", model)


@cache
def grown(kind: str) -> Grown:
    """Return a model by the name of its kind. Shared by all tests: nobody may change it."""
    return _MAKERS[kind]()
