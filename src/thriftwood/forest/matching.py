"""Find out which splits of a forest another forest kept."""

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest.forest import Forest
from thriftwood.forest.kernels import NO_SET
from thriftwood.support.arrays import BoolArray, IntArray, read_only


def kept_by(forest: Forest, pruned: Forest) -> BoolArray:
    """Return the splits of a forest that a pruned one has left, as a mask over its nodes.

    Trees are walked from their roots, both at once; what leaves say does not matter. Raises where
    the other forest is no pruning of the first: where it tests something else, or predicts other
    classes.

    Parameters
    ----------
    forest, pruned : Forest
    """
    _check_same_shape(forest, pruned)
    kept = np.zeros(forest.n_nodes, dtype=np.bool_)
    ours, theirs = forest.tree_start[:-1], pruned.tree_start[:-1]
    while len(ours):
        stays = pruned.is_split[theirs]
        ours, theirs = ours[stays], theirs[stays]
        _check_same_tests(forest, ours, pruned, theirs)
        kept[ours] = True
        ours = np.concatenate([forest.left[ours], forest.right[ours]])
        theirs = np.concatenate([pruned.left[theirs], pruned.right[theirs]])
    return read_only(kept)


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
    names = forest.feature_names, pruned.feature_names
    if None not in names and names[0] != names[1]:
        raise InputError("This is no pruning of the model: its features have other names.")


def _check_same_tests(forest: Forest, ours: IntArray, pruned: Forest, theirs: IntArray) -> None:
    """Raise unless splits of two forests send every row the same way."""
    same = (
        forest.is_split[ours]
        & (forest.feature[ours] == pruned.feature[theirs])
        & (forest.threshold[ours] == pruned.threshold[theirs])
        & (forest.missing_left[ours] == pruned.missing_left[theirs])
        & (forest.zero_is_missing[ours] == pruned.zero_is_missing[theirs])
    )
    for place in np.flatnonzero((forest.category_set[ours] != NO_SET) & same):
        same[place] = _members(forest, ours[place]) == _members(pruned, theirs[place])
    same &= (forest.category_set[ours] == NO_SET) == (pruned.category_set[theirs] == NO_SET)
    if not same.all():
        first = int(np.flatnonzero(~same)[0])
        tree = int(forest.tree_of(ours[first : first + 1])[0])
        raise InputError(
            f"This is no pruning of the model: its tree {tree} tests "
            f"{_test(pruned, theirs[first])} where the model's "
            f"{'tests ' + _test(forest, ours[first]) if forest.is_split[ours[first]] else 'ends'}."
        )


def _members(forest: Forest, node: int) -> frozenset[int]:
    """Return the categories that a split sends left."""
    own = forest.category_set[node]
    if own == NO_SET:
        return frozenset()
    return frozenset(
        np.flatnonzero(forest.in_set[forest.set_start[own] : forest.set_start[own + 1]]).tolist()
    )


def _test(forest: Forest, node: int) -> str:
    feature = int(forest.feature[node])
    name = forest.feature_names[feature] if forest.feature_names else f"feature {feature}"
    if forest.category_set[node] != NO_SET:
        return f"categories of {name}"
    return f"{name} <= {forest.threshold[node]:g}"
