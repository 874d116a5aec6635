"""All trees of an ensemble in flat arrays."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.errors import ForestError
from thriftwood.forest import checks, kernels
from thriftwood.forest.inputs import Inputs
from thriftwood.forest.kernels import LEAF, NO_SET
from thriftwood.forest.links import Link, Statistic
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
    read_only_copy,
)
from thriftwood.support.columns import Columns, in_own_words, same_names

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
        A sample goes left where its value, cast to `input_dtype`, is at most the threshold.
    left, right : shape (n_nodes,)
        Children, -1 at leaves.
    missing_left : shape (n_nodes,)
        Whether a missing value (NaN) goes left.
    values : shape (n_nodes, n_outputs)
        Of each node on its own: class probabilities, or what it adds to each score.
    n_features : int
        How many columns the model expects.
    combine : {"mean", "sum"}
        How the trees' values make the score of a sample: their mean, or their sum.
    classes : shape (n_classes,), optional
        Labels of the classes; None for a regressor. One for each output, or two for the one score
        of a logistic model.
    feature_names : tuple of str, optional
        Names of the columns, where the model knows them.
    input_dtype : numpy dtype
        What the library casts values to before it compares.
    bias : shape (n_outputs,), optional
        Added to the score of every sample; 0 if left out.
    link : {"identity", "logistic", "softmax", "exp"}
        What makes a prediction of a score: nothing, or the inverse link of a boosted model.
    statistic : {"mean", "median", "other"}
        What a regressor predicts of the target: its mean, its median or something near that, or
        something else: a quantile, a rank, the optimum of an objective of the user's own.
    zero_is_missing : shape (n_nodes,), optional
        Whether the split takes a value next to 0 for a missing one, as LightGBM can be told to.
    category_set : shape (n_nodes,), optional
        The set of categories that go left, -1 where a threshold decides. Every other category
        goes right, negative and unheard-of ones included; a missing value as `missing_left` says.
        A category is a whole number: what comes after the point is cut off.
    set_start : shape (n_sets + 1,), optional
    in_set : bool array, optional
        Category `c` is in set `s` where `in_set[set_start[s] + c]`, and never beyond the set's end.
    category_labels : mapping from column to labels, optional
        Which category each label of a column is, by its place: for columns that hold text, or are
        of a categorical type, in a data frame.
    gains : shape (n_nodes,), optional
        By how much each split reduced the training loss, where the library recorded that; 0 at
        leaves.
    absent : float
        What a sparse matrix means where it holds nothing: 0, or NaN for XGBoost.
    inputs : Inputs, optional
        How a pipeline makes the features of the columns that samples come with; None where the
        features are the columns.
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
    bias: FloatArray = field(default_factory=lambda: np.empty(0))
    link: Link = "identity"
    statistic: Statistic = "mean"
    zero_is_missing: BoolArray = field(default_factory=lambda: np.empty(0, np.bool_))
    category_set: IndexArray = field(default_factory=lambda: np.empty(0, np.int32))
    set_start: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))
    in_set: BoolArray = field(default_factory=lambda: np.empty(0, np.bool_))
    category_labels: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    gains: FloatArray | None = None
    absent: float = 0.0
    inputs: Inputs | None = None

    n_trees: int = field(init=False, repr=False)
    n_nodes: int = field(init=False, repr=False)
    n_splits: int = field(init=False, repr=False)
    n_outputs: int = field(init=False, repr=False)
    is_classifier: bool = field(init=False, repr=False)
    is_averaged: bool = field(init=False, repr=False)
    is_split: BoolArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Fill in arrays that were left out, make all of them read-only, and count."""
        n_nodes, n_outputs = np.shape(self.feature), np.shape(self.values)[-1:]
        own: dict[str, Any] = {name: getattr(self, name) for name in ARRAYS}
        for name, shape, usual in (
            ("bias", n_outputs, 0.0),
            ("zero_is_missing", n_nodes, False),
            ("category_set", n_nodes, NO_SET),
        ):
            own[name] = own[name] if np.size(own[name]) else np.full(shape, usual, ARRAYS[name])
        own = {name: read_only_copy(array, ARRAYS[name]) for name, array in own.items()}
        if self.gains is not None:
            own["gains"] = read_only_copy(self.gains, np.float64)
        if self.classes is not None:
            own["classes"] = read_only_copy(self.classes, None)
        is_split = own["left"] != LEAF
        own |= {
            "n_trees": len(own["tree_start"]) - 1,
            "n_nodes": len(own["feature"]),
            "n_splits": int(np.count_nonzero(is_split)),
            "n_outputs": int(*n_outputs) if n_outputs else 0,
            "is_classifier": self.classes is not None,
            # Every tree predicts on its own, and their mean is the prediction.
            "is_averaged": self.combine == "mean" and self.link == "identity",
            "is_split": read_only(is_split),
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone, without what can be computed again."""
        return {own.name: getattr(self, own.name) for own in fields(self) if own.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()  # arrays that were on disk, or in another process, can be written to

    @property
    def columns(self) -> Columns:
        """The columns that samples come with."""
        if self.inputs is not None:
            return self.inputs.columns
        return Columns(self.n_features, self.feature_names)

    def named(self, names: tuple[str, ...] | None) -> "Forest":
        """Return the forest with names of columns as the user has them."""
        known = self.columns.names
        if names is None or known == names:
            return self
        names = names if known is None else in_own_words(known, names)
        if names == known:
            return self
        if self.inputs is None:
            return replace(self, feature_names=names)
        columns = self.columns._replace(names=names)
        return replace(self, inputs=replace(self.inputs, columns=columns))

    @cached_property
    def layout(self) -> kernels.Layout:
        """The trees as kernels send batches of samples down them.

        Nodes are numbered anew: all roots first, in the order of the trees, then all nodes one
        split below, and so on. A right child is next to the left one, so that an addition leads to
        it, and a leaf leads to itself::

            number       0  1  2 | 3  4   5  6   7  8 | 9 10
            tree         0  1  2 | 0  0   1  1   2  2 | 1  1
            left         3  5  7 | 3  4   5  9   7  8 | 9 10

        A threshold of NaN stands for a split that takes more than a comparison. `splits` are the
        node arrays as they are, for one sample at a time.
        """
        kind = np.where(self.zero_is_missing, kernels.ZERO_IS_MISSING, kernels.THRESHOLD)
        kind[self.category_set != NO_SET] = kernels.CATEGORIES
        index = np.concatenate(list(self.levels()))
        number = np.empty(self.n_nodes, dtype=np.uint32)
        number[index] = np.arange(self.n_nodes, dtype=np.uint32)
        threshold = np.where(kind == kernels.THRESHOLD, self.threshold, np.nan)
        is_split = self.is_split[index]
        nodes = np.empty(self.n_nodes, dtype=kernels.NODE)
        nodes["threshold"] = np.where(is_split, threshold[index], np.inf)
        nodes["left"] = np.where(is_split, number[self.left[index]], number[index])
        nodes["feature"] = np.where(is_split, self.feature[index], 0)
        index = read_only(index.astype(np.uint32))
        splits = kernels.Splits(
            self.feature,
            self.threshold,
            self.left,
            self.right,
            self.missing_left,
            read_only(kind.astype(np.uint8)),
            self.category_set,
            self.set_start,
            self.in_set,
        )
        return kernels.Layout(read_only(nodes), index, self.tree_start, splits)

    def levels(self) -> Iterator[IndexArray]:
        """Yield the nodes level by level: all roots, then their children, side by side, ..."""
        level = self.tree_start[:-1].astype(np.int32)
        while len(level):
            yield level
            split = level[self.is_split[level]]
            level = np.column_stack([self.left[split], self.right[split]]).ravel()

    @cached_property
    def parent(self) -> IndexArray:
        """The parent of each node, -1 at roots."""
        parent = np.full(self.n_nodes, LEAF, dtype=np.int32)
        splits = np.flatnonzero(self.is_split)
        parent[self.left[splits]] = splits
        parent[self.right[splits]] = splits
        return read_only(parent)

    @cached_property
    def depth(self) -> IndexArray:
        """The number of splits above each node."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for number, level in enumerate(self.levels()):
            depth[level] = number
        return read_only(depth)

    @cached_property
    def features_at_roots(self) -> IntArray:
        """The features that some tree tests first, in order."""
        at_roots = self.feature[self.tree_start[:-1]]
        return read_only(np.unique(at_roots[at_roots != LEAF]).astype(np.int64))

    def scaled(self, factor: float) -> "Forest":
        """Return a forest whose scores are so many times as large."""
        return replace(self, values=self.values * factor, bias=self.bias * factor)

    def has_same_trees(self, other: "Forest") -> bool:
        """Return True if another forest predicts the same; names count where both know them."""
        return (
            all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ARRAYS)
            and (self.n_features, self.combine, self.link, self.statistic, self.input_dtype)
            == (other.n_features, other.combine, other.link, other.statistic, other.input_dtype)
            and dict(self.category_labels) == dict(other.category_labels)
            and np.array_equal(np.array(self.classes), np.array(other.classes))
            and same_names(self.feature_names, other.feature_names)
        )

    def tree_of(self, nodes: ArrayLike) -> IntArray:
        """Return the tree that each node belongs to."""
        return np.searchsorted(self.tree_start, nodes, side="right") - 1

    def category_mask(self, number: int) -> BoolArray:
        """Return the categories of a set, as a mask from category 0 on."""
        return self.in_set[self.set_start[number] : self.set_start[number + 1]]

    def __repr__(self) -> str:
        kind = f"{len(self.classes)} classes" if self.classes is not None else "regression"
        return (
            f"Forest({self.n_trees} trees, {self.n_nodes} nodes, {self.n_splits} splits, "
            f"{self.n_features} features, {kind})"
        )

    def check(self) -> "Forest":
        """Return the forest, or raise `ForestError` where its arrays contradict each other."""
        checks.check_arrays(self)
        for wrong, what in checks.wrong_nodes(self):
            if wrong.any():
                node = int(wrong.argmax())
                tree = int(self.tree_of(node))
                raise ForestError(f"Node {node - self.tree_start[tree]} of tree {tree} {what}.")
        return self


# The arrays of a forest, and their types; the last five may be left out.
ARRAYS = {
    "tree_start": np.int64,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
    "values": np.float64,
    "bias": np.float64,
    "zero_is_missing": np.bool_,
    "category_set": np.int32,
    "set_start": np.int64,
    "in_set": np.bool_,
}
