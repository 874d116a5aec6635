"""Nodes of a tree on paper: where they go, and what is written in them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thriftwood.forest import NO_SET, Forest
from thriftwood.support.axes import shortened

MOST_LETTERS = 14  # of a name, a label, a set
MOST_CATEGORIES = 3
MOST_NUMBERS = 3  # of a leaf that says several


class Spot(NamedTuple):
    """A node on paper.

    `x` counts columns from the left: every end of the drawing has one of its own. A node above ends
    stands in the middle of its two children, and has the columns of all ends below it to itself.
    """

    x: float
    depth: int
    is_end: bool  # nothing is drawn below it
    first: int  # its columns, from this
    last: int  # to this

    @property
    def room(self) -> float:
        """Width in columns that it may have before it leaves its own."""
        return 2 * min(self.x - self.first, self.last - self.x) + 1


def lay_out(forest: Forest, tree: int, max_depth: int) -> dict[int, Spot]:
    """Return the spot of each node of a tree, down to so many levels of splits; parents first."""
    root = int(forest.tree_start[tree])
    nodes = _from_left_to_right(forest, root, max_depth)
    spots: dict[int, Spot] = {}
    column = 0
    for node, depth in nodes:
        if _is_end(forest, node, depth, max_depth):
            spots[node] = Spot(float(column), depth, True, column, column)
            column += 1
    for node, depth in reversed(nodes):
        if node not in spots:
            left, right = spots[int(forest.left[node])], spots[int(forest.right[node])]
            spots[node] = Spot((left.x + right.x) / 2, depth, False, left.first, right.last)
    return {node: spots[node] for node, _ in nodes}


def _from_left_to_right(forest: Forest, root: int, max_depth: int) -> list[tuple[int, int]]:
    """Return the nodes that are drawn, with depths: each before its left and then its right."""
    nodes = []
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        nodes.append((node, depth))
        if not _is_end(forest, node, depth, max_depth):
            waiting.append((int(forest.right[node]), depth + 1))
            waiting.append((int(forest.left[node]), depth + 1))
    return nodes


def _is_end(forest: Forest, node: int, depth: int, max_depth: int) -> bool:
    return depth >= max_depth or not forest.is_split[node]


def question(forest: Forest, node: int) -> tuple[str, str]:
    """Return the name of the feature that a split tests, and the test: who passes goes left.

    Where missing values go is not said: most trees have a side for them whether or not any are.
    """
    feature = int(forest.feature[node])
    name = forest.feature_names[feature] if forest.feature_names else f"feature {feature}"
    return shortened(name, MOST_LETTERS, inside=True), shortened(_test(forest, node), MOST_LETTERS)


def value_in_words(forest: Forest, node: int) -> str:
    """Return what a node predicts where it is a leaf.

    The class and its share, or the number; in a boosted model the largest number that it adds, and
    to the score of which class.
    """
    values, classes = forest.values[node], forest.classes
    if forest.is_averaged and classes is None:
        numbers = [f"{value:.4g}" for value in values[:MOST_NUMBERS]]
        return ", ".join(numbers) + (", …" if len(values) > MOST_NUMBERS else "")
    best = int(values.argmax() if forest.is_averaged else np.abs(values).argmax())
    number = f"{values[best]:.2f}" if forest.is_averaged else f"{values[best]:+.3g}"
    if classes is None or (len(values) == 1 and not forest.is_averaged):
        return number
    return f"{shortened(str(classes[best]), MOST_LETTERS, inside=True)}\n{number}"


def _test(forest: Forest, node: int) -> str:
    threshold, chosen = float(forest.threshold[node]), forest.category_set[node]
    if chosen == NO_SET:
        # Infinity: every value passes; only a missing one may not.
        return "is known" if threshold == math.inf else f"≤ {threshold:.4g}"
    members = forest.in_set[forest.set_start[chosen] : forest.set_start[chosen + 1]]
    labels = forest.category_labels.get(int(forest.feature[node]), ())
    categories = np.flatnonzero(members).tolist()
    words = [str(labels[one]) if one < len(labels) else str(one) for one in categories]
    more = ["…"] if len(words) > MOST_CATEGORIES else []
    return "in {" + ", ".join(words[:MOST_CATEGORIES] + more) + "}"
