"""Consistency checks of the arrays of a forest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from thriftwood.errors import ForestError
from thriftwood.forest.kernels import LEAF, NO_SET
from thriftwood.forest.links import LINKS, STATISTICS
from thriftwood.support.arrays import BoolArray

if TYPE_CHECKING:
    from thriftwood.forest.forest import Forest

COMBINE = ("mean", "sum")
INPUTS = (np.dtype(np.float32), np.dtype(np.float64))
ROUNDING = 1e-6  # of probabilities that a library may have kept as single floats
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


def check_arrays(forest: Forest) -> None:
    """Check shapes, names and what counts for the forest as a whole."""
    if not isinstance(forest.n_features, (int, np.integer)) or forest.n_features < 1:
        raise ForestError(f"`n_features` is {forest.n_features!r}, not a number of columns.")
    n_nodes, n_outputs = forest.n_nodes, forest.n_outputs
    for name in PER_NODE:
        shape = np.shape(getattr(forest, name))
        if shape != (n_nodes,) and getattr(forest, name) is not None:
            raise ForestError(f"`{name}` has shape {shape}: one entry per node is needed.")
    start, sets, names = forest.tree_start, forest.set_start, forest.feature_names
    fits_nodes = start.ndim == 1 and len(start) >= 2 and start[0] == 0 and start[-1] == n_nodes
    smallest = np.diff(start).argmin() if fits_nodes else 0
    fits_sets = sets.ndim == 1 and len(sets) and sets[0] == 0 and (np.diff(sets) >= 0).all()
    n_classes = 1 if forest.classes is None else len(forest.classes)
    has_one_score = n_outputs == 1 and n_classes == 2 and forest.link == "logistic"
    for is_right, words in (
        (forest.input_dtype in INPUTS, "`input_dtype` must be float32 or float64."),
        (
            forest.values.ndim == 2 and len(forest.values) == n_nodes,
            f"`values` has shape {forest.values.shape}: a row per node is needed.",
        ),
        (fits_nodes, f"`tree_start` must begin with 0 and end with all nodes, {n_nodes}."),
        (
            not fits_nodes or start[smallest] < start[smallest + 1],
            f"Tree {smallest} has no node: every tree needs at least its root.",
        ),
        (fits_sets, "`set_start` must begin with 0 and never fall."),
        (
            not fits_sets or forest.in_set.shape == (sets[-1],),
            "`in_set` must have as many entries as its last set ends at.",
        ),
        (
            forest.bias.shape == (n_outputs,) and np.isfinite(forest.bias).all(),
            f"`bias` must hold {n_outputs} finite numbers, one per output.",
        ),
        (
            forest.classes is not None or n_outputs == 1,
            f"A regression forest has one value per node, this one {n_outputs}.",
        ),
        (
            n_classes == n_outputs or has_one_score,
            f"The forest has {n_classes} classes but {n_outputs} values per node.",
        ),
        (forest.combine in COMBINE, f"`combine` is {forest.combine!r}, none of {COMBINE}."),
        (forest.link in LINKS, f"`link` is {forest.link!r}, none of {LINKS}."),
        (
            forest.statistic in STATISTICS,
            f"`statistic` is {forest.statistic!r}, none of {STATISTICS}.",
        ),
        (
            names is None or len(names) == forest.n_features,
            f"The forest has {forest.n_features} features but {len(names or ())} names.",
        ),
        (
            all(0 <= column < forest.n_features for column in forest.category_labels),
            "There are labels for a column that the forest lacks.",
        ),
    ):
        if not is_right:
            raise ForestError(words)


def wrong_nodes(forest: Forest) -> Iterator[tuple[BoolArray, str]]:
    """Yield masks of nodes that contradict others, and what each of them does.

    Children stay in their tree, come after their parent, and have one parent each. What comes later
    may rely on what came before.
    """
    split, feature, chosen = forest.is_split, forest.feature, forest.category_set
    yield split != (forest.right != LEAF), "has one child: a node has two children or none"
    splits, sizes = np.flatnonzero(split), np.diff(forest.tree_start)
    first_of_tree = np.repeat(forest.tree_start[:-1], sizes)[splits]
    last_of_tree = np.repeat(forest.tree_start[1:], sizes)[splits]
    seen = np.zeros(forest.n_nodes, dtype=np.int64)
    for children in (forest.left[splits], forest.right[splits]):
        wrong = np.zeros((2, forest.n_nodes), dtype=np.bool_)
        wrong[0, splits] = (children < first_of_tree) | (children >= last_of_tree)
        yield wrong[0], "has a child outside its tree"
        wrong[1, splits] = children <= splits
        yield (
            wrong[1],
            "has a child that does not come after it: children must follow their parent, so that a "
            "walk never runs in a cycle",
        )
        np.add.at(seen, children, 1)
    yield seen > 1, "is the child of two nodes: a tree may not share children"
    seen[forest.tree_start[:-1]] += 1
    yield seen == 0, "is no root and nobody's child: no sample could ever reach it"
    yield ~split & (feature != LEAF), "is a leaf that tests a feature"
    outside = (feature < 0) | (feature >= forest.n_features)
    yield split & outside, f"tests a feature outside 0 to {forest.n_features - 1}"
    yield split & np.isnan(forest.threshold), "splits at NaN: no value is below it"
    n_sets = len(forest.set_start) - 1
    wrong_set = (chosen < NO_SET) | (chosen >= n_sets)
    yield wrong_set, f"names a set of categories outside 0 to {n_sets - 1}"
    yield ~split & (chosen != NO_SET), "is a leaf with a set of categories"
    lost = np.zeros(forest.n_nodes, dtype=np.bool_)
    lost[np.nonzero(~np.isfinite(forest.values))[0]] = True
    yield lost, "has a value that is not finite"
    if forest.is_averaged and forest.is_classifier:
        low, total = forest.values.min(axis=1), forest.values.sum(axis=1)
        no_shares = (low < -ROUNDING) | (np.abs(total - 1) > ROUNDING)
        yield no_shares, "has probabilities that are not between 0 and 1 or do not add up to 1"
    if forest.gains is not None:
        yield ~np.isfinite(forest.gains), "has a gain that is not finite"
