"""Models of other libraries in and out.

Law: a `Forest` sends every row to the same leaf as the model, with the same value, or `read_forest`
raises; and reading what `write_model` wrote gives the collapsed forest.
"""

from thriftwood.adapters.fitted_models import FittedClassifier
from thriftwood.adapters.forest_models import ForestModel, forest_model
from thriftwood.adapters.registry import (
    own_prices,
    read_bootstrap,
    read_forest,
    read_stages,
    write_model,
)
from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.adapters.sklearn.ensemble import TreeAverage
from thriftwood.adapters.sklearn.grown import decision_tree

__all__ = [
    "BootstrapSamples",
    "FittedClassifier",
    "ForestModel",
    "TreeAverage",
    "decision_tree",
    "forest_model",
    "own_prices",
    "read_bootstrap",
    "read_forest",
    "read_stages",
    "write_model",
]
