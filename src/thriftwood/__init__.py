"""Prune tree ensembles optimally where features cost money, time or energy.

The public names are loaded when they are first used, so that importing the package is instant and
the compiled kernels are only read where they are needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thriftwood import datasets, errors
from thriftwood._version import __version__

if TYPE_CHECKING:
    from thriftwood import export, report
    from thriftwood.adapters import ForestModel
    from thriftwood.billing import FeatureBill, Receipt, feature_bill
    from thriftwood.cascade import CascadeClassifier
    from thriftwood.costs import Costs
    from thriftwood.estimators import (
        BudgetForestClassifier,
        PrunedEnsembleClassifier,
        PrunedEnsembleRegressor,
    )
    from thriftwood.pruning import (
        Evaluation,
        Mixture,
        Pruned,
        PruningPath,
        SizePath,
        Verification,
        cost_complexity_path,
        dynamic_programming_path,
        prune,
        prune_path,
        verify_pruning,
    )
    from thriftwood.runtime import LazyAnswer, LazyPredictor
    from thriftwood.solvers import DantzigWolfe
    from thriftwood.solvers.shards import RowShards

__all__ = [
    "BudgetForestClassifier",
    "CascadeClassifier",
    "Costs",
    "DantzigWolfe",
    "Evaluation",
    "FeatureBill",
    "ForestModel",
    "LazyAnswer",
    "LazyPredictor",
    "Mixture",
    "Pruned",
    "PrunedEnsembleClassifier",
    "PrunedEnsembleRegressor",
    "PruningPath",
    "Receipt",
    "RowShards",
    "SizePath",
    "Verification",
    "__version__",
    "cost_complexity_path",
    "datasets",
    "dynamic_programming_path",
    "errors",
    "export",
    "feature_bill",
    "prune",
    "prune_path",
    "report",
    "verify_pruning",
]

_HOME = {
    "BudgetForestClassifier": "thriftwood.estimators",
    "CascadeClassifier": "thriftwood.cascade",
    "Costs": "thriftwood.costs",
    "DantzigWolfe": "thriftwood.solvers",
    "Evaluation": "thriftwood.pruning",
    "FeatureBill": "thriftwood.billing",
    "ForestModel": "thriftwood.adapters",
    "LazyAnswer": "thriftwood.runtime",
    "LazyPredictor": "thriftwood.runtime",
    "Mixture": "thriftwood.pruning",
    "Pruned": "thriftwood.pruning",
    "PrunedEnsembleClassifier": "thriftwood.estimators",
    "PrunedEnsembleRegressor": "thriftwood.estimators",
    "PruningPath": "thriftwood.pruning",
    "Receipt": "thriftwood.billing",
    "RowShards": "thriftwood.solvers.shards",
    "SizePath": "thriftwood.pruning",
    "Verification": "thriftwood.pruning",
    "cost_complexity_path": "thriftwood.pruning",
    "dynamic_programming_path": "thriftwood.pruning",
    "feature_bill": "thriftwood.billing",
    "prune": "thriftwood.pruning",
    "prune_path": "thriftwood.pruning",
    "verify_pruning": "thriftwood.pruning",
}


def __getattr__(name: str) -> Any:
    if name in ("export", "report"):  # folders, not something in one
        return import_module(f"thriftwood.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'thriftwood' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
