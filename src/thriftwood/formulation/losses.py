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
from thriftwood.routing import Routes


def node_losses(
    forest: Forest,
    routes: Routes,
    target: IndexArray | FloatArray,
    weights: FloatArray,
    loss: str | None = None,
) -> FloatArray:
    """Return for every node the total loss of its rows if the node itself predicted them.

    Parameters
    ----------
    forest, routes, target
        The trees, who passes where, and what is right.
    weights : shape (n_rows,)
        How much each row counts.
    loss : str, optional
        For classifiers "error" (misclassified rows, the paper's e_h), for regressors
        "squared_error". None takes that one.
    """
    known = tuple(CLASSIFIER_LOSSES) if forest.is_classifier else ("squared_error",)
    loss = known[0] if loss is None else loss
    if loss not in known:
        kind = "classifier" if forest.is_classifier else "regressor"
        names = ", ".join(repr(name) for name in known)
        raise InputError(f"There is no loss {loss!r} for a {kind}: choose {names}.")
    if not forest.is_classifier:
        squared: FloatArray = kernels.squared_error_per_node(
            routes.order,
            routes.start,
            routes.stop,
            forest.tree_start,
            forest.values[:, 0],
            target,
            weights,
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
        forest.values.shape[1],
    )
    total: FloatArray = (per_class * CLASSIFIER_LOSSES[loss](forest.values)).sum(axis=1)
    return total


def error(values: FloatArray) -> FloatArray:
    """Return 1 for every class but the one that the node predicts."""
    table = np.ones_like(values)
    np.put_along_axis(table, values.argmax(axis=1)[:, None], 0.0, axis=1)
    return table


CLASSIFIER_LOSSES: dict[str, Callable[[FloatArray], FloatArray]] = {"error": error}
