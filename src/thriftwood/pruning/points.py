"""Figures of forests: of one, and of nested points, whose sums are taken from the last one back."""

import numpy as np

from thriftwood.forest import Forest
from thriftwood.pruning.pruned import Figures
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)

# A loss that is smaller than this part of what single leaves lose is a rounded 0.
NOISE = 1e-13


def losses_at(
    forest: Forest, losses: FloatArray, drop_step: IndexArray, n_points: int
) -> FloatArray:
    """Return what the leaves of each point lose together.

    Parameters
    ----------
    forest
    losses : shape (n_nodes,)
        What each node would lose as a leaf.
    drop_step : shape (n_nodes,)
        Point `i` keeps the splits with a step of at least `i`; -1 at leaves.
    n_points : int
    """
    split = np.flatnonzero(forest.is_split)
    gains = losses[split] - losses[forest.left[split]] - losses[forest.right[split]]
    of_single_leaves = float(losses[forest.tree_start[:-1]].sum())
    least = float(np.minimum(losses, 0.0).sum())  # of any leaves; below is only rounding
    kept_gains = still_there(drop_step[split], n_points, gains)
    lost = np.maximum(of_single_leaves - kept_gains, least)
    lost[np.abs(lost) < NOISE * abs(of_single_leaves)] = 0.0
    return lost


def splits_at(forest: Forest, drop_step: IndexArray, n_points: int) -> IntArray:
    """Return how many splits each point keeps."""
    return still_there(drop_step[forest.is_split], n_points).astype(np.int64)


def features_at(forest: Forest, drop_step: IndexArray, n_points: int) -> IntArray:
    """Return how many features the splits of each point test."""
    last = np.full(forest.n_features, -1, dtype=np.int32)
    np.maximum.at(last, forest.feature[forest.is_split], drop_step[forest.is_split])
    return still_there(last, n_points).astype(np.int64)


def still_there(step: IndexArray, n_points: int, weights: FloatArray | None = None) -> FloatArray:
    """Return for each point how many, or how much, drops with its step or a later one."""
    ever = step >= 0
    counted = np.ones(np.count_nonzero(ever)) if weights is None else weights[ever]
    per_step = np.bincount(step[ever], weights=counted, minlength=n_points)
    return from_the_end(per_step.astype(np.float64))


def from_the_end(per_step: FloatArray) -> FloatArray:
    """Return for each point the sum over its step and all later ones."""
    backwards: FloatArray = np.cumsum(per_step[::-1], dtype=np.float64)
    return backwards[::-1].copy()


def figures_of(forest: Forest, losses: FloatArray, kept: BoolArray, cost: float) -> Figures:
    """Return the figures of the forest with these splits, given as a mask over nodes.

    Parameters
    ----------
    forest : Forest
    losses : shape (n_nodes,)
        What each node would lose as a leaf, per row and tree.
    kept : shape (n_nodes,)
    cost : float
        The mean bill of a row.
    """
    is_leaf = ~kept & ((forest.parent < 0) | kept[forest.parent])
    return Figures(
        cost=cost,
        loss=float(losses[is_leaf].sum()),
        n_splits=int(kept.sum()),
        n_features=len(np.unique(forest.feature[kept])),
    )
