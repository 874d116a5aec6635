"""Histogram-based gradient boosting of scikit-learn.

The leaves hold what they add to the score. A split holds the same before the learning rate, and
the root 0, which is also what scikit-learn lets a tree say that it cannot split. Only after
training on the absolute error or on a quantile, where leaves get a value of their own at the end,
a split is taken for the mean of the leaves below it, weighted by their training samples.

The model puts categorical columns first and numbers the categories of each in sorted order. A
forest takes the table as the user has it: categories that are whole numbers from 0 stay what they
are, text is numbered by its place in the labels of the column. A whole number between two known
ones is unknown to both; a number with a fraction, which no training sample had, is unknown to
scikit-learn, while a forest cuts the fraction off. What scikit-learn does not know goes the way of
missing values, in a forest it goes right: so where missing values go left, the forest has the
children swapped, and in its set are the known categories that the model sends right.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters.common import (
    in_columns,
    is_marked,
    mark,
    membership,
    own_column,
    unfitted,
)
from thriftwood.adapters.sklearn_boosting import meaning_of
from thriftwood.adapters.sklearn_trees import check_node_fields
from thriftwood.errors import ForestError, UnsupportedModelError
from thriftwood.forest import LEAF, NO_SET, Forest, collapse, leaf_means
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

# What scikit-learn leaves at 0 where there is no split.
OF_SPLITS = (
    "feature_idx",
    "num_threshold",
    "missing_go_to_left",
    "left",
    "right",
    "bin_threshold",
    "is_categorical",
    "bitset_idx",
)
NODE_FIELDS = {*OF_SPLITS, "value", "count", "gain", "depth", "is_leaf"}

# Measured on the unpruned trees; empty means that nothing was measured.
STALE = ("train_score_", "validation_score_")

# A set of categories has one entry for every number up to its largest.
LARGEST_CATEGORY = 65_535


def read(model: Any) -> Forest:
    trees, nodes = _nodes_of(model)
    tree_start = np.cumsum([0, *(len(tree.nodes) for tree in trees)])
    first = np.repeat(tree_start[:-1], np.diff(tree_start))
    is_leaf, by_set = nodes["is_leaf"] != 0, _by_set(nodes)
    swapped = _swapped(nodes)
    left = np.where(swapped, nodes["right"], nodes["left"]).astype(np.int64) + first
    right = np.where(swapped, nodes["left"], nodes["right"]).astype(np.int64) + first
    columns = _user_columns(model)[nodes["feature_idx"]]
    names = getattr(model, "feature_names_in_", None)
    numbers, labels = _categories(model)
    sets = _left_sets(trees, nodes, tree_start, columns, numbers)
    n_outputs = model.n_trees_per_iteration_
    shape = Forest(
        tree_start=tree_start,
        feature=np.where(is_leaf, LEAF, columns),
        threshold=np.where(is_leaf | by_set, 0.0, nodes["num_threshold"]),
        left=np.where(is_leaf, LEAF, left),
        right=np.where(is_leaf, LEAF, right),
        missing_left=(nodes["missing_go_to_left"] != 0) & ~is_leaf & ~swapped,
        values=np.zeros((len(nodes), n_outputs)),
        n_features=model.n_features_in_,
        combine="sum",
        classes=_classes(model),
        feature_names=None if names is None else tuple(names),
        input_dtype=np.dtype(np.float64),
        bias=model._baseline_prediction.ravel(),
        category_set=np.where(by_set, np.cumsum(by_set) - 1, NO_SET),
        set_start=np.cumsum([0, *map(len, sets)]),
        in_set=np.concatenate([np.empty(0, np.bool_), *sets]),
        category_labels=labels,
        gains=np.where(is_leaf, 0.0, nodes["gain"]),
        **meaning_of(model),
    ).check()
    own = _own_values(model, trees, nodes, shape)
    return replace(shape, values=in_columns(own, shape, n_outputs))


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    forest = read(model)
    own = own_column(forest.values if values is None else values, forest)
    collapsed, origin = collapse(forest, kept)
    split = collapsed.is_split
    nodes = _nodes_of(model)[1][origin]
    swapped = _swapped(nodes)
    first = np.repeat(collapsed.tree_start[:-1], np.diff(collapsed.tree_start))
    left = np.where(swapped, collapsed.right, collapsed.left)
    right = np.where(swapped, collapsed.left, collapsed.right)
    nodes["left"] = np.where(split, left - first, 0)
    nodes["right"] = np.where(split, right - first, 0)
    nodes["value"] = np.where(split, own[origin] / model.learning_rate, own[origin])
    _mark_leaves(nodes, ~split)
    parts = iter(np.split(nodes, collapsed.tree_start[1:-1]))
    written = [
        [deepcopy(old, {id(old.nodes): next(parts).copy()}) for old in stage]
        for stage in model._predictors
    ]
    for stage in written:
        for tree in stage:
            mark(tree)
    pruned = deepcopy(model, {id(model._predictors): written})
    for name in STALE:
        setattr(pruned, name, np.empty(0))
    return pruned


def with_columns(model: Any, columns: IntArray) -> Any | None:
    """Return a copy of a model that takes only these columns; None where some had categories."""
    if model.is_categorical_ is not None:
        return None
    narrow = deepcopy(model)
    for tree in _nodes_of(narrow)[0]:
        features = np.searchsorted(columns, tree.nodes["feature_idx"])
        tree.nodes["feature_idx"] = np.where(tree.nodes["is_leaf"], 0, features)
    bins = narrow._bin_mapper
    bins.bin_thresholds_ = [bins.bin_thresholds_[column] for column in columns]
    bins.n_bins_non_missing_ = bins.n_bins_non_missing_[columns]
    bins.is_categorical_ = bins.is_categorical_[columns]
    narrow.n_features_in_ = narrow._n_features = len(columns)
    if hasattr(narrow, "feature_names_in_"):
        narrow.feature_names_in_ = narrow.feature_names_in_[columns]
    return narrow


def _nodes_of(model: Any) -> tuple[list[Any], NDArray[Any]]:
    """Return the model's own trees, and their nodes one tree after the other."""
    trees = [tree for stage in getattr(model, "_predictors", ()) for tree in stage]
    if not trees:
        raise unfitted(model)
    nodes = np.concatenate([tree.nodes for tree in trees], dtype=trees[0].nodes.dtype)
    check_node_fields(nodes, NODE_FIELDS)
    return trees, nodes


def _by_set(nodes: NDArray[Any]) -> BoolArray:
    by_set: BoolArray = (nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)
    return by_set


def _swapped(nodes: NDArray[Any]) -> BoolArray:
    """Return where a forest has the children the other way round."""
    swapped: BoolArray = _by_set(nodes) & (nodes["missing_go_to_left"] != 0)
    return swapped


def _user_columns(model: Any) -> IntArray:
    """Return the column of the user's table that each column inside the model is."""
    is_categorical = model.is_categorical_
    if is_categorical is None:
        return np.arange(model.n_features_in_)
    return np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])


def _categories(model: Any) -> tuple[dict[int, IntArray], dict[int, tuple[Any, ...]]]:
    """Return the categories of each column as the user's table numbers them, and their text."""
    numbers: dict[int, IntArray] = {}
    labels: dict[int, tuple[Any, ...]] = {}
    if model.is_categorical_ is None:
        return numbers, labels
    encoder = model._preprocessor.named_transformers_["encoder"]
    columns = np.flatnonzero(model.is_categorical_).tolist()
    for column, encoded in zip(columns, encoder.categories_, strict=True):
        known = encoded.tolist()
        if known and isinstance(known[-1], float) and np.isnan(known[-1]):
            known = known[:-1]  # missing is no category of its own
        if not all(isinstance(one, (bool, int, float)) for one in known):
            numbers[column], labels[column] = np.arange(len(known)), tuple(known)
            continue
        given = np.array(known, dtype=np.float64)
        if not ((given >= 0) & (given <= LARGEST_CATEGORY) & (given == np.floor(given))).all():
            raise UnsupportedModelError(
                f"Categories of column {column} of this {type(model).__name__} are other numbers "
                f"than 0, 1, 2 and so on up to {LARGEST_CATEGORY}: number them so, or make text of "
                "them, and train again."
            )
        numbers[column] = given.astype(np.int64)
    return numbers, labels


def _left_sets(
    trees: list[Any],
    nodes: NDArray[Any],
    tree_start: IntArray,
    columns: IntArray,
    numbers: dict[int, IntArray],
) -> list[BoolArray]:
    """Return for each split by categories a mask of those that go left in the forest."""
    places = np.flatnonzero(_by_set(nodes))
    tree_of = np.searchsorted(tree_start, places, side="right") - 1
    bitsets = np.zeros((len(places), 8), dtype="<u4")
    for number, (place, tree) in enumerate(zip(places, tree_of, strict=True)):
        known, row = trees[tree].raw_left_cat_bitsets, nodes["bitset_idx"][place]
        if row >= len(known):
            raise ForestError(
                f"Node {place - tree_start[tree]} of tree {tree} splits by categories that "
                "its tree does not hold: scikit-learn itself would read beyond its arrays."
            )
        bitsets[number] = known[row]
    bits = np.unpackbits(bitsets.view(np.uint8), axis=1, bitorder="little")
    goes_left = bits.astype(np.bool_) != _swapped(nodes)[places, None]
    of_places = [numbers[column] for column in columns[places].tolist()]
    pairs = zip(of_places, goes_left, strict=True)
    return [membership(own[left[: len(own)]]) for own, left in pairs]


def _own_values(model: Any, trees: list[Any], nodes: NDArray[Any], shape: Forest) -> FloatArray:
    """Return what each node adds to the score, or would add as a leaf."""
    stored = nodes["value"]
    as_leaves = model.learning_rate * stored
    if not model._loss.differentiable:
        marked = np.repeat([is_marked(tree) for tree in trees], np.diff(shape.tree_start))
        means = leaf_means(shape, stored[:, None], nodes["count"])[0][:, 0]
        as_leaves = np.where(marked, as_leaves, means)
    return np.where(shape.is_split, as_leaves, stored)


def _classes(model: Any) -> NDArray[Any] | None:
    classes: NDArray[Any] | None = getattr(model, "classes_", None)
    if classes is not None and len(classes) < 2:
        raise UnsupportedModelError(
            f"This {type(model).__name__} was trained on one class only, {classes[0]!r}: there is "
            "nothing to decide."
        )
    return classes


def _mark_leaves(nodes: NDArray[Any], is_leaf: BoolArray) -> None:
    """Make leaves as scikit-learn has them; those that were leaves before stay as they are."""
    is_new = is_leaf & (nodes["is_leaf"] == 0)
    nodes["is_leaf"][is_new] = 1
    nodes["gain"][is_new] = -1.0
    for name in OF_SPLITS:
        nodes[name][is_new] = 0
