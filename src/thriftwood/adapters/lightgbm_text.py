"""LightGBM's model text, taken apart and put together again.

A model is a header, one block per tree and a tail; each line is a key and what belongs to it. The
splits and the leaves of a tree are numbered apart, both from 0, and a child below 0 is the leaf
`-1 - child`. We number the splits first and the leaves after them::

    left_child   1 -1        split 0, split 1, leaf 0, leaf 1, leaf 2
    right_child -2 -3   ->    0        1        2       3       4
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from thriftwood.adapters.common import damaged, level_by_level
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

    `order` has them as a `Forest` wants them, tree after tree and level by level: children come
    after their parents, and what is left when a split loses its children is in that order, too.
    """

    tree_start: IntArray
    is_split: BoolArray
    left: IntArray
    right: IntArray
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


def with_columns(model: ModelText, columns: IntArray) -> ModelText:
    """Return the text of a model over these columns alone, none of them of categories."""
    header = {**model.header, "max_feature_idx": str(len(columns) - 1)}
    for key in ("feature_names", "feature_infos", "monotone_constraints"):
        if key in header:
            words = (header[key] or "").split(" ")
            header[key] = " ".join(words[column] for column in columns)
    trees = []
    for tree in model.trees:
        features = np.array(tree["split_feature"].split(), dtype=np.int64)
        trees.append({**tree, "split_feature": row(np.searchsorted(columns, features))})
    tail = re.sub(r"(\[categorical_feature: ).*\]", r"\1]", model.tail)
    tail = re.sub(r"(pandas_categorical:).*", r"\1null", tail)
    return ModelText(header, trees, tail)


def nodes_of(trees: list[dict[str, str]]) -> Nodes:
    """Number the nodes of all trees; refuse children that are not there or belong to two."""
    n_leaves = np.array([int(tree["num_leaves"]) for tree in trees], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(2 * n_leaves - 1)])
    is_split = np.zeros(start[-1], dtype=np.bool_)
    for first, n_splits in zip(start[:-1], n_leaves - 1, strict=True):
        is_split[first : first + n_splits] = True
    of_split = np.repeat(np.arange(len(trees)), n_leaves - 1)
    children = []
    for key in ("left_child", "right_child"):
        child = numbers_of(trees, key, np.int64, (n_leaves - 1).tolist())
        n_splits = n_leaves[of_split] - 1
        if ((child >= n_splits) | (child < -n_splits - 1)).any():
            raise damaged(f"`{key}` names a node that is not there")
        whole = np.full(len(is_split), -1, dtype=np.int64)
        whole[is_split] = start[of_split] + np.where(child >= 0, child, n_splits - 1 - child)
        children.append(whole)
    left, right = children
    nodes = level_by_level(left, right, start[:-1])
    if len(nodes) < len(left):
        raise damaged("no sample can reach some nodes")
    tree = np.searchsorted(start, nodes, side="right")
    return Nodes(start, is_split, left, right, nodes[np.argsort(tree, kind="stable")])


def numbers_of(
    trees: list[dict[str, str]], key: str, dtype: DTypeLike, sizes: list[int] | None = None
) -> NDArray[Any]:
    """Return the numbers behind a key, tree after tree; refuse other sizes than these."""
    lines = [tree.get(key, "") for tree in trees]
    if sizes is not None and [len(line.split()) for line in lines] != sizes:
        raise damaged(f"`{key}` has more or fewer entries than splits")
    return np.array(" ".join(lines).split(), dtype=dtype)


def row(entries: Iterable[Any]) -> str:
    """Write numbers so that reading them gives the same numbers."""
    return " ".join(
        f"{entry:.17g}" if isinstance(entry, float) else str(entry) for entry in entries
    )


def category_sets(trees: list[dict[str, str]]) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the first set of each tree, where the sets begin, and which categories they have."""
    bounds = [np.array(tree.get("cat_boundaries", "0").split(), np.int64) for tree in trees]
    first = np.cumsum([0, *(len(own) - 1 for own in bounds)])[:-1]
    sizes = WORD * np.concatenate([np.diff(own) for own in bounds])
    words = numbers_of(trees, "cat_threshold", "<u4")
    in_set = np.unpackbits(words.view(np.uint8), bitorder="little").astype(np.bool_)
    return first, np.concatenate([[0], np.cumsum(sizes)]), in_set


def set_words(members: BoolArray) -> list[int]:
    """Return a set of categories as numbers of `cat_threshold`, one bit for each category."""
    padded = np.zeros(WORD * max(1, -(-len(members) // WORD)), dtype=np.bool_)
    padded[: len(members)] = members
    words: list[int] = np.packbits(padded, bitorder="little").view("<u4").tolist()
    return words


def _lines(text: str) -> list[tuple[str, str, str]]:
    return [line.partition("=") for line in text.split("\n") if line]
