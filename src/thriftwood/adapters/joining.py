"""Trees that a reader found one by one, laid one after the other."""

from typing import Any, NamedTuple

import numpy as np

from thriftwood.errors import ForestError
from thriftwood.forest import LEAF, NO_SET, Forest, levels_of
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)


class TreeNodes(NamedTuple):
    """The nodes of one tree, parents first; children are numbers within the tree.

    `categories` holds for each split by categories those that go left.
    """

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    values: FloatArray
    gains: FloatArray
    categories: dict[int, IntArray]


def join_trees(trees: list[TreeNodes], **about: Any) -> Forest:
    """Return the forest of some trees; `about` is what else a `Forest` needs to know."""
    start = np.concatenate([[0], np.cumsum([len(tree.left) for tree in trees])])
    is_leaf = np.concatenate([tree.left for tree in trees]) == LEAF
    sets, set_start, in_set = _join_sets(trees, start)
    return Forest(
        tree_start=start,
        feature=np.where(is_leaf, LEAF, np.concatenate([tree.feature for tree in trees])),
        threshold=np.where(is_leaf, 0.0, np.concatenate([tree.threshold for tree in trees])),
        left=_shifted([tree.left for tree in trees], start, is_leaf),
        right=_shifted([tree.right for tree in trees], start, is_leaf),
        missing_left=np.concatenate([tree.missing_left for tree in trees]) & ~is_leaf,
        values=np.concatenate([tree.values for tree in trees]),
        gains=np.where(is_leaf, 0.0, np.concatenate([tree.gains for tree in trees])),
        category_set=sets,
        set_start=set_start,
        in_set=in_set,
        **about,
    )


def parents_first(left: IntArray, right: IntArray, number: int) -> IntArray:
    """Return the nodes that rows can reach, from the root on, level by level.

    Parameters
    ----------
    left, right : shape (n_nodes,)
        Children, -1 at leaves.
    number : int
        Of the tree, for the complaint about trees that are none.
    """
    children = np.stack([left, right], axis=1)
    alone = (left == LEAF) != (right == LEAF)
    if alone.any() or (children < LEAF).any() or (children >= len(left)).any():
        raise ForestError(
            f"Tree {number} names a child that is not there: the model was damaged, train it anew."
        )
    levels, seen = [], 0
    for level in levels_of(left, right, np.zeros(1, dtype=np.int64)):
        levels.append(level)
        seen += len(level)
        if seen > len(left):
            raise ForestError(
                f"Tree {number} leads back to a node it has passed: the model was damaged, "
                "train it anew."
            )
    return np.concatenate(levels)


def splits_bottom_up(left: IntArray, right: IntArray) -> list[IntArray]:
    """Return the splits of a tree level by level, the deepest level first."""
    levels = levels_of(left, right, np.zeros(1, dtype=np.int64))
    return [level[left[level] != LEAF] for level in levels][::-1]


def _shifted(children: list[IntArray], start: IntArray, is_leaf: BoolArray) -> IndexArray:
    own = [numbers + first for numbers, first in zip(children, start, strict=False)]
    return np.where(is_leaf, LEAF, np.concatenate(own)).astype(np.int32)


def _join_sets(trees: list[TreeNodes], start: IntArray) -> tuple[IndexArray, IntArray, BoolArray]:
    sets = np.full(start[-1], NO_SET, dtype=np.int32)
    members: list[BoolArray] = []
    for tree, first in zip(trees, start, strict=False):
        for node, categories in tree.categories.items():
            sets[first + node] = len(members)
            mask = np.zeros(categories.max(initial=-1) + 1, dtype=np.bool_)
            mask[categories] = True
            members.append(mask)
    set_start = np.concatenate([[0], np.cumsum([len(mask) for mask in members])]).astype(np.int64)
    in_set = np.concatenate([np.empty(0, dtype=np.bool_), *members])
    return sets, set_start, in_set
