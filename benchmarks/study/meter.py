"""The one meter: what predictions score, and what they cost."""

from collections.abc import Callable
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from held_out import Rows
from sklearn.metrics import roc_auc_score

import thriftwood as tw
from thriftwood.billing import bills_of
from thriftwood.costs import PriceList


class Prediction(NamedTuple):
    """Class probabilities, and which features each sample was asked for."""

    probability: np.ndarray  # (n_samples, n_classes)
    used: np.ndarray  # bool, (n_samples, n_features)


Predict = Callable[[np.ndarray], Prediction]


class Scores(NamedTuple):
    """What is measured of a model: all methods by the same lines."""

    bill: float
    accuracy: float
    auc: float


def measure(predict: Predict, rows: Rows, prices: PriceList) -> Scores:
    """Return what a model scores on samples."""
    return scores_of(predict(rows.X), rows.y, prices)


def scores_of(prediction: Prediction, y: np.ndarray, prices: PriceList) -> Scores:
    """Return the mean bill of samples, and two scores."""
    probability, used = prediction
    return Scores(
        float(bills_of(prices, used).per_sample.mean()),
        float(np.mean(probability.argmax(axis=1) == y)),
        area_under_curve(probability, y),
    )


def area_under_curve(probability: np.ndarray, y: np.ndarray) -> float:
    """Return the area under the ROC curve; of several classes the mean of each against the rest."""
    if probability.shape[1] == 2:
        return float(roc_auc_score(y, probability[:, 1]))
    areas = [roc_auc_score(y == c, probability[:, c]) for c in np.unique(y)]
    return float(np.mean(areas))


def of_trees(model: Any) -> Predict:
    """Return predictions of trees, which ask for features as samples pass them."""

    def predict(X: np.ndarray) -> Prediction:
        return Prediction(probabilities(model, X), tw.feature_bill(model, X).used)

    return predict


def of_fixed_set(models: list[Any], columns: list[int]) -> Predict:
    """Return the mean prediction of models on some columns, which every sample is asked for."""

    def predict(X: np.ndarray) -> Prediction:
        used = np.zeros(X.shape, dtype=np.bool_)
        used[:, columns] = True
        own = np.ascontiguousarray(X[:, columns])
        return Prediction(np.mean([probabilities(one, own) for one in models], axis=0), used)

    return predict


def nothing_bought(y: np.ndarray, n_classes: int) -> Predict:
    """Return shares of classes as the prediction for everybody."""
    shares = np.bincount(y, minlength=n_classes) / len(y)

    def predict(X: np.ndarray) -> Prediction:
        return Prediction(np.tile(shares, (len(X), 1)), np.zeros(X.shape, dtype=np.bool_))

    return predict


def probabilities(model: Any, X: np.ndarray) -> np.ndarray:
    if not isinstance(model, lightgbm.Booster):
        return np.asarray(model.predict_proba(X))
    found = np.asarray(model.predict(X))
    return np.column_stack([1 - found, found]) if found.ndim == 1 else found
