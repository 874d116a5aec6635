"""Forests as flat arrays, whatever library grew them.

Law: a `Forest` that passes `check()` can be walked from any root without leaving its tree, and
every node, inner or leaf, carries the value that the model would predict there.
"""

from thriftwood.forest import files
from thriftwood.forest.collapse import collapse, kept_by
from thriftwood.forest.forest import Forest, levels_of
from thriftwood.forest.inputs import Inputs
from thriftwood.forest.kernels import LEAF, NEXT_TO_ZERO, NO_SET, class_weights, first_tests
from thriftwood.forest.links import Link, Statistic, predictions
from thriftwood.forest.prediction import leaves, predict, scores
from thriftwood.forest.stages import (
    SKIPPED,
    StagePredictions,
    Stages,
    margins_of,
    one_stage,
    predict_stages,
)
from thriftwood.forest.traversal import (
    Routes,
    first_uses,
    leaf_means,
    preorder,
    route_samples,
    sums_below,
    value_ranges,
)

__all__ = [
    "LEAF",
    "NEXT_TO_ZERO",
    "NO_SET",
    "SKIPPED",
    "Forest",
    "Inputs",
    "Link",
    "Routes",
    "StagePredictions",
    "Stages",
    "Statistic",
    "class_weights",
    "collapse",
    "files",
    "first_tests",
    "first_uses",
    "kept_by",
    "leaf_means",
    "leaves",
    "levels_of",
    "margins_of",
    "one_stage",
    "predict",
    "predict_stages",
    "predictions",
    "preorder",
    "route_samples",
    "scores",
    "sums_below",
    "value_ranges",
]
