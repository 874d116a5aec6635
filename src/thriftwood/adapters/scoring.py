"""Scorers of scikit-learn, which are given predictions in place of a model."""

import inspect
import math
import reprlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    get_scorer,
    get_scorer_names,
    jaccard_score,
    make_scorer,
    precision_score,
    recall_score,
)
from sklearn.utils.metaestimators import available_if

from thriftwood.errors import InputError
from thriftwood.support.arrays import FloatArray
from thriftwood.support.parallel import check_wanted
from thriftwood.support.validation import did_you_mean

Scorer = Callable[..., float]
# Scores about one of two classes, which is the class 1 where nothing else is said.
ABOUT_ONE: dict[str, tuple[Scorer, str]] = {
    "average_precision": (average_precision_score, "predict_proba"),
    "f1": (f1_score, "predict"),
    "jaccard": (jaccard_score, "predict"),
    "precision": (precision_score, "predict"),
    "recall": (recall_score, "predict"),
}


class ClassScore(NamedTuple):
    """A score about one of two classes, by its name, and the label of this class."""

    name: str
    label: Any


Scoring = str | Scorer | ClassScore | None


def read_scorer(scoring: Any, others: Sequence[str] = ()) -> tuple[str, Scorer]:
    """Return what a user passed as `scoring` as a name and a scorer, or refuse it.

    `others` are names that may have been meant, too.
    """
    if isinstance(scoring, ClassScore):
        score, method = ABOUT_ONE[scoring.name]
        return scoring.name, make_scorer(score, response_method=method, pos_label=scoring.label)
    if isinstance(scoring, str):
        names = get_scorer_names()
        if scoring not in names:
            raise InputError(
                f"`scoring` is {scoring!r}, which is no score of scikit-learn."
                f"{did_you_mean(scoring, [*names, *others])} "
                "`sklearn.metrics.get_scorer_names()` lists them.",
                "scoring",
            )
        return scoring, get_scorer(scoring)
    if not callable(scoring):
        raise InputError(
            f"`scoring` is {reprlib.repr(scoring)}: pass the name of a score of scikit-learn, or a "
            "function of a model, X and y.",
            "scoring",
        )
    name = getattr(scoring, "__name__", None) or str(scoring)
    if _first_parameter(scoring) == "y_true":
        raise InputError(
            f"`scoring` is {name}, a metric, which takes true and predicted values, and a score is "
            f"a function of a model, X and y: wrap it, `sklearn.metrics.make_scorer({name})`; one "
            "of probabilities with response_method='predict_proba'.",
            "scoring",
        )
    return name, scoring


def _first_parameter(function: Any) -> str | None:
    """Return the name of the first parameter, where it can be known."""
    try:
        return next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        return None


def score_predictions(
    name: str,
    scorer: Scorer,
    outputs: FloatArray,
    classes: NDArray[Any] | None,
    X: Any,
    y: NDArray[Any],
    weights: FloatArray | None,
) -> float:
    """Return what a scorer says of predictions: probabilities of classes, or numbers."""
    model = FixedPredictions(outputs, classes)
    weighed = {} if weights is None else {"sample_weight": weights}
    check_wanted()
    try:
        with warnings.catch_warnings():  # some are undefined for models that predict one class
            warnings.simplefilter("ignore")
            score = float(scorer(model, X, y, **weighed))
    except InputError:
        raise
    except Exception as error:
        words = str(error) or type(error).__name__
        if classes is None and isinstance(error, AttributeError):
            words = "it judges probabilities of classes, and this model predicts numbers."
        elif isinstance(error, AttributeError) and isinstance(error.obj, FixedPredictions):
            words = (
                f"it asks the model for `{error.name}`. What judges gets predictions in place of a "
                "model, made beforehand: they have `predict`, `predict_proba` and `classes_` alone."
            )
        if "pos_label" in words:
            words += (
                ". Say which class is meant, by `sklearn.metrics.make_scorer(..., pos_label=...)`."
            )
        raise InputError(
            f"The score {name!r} cannot be computed on these samples: {words}", "scoring"
        ) from error
    if math.isnan(score):
        raise InputError(
            f"The score {name!r} is not defined on these samples; perhaps a class is missing. Pass "
            "other samples, or another `scoring`.",
            "scoring",
        )
    return score


class FixedPredictions(BaseEstimator):
    """A model that has predicted already, and answers for those samples alone."""

    def __init__(self, outputs: FloatArray, classes: NDArray[Any] | None) -> None:
        self.outputs = outputs
        self.classes = classes
        if classes is not None:
            self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.classes is None else "classifier"
        return tags

    def predict(self, X: Any) -> NDArray[Any]:
        outputs = self._outputs_of(X)
        if self.classes is None:
            return outputs[:, -1]
        labels: NDArray[Any] = self.classes[outputs.argmax(axis=1)]
        return labels

    @available_if(lambda model: model.classes is not None)
    def predict_proba(self, X: Any) -> FloatArray:
        return self._outputs_of(X)

    def _outputs_of(self, X: Any) -> FloatArray:
        if np.shape(X)[0] != len(self.outputs):
            raise InputError(
                "`scoring` asks for predictions of other samples than it was given: they are made "
                "beforehand, for these alone.",
                "scoring",
            )
        return self.outputs
