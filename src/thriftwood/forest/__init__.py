"""Forests as flat arrays, whatever library grew them.

Law: a `Forest` that passes `check()` can be walked from any root without leaving its tree, and
every node, inner or leaf, carries the value that the model would predict there.
"""

from thriftwood.forest import files
from thriftwood.forest.collapse import collapse, kept_by
from thriftwood.forest.forest import Forest
from thriftwood.forest.inputs import PANDAS, POLARS, Inputs, column_of, table_of, table_with
from thriftwood.forest.kernels import LEAF, NEXT_TO_ZERO, NO_SET, class_weights, first_tests
from thriftwood.forest.links import Link, Statistic, predictions
from thriftwood.forest.lists import (
    ListPredictions,
    ListRule,
    ListWalk,
    Places,
    discounts,
    walk_lists,
    weights_of_queries,
)
from thriftwood.forest.margin_kernels import LEAST_SHARE
from thriftwood.forest.nested import (
    FeatureSet,
    NestedStages,
    gate_margins,
    load_stages,
    mask_of,
    predict_member,
    purchase_plan,
    save_stages,
)
from thriftwood.forest.prediction import leaves, predict, scores
from thriftwood.forest.stages import (
    LINK_NUMBERS,
    SKIPPED,
    StagePredictions,
    Stages,
    margins_of,
    one_stage,
    predict_stages,
    stage_parts,
    stages_from,
    stages_in_use,
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
