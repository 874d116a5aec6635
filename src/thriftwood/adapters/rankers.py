"""Rankers of other libraries, trained on documents of queries in any order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from thriftwood.adapters.common import is_a
from thriftwood.forest import weights_of_queries
from thriftwood.support.arrays import FloatArray, IndexArray

# What `fit` calls the queries: sizes of lists, or a number for each document.
QUERIES_IN_FIT = {
    ("lightgbm", "LGBMRanker"): "group",
    ("xgboost", "XGBRanker"): "qid",
    ("catboost", "CatBoostRanker"): "group_id",
}


def is_ranker(model: Any) -> bool:
    """Return True for models whose `fit` takes queries."""
    return _parameter(model) is not None


def fit_ranker(
    model: Any, X: Any, y: NDArray[Any], query: IndexArray, weights: FloatArray | None = None
) -> Any:
    """Train a model on documents of queries; one that knows no queries on the documents alone."""
    name = _parameter(model)
    order = np.argsort(query, kind="stable")
    rows, grades = _safe_indexing(X, order), y[order]
    if (grades == np.rint(grades)).all():  # LightGBM takes grades in whole numbers
        grades = grades.astype(np.int64)
    own = np.unique(query[order], return_inverse=True)[1]
    given: dict[str, Any] = {}
    if weights is not None:
        given["sample_weight"] = weights[order]
        if name == "qid":  # XGBoost weighs queries
            given["sample_weight"] = weights_of_queries(own, weights[order])
    if name is not None:
        given[name] = np.bincount(own) if name == "group" else own
    return model.fit(rows, grades, **given)


def _parameter(model: Any) -> str | None:
    found = (name for (library, kind), name in QUERIES_IN_FIT.items() if is_a(model, library, kind))
    return next(found, None)
