"""Collapse splits into leaves, and find out which splits another forest has collapsed."""

from dataclasses import replace

import numpy as np

from thriftwood.errors import ForestError, InputError
from thriftwood.forest.forest import Forest
from thriftwood.forest.kernels import LEAF, NO_SET
from thriftwood.support.arrays import BoolArray, IndexArray, IntArray, read_only
from thriftwood.support.columns import same_names

# Equal where two splits test the same, but for the numbers of their sets of categories.
TEST_ARRAYS = ("feature", "threshold", "missing_left", "zero_is_missing")


def collapse(forest: Forest, kept: BoolArray) -> tuple[Forest, IntArray]:
    """Return the forest whose splits are exactly the kept ones, and where its nodes came from.

    Nodes keep their order and their value; a split that is not kept becomes a leaf. `kept` is a
    mask over the nodes: those that stay splits, whose parents must be kept, too. The second result
    has the index in `forest` of each node that is left.
    """
    parent = forest.parent
    if kept.dtype != np.bool_ or kept.shape != (forest.n_nodes,):
        raise ForestError(f"`kept` needs one entry for each of the {forest.n_nodes} nodes.")
    if (kept & ~forest.is_split).any():
        raise ForestError("`kept` names a leaf: only splits can be kept.")
    if (kept & (parent != LEAF) & ~kept[parent]).any():
        raise ForestError("`kept` names a split whose parent is not kept: it could not be reached.")
    stays = (parent == LEAF) | kept[parent]
    origin = np.flatnonzero(stays)
    new_index = np.cumsum(stays, dtype=np.int32) - 1
    split = kept[origin]
    collapsed = replace(
        forest,
        tree_start=np.searchsorted(origin, forest.tree_start),
        feature=np.where(split, forest.feature[origin], LEAF),
        threshold=np.where(split, forest.threshold[origin], 0.0),
        left=np.where(split, new_index[forest.left[origin]], LEAF),
        right=np.where(split, new_index[forest.right[origin]], LEAF),
        missing_left=forest.missing_left[origin] & split,
        values=forest.values[origin],
        zero_is_missing=forest.zero_is_missing[origin] & split,
        category_set=np.where(split, forest.category_set[origin], NO_SET),
        gains=None if forest.gains is None else np.where(split, forest.gains[origin], 0.0),
    )
    return collapsed, origin


def origin_of(pruned: Forest, forest: Forest) -> IndexArray:
    """Return the node of a forest at the place of each node of a pruned one; -1 beyond its leaves.

    Only the shapes of the trees count, of which there must be as many.
    """
    origin = np.full(pruned.n_nodes, LEAF, dtype=np.int32)
    origin[pruned.tree_start[:-1]] = forest.tree_start[:-1]
    for level in pruned.levels():
        split = level[pruned.is_split[level]]
        # At -1 this reads the last node, a leaf, so that all below are -1, too.
        origin[pruned.left[split]] = forest.left[origin[split]]
        origin[pruned.right[split]] = forest.right[origin[split]]
    return origin


def kept_by(forest: Forest, pruned: Forest) -> BoolArray:
    """Return the splits of a forest that a pruned one has left, as a mask over its nodes.

    Values of leaves do not matter. Raises where the other forest is no pruning of the first: where
    it tests something else, or predicts other classes.
    """
    _check_same_shape(forest, pruned)
    theirs = np.flatnonzero(pruned.is_split)
    ours = origin_of(pruned, forest)[theirs]
    _check_same_tests(forest, ours, pruned, theirs)
    kept = np.zeros(forest.n_nodes, dtype=np.bool_)
    kept[ours] = True
    return read_only(kept)


def is_top_of(small: Forest, large: Forest) -> bool:
    """Return True if every tree of a forest is the top of the same tree of another."""
    if small.n_trees != large.n_trees:
        return False
    mine = np.flatnonzero(small.is_split)
    theirs = origin_of(small, large)[mine]
    return all(
        np.array_equal(getattr(small, name)[mine], getattr(large, name)[theirs])
        for name in (*TEST_ARRAYS, "category_set")
    )


def _check_same_shape(forest: Forest, pruned: Forest) -> None:
    for what, now, before in (
        ("trees", pruned.n_trees, forest.n_trees),
        ("features", pruned.n_features, forest.n_features),
    ):
        if now != before:
            raise InputError(
                f"This is no pruning of the model: it has {now} {what}, the model has {before}."
            )
    if not np.array_equal(np.array(forest.classes), np.array(pruned.classes)):
        raise InputError("This is no pruning of the model: it predicts other classes.")
    if not same_names(forest.feature_names, pruned.feature_names):
        raise InputError("This is no pruning of the model: its features have other names.")


def _check_same_tests(forest: Forest, ours: IndexArray, pruned: Forest, theirs: IntArray) -> None:
    """Raise unless splits of two forests send every sample the same way."""
    same = forest.is_split[ours]
    for name in TEST_ARRAYS:
        same &= getattr(forest, name)[ours] == getattr(pruned, name)[theirs]
    same &= (forest.category_set[ours] == NO_SET) == (pruned.category_set[theirs] == NO_SET)
    for place in np.flatnonzero((forest.category_set[ours] != NO_SET) & same):
        mine = forest.category_mask(forest.category_set[ours[place]])
        other = pruned.category_mask(pruned.category_set[theirs[place]])
        same[place] = np.array_equal(np.flatnonzero(mine), np.flatnonzero(other))
    if not same.all():
        first = int(np.flatnonzero(~same)[0])  # of its tree the topmost: parents come first
        node = int(ours[first])
        tree = int(pruned.tree_of(theirs[first : first + 1])[0])
        raise InputError(
            f"This is no pruning of the model: its tree {tree} tests "
            f"{_test(pruned, theirs[first])} where the model's "
            f"{'tests ' + _test(forest, node) if forest.is_split[node] else 'ends'}."
        )


def _test(forest: Forest, node: int) -> str:
    feature = int(forest.feature[node])
    name = forest.feature_names[feature] if forest.feature_names else f"feature {feature}"
    if forest.category_set[node] != NO_SET:
        return f"categories of {name}"
    return f"{name} <= {forest.threshold[node]:g}"
