"""Forests as flat arrays, whatever library grew them.

Law: a `Forest` that passes `check()` can be walked from any root without leaving its tree, and
every node, inner or leaf, carries the value that the model would predict there.
"""

from thriftwood.forest import files
from thriftwood.forest.collapse import collapse, is_top_of, kept_by, origin_of
from thriftwood.forest.forest import ARRAYS, Forest, levels_of
from thriftwood.forest.kernels import LEAF, NEXT_TO_ZERO, NO_SET, class_weights, first_tests
from thriftwood.forest.links import LINKS, Link, Statistic, predictions
from thriftwood.forest.prediction import leaves, predict, scores
from thriftwood.forest.stages import (
    SKIPPED,
    TIE_BREAK,
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
    "ARRAYS",
    "LEAF",
    "LINKS",
    "NEXT_TO_ZERO",
    "NO_SET",
    "SKIPPED",
    "TIE_BREAK",
    "Forest",
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
    "is_top_of",
    "kept_by",
    "leaf_means",
    "leaves",
    "levels_of",
    "margins_of",
    "one_stage",
    "origin_of",
    "predict",
    "predict_stages",
    "predictions",
    "preorder",
    "route_samples",
    "scores",
    "sums_below",
    "value_ranges",
]
