"""Prune tree ensembles optimally where features cost money, time or energy.

The public names are loaded when they are first used, so that importing the package is instant and
the compiled kernels are only read where they are needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thriftwood import datasets, errors
from thriftwood._version import __version__

if TYPE_CHECKING:
    from thriftwood import report
    from thriftwood.acquisition import LazyAnswer, LazyPredictor
    from thriftwood.adapters import ForestModel
    from thriftwood.baselines.cost_complexity import cost_complexity_path
    from thriftwood.baselines.dynamic_programming import dynamic_programming_path
    from thriftwood.baselines.size_path import SizePath
    from thriftwood.billing import FeatureBill, Receipt, feature_bill
    from thriftwood.cascade import CascadeClassifier
    from thriftwood.costs import Costs
    from thriftwood.distributed.dual.options import RowShards
    from thriftwood.estimators import (
        BudgetForestClassifier,
        PrunedEnsembleClassifier,
        PrunedEnsembleRegressor,
    )
    from thriftwood.evaluation.evaluation import Evaluation
    from thriftwood.formats import export
    from thriftwood.pruning.mixture import Mixture
    from thriftwood.pruning.path import PruningPath
    from thriftwood.pruning.prune import prune
    from thriftwood.pruning.prune_path import prune_path
    from thriftwood.pruning.pruned import Pruned
    from thriftwood.pruning.verifying import Verification, verify_pruning
    from thriftwood.solvers import DantzigWolfe

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
    "Evaluation": "thriftwood.evaluation.evaluation",
    "FeatureBill": "thriftwood.billing",
    "ForestModel": "thriftwood.adapters",
    "LazyAnswer": "thriftwood.acquisition",
    "LazyPredictor": "thriftwood.acquisition",
    "Mixture": "thriftwood.pruning.mixture",
    "Pruned": "thriftwood.pruning.pruned",
    "PrunedEnsembleClassifier": "thriftwood.estimators",
    "PrunedEnsembleRegressor": "thriftwood.estimators",
    "PruningPath": "thriftwood.pruning.path",
    "Receipt": "thriftwood.billing",
    "RowShards": "thriftwood.distributed.dual",
    "SizePath": "thriftwood.baselines.size_path",
    "Verification": "thriftwood.pruning.verifying",
    "cost_complexity_path": "thriftwood.baselines.cost_complexity",
    "dynamic_programming_path": "thriftwood.baselines.dynamic_programming",
    "feature_bill": "thriftwood.billing",
    "prune": "thriftwood.pruning.prune",
    "prune_path": "thriftwood.pruning.prune_path",
    "verify_pruning": "thriftwood.pruning.verifying",
}


def __getattr__(name: str) -> Any:
    if name == "report":  # a folder, not something in one
        return import_module("thriftwood.report")
    if name == "export":
        return import_module("thriftwood.formats.export")
    if name not in _HOME:
        raise AttributeError(f"module 'thriftwood' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
