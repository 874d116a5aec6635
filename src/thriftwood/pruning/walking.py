"""Rows on their way along a path: which leaves they are in at each point, and what they bought."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from thriftwood.arrays import BoolArray, FloatArray, IntArray
from thriftwood.forest import LEAF, Forest
from thriftwood.formulation import CountArray
from thriftwood.pruning import kernels
from thriftwood.routing import Routes, are_first_uses

# Values of nodes are added in whole numbers of this many bits.
VALUE_BITS = 44


def walk_of(
    forest: Forest, prices: FloatArray, routes: Routes, weights: FloatArray, times: CountArray
) -> tuple[kernels.Walk, float]:
    """Return the trees as the kernels walk them, and the unit of their values.

    Parameters
    ----------
    forest, prices, routes, weights
        The trees, what features cost, who passes where, and how much each row counts.
    times : shape (n_trees, n_rows)
        0 where a tree does not predict a row; it buys what it meets there all the same.
    """
    value, unit = _whole_values(forest)
    walk = kernels.Walk(
        tree_of=forest.tree_of(np.arange(forest.n_nodes)),
        left=forest.left,
        right=forest.right,
        feature=forest.feature,
        first_use=are_first_uses(forest),
        value=value,
        winner=value.argmax(axis=1),
        prices=prices,
        order=routes.order,
        start=routes.start,
        stop=routes.stop,
        times=times,
        weights=weights,
    )
    return walk, unit


def nothing_yet(forest: Forest, n_rows: int) -> kernels.State:
    """Return the state of rows that are nowhere and bought nothing."""
    n_outputs = forest.values.shape[1]
    return kernels.State(
        total=np.zeros((n_rows, n_outputs), dtype=np.int64),
        votes=np.zeros((n_rows, n_outputs), dtype=np.int32),
        n_trees=np.zeros(n_rows, dtype=np.int32),
        n_askers=np.zeros((n_rows, forest.n_features), dtype=np.uint16),
        bill=np.zeros(n_rows),
        n_bought=np.zeros(n_rows, dtype=np.int32),
        buyers=np.zeros(forest.n_features),
        changed=np.zeros(n_rows, dtype=np.bool_),
    )


def visit(
    forest: Forest, masks: Iterable[BoolArray], walk: kernels.Walk, state: kernels.State
) -> Iterator[BoolArray]:
    """Bring the state from nothing to one point after the other.

    Parameters
    ----------
    forest
    masks : iterable of bool arrays, shape (n_nodes,)
        The kept splits of each point; they come back when the state is there.
    walk, state
    """
    before = np.zeros(forest.n_nodes, dtype=np.bool_)
    kernels.enter(walk, state, forest.tree_start[:-1])
    for after in masks:
        kernels.change(walk, state, _tops(forest, before, after), before, after)
        yield after
        before = after


def _tops(forest: Forest, before: BoolArray, after: BoolArray) -> IntArray:
    """Return the highest nodes that are a split before or after, but not both."""
    changed = np.flatnonzero(before != after)
    parent = forest.parent[changed]
    is_top: BoolArray = (parent == LEAF) | (before[parent] & after[parent])
    return changed[is_top]


def _whole_values(forest: Forest) -> tuple[IntArray, float]:
    """Return the values of all nodes in whole numbers, and their unit."""
    size = math.frexp(float(np.abs(forest.values).max(initial=0.0)))[1]
    whole = np.rint(np.ldexp(forest.values, VALUE_BITS - size)).astype(np.int64)
    return whole, math.ldexp(1.0, size - VALUE_BITS)
