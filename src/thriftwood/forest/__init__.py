"""Forests as flat arrays, whatever library grew them.

Law: a `Forest` that passes `check()` can be walked from any root without leaving its tree, and
every node, inner or leaf, carries the value that the model would predict there.
"""

from thriftwood.forest import files
from thriftwood.forest.collapse import collapse
from thriftwood.forest.forest import ARRAYS, Forest
from thriftwood.forest.kernels import LEAF, NEXT_TO_ZERO, NO_SET
from thriftwood.forest.links import (
    LINKS,
    Aim,
    Link,
    predictions,
)
from thriftwood.forest.matching import kept_by
from thriftwood.forest.ranges import leaf_ranges
from thriftwood.forest.scoring import leaves, predict, scores
from thriftwood.forest.stages import (
    SKIPPED,
    TIE_BREAK,
    Passage,
    Stages,
    is_top_of,
    margins_of,
    one_stage,
    pass_stages,
)
from thriftwood.forest.sums import leaf_means, sums_below

__all__ = [
    "ARRAYS",
    "LEAF",
    "LINKS",
    "NEXT_TO_ZERO",
    "NO_SET",
    "SKIPPED",
    "TIE_BREAK",
    "Aim",
    "Forest",
    "Link",
    "Passage",
    "Stages",
    "collapse",
    "files",
    "is_top_of",
    "kept_by",
    "leaf_means",
    "leaf_ranges",
    "leaves",
    "margins_of",
    "one_stage",
    "pass_stages",
    "predict",
    "predictions",
    "scores",
    "sums_below",
]
