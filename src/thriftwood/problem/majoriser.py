"""An upper bound on the loss of a boosted ensemble that adds up over its trees.

The loss of a sample is a convex function of its scores, which all trees move together. Let the
trees answer for shares of the sample that add up to 1. Then, by Jensen's inequality,

    loss(scores + sum_t change_t)  <=  sum_t share_t * loss(scores + change_t / share_t)

with equality where nothing changes. The right side adds up over trees and over the leaves of each,
as pruning needs it; a pruning that lowers it by more than the cost it adds lowers the true loss by
at least as much.

How far the bound is above the loss depends on the shares. They may be anything, so a pruning to go
toward can be had in mind: with shares in proportion to how far each tree would then move the score
of the sample, the bound touches the loss there, too, if all trees move it the same way. Without
one, they are in proportion to how far each tree can move it at most.
"""

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest import Forest, Routes, predictions
from thriftwood.problem import majoriser_kernels as kernels
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, read_only
from thriftwood.support.parallel import for_each

LOG_LOSS = "log_loss"
SQUARED_ERROR = "squared_error"
# The part of each sample that is shared out as if no pruning were in mind: others stay open.
ASIDE = np.float32(0.1)


def true_loss_name(forest: Forest) -> str | None:
    """Return the loss of the whole ensemble that can be bounded, if there is one."""
    if forest.is_classifier:
        return LOG_LOSS
    return SQUARED_ERROR if forest.link == "identity" and forest.statistic == "mean" else None


def ensemble_losses(
    forest: Forest, scores: FloatArray, target: IndexArray | FloatArray
) -> FloatArray:
    """Return the loss of the ensemble on each sample, given scores."""
    if not forest.is_classifier:
        return (scores[:, 0] - target) ** 2
    truth = _truth(forest, target)
    right = (scores * truth).sum(axis=1)
    if forest.link == "softmax":
        lost: FloatArray = np.logaddexp.reduce(scores, axis=1) - right
    else:  # one score, or each class against the rest
        lost = np.logaddexp(0.0, scores).sum(axis=1) - right
    return lost


def majorised_losses(
    forest: Forest,
    routes: Routes,
    scores: FloatArray,
    target: IndexArray | FloatArray,
    weights: FloatArray,
    toward: BoolArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return for every node by how much the bound rises, over its samples, if the node is a leaf.

    The scores are those of the trees as they stand, where leaves lose nothing; `toward` masks the
    splits of the pruning to have in mind.
    """
    stand = _stand(forest, routes, scores, target, weights)
    shape = (forest.n_trees, routes.n_samples)
    leaf = np.empty(shape, dtype=np.int32)
    span, move = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    losses = np.zeros(forest.n_nodes)
    bounds = forest.tree_start

    def measure(tree: int) -> None:
        nodes = bounds[tree : tree + 2]
        kernels.measure_spans(stand, tree, *nodes, leaf[tree], span[tree])
        if toward is not None:
            kernels.measure_moves(stand, tree, *nodes, toward, leaf[tree], move[tree])

    def add(tree: int) -> None:
        kernels.add_losses(stand, tree, *bounds[tree : tree + 2], leaf[tree], share[tree], losses)

    for_each(measure, range(forest.n_trees), n_jobs)
    share = _shares(span)
    moved = move.any(axis=0)
    share[:, moved] = ASIDE * share[:, moved] + (1 - ASIDE) * _shares(move[:, moved])
    for_each(add, range(forest.n_trees), n_jobs)
    return losses


def _shares(amounts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the share of each tree in the amounts of each sample."""
    total = amounts.sum(axis=0)
    return np.divide(amounts, total, out=np.zeros_like(amounts), where=total > 0)


def _stand(
    forest: Forest,
    routes: Routes,
    scores: FloatArray,
    target: IndexArray | FloatArray,
    weights: FloatArray,
) -> kernels.Stand:
    value = forest.values / forest.n_trees if forest.combine == "mean" else forest.values
    if not forest.is_classifier:
        loss, likely, truth = kernels.SQUARED, scores, np.asarray(target)[:, None]
    else:
        loss = kernels.SOFTMAX if forest.link == "softmax" else kernels.LOGISTIC
        likely = predictions(forest.link, scores)[:, -forest.n_outputs :]
        truth = _truth(forest, target)
    return kernels.Stand(
        left=forest.left,
        value=value,
        order=routes.order,
        start=routes.start,
        stop=routes.stop,
        likely=np.ascontiguousarray(likely),
        truth=truth.astype(np.float64),
        weight=read_only(weights.view()),  # one kind of array: nothing is compiled twice
        loss=loss,
    )


def _truth(forest: Forest, target: IndexArray | FloatArray) -> FloatArray:
    """Return 1 for the right output of each sample, else 0."""
    outputs = np.arange(forest.n_outputs) if forest.n_outputs > 1 else np.array([1])
    return (np.asarray(target)[:, None] == outputs).astype(np.float64)
