"""LightGBM's model text, taken apart and put together again.

A model is a header, one block per tree and a tail; each line is a key and what belongs to it. The
splits and the leaves of a tree are numbered apart, both from 0, and a child below 0 is the leaf
`-1 - child`. We number the splits first and the leaves after them::

    left_child   1 -1        split 0, split 1, leaf 0, leaf 1, leaf 2
    right_child -2 -3   ->    0        1        2       3       4
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from thriftwood.errors import ForestError
from thriftwood.support.arrays import BoolArray, IntArray

END_OF_TREES = "end of trees"

# Bits of `decision_type`: 1 for categories, 2 where a missing value goes left, then what is
# missing: nothing, zero or NaN.
CATEGORIES = 1
MISSING_LEFT = 2
MISSING_KIND = 12
ZERO_IS_MISSING = 4
NAN_IS_MISSING = 8

WORD = 32  # categories in one number of `cat_threshold`


class ModelText(NamedTuple):
    """The parts of a model; a line without `=` has nothing (None) in its place."""

    header: dict[str, str | None]
    trees: list[dict[str, str]]
    tail: str


class Nodes(NamedTuple):
    """All nodes in one row: tree after tree, the splits of a tree before its leaves.

    `levels` has the roots, then their children, and so on. `order` has all nodes as a `Forest`
    wants them, tree after tree and level by level: children come after their parents, and what is
    left when a split loses its children is in that order, too.
    """

    tree_start: IntArray
    is_split: BoolArray
    left: IntArray
    right: IntArray
    levels: list[IntArray]
    order: IntArray


def parse_text(text: str) -> ModelText:
    """Take the text of a model apart."""
    body, _, tail = text.partition(END_OF_TREES)
    header, *blocks = body.split("\nTree=")
    return ModelText(
        {key: what if equals else None for key, equals, what in _lines(header)},
        [{key: what for key, equals, what in _lines(block) if equals} for block in blocks],
        tail,
    )


def join_text(model: ModelText) -> str:
    """Put the text of a model together."""
    lines = [
        key if what is None else f"{key}={what}"
        for key, what in model.header.items()
        if key != "tree_sizes"  # LightGBM aborts where these are wrong, and needs none
    ]
    for number, tree in enumerate(model.trees):
        lines += ["", f"Tree={number}", *(f"{key}={what}" for key, what in tree.items()), ""]
    return "\n".join([*lines, "", END_OF_TREES]) + model.tail


def nodes_of(trees: list[dict[str, str]]) -> Nodes:
    """Number the nodes of all trees."""
    n_leaves = np.array([int(tree["num_leaves"]) for tree in trees], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(2 * n_leaves - 1)])
    is_split = np.zeros(start[-1], dtype=np.bool_)
    for first, n_splits in zip(start[:-1], n_leaves - 1, strict=True):
        is_split[first : first + n_splits] = True
    of_split = np.repeat(np.arange(len(trees)), n_leaves - 1)
    children = []
    for key in ("left_child", "right_child"):
        child = numbers_of(trees, key, np.int64)
        if len(child) != len(of_split):
            raise ForestError(f"`{key}` has {len(child)} entries for {len(of_split)} splits.")
        n_splits = n_leaves[of_split] - 1
        if ((child >= n_splits) | (child < -n_splits - 1)).any():
            raise ForestError(f"`{key}` names a node that is not there: the model is damaged.")
        whole = np.full(len(is_split), -1, dtype=np.int64)
        whole[is_split] = start[of_split] + np.where(child >= 0, child, n_splits - 1 - child)
        children.append(whole)
    left, right = children
    levels = _levels(start[:-1], is_split, left, right)
    nodes = np.concatenate(levels)
    tree = np.searchsorted(start, nodes, side="right")
    return Nodes(start, is_split, left, right, levels, nodes[np.argsort(tree, kind="stable")])


def numbers_of(trees: list[dict[str, str]], key: str, dtype: DTypeLike) -> NDArray[Any]:
    """Return the numbers behind a key, tree after tree."""
    return np.array(" ".join(tree.get(key, "") for tree in trees).split(), dtype=dtype)


def category_sets(trees: list[dict[str, str]]) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the first set of each tree, where the sets begin, and which categories they have."""
    bounds = [np.array(tree.get("cat_boundaries", "0").split(), np.int64) for tree in trees]
    first = np.cumsum([0, *(len(own) - 1 for own in bounds)])[:-1]
    sizes = WORD * np.concatenate([np.diff(own) for own in bounds])
    words = numbers_of(trees, "cat_threshold", "<u4")
    in_set = np.unpackbits(words.view(np.uint8), bitorder="little").astype(np.bool_)
    return first, np.concatenate([[0], np.cumsum(sizes)]), in_set


def exact(number: float) -> str:
    """Write a number so that reading it gives the same number."""
    return f"{number:.17g}"


def _lines(text: str) -> list[tuple[str, str, str]]:
    return [line.partition("=") for line in text.split("\n") if line]


def _levels(
    roots: IntArray, is_split: BoolArray, left: IntArray, right: IntArray
) -> list[IntArray]:
    levels = [roots]
    n_seen = len(roots)
    while n_seen < len(is_split):
        split = levels[-1][is_split[levels[-1]]]
        levels.append(np.stack([left[split], right[split]], axis=1).ravel())
        n_seen += len(levels[-1])
        if not len(split):
            raise ForestError("No row can reach some nodes of this model: it is damaged.")
    if len(np.unique(np.concatenate(levels))) < len(is_split):
        raise ForestError("A node of this model is the child of two: it is damaged.")
    return levels
