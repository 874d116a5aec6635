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
    from thriftwood.baselines import (
        cost_complexity_path,
        dynamic_programming_path,
        each_tree_path,
    )
    from thriftwood.billing import FeatureBill, Receipt, feature_bill
    from thriftwood.cascade import CascadeClassifier
    from thriftwood.costs import Costs
    from thriftwood.distributed import DualDecomposition
    from thriftwood.estimators import (
        BudgetForestClassifier,
        PrunedEnsembleClassifier,
        PrunedEnsembleRegressor,
    )
    from thriftwood.evaluation import Evaluation
    from thriftwood.formats import export
    from thriftwood.problem import PruningProblem
    from thriftwood.pruning import (
        Mixture,
        Pruned,
        PruningPath,
        Verification,
        prune,
        prune_path,
        pruning_problem,
        verify_pruning,
    )
    from thriftwood.solvers import DantzigWolfe

__all__ = [
    "BudgetForestClassifier",
    "CascadeClassifier",
    "Costs",
    "DantzigWolfe",
    "DualDecomposition",
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
    "PruningProblem",
    "Receipt",
    "Verification",
    "__version__",
    "cost_complexity_path",
    "datasets",
    "dynamic_programming_path",
    "each_tree_path",
    "errors",
    "export",
    "feature_bill",
    "prune",
    "prune_path",
    "pruning_problem",
    "report",
    "verify_pruning",
]

_HOME = {
    "BudgetForestClassifier": "thriftwood.estimators",
    "CascadeClassifier": "thriftwood.cascade",
    "Costs": "thriftwood.costs",
    "DantzigWolfe": "thriftwood.solvers",
    "DualDecomposition": "thriftwood.distributed",
    "Evaluation": "thriftwood.evaluation",
    "FeatureBill": "thriftwood.billing",
    "ForestModel": "thriftwood.adapters",
    "LazyAnswer": "thriftwood.acquisition",
    "LazyPredictor": "thriftwood.acquisition",
    "Mixture": "thriftwood.pruning",
    "Pruned": "thriftwood.pruning",
    "PrunedEnsembleClassifier": "thriftwood.estimators",
    "PrunedEnsembleRegressor": "thriftwood.estimators",
    "PruningPath": "thriftwood.pruning",
    "PruningProblem": "thriftwood.problem",
    "Receipt": "thriftwood.billing",
    "Verification": "thriftwood.pruning",
    "cost_complexity_path": "thriftwood.baselines",
    "dynamic_programming_path": "thriftwood.baselines",
    "each_tree_path": "thriftwood.baselines",
    "feature_bill": "thriftwood.billing",
    "prune": "thriftwood.pruning",
    "prune_path": "thriftwood.pruning",
    "pruning_problem": "thriftwood.pruning",
    "verify_pruning": "thriftwood.pruning",
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
