"""Consistency checks of the arrays of a forest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thriftwood.errors import ForestError
from thriftwood.forest.kernels import LEAF, NO_SET
from thriftwood.forest.links import LINKS, STATISTICS
from thriftwood.support.arrays import BoolArray

if TYPE_CHECKING:
    from thriftwood.forest.forest import Forest

INPUTS = (np.dtype(np.float32), np.dtype(np.float64))
PER_NODE = (
    "feature",
    "threshold",
    "left",
    "right",
    "missing_left",
    "zero_is_missing",
    "category_set",
    "gains",
)


def check(forest: Forest) -> None:
    """Raise `ForestError` where the arrays of a forest contradict each other."""
    _check_columns(forest)
    _check_shapes(forest)
    _check_links(forest)
    _check_splits(forest)
    _check_categories(forest)
    _check_values(forest)


def _check_columns(forest: Forest) -> None:
    if not isinstance(forest.n_features, (int, np.integer)) or forest.n_features < 1:
        raise ForestError(
            f"`n_features` is {forest.n_features!r}: it is how many columns there are."
        )
    if forest.input_dtype not in INPUTS:
        raise ForestError(f"`input_dtype` is {forest.input_dtype}: values are float32 or float64.")


def _check_shapes(forest: Forest) -> None:
    n_nodes = forest.n_nodes
    for name in PER_NODE:
        shape = np.shape(getattr(forest, name))
        if shape != (n_nodes,) and getattr(forest, name) is not None:
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
    _refuse(forest, seen == 0, "is no root and nobody's child: no sample could ever reach it")


def _check_splits(forest: Forest) -> None:
    split, feature = forest.is_split, forest.feature
    _refuse(forest, ~split & (feature != LEAF), "is a leaf that tests a feature")
    _refuse(
        forest,
        split & ((feature < 0) | (feature >= forest.n_features)),
        f"tests a feature outside 0 to {forest.n_features - 1}",
    )
    _refuse(forest, split & np.isnan(forest.threshold), "splits at NaN: no value is below it")


def _check_categories(forest: Forest) -> None:
    start, chosen = forest.set_start, forest.category_set
    if start.ndim != 1 or not len(start) or start[0] != 0 or (np.diff(start) < 0).any():
        raise ForestError("`set_start` must begin with 0 and never fall.")
    if forest.in_set.shape != (start[-1],):
        raise ForestError(f"`in_set` must have {start[-1]} entries, where its last set ends.")
    _refuse(
        forest,
        (chosen < NO_SET) | (chosen >= len(start) - 1),
        f"names a set of categories outside 0 to {len(start) - 2}",
    )
    _refuse(forest, ~forest.is_split & (chosen != NO_SET), "is a leaf with a set of categories")
    for column in forest.category_labels:
        if not 0 <= column < forest.n_features:
            raise ForestError(f"There are labels for column {column}, which the forest lacks.")


def _check_values(forest: Forest) -> None:
    lost = np.zeros(forest.n_nodes, dtype=np.bool_)
    lost[np.nonzero(~np.isfinite(forest.values))[0]] = True
    _refuse(forest, lost, "has a value that is not finite")
    if forest.gains is not None:
        _refuse(forest, ~np.isfinite(forest.gains), "has a gain that is not finite")
    if forest.bias.shape != (forest.n_outputs,) or not np.isfinite(forest.bias).all():
        raise ForestError(f"`bias` must hold {forest.n_outputs} finite numbers, one per output.")
    _check_outputs(forest)
    if forest.combine not in ("mean", "sum"):
        raise ForestError(f"Trees combine by their 'mean' or 'sum', not by {forest.combine!r}.")
    if forest.link not in LINKS:
        raise ForestError(f"There is no link {forest.link!r}: choose {', '.join(LINKS)}.")
    if forest.statistic not in STATISTICS:
        known = ", ".join(STATISTICS)
        raise ForestError(f"There is no statistic {forest.statistic!r}: choose {known}.")
    names = forest.feature_names
    if names is not None and len(names) != forest.n_features:
        raise ForestError(f"The forest has {forest.n_features} features but {len(names)} names.")


def _check_outputs(forest: Forest) -> None:
    n_outputs = forest.n_outputs
    if forest.classes is None:
        if n_outputs != 1:
            raise ForestError(f"A regression forest has one value per node, this one {n_outputs}.")
        return
    n_classes = len(forest.classes)
    if n_outputs == 1 and n_classes == 2 and forest.link == "logistic":
        return
    if n_classes != n_outputs:
        raise ForestError(f"The forest has {n_classes} classes but {n_outputs} values per node.")


def _refuse(forest: Forest, wrong: BoolArray, what: str) -> None:
    """Raise for the first node of `wrong`, named by its tree and its number there."""
    bad = np.flatnonzero(wrong)
    if len(bad):
        tree = forest.tree_of(bad[:1])[0]
        node = bad[0] - forest.tree_start[tree]
        raise ForestError(f"Node {node} of tree {tree} {what}.")
