"""Helpers of several adapters: names of classes, trees in and out, values of boosted trees."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from thriftwood.errors import ForestError, UnfittedModelError, UnsupportedModelError
from thriftwood.forest import LEAF, NO_SET, Forest, collapse
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray

# Put on every boosted tree of scikit-learn that we write: its splits hold what they would say as
# leaves. A tree that is trained again, or added by a warm start, is a new object without the mark.
MARK = "splits_speak_as_leaves_"


# What a forest has at leaves, whatever a library keeps there.
AT_LEAVES = {
    "feature": LEAF,
    "threshold": 0.0,
    "left": LEAF,
    "right": LEAF,
    "missing_left": False,
    "gains": 0.0,
}


class BootstrapSamples(NamedTuple):
    """The samples that each tree was grown on, as often as drawn; and how many there were."""

    of_trees: list[IntArray]
    n_samples: int


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
    gains: FloatArray | None = None
    categories: Mapping[int, IntArray] = MappingProxyType({})


class CollapsedTree(NamedTuple):
    """One tree of a collapsed forest: `origin` are numbers in the old tree, children in the new."""

    origin: IntArray
    is_split: BoolArray
    left: IntArray
    right: IntArray
    depth: IndexArray
    values: FloatArray


def is_a(model: object, library: str, *names: str) -> bool:
    """Say whether the model's class, or one above it, is the library's of one of these names."""
    return any(
        kind.__name__ in names and kind.__module__.split(".")[0] == library
        for kind in type(model).__mro__
    )


def unfitted(model: object) -> UnfittedModelError:
    """Return the error for a model without trees."""
    return UnfittedModelError(f"This {type(model).__name__} is not fitted: call fit first.")


def several_outputs(model: object, n_outputs: int) -> UnsupportedModelError:
    """Return the error for a model that predicts several numbers for a sample."""
    return UnsupportedModelError(
        f"This {type(model).__name__} predicts {n_outputs} outputs at once; only one can be "
        "pruned. Train one model per output."
    )


def join_trees(trees: list[TreeNodes], **about: Any) -> Forest:
    """Return the forest of some trees; `about` is what else a `Forest` needs to know."""
    sizes = [len(tree.left) for tree in trees]
    start = np.concatenate([[0], np.cumsum(sizes)])
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("values", *AT_LEAVES)
        if getattr(trees[0], name) is not None
    }
    is_leaf = joined["left"] == LEAF
    for name in ("left", "right"):
        joined[name] = joined[name] + np.repeat(start[:-1], sizes)
    for name, at_leaves in AT_LEAVES.items():
        if name in joined:
            joined[name] = np.where(is_leaf, at_leaves, joined[name])
    if any(tree.categories for tree in trees):
        joined |= _join_sets(trees, start)
    return Forest(tree_start=start, **joined, **about)


def collapsed_trees(
    forest: Forest, kept: BoolArray, values: FloatArray | None = None
) -> Iterator[CollapsedTree]:
    """Yield tree by tree what is left of a forest; `values` take the place of its own."""
    collapsed, origin = collapse(forest, kept)
    values = forest.values if values is None else values
    for number, first in enumerate(collapsed.tree_start[:-1]):
        own = slice(first, collapsed.tree_start[number + 1])
        split = collapsed.is_split[own]
        yield CollapsedTree(
            origin=origin[own] - forest.tree_start[number],
            is_split=split,
            left=np.where(split, collapsed.left[own] - first, LEAF),
            right=np.where(split, collapsed.right[own] - first, LEAF),
            depth=collapsed.depth[own],
            values=values[origin[own]],
        )


def damaged(what: str) -> ForestError:
    """Return the error for a model that contradicts itself."""
    return ForestError(f"The model is damaged: {what}. Train it anew.")


def level_by_level(left: IntArray, right: IntArray, roots: IntArray) -> IntArray:
    """Return the nodes of some trees that can be reached, parents before their children."""
    children = np.stack([left, right], axis=1)
    alone = (left == LEAF) != (right == LEAF)
    if alone.any() or (children < LEAF).any() or (children >= len(left)).any():
        raise damaged("a split names a child that is not there")
    levels, n_seen, level = [], 0, roots
    while len(level) and n_seen <= len(left):
        levels.append(level)
        n_seen += len(level)
        level = children[level[left[level] != LEAF]].ravel()
    nodes = np.concatenate(levels)
    if len(np.unique(nodes)) < len(nodes):
        raise damaged("two ways lead to one node")
    return nodes


def is_marked(tree: Any) -> bool:
    return bool(getattr(tree, MARK, False))


def mark(tree: Any) -> None:
    setattr(tree, MARK, True)


def in_columns(own: FloatArray, forest: Forest, n_outputs: int) -> FloatArray:
    """Return values of all outputs from what each node says to its own; 0 elsewhere.

    Boosted trees take turns, one for each output.
    """
    values = np.zeros((forest.n_nodes, n_outputs))
    values[np.arange(forest.n_nodes), _output_of_nodes(forest, n_outputs)] = own
    return values


def own_column(values: FloatArray, forest: Forest) -> FloatArray:
    """Return from values of all outputs what each node says to its own."""
    output = _output_of_nodes(forest, forest.n_outputs)
    own: FloatArray = values[np.arange(forest.n_nodes), output]
    return own


def _output_of_nodes(forest: Forest, n_outputs: int) -> IntArray:
    return np.repeat(np.arange(forest.n_trees) % n_outputs, np.diff(forest.tree_start))


def _join_sets(trees: list[TreeNodes], start: IntArray) -> dict[str, Any]:
    """Return the sets of categories of all trees, as a `Forest` has them."""
    sets = np.full(start[-1], NO_SET, dtype=np.int32)
    members: list[BoolArray] = []
    for tree, first in zip(trees, start, strict=False):
        for node, categories in tree.categories.items():
            sets[first + node] = len(members)
            members.append(membership(categories))
    set_start = np.cumsum([0, *map(len, members)])
    return {"category_set": sets, "set_start": set_start, "in_set": np.concatenate(members)}


def membership(categories: IntArray) -> BoolArray:
    """Return a mask over the categories up to the highest of these."""
    mask = np.zeros(categories.max(initial=-1) + 1, dtype=np.bool_)
    mask[categories] = True
    return mask
