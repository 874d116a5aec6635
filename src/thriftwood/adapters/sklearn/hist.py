"""Histogram-based gradient boosting of scikit-learn.

The leaves hold what they add to the score. A split holds the same before the learning rate, and
the root 0, which is also what scikit-learn lets a tree say that it cannot split. Only after
training on the absolute error or on a quantile, where leaves get a value of their own at the end,
a split is taken for the mean of the leaves below it, weighted by their training rows.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from thriftwood.adapters.one_output_trees import (
    in_columns,
    is_marked,
    mark,
    own_column,
)
from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.adapters.sklearn.hist_categories import (
    Categories,
    left_sets,
    read_categories,
    user_columns,
)
from thriftwood.adapters.sklearn.losses import aim_of, link_of
from thriftwood.adapters.sklearn.tree import check_fitted
from thriftwood.errors import ForestError, UnfittedModelError, UnsupportedModelError
from thriftwood.forest import (
    LEAF,
    NO_SET,
    Forest,
    collapse,
    leaf_means,
)
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)

SUPPORTED = "scikit-learn (HistGradientBoosting*)"


NODE_FIELDS = {
    "value",
    "count",
    "feature_idx",
    "num_threshold",
    "missing_go_to_left",
    "left",
    "right",
    "gain",
    "depth",
    "is_leaf",
    "bin_threshold",
    "is_categorical",
    "bitset_idx",
}

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

# Measured on the unpruned trees; empty means that nothing was measured.
STALE = ("train_score_", "validation_score_")


def reads(model: object) -> bool:
    return isinstance(model, (HistGradientBoostingClassifier, HistGradientBoostingRegressor))


def read(model: Any) -> Forest:
    return _read(model, _layout(model))


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    layout = _layout(model)
    forest = _read(model, layout)
    own = own_column(forest.values if values is None else values, forest)
    collapsed, origin = collapse(forest, kept)
    split, swapped = collapsed.is_split, layout.swapped[origin]
    nodes = layout.nodes[origin]
    first = np.repeat(collapsed.tree_start[:-1], np.diff(collapsed.tree_start))
    left = np.where(swapped, collapsed.right, collapsed.left)
    right = np.where(swapped, collapsed.left, collapsed.right)
    nodes["left"] = np.where(split, left - first, 0)
    nodes["right"] = np.where(split, right - first, 0)
    nodes["value"] = np.where(split, own[origin] / model.learning_rate, own[origin])
    _mark_leaves(nodes, ~split)
    predictors = iter(np.split(nodes, collapsed.tree_start[1:-1]))
    written = [[_predictor(old, next(predictors)) for old in stage] for stage in model._predictors]
    pruned = deepcopy(model, {id(model._predictors): written})
    for name in STALE:
        setattr(pruned, name, np.empty(0))
    return pruned


def samples(_model: Any) -> BootstrapSamples | None:
    return None


class _Layout(NamedTuple):
    """The model's own nodes, one tree after the other; and where a forest swaps the children."""

    trees: list[Any]
    nodes: NDArray[Any]
    tree_start: IntArray
    is_leaf: BoolArray
    is_categorical: BoolArray
    swapped: BoolArray


def _layout(model: Any) -> _Layout:
    check_fitted(model, "_predictors")
    trees = [tree for stage in model._predictors for tree in stage]
    if not trees:
        raise UnfittedModelError(f"This {type(model).__name__} has no tree: call its `fit`.")
    nodes = np.concatenate([tree.nodes for tree in trees])
    fields = set(nodes.dtype.names or ())
    if fields != NODE_FIELDS:
        unknown = ", ".join(sorted(fields ^ NODE_FIELDS))
        raise UnsupportedModelError(
            f"This version of scikit-learn keeps its boosted trees in another form (see {unknown}),"
            " so they cannot be read. Use a version that Thriftwood supports."
        )
    is_leaf = nodes["is_leaf"] != 0
    is_categorical = (nodes["is_categorical"] != 0) & ~is_leaf
    return _Layout(
        trees=trees,
        nodes=nodes,
        tree_start=np.cumsum([0, *(len(tree.nodes) for tree in trees)]),
        is_leaf=is_leaf,
        is_categorical=is_categorical,
        swapped=is_categorical & (nodes["missing_go_to_left"] != 0),
    )


def _read(model: Any, layout: _Layout) -> Forest:
    _, nodes, tree_start, is_leaf, is_categorical, swapped = layout
    first = np.repeat(tree_start[:-1], np.diff(tree_start))
    left = nodes["left"].astype(np.int64) + first
    right = nodes["right"].astype(np.int64) + first
    columns = user_columns(model)[nodes["feature_idx"]]
    names = getattr(model, "feature_names_in_", None)
    n_outputs = model.n_trees_per_iteration_
    categories = read_categories(model)
    chosen, set_start, in_set = _sets(layout, columns, categories)
    shape = Forest(
        tree_start=tree_start,
        feature=np.where(is_leaf, LEAF, columns),
        threshold=np.where(is_leaf | is_categorical, 0.0, nodes["num_threshold"]),
        left=np.where(is_leaf, LEAF, np.where(swapped, right, left)),
        right=np.where(is_leaf, LEAF, np.where(swapped, left, right)),
        missing_left=(nodes["missing_go_to_left"] != 0) & ~is_leaf & ~swapped,
        values=np.zeros((len(nodes), n_outputs)),
        n_features=model.n_features_in_,
        combine="sum",
        classes=_classes(model),
        feature_names=None if names is None else tuple(names),
        input_dtype=np.dtype(np.float64),
        bias=model._baseline_prediction.ravel(),
        link=link_of(model),
        aim=aim_of(model),
        category_set=chosen,
        set_start=set_start,
        in_set=in_set,
        category_labels={
            column: known.labels for column, known in categories.items() if known.labels is not None
        },
        gains=np.where(is_leaf, 0.0, nodes["gain"]),
    )
    own = _own_values(model, layout, shape.check())
    return replace(shape, values=in_columns(own, shape, n_outputs))


def _sets(
    layout: _Layout, columns: IntArray, categories: dict[int, Categories]
) -> tuple[IndexArray, IntArray, BoolArray]:
    """Return which set of categories each node has, and the sets."""
    chosen = np.full(len(layout.nodes), NO_SET, dtype=np.int32)
    places = np.flatnonzero(layout.is_categorical)
    chosen[places] = np.arange(len(places))
    tree_of = np.searchsorted(layout.tree_start, places, side="right") - 1
    bitsets = np.zeros((len(places), 8), dtype=np.uint32)
    for number, (place, tree) in enumerate(zip(places, tree_of, strict=True)):
        known = layout.trees[tree].raw_left_cat_bitsets
        row = layout.nodes["bitset_idx"][place]
        if row >= len(known):
            raise ForestError(
                f"Node {place - layout.tree_start[tree]} of tree {tree} splits by categories that "
                "its tree does not hold: scikit-learn itself would read beyond its arrays."
            )
        bitsets[number] = known[row]
    of_places = [categories[column] for column in columns[places].tolist()]
    return chosen, *left_sets(bitsets, layout.swapped[places], of_places)


def _own_values(model: Any, layout: _Layout, shape: Forest) -> FloatArray:
    """Return what each node adds to the score, or would add as a leaf."""
    stored = layout.nodes["value"]
    as_leaves = model.learning_rate * stored
    if not model._loss.differentiable:
        marked = [is_marked(tree) for tree in layout.trees]
        means = leaf_means(shape, stored, layout.nodes["count"].astype(np.float64))
        as_leaves = np.where(np.repeat(marked, np.diff(layout.tree_start)), as_leaves, means)
    return np.where(layout.is_leaf, stored, as_leaves)


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


def _predictor(old: Any, nodes: NDArray[Any]) -> Any:
    new = deepcopy(old, {id(old.nodes): nodes.copy()})
    mark(new)
    return new
