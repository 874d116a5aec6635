"""Models of other libraries in and out.

Law: a `Forest` sends every sample to the same leaf as the model, with the same value, or
`read_forest` raises; and reading what `write_model` wrote gives the collapsed forest. Whatever
Thriftwood hands out around a model (a `Pruned`, a fitted estimator) is read as that model.
"""

from thriftwood.adapters.common import BootstrapSamples, is_a
from thriftwood.adapters.compacting import compact_model, required_columns, trees_of_columns
from thriftwood.adapters.forest_models import FittedModel, ForestModel, forest_model
from thriftwood.adapters.pipelines import encoded_by
from thriftwood.adapters.rankers import fit_ranker, is_ranker
from thriftwood.adapters.registry import (
    buying_stages,
    check_names,
    in_pipeline_of,
    library_of,
    nested_stages,
    own_prices,
    read_bootstrap,
    read_class_weight,
    read_forest,
    read_stages,
    unwrapped,
    weight_name,
    without_pipeline,
    without_threshold,
    write_model,
)
from thriftwood.adapters.scoring import (
    ABOUT_ONE,
    ClassScore,
    Scorer,
    Scoring,
    read_scorer,
    score_predictions,
)
from thriftwood.adapters.sklearn_trees import decision_tree
