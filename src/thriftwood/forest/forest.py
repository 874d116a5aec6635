"""The frozen noun: all trees of an ensemble in flat arrays."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thriftwood.arrays import BoolArray, FloatArray, IndexArray, IntArray, frozen, handed_over
from thriftwood.errors import ForestError

LEAF = -1
FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True, eq=False)
class Forest:
    """All trees of an ensemble; the nodes of tree `t` are `tree_start[t]:tree_start[t + 1]`.

    A node's children come after it, its root first, so a loop over increasing indices sees parents
    before children and the reverse loop children before parents::

        tree_start   0              5          8
        node         0  1  2  3  4 | 5  6  7
        left         1 -1  3 -1 -1 | 6 -1 -1          (indices into all nodes, -1 at leaves)
        right        2 -1  4 -1 -1 | 7 -1 -1

    Parameters
    ----------
    tree_start : shape (n_trees + 1,)
        Where each tree's nodes begin; the last entry is the number of nodes.
    feature : shape (n_nodes,)
        The feature that a split tests, -1 at leaves.
    threshold : shape (n_nodes,)
        A row goes left where its value, cast to `input_dtype`, is at most the threshold.
    left, right : shape (n_nodes,)
        Children, -1 at leaves.
    missing_left : shape (n_nodes,)
        Whether a missing value (NaN) goes left.
    values : shape (n_nodes, n_outputs)
        What each node predicts on its own: class probabilities, or one number.
    n_features : int
        How many columns the model expects.
    combine : {"mean", "sum"}
        How the trees' values make the prediction.
    classes : shape (n_outputs,), optional
        Labels of the outputs; None for a regressor.
    feature_names : tuple of str, optional
        Names of the columns, where the model knows them.
    input_dtype : numpy dtype
        What the library casts a row to before it compares.
    """

    tree_start: IntArray
    feature: IndexArray
    threshold: FloatArray
    left: IndexArray
    right: IndexArray
    missing_left: BoolArray
    values: FloatArray
    n_features: int
    combine: Literal["mean", "sum"] = "mean"
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    input_dtype: np.dtype[Any] = FLOAT32

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        if self.classes is not None:
            object.__setattr__(self, "classes", frozen(self.classes, None))

    @property
    def n_trees(self) -> int:
        return len(self.tree_start) - 1

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    @property
    def n_splits(self) -> int:
        return int(np.count_nonzero(self.is_split))

    @property
    def is_classifier(self) -> bool:
        return self.classes is not None

    @cached_property
    def is_split(self) -> BoolArray:
        return handed_over(self.left != LEAF)

    @cached_property
    def parent(self) -> IndexArray:
        """The parent of each node, -1 at roots."""
        parent = np.full(self.n_nodes, LEAF, dtype=np.int32)
        splits = np.flatnonzero(self.is_split)
        parent[self.left[splits]] = splits
        parent[self.right[splits]] = splits
        return handed_over(parent)

    @cached_property
    def depth(self) -> IndexArray:
        """How many splits lie above each node."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        level = self.tree_start[:-1]
        while len(level):
            split = level[self.is_split[level]]
            below = np.concatenate([self.left[split], self.right[split]])
            depth[below] = np.tile(depth[split] + 1, 2)
            level = below
        return handed_over(depth)

    def has_same_trees(self, other: "Forest") -> bool:
        """Say whether another forest predicts the same from the same columns.

        Names of columns count where both know them.
        """
        names = self.feature_names, other.feature_names
        return (
            all(np.array_equal(getattr(self, name), getattr(other, name)) for name in _DTYPES)
            and self.n_features == other.n_features
            and np.array_equal(np.array(self.classes), np.array(other.classes))
            and (None in names or names[0] == names[1])
        )

    def tree_of(self, nodes: IntArray) -> IntArray:
        """Return the tree that each node belongs to."""
        return np.searchsorted(self.tree_start, nodes, side="right") - 1

    def __repr__(self) -> str:
        kind = f"{len(self.classes)} classes" if self.classes is not None else "regression"
        return (
            f"Forest({self.n_trees} trees, {self.n_nodes} nodes, {self.n_splits} splits, "
            f"{self.n_features} features, {kind})"
        )

    def check(self) -> "Forest":
        """Return the forest, or raise `ForestError` where its arrays contradict each other."""
        _check_shapes(self)
        _check_links(self)
        _check_splits(self)
        _check_values(self)
        return self


_DTYPES = {
    "tree_start": np.int64,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
    "values": np.float64,
}


def _check_shapes(forest: Forest) -> None:
    n_nodes = forest.n_nodes
    for name in ("feature", "threshold", "left", "right", "missing_left"):
        shape = getattr(forest, name).shape
        if shape != (n_nodes,):
            raise ForestError(
                f"`{name}` has shape {shape}, but the forest has {n_nodes} nodes: "
                "its arrays need one entry per node."
            )
    if forest.values.ndim != 2 or len(forest.values) != n_nodes:
        raise ForestError(
            f"`values` has shape {forest.values.shape}: it needs one row for each of the "
            f"{n_nodes} nodes and one column per output."
        )
    start = forest.tree_start
    if start.ndim != 1 or len(start) < 2 or start[0] != 0 or start[-1] != n_nodes:
        raise ForestError(
            f"`tree_start` must begin with 0 and end with the number of nodes, {n_nodes}."
        )
    empty = np.flatnonzero(np.diff(start) < 1)
    if len(empty):
        raise ForestError(f"Tree {empty[0]} has no node: every tree needs at least its root.")


def _check_links(forest: Forest) -> None:
    """Children stay in their tree, come after their parent, and have one parent each."""
    _refuse(
        forest,
        (forest.left == LEAF) != (forest.right == LEAF),
        "has one child: a node has two children or none",
    )
    splits = np.flatnonzero(forest.is_split)
    sizes = np.diff(forest.tree_start)
    first_of_tree = np.repeat(forest.tree_start[:-1], sizes)
    last_of_tree = np.repeat(forest.tree_start[1:], sizes)
    seen = np.zeros(forest.n_nodes, dtype=np.int64)
    for children in (forest.left[splits], forest.right[splits]):
        wrong = np.zeros(forest.n_nodes, dtype=bool)
        wrong[splits] = (children < first_of_tree[splits]) | (children >= last_of_tree[splits])
        _refuse(forest, wrong, "has a child outside its tree")
        wrong[splits] = children <= splits
        _refuse(
            forest,
            wrong,
            "has a child that does not come after it: children must follow their parent, "
            "so that a walk never runs in a cycle",
        )
        np.add.at(seen, children, 1)
    _refuse(forest, seen > 1, "is the child of two nodes: a tree may not share children")
    seen[forest.tree_start[:-1]] += 1
    _refuse(forest, seen == 0, "is no root and nobody's child: no row could ever reach it")


def _check_splits(forest: Forest) -> None:
    split, feature = forest.is_split, forest.feature
    _refuse(forest, ~split & (feature != LEAF), "is a leaf that tests a feature")
    _refuse(
        forest,
        split & ((feature < 0) | (feature >= forest.n_features)),
        f"tests a feature outside 0 to {forest.n_features - 1}",
    )
    _refuse(forest, split & np.isnan(forest.threshold), "splits at NaN: no value is below it")


def _check_values(forest: Forest) -> None:
    lost = np.zeros(forest.n_nodes, dtype=np.bool_)
    lost[np.nonzero(~np.isfinite(forest.values))[0]] = True
    _refuse(forest, lost, "has a value that is not finite")
    n_outputs = forest.values.shape[1]
    if forest.classes is None and n_outputs != 1:
        raise ForestError(f"A regression forest has one value per node, this one {n_outputs}.")
    if forest.classes is not None and len(forest.classes) != n_outputs:
        raise ForestError(
            f"The forest has {len(forest.classes)} classes but {n_outputs} values per node."
        )
    if forest.combine not in ("mean", "sum"):
        raise ForestError(f"Trees combine by their 'mean' or 'sum', not by {forest.combine!r}.")
    names = forest.feature_names
    if names is not None and len(names) != forest.n_features:
        raise ForestError(f"The forest has {forest.n_features} features but {len(names)} names.")


def _refuse(forest: Forest, wrong: BoolArray, what: str) -> None:
    """Raise for the first node of `wrong`, named by its tree and its number there."""
    bad = np.flatnonzero(wrong)
    if len(bad):
        tree = forest.tree_of(bad[:1])[0]
        node = bad[0] - forest.tree_start[tree]
        raise ForestError(f"Node {node} of tree {tree} {what}.")
