"""Trees in the lines of LightGBM's model text."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters.lightgbm_text import (
    CATEGORIES,
    MISSING_LEFT,
    NAN_IS_MISSING,
    WORD,
    ZERO_IS_MISSING,
)
from thriftwood.forest import LEAF, NO_SET, Forest
from thriftwood.support.arrays import FloatArray, IntArray


class Layout(NamedTuple):
    """The nodes of a tree as LightGBM numbers them: splits and leaves apart, both from 0.

    LightGBM sends a missing category right. Where ours goes left, another split comes before: it
    asks only whether the value is missing, and has the left part of the tree once more.

    Attributes
    ----------
    splits, leaves
        Their nodes in the forest.
    asks_if_missing
        Whether a split is one of those that come before.
    children
        For each split, left and right: a split, or -1 minus a leaf.
    """

    splits: list[int]
    asks_if_missing: list[bool]
    children: list[list[int]]
    leaves: list[int]


LONE_LEAF = Layout([], [], [], [0])


def lay_out(forest: Forest, root: int) -> Layout:
    """Number the nodes of a tree as LightGBM does."""
    doubled = forest.missing_left & (forest.category_set != NO_SET)
    layout = Layout([], [], [], [])
    # Nodes ahead: whether they were asked already, and where their number belongs.
    ahead: list[tuple[int, bool, int, int]] = [(root, False, -1, 0)]
    while ahead:
        h, asked, parent, side = ahead.pop()
        if forest.left[h] == LEAF:
            number = -1 - len(layout.leaves)
            layout.leaves.append(h)
        else:
            number = len(layout.splits)
            asks = bool(doubled[h]) and not asked
            layout.splits.append(h)
            layout.asks_if_missing.append(asks)
            layout.children.append([0, 0])
            left, right = int(forest.left[h]), int(forest.right[h])
            ahead.append((left if asks else right, False, number, 1))
            ahead.append((h, True, number, 0) if asks else (left, False, number, 0))
        if parent >= 0:
            layout.children[parent][side] = number
    return layout


def structure_of(forest: Forest, layout: Layout, thresholds: FloatArray) -> dict[str, str]:
    """Return the lines of a tree, but for its values."""
    nodes = np.array(layout.splits, dtype=np.int64)
    asks = np.array(layout.asks_if_missing, dtype=np.bool_)
    by_set = (forest.category_set[nodes] != NO_SET) & ~asks
    threshold = np.where(asks, np.inf, thresholds[nodes])
    threshold[by_set] = np.arange(np.count_nonzero(by_set))
    missing = np.where(forest.zero_is_missing[nodes], ZERO_IS_MISSING, NAN_IS_MISSING)
    goes_left = np.where(forest.missing_left[nodes] & ~asks & ~by_set, MISSING_LEFT, 0)
    gains = np.zeros(len(nodes)) if forest.gains is None else forest.gains[nodes]
    count = _count_leaves(layout.children)
    return {
        "num_leaves": str(len(layout.leaves)),
        "num_cat": str(np.count_nonzero(by_set)),
        "split_feature": row(forest.feature[nodes]),
        "split_gain": row(gains),
        "threshold": row(threshold),
        "decision_type": row(missing + goes_left + np.where(by_set, CATEGORIES, 0)),
        "left_child": row(left for left, _ in layout.children),
        "right_child": row(right for _, right in layout.children),
        **_sets(forest, nodes[by_set]),
        "leaf_weight": row(np.ones(len(layout.leaves))) if len(nodes) else "",
        "leaf_count": row(np.ones(len(layout.leaves))),
        "internal_weight": row(count),
        "internal_count": row(count),
    }


def _count_leaves(children: list[list[int]]) -> list[int]:
    """Return how many leaves lie below each split; parents come before their children."""
    count = [0] * len(children)
    for number in reversed(range(len(children))):
        count[number] = sum(1 if child < 0 else count[child] for child in children[number])
    return count


def _sets(forest: Forest, nodes: IntArray) -> dict[str, str]:
    """Return the sets of categories of some splits, one bit for each category."""
    if not len(nodes):
        return {}
    words, bounds = [], [0]
    for h in nodes:
        first, last = forest.set_start[forest.category_set[h] :][:2]
        n_words = max(1, -(-(last - first) // WORD))
        members = np.zeros(n_words * WORD, dtype=np.bool_)
        members[: last - first] = forest.in_set[first:last]
        words += np.packbits(members, bitorder="little").view("<u4").tolist()
        bounds.append(len(words))
    return {"cat_boundaries": row(bounds), "cat_threshold": row(words)}


def row(entries: Iterable[Any]) -> str:
    """Write numbers so that reading them gives the same numbers."""
    return " ".join(
        f"{entry:.17g}" if isinstance(entry, float) else str(entry) for entry in entries
    )
