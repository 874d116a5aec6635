"""Random forests, extra trees and bagged trees of scikit-learn, and forests of our own."""

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.adapters.sklearn.tree import (
    check_fitted,
    check_single_output,
    collapsed_trees,
    forest_of,
)
from thriftwood.errors import ForestError, UnsupportedModelError
from thriftwood.forest import Forest
from thriftwood.support.arrays import BoolArray, FloatArray

SUPPORTED = (
    "scikit-learn (RandomForest*, ExtraTrees*, Bagging* over decision trees), "
    "BudgetForestClassifier"
)

FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
BAGGING = (BaggingClassifier, BaggingRegressor)


class TreeAverage:
    """Marks an ensemble of our own that predicts the mean of its `estimators_`, as forests do."""


# Measured on the unpruned trees, so no longer true of the pruned ones.
STALE = ("oob_score_", "oob_decision_function_", "oob_prediction_")


def reads(model: object) -> bool:
    return isinstance(model, (*FORESTS, *BAGGING, TreeAverage))


def read(model: Any) -> Forest:
    check_fitted(model, "estimators_")
    check_single_output(model)
    if not len(model.estimators_):
        raise ForestError(f"This {type(model).__name__} has no tree: fit it with at least one.")
    classes = getattr(model, "classes_", None)
    wanted = DecisionTreeRegressor if classes is None else DecisionTreeClassifier
    for number, tree in enumerate(model.estimators_):
        if not isinstance(tree, wanted):
            raise UnsupportedModelError(
                f"Estimator {number} of this {type(model).__name__} is a {type(tree).__name__}; "
                f"it can be pruned only over decision trees of the kind {wanted.__name__}."
            )
        check_single_output(tree)
    values = [_values(number, tree, classes) for number, tree in enumerate(model.estimators_)]
    features = getattr(model, "estimators_features_", None)
    return forest_of(model.estimators_, values, model, classes, features)


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    forest = read(model)
    trees = collapsed_trees(model.estimators_, forest, kept, values)
    # The copy takes the new trees wherever the old ones stood, alone or in their list.
    new_for_old = {id(old): new for old, new in zip(model.estimators_, trees, strict=True)}
    pruned = deepcopy(model, {id(model.estimators_): trees, **new_for_old})
    for name in STALE:
        vars(pruned).pop(name, None)
    return pruned


def samples(model: Any) -> BootstrapSamples | None:
    # scikit-learn draws the samples anew from their seeds, for as many rows as there were.
    return BootstrapSamples(
        [np.asarray(rows) for rows in model.estimators_samples_], model._n_samples
    )


def _values(number: int, tree: Any, classes: Any) -> FloatArray:
    """Return what the nodes of a tree predict, one column for each class of the ensemble.

    A bagged tree may have missed a class in its sample: it gives that class no probability.
    """
    values: FloatArray = tree.tree_.value[:, 0, :]
    if classes is None:
        return values
    known = np.asarray(tree.classes_)
    if len(known) != values.shape[1] or not np.isin(known, np.arange(len(classes))).all():
        raise ForestError(
            f"Tree {number} of the ensemble has the classes {known.tolist()}, which do not fit the "
            f"ensemble's {len(classes)} classes: the trees must come from one training."
        )
    full = np.zeros((len(values), len(classes)))
    full[:, known.astype(np.intp)] = values
    return full
