"""What each node would lose if it were a leaf.

A loss adds up over the rows of a node, so a classifier's loss is a table: what predicting with this
node costs for a row of each class. A new loss is one more function from values to such a table.
"""

from collections.abc import Callable

import numpy as np

from thriftwood.arrays import FloatArray, IndexArray
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.formulation import kernels
from thriftwood.formulation.counting import CountArray, once
from thriftwood.routing import Routes


def node_losses(
    forest: Forest,
    routes: Routes,
    target: IndexArray | FloatArray,
    weights: FloatArray,
    loss: str | None = None,
    times: CountArray | None = None,
) -> FloatArray:
    """Return for every node the total loss of its rows if the node itself predicted them.

    Parameters
    ----------
    forest, routes, target
        The trees, who passes where, and what is right.
    weights : shape (n_rows,)
        How much each row counts.
    loss : str, optional
        For classifiers "error" (misclassified rows, the paper's e_h), "expected_error", "brier" or
        "log_loss"; for regressors "squared_error". None takes the first.
    times : shape (n_trees, n_rows), optional
        How often each row counts in each tree, from `times_counted`; None means once.
    """
    loss = loss_named(loss, forest)
    if times is None:
        times = once(forest.n_trees, routes.n_rows)
    if not forest.is_classifier:
        squared: FloatArray = kernels.squared_error_per_node(
            routes.order,
            routes.start,
            routes.stop,
            forest.tree_start,
            forest.values[:, 0],
            target,
            weights,
            times,
        )
        if not np.isfinite(squared).all():
            raise InputError("`y` is too large: its squared error is beyond doubles. Scale y down.")
        return squared
    per_class: FloatArray = kernels.class_weight_per_node(
        routes.order,
        routes.start,
        routes.stop,
        forest.tree_start,
        forest.left,
        forest.right,
        target,
        weights,
        times,
        forest.values.shape[1],
    )
    total: FloatArray = (per_class * CLASSIFIER_LOSSES[loss](forest.values)).sum(axis=1)
    return total


def loss_named(loss: str | None, forest: Forest) -> str:
    """Return the name of a loss that fits the forest; None takes the usual one."""
    known = tuple(CLASSIFIER_LOSSES) if forest.is_classifier else ("squared_error",)
    if loss is None:
        return known[0]
    if loss not in known:
        kind = "classifier" if forest.is_classifier else "regressor"
        names = ", ".join(repr(name) for name in known)
        raise InputError(f"There is no loss {loss!r} for a {kind}: choose {names}.")
    return loss


def error(values: FloatArray) -> FloatArray:
    """Return 1 for every class but the one that the node predicts."""
    table = np.ones_like(values)
    np.put_along_axis(table, values.argmax(axis=1)[:, None], 0.0, axis=1)
    return table


def expected_error(values: FloatArray) -> FloatArray:
    """Return how often a label drawn with the node's probabilities would be wrong."""
    return 1.0 - values


def brier(values: FloatArray) -> FloatArray:
    """Return the squared distance from the truth, as scikit-learn scales it: halved for two."""
    distance: FloatArray = (values**2).sum(axis=1, keepdims=True) - 2.0 * values + 1.0
    return distance / 2.0 if values.shape[1] == 2 else distance


def log_loss(values: FloatArray) -> FloatArray:
    """Return minus the logarithm of each probability, which counts as at least one ulp of 1."""
    smallest = np.finfo(np.float64).eps
    return np.negative(np.log(np.clip(values, smallest, 1.0)))


CLASSIFIER_LOSSES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "error": error,
    "expected_error": expected_error,
    "brier": brier,
    "log_loss": log_loss,
}
