"""Gradient boosting of scikit-learn, the one over decision trees.

Training replaces what the leaves say by a line search of its own and leaves the splits as they
were, with a mean of gradients. What a split would say as a leaf is therefore the mean of the leaves
below it, weighted by the training samples there. For the squared error this is what a leaf in its
place would have got; for other losses it comes close.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from thriftwood.adapters.common import in_columns, is_marked, mark, own_column, unfitted
from thriftwood.adapters.sklearn_trees import forest_of, with_columns, written_trees
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Forest, Link, Statistic, leaf_means
from thriftwood.support.arrays import BoolArray, FloatArray

# What the scores of boosted models mean, by the loss that they were trained on.
LINKS: dict[str, Link] = {
    "HalfBinomialLoss": "logistic",
    "HalfMultinomialLoss": "softmax",
    "ExponentialLoss": "logistic",
    "HalfSquaredError": "identity",
    "AbsoluteError": "identity",
    "HuberLoss": "identity",
    "PinballLoss": "identity",
    "HalfPoissonLoss": "exp",
    "HalfGammaLoss": "exp",
}
# The statistic that regressors predict; those that are not here, the mean.
STATISTICS: dict[str, Statistic] = {
    "AbsoluteError": "median",
    "HuberLoss": "median",
    "PinballLoss": "other",
}

__all__ = ["read", "with_columns", "write"]

# Measured on the unpruned trees; a warm start wants them to be there.
STALE = ("train_score_", "oob_improvement_", "oob_scores_", "oob_score_")


def read(model: Any) -> Forest:
    if not len(getattr(model, "estimators_", ())):
        raise unfitted(model)
    trees = list(model.estimators_.ravel())
    shape = forest_of(trees, [tree.tree_.value[:, 0, :] for tree in trees], model)
    n_outputs = model.estimators_.shape[1]
    # A split gains by how much it reduced the squared error of the gradients.
    parts = (tree.tree_ for tree in trees)
    error = np.concatenate([part.weighted_n_node_samples * part.impurity for part in parts])
    forest = replace(
        shape,
        values=np.zeros((shape.n_nodes, n_outputs)),
        combine="sum",
        bias=_factor(model) * _start(model),
        gains=np.where(shape.is_split, error - error[shape.left] - error[shape.right], 0.0),
        **meaning_of(model),
    ).check()
    own = _scale(model) * _own_values(forest, trees)
    return replace(forest, values=in_columns(own, forest, n_outputs))


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    forest = read(model)
    trees = list(model.estimators_.ravel())
    if values is None:
        own = _own_values(forest, trees)
    elif _scale(model) == 0.0:
        raise UnsupportedModelError(
            f"The `learning_rate` of this {type(model).__name__} is 0, so its trees cannot say "
            "anything: set the rate that it should have."
        )
    else:
        own = own_column(values, forest) / _scale(model)
    written = np.empty(model.estimators_.shape, dtype=object)
    written.flat[:] = written_trees(trees, forest, kept, own[:, None])
    pruned = deepcopy(model, {id(model.estimators_): written})
    for old, new in zip(trees, written.flat, strict=True):
        mark(new)
        if old.random_state is model._rng:
            new.random_state = pruned._rng  # one for all, as in the model
    for name in STALE:
        if hasattr(pruned, name):
            setattr(pruned, name, np.full_like(getattr(pruned, name), np.nan)[()])
    return pruned


def meaning_of(model: Any) -> dict[str, Any]:
    """Return the link and the statistic of a boosted model of scikit-learn."""
    name = type(model._loss).__name__
    if name not in LINKS:
        raise UnsupportedModelError(
            f"This {type(model).__name__} was trained on the loss {name}, whose predictions are "
            "not known: use one of scikit-learn's own losses."
        )
    return {"link": LINKS[name], "statistic": STATISTICS.get(name, "mean")}


def _own_values(shape: Forest, trees: list[Any]) -> FloatArray:
    """Return what each node says, or would say as a leaf, before the learning rate."""
    parts = [tree.tree_ for tree in trees]
    stored = np.concatenate([part.value[:, 0, 0] for part in parts])
    weights = np.concatenate([part.weighted_n_node_samples for part in parts])
    marked = np.repeat([is_marked(tree) for tree in trees], np.diff(shape.tree_start))
    means, _ = leaf_means(shape, stored[:, None], weights)
    return np.where(marked, stored, means[:, 0])


def _scale(model: Any) -> float:
    """Return what a stored value is multiplied by to be in the units of the score."""
    return float(_factor(model) * model.learning_rate)


def _factor(model: Any) -> float:
    # The probability is expit(2 * score) after training on the exponential loss.
    return 2.0 if type(model._loss).__name__ == "ExponentialLoss" else 1.0


def _start(model: Any) -> FloatArray:
    """Return the score that the model starts from, where that is the same for every sample."""
    init = model.init_
    is_constant = type(init) is DummyRegressor or (
        type(init) is DummyClassifier and init.strategy != "stratified"
    )
    if not (is_constant or isinstance(init, str)):
        raise UnsupportedModelError(
            f"This {type(model).__name__} starts from a {type(init).__name__}, which says "
            "something else for every sample and is not made of these trees: train with "
            "`init=None` or `init='zero'`."
        )
    any_sample = np.zeros((1, model.n_features_in_), dtype=np.float32)
    start: FloatArray = model._raw_predict_init(any_sample)[0]
    return start
