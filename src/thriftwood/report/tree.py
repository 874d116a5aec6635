"""One tree of a path: what a point keeps of it, and what it drops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest import LEAF, NO_SET, Forest
from thriftwood.pruning import PruningPath
from thriftwood.support.arrays import BoolArray
from thriftwood.support.axes import BLUE, GREEN, GREY, VERMILION, axes_or_new, shortened
from thriftwood.support.validation import is_whole, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST_FONT, SMALLEST_FONT = 10.0, 4.0  # points
LETTER = 0.66  # width of a letter, in font sizes, and some room
FRAME = 1.2  # width of a box beside its words, in letters
MARGIN = 0.1  # on both sides of the tree, in columns
WIDEST_FIGURE = 16.0  # inches
MOST_LETTERS = 14  # of a name, a label, a set
MOST_CATEGORIES = 3
MOST_NUMBERS = 3  # of a leaf that says several


# Boxes of nodes of each kind, as Matplotlib takes them.
PLAIN = {"facecolor": "#FFFFFF", "linestyle": "-", "linewidth": 1.0}
BOXES: dict[str, dict[str, Any]] = {
    "split": PLAIN | {"label": "still asks", "edgecolor": BLUE, "facecolor": "#E3F0F8"},
    "leaf": PLAIN | {"label": "leaf, as before", "edgecolor": GREEN},
    "new leaf": {"label": "became a leaf (asked before)", "linestyle": "-", "linewidth": 2.0}
    | {"edgecolor": VERMILION, "facecolor": "#FBE9DD"},
    "dropped": PLAIN | {"label": "dropped", "edgecolor": GREY, "linestyle": "--"},
}
FADED = "#707070"  # words of what is dropped


def plot_tree(
    path: PruningPath,
    index: int,
    tree: int = 0,
    ax: Axes | None = None,
    *,
    max_depth: int = 4,
) -> Axes:
    """Draw a tree as it was before pruning, and what a point of the path keeps of it.

    Samples that pass a test go left. A leaf tells its class and the share of that class, or its
    number; in a boosted model, what it adds to the score. Lines and nodes below a split that became
    a leaf are grey and dashed.

    Parameters
    ----------
    path : PruningPath
    index : int
        A point of the path; negative ones count from the end.
    tree : int
        The number of the tree in the model.
    ax : matplotlib Axes, optional
        None makes new ones.
    max_depth : int
        How many levels of splits are drawn; dots stand for those below.

    Returns
    -------
    ax : matplotlib Axes
    """
    forest, kept = _read(path, index, tree)
    spots = lay_out(forest, tree, whole_number(max_depth, "max_depth", 0))
    kinds = {node: _kind(forest, kept, node) for node in spots}
    words = {node: _words(forest, kept, node, spots[node], kinds[node]) for node in spots}
    n_columns = sum(spot.is_end for spot in spots.values())
    widths = {node: max(map(len, words[node].splitlines())) + FRAME for node in spots}
    letters = max(widths[node] / spots[node].room for node in spots)
    ax = axes_or_new(ax, _figsize(n_columns, letters, max(s.depth for s in spots.values())))
    _prepare(ax, spots, kinds, n_columns)
    font = _font_size(ax, n_columns, letters)
    _draw_lines(ax, forest, kept, spots)
    for node, spot in spots.items():
        ax.text(
            spot.x,
            -spot.depth,
            words[node],
            ha="center",
            va="center",
            fontsize=font,
            color=FADED if kinds[node] == "dropped" else "black",
            gid=f"node {node}",
            parse_math=False,  # a name may hold dollars
            bbox={"boxstyle": "round,pad=0.3", **BOXES[kinds[node]]},
        )
    _draw_answers(ax, forest, spots, font)
    return ax


def _read(path: Any, index: Any, tree: Any) -> tuple[Forest, BoolArray]:
    """Return the forest of a path and which splits a point keeps, or refuse the arguments."""
    if not isinstance(path, PruningPath):
        raise InputError("`path` is no path: pass what `prune_path(model, X, y)` returned.")
    n_points, n_trees = len(path), path.forest.n_trees
    if not is_whole(index) or not -n_points <= index < n_points:
        raise InputError(
            f"`index` is {index!r}: pass a whole number from 0 to {n_points - 1}, or a negative "
            "one that counts from the end."
        )
    if not is_whole(tree) or not 0 <= tree < n_trees:
        raise InputError(f"`tree` is {tree!r}: pass a whole number from 0 to {n_trees - 1}.")
    return path.forest, path.kept_nodes(int(index) % n_points)


def _kind(forest: Forest, kept: BoolArray, node: int) -> str:
    parent = forest.parent[node]
    if parent != LEAF and not kept[parent]:
        return "dropped"
    if kept[node]:
        return "split"
    return "new leaf" if forest.is_split[node] else "leaf"


def _words(forest: Forest, kept: BoolArray, node: int, spot: Spot, kind: str) -> str:
    if not forest.is_split[node]:
        return value_in_words(forest, node)
    if kind == "new leaf":
        return f"{value_in_words(forest, node)}\n({question(forest, node)[0]})"
    if not spot.is_end:
        return "\n".join(question(forest, node))
    below = _splits_below(forest, node)
    number = f"… {len(below)} split{'' if len(below) == 1 else 's'}"
    if kind == "dropped":
        return number
    return f"{number}\n{np.count_nonzero(kept[below])} kept"


def _splits_below(forest: Forest, node: int) -> list[int]:
    """Return a split and all below it."""
    found, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        if forest.is_split[one]:
            found.append(one)
            waiting += [int(forest.left[one]), int(forest.right[one])]
    return found


def _figsize(n_columns: int, letters: float, depth: int) -> tuple[float, float]:
    """Return inches in which the words fit at a good size, if that is possible at all."""
    width = (n_columns + 2 * MARGIN) * letters * LETTER * LARGEST_FONT / 72 + 0.2
    return float(np.clip(width, 5.0, WIDEST_FIGURE)), 0.8 + 0.9 * (depth + 1)


def _prepare(ax: Axes, spots: dict[int, Spot], kinds: dict[int, str], n_columns: int) -> None:
    """Set the limits, take the axes away and explain the looks that are there."""
    from matplotlib.patches import Patch

    ax.set_xlim(-0.5 - MARGIN, n_columns - 0.5 + MARGIN)
    ax.set_ylim(-max(spot.depth for spot in spots.values()) - 0.5, 0.5)
    ax.set_axis_off()
    ax.legend(
        handles=[Patch(**box) for kind, box in BOXES.items() if kind in kinds.values()],
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=2,  # in one row they would be wider than a small tree
        fontsize=9,
    )


def _font_size(ax: Axes, n_columns: int, letters: float) -> float:
    """Return the size at which so many letters fit into a column."""
    figure = ax.figure.canvas.figure  # the whole one, where the axes are in a part of it
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)  # the axes have their width only now
    inches = ax.get_window_extent().width / figure.dpi
    column = 72 * inches / (n_columns + 2 * MARGIN)
    return float(np.clip(column / (letters * LETTER), SMALLEST_FONT, LARGEST_FONT))


def _draw_lines(ax: Axes, forest: Forest, kept: BoolArray, spots: dict[int, Spot]) -> None:
    """Draw a line from each node to its parent; `gid` tells whose it is."""
    for node, spot in spots.items():
        if spot.depth == 0:
            continue
        parent = int(forest.parent[node])
        box = BOXES["split" if kept[parent] else "dropped"]
        ax.plot(
            [spots[parent].x, spot.x],
            [-spots[parent].depth, -spot.depth],
            color=box["edgecolor"],
            linestyle=box["linestyle"],
            linewidth=1.2,
            zorder=1,
            gid=f"line to {node}",
        )


def _draw_answers(ax: Axes, forest: Forest, spots: dict[int, Spot], font: float) -> None:
    """Say at the topmost split which side is which."""
    root = next(iter(spots))
    if spots[root].is_end:
        return
    for child, answer, side in (
        (forest.left[root], "yes ", "right"),
        (forest.right[root], " no", "left"),
    ):
        x = (spots[root].x + spots[int(child)].x) / 2
        ax.text(x, -0.42, answer, ha=side, va="bottom", fontsize=font)


# --- where nodes go on paper, and what is written in them


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
    nodes: list[tuple[int, int]] = []  # each before its left and then its right
    spots: dict[int, Spot] = {}
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        nodes.append((node, depth))
        if depth >= max_depth or not forest.is_split[node]:
            column = len(spots)
            spots[node] = Spot(float(column), depth, True, column, column)
        else:
            sides = int(forest.right[node]), int(forest.left[node])
            waiting += [(side, depth + 1) for side in sides]
    for node, depth in reversed(nodes):
        if node not in spots:
            left, right = spots[int(forest.left[node])], spots[int(forest.right[node])]
            spots[node] = Spot((left.x + right.x) / 2, depth, False, left.first, right.last)
    return {node: spots[node] for node, _ in nodes}


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
