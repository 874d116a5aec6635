"""Where the nodes of a tree go on paper."""

from __future__ import annotations

from typing import NamedTuple

from thriftwood.forest import Forest


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
        """How wide it may be, in columns, before it leaves its own."""
        return 2 * min(self.x - self.first, self.last - self.x) + 1


def lay_out(forest: Forest, tree: int, max_depth: int) -> dict[int, Spot]:
    """Return the spot of each node of a tree, down to a depth; parents before children.

    Parameters
    ----------
    forest
    tree : int
    max_depth : int
        How many levels of splits are drawn; a split below them is an end.
    """
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
