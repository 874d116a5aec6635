"""Losses of nodes: what each would lose if it were a leaf.

A loss adds up over the samples of a node. A classifier's is a function from node values to a table:
what predicting with this node costs for a sample of each class. A regressor's is a function from
predictions and targets to what each of them costs. A user's own loss is such a function, too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest import Forest, Routes, class_weights, sums_below
from thriftwood.problem.error_costs import (
    ERROR_COSTS,
    ErrorCosts,
    cost_of_answers,
    read_error_costs,
)
from thriftwood.problem.majoriser import true_loss_name
from thriftwood.problem.pairs import LAMBDARANK, ranks
from thriftwood.problem.targets import CountArray
from thriftwood.support.arrays import FloatArray, IndexArray
from thriftwood.support.validation import numbers

AnyLoss = str | Callable[..., Any] | ErrorCosts | None
# The loss that a boosted model reported itself: the gain of each split when it was made. What
# boosted trees predict depends on all of them, so their loss is no sum over trees; the gains are.
RECORDED_GAIN = "recorded_gain"
# The other kinds of loss: a sum over samples and trees, and that of all trees together.
SUM, JOINT = "sum", "joint"
# What a node may lose in all, so that gains of splits, made of three losses, are finite.
MOST_LOSS = np.finfo(np.float64).max / 4


@dataclass(frozen=True)
class Loss:
    """A loss that fits a forest."""

    name: str
    # a sum over samples and trees; the gains that trees recorded; or of all trees together, no sum
    kind: str
    function: Callable[..., FloatArray] | None = None  # of a sum: see the top of this file
    # (n_classes, n_classes), what answers (columns) cost where rows are true, if that is the loss
    error_costs: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class NodeLosses:
    """Losses of nodes if they were leaves, on some samples, to be added to those of others."""

    total: FloatArray  # (n_nodes,)
    weight: float  # how much weight counts in them, all trees together

    def __add__(self, other: "NodeLosses") -> "NodeLosses":
        return NodeLosses(self.total + other.total, self.weight + other.weight)


def read_loss(loss: AnyLoss, forest: Forest) -> Loss:
    """Return the loss that a user names or passes; None takes the usual one of such a forest."""
    if isinstance(loss, ErrorCosts):
        return _error_costs(loss, forest)
    known = [Loss(RECORDED_GAIN, RECORDED_GAIN)]
    if not forest.is_averaged:
        true = true_loss_name(forest)
        known += [] if true is None else [Loss(true, JOINT)]
        known += [Loss(LAMBDARANK, JOINT)] if ranks(forest) else []
    else:
        functions = CLASSIFIER_LOSSES if forest.is_classifier else REGRESSOR_LOSSES
        sums = [Loss(name, SUM, function) for name, function in functions.items()]
        known = sums if forest.gains is None else sums + known
    for one in known:
        if loss is None or (isinstance(loss, str) and loss == one.name):
            return one
    kind = "classifier" if forest.is_classifier else "regressor"
    names = ", ".join(repr(one.name) for one in known)
    if callable(loss):
        if not forest.is_averaged:
            raise InputError(
                f"The trees of a boosted {kind} predict only together, so no function says what a "
                f"node of one of them loses: choose {names}."
            )
        name = str(getattr(loss, "__name__", type(loss).__name__))
        return Loss(name, SUM, partial(_own_loss, loss, name))
    if not forest.is_averaged:
        raise InputError(f"There is no loss {loss!r} for a boosted {kind}: choose {names}.")
    raise InputError(
        f"There is no loss {loss!r} for a {kind}: choose {names}; in Python a function will do too."
    )


def _error_costs(loss: ErrorCosts, forest: Forest) -> Loss:
    matrix = read_error_costs(loss, forest.classes)
    if not forest.is_averaged:
        raise InputError(
            "The trees of a boosted model answer only together, so no node of one of them has "
            "errors to pay for: prune by the usual loss, and give `error_costs` to `choose`.",
            "error_costs",
        )
    return Loss(ERROR_COSTS, SUM, partial(cost_of_answers, matrix), matrix)


def node_losses(
    forest: Forest,
    routes: Routes,
    target: IndexArray | FloatArray,
    weights: FloatArray,
    loss: Loss,
    times: CountArray,
) -> FloatArray:
    """Return for every node the total loss of its samples if it predicted them itself.

    For the loss "error" that is the paper's e_h. `weights` says how much each sample counts,
    `times` how often in each tree. The loss is a sum over samples.
    """
    assert loss.function is not None
    with np.errstate(over="ignore", invalid="ignore"):
        if forest.is_classifier:
            slices = routes.order, routes.start, routes.stop
            per_class = class_weights(
                forest.layout, slices, target, weights, times, forest.n_outputs
            )
            total: FloatArray = (per_class * loss.function(forest.values)).sum(axis=1)
        else:
            total = _of_numbers(loss.function, forest, routes, target, weights, times)
    if not (np.abs(total) <= MOST_LOSS).all():
        raise InputError(
            f"The {loss.name.replace('_', ' ')} of all samples is beyond doubles: scale `y`, or a "
            "loss of your own, down."
        )
    return total


def recorded_losses(forest: Forest, needed: bool = True) -> NodeLosses:
    """Return for every node the gains recorded at and below it, lost if it were a leaf.

    Where they are not `needed`, a model that records none has nothing to lose.
    """
    if forest.gains is None:
        if not needed:
            return NodeLosses(np.zeros(forest.n_nodes), 1.0)
        raise InputError(
            "This model does not record by how much its splits reduced the loss, so there is no "
            f"loss {RECORDED_GAIN!r} for it: leave `loss` out."
        )
    lost = sums_below(forest, forest.gains)
    total = float(lost[forest.tree_start[:-1]].sum())
    return NodeLosses(lost, total if total > 0 else 1.0)


def _own_loss(loss: Callable[..., Any], name: str, *arrays: FloatArray) -> FloatArray:
    """Call the user's function, and check what it returns."""
    try:
        result = loss(*(array.copy() for array in arrays))
    except Exception as problem:
        raise InputError(
            f"The loss {name!r} raised {type(problem).__name__}: {problem}"
        ) from problem
    lost, shape = numbers(result, f"{name}(...)"), arrays[0].shape
    if lost.shape != shape:
        raise InputError(
            f"`{name}(...)` has shape {lost.shape}, but what it was called with has {shape}: a "
            "loss returns one number for each."
        )
    if not np.isfinite(lost).all():
        raise InputError(
            f"`{name}(...)` holds NaN or infinity: a loss must be finite, even of a prediction "
            "that is certain and wrong."
        )
    return lost


def _of_numbers(
    loss: Callable[..., FloatArray],
    forest: Forest,
    routes: Routes,
    target: IndexArray | FloatArray,
    weights: FloatArray,
    times: CountArray,
) -> FloatArray:
    """Take the samples of each tree down level by level: a few numbers for each are enough."""
    total = np.zeros(forest.n_nodes)
    for tree, root in enumerate(forest.tree_start[:-1]):
        rows = routes.order[tree]
        right, counted = target[rows], (weights * times[tree])[rows]
        place, node = np.arange(len(rows)), np.full(len(rows), root)
        while len(node):
            lost = counted[place] * loss(forest.values[node, 0], right[place])
            of_tree = np.bincount(node - root, weights=lost)
            total[root : root + len(of_tree)] += of_tree
            goes_on = forest.is_split[node]
            place, node = place[goes_on], node[goes_on]
            left = forest.left[node]
            node = np.where(place < routes.stop[left], left, forest.right[node])
    return total


def error(values: FloatArray) -> FloatArray:
    """0-1 loss of the class that the node predicts."""
    table = np.ones_like(values)
    np.put_along_axis(table, values.argmax(axis=1)[:, None], 0.0, axis=1)
    return table


def expected_error(values: FloatArray) -> FloatArray:
    """One minus the probability of each class, for labels drawn by the node's probabilities."""
    return 1.0 - values


def brier(values: FloatArray) -> FloatArray:
    """Brier score, as scikit-learn scales it: halved for two classes."""
    if values.shape[1] == 2:
        return (1.0 - values) ** 2
    return (values**2).sum(axis=1, keepdims=True) - 2.0 * values + 1.0


def log_loss(values: FloatArray) -> FloatArray:
    """Log loss; probabilities count as at least one ulp of 1."""
    smallest = np.finfo(np.float64).eps
    return np.negative(np.log(np.clip(values, smallest, 1.0)))


def squared_error(prediction: FloatArray, target: FloatArray) -> FloatArray:
    """Squared error."""
    return (prediction - target) ** 2


def absolute_error(prediction: FloatArray, target: FloatArray) -> FloatArray:
    """Absolute error."""
    return np.abs(prediction - target)


CLASSIFIER_LOSSES: dict[str, Callable[..., FloatArray]] = {
    "error": error,
    "expected_error": expected_error,
    "brier": brier,
    "log_loss": log_loss,
}
REGRESSOR_LOSSES: dict[str, Callable[..., FloatArray]] = {
    "squared_error": squared_error,
    "absolute_error": absolute_error,
}
