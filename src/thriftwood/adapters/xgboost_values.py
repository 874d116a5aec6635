"""Values that the inner nodes of XGBoost's trees would have as leaves.

XGBoost records at each inner node the weight ``w = -G / (H + lambda)`` that it computed there (G
and H: sums of gradients and hessians over the samples of the node), but not the learning rate that
makes a leaf's value of it, which callbacks may change from tree to tree. The gradients of a node
are the sum of those of the leaves below it, whose values are v = rate * w; so each inner node
tells the rate of its tree::

    rate * w (H + lambda)  =  sum over the leaves below of v (H + lambda)

(An L1 penalty alpha adds its part to each side.) The rate of a tree is the median of what its nodes
tell, by their gradients: exact where the booster knows its penalties, near it for a model from a
file, which does not keep them, and where steps were bounded. For losses whose leaves are set to a
quantile of the samples afterwards, as XGBoost does before 3.4, nodes tell no common rate: there an
inner node gets the mean of the leaves below it, each weighted by its hessian.
"""

from itertools import pairwise

import numpy as np

from thriftwood.adapters.xgboost_trees import OUR_RATE, Recorded
from thriftwood.forest import Forest, leaf_means, sums_below
from thriftwood.support.arrays import FloatArray

# Which share of a tree's gradients must tell the same rate, up to this part of it.
AGREEMENT = 0.9
TOLERANCE = 0.01


def node_values(
    shape: Forest, recorded: Recorded, l2: float, l1: float, leaves_set_later: bool
) -> FloatArray:
    """Return what every node says, as a leaf of its tree would.

    `leaves_set_later` says that the loss may set leaves to something else than recorded weights.
    """
    is_leaf = ~shape.is_split
    by_us = np.where(is_leaf, recorded.condition == OUR_RATE * recorded.weight, True)
    rates = np.where(np.logical_and.reduceat(by_us, shape.tree_start[:-1]), OUR_RATE, np.nan)
    told = _rates(shape, recorded, l2, l1, AGREEMENT if leaves_set_later else 0.0)
    rates = np.where(np.isnan(rates), told, rates)
    rate = np.repeat(rates, np.diff(shape.tree_start))
    means = leaf_means(shape, recorded.condition[:, None], recorded.hessian)[0][:, 0]
    as_leaves = np.where(np.isnan(rate), means, rate * recorded.weight)
    return np.where(shape.is_split, as_leaves, recorded.condition)


def _rates(shape: Forest, recorded: Recorded, l2: float, l1: float, agreement: float) -> FloatArray:
    """Return the rate of each tree, NaN where too small a share of its gradients tells the same."""
    value, weight, mass = recorded.condition, recorded.weight, recorded.hessian + l2
    leaves = np.stack([value * mass, np.sign(value), value == 0], axis=1)
    below = sums_below(shape, np.where(shape.is_split[:, None], 0.0, leaves))
    shrunk, signs, n_zeros = below.T  # a value of 0 may hide any gradient up to the L1 penalty
    pull = weight * mass + l1 * (np.sign(weight) - signs)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = shrunk / pull
    heard = shape.is_split & (told > 0) & np.isfinite(told) & ((l1 == 0) | (n_zeros == 0))
    rates = np.full(shape.n_trees, np.nan)
    for tree, (first, last) in enumerate(pairwise(shape.tree_start)):
        own = np.flatnonzero(heard[first:last]) + first
        if len(own):
            own = own[np.argsort(told[own])]
            reached = np.cumsum(np.abs(pull[own]))
            rate = told[own[np.searchsorted(reached, reached[-1] / 2)]]
            agrees = np.abs(told[own] - rate) <= TOLERANCE * rate
            if np.abs(pull[own[agrees]]).sum() >= agreement * reached[-1]:
                rates[tree] = rate
    return rates
