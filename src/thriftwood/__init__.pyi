from . import datasets, errors, report
from .acquisition import LazyAnswer, LazyPredictor, LazyRanking
from .adapters import ForestModel, encoded_by
from .baselines import cost_complexity_path, dynamic_programming_path, each_tree_path
from .billing import FeatureBill, Receipt, feature_bill
from .cascade import CascadeClassifier, CascadeRanker
from .costs import Costs
from .distributed import DualDecomposition
from .estimators import (
    BudgetForestClassifier,
    PrunedEnsembleClassifier,
    PrunedEnsembleRegressor,
    ThriftyClassifier,
    ThriftyRanker,
    ThriftyRegressor,
)
from .evaluation import Evaluation
from .formats import export
from .problem import PruningProblem
from .pruning import (
    Mixture,
    Pruned,
    PruningPath,
    Verification,
    prune,
    prune_path,
    pruning_problem,
    verify_pruning,
)
from .solvers import DantzigWolfe
from .warming import warm_up

__version__: str

__all__ = [
    "BudgetForestClassifier",
    "CascadeClassifier",
    "CascadeRanker",
    "Costs",
    "DantzigWolfe",
    "DualDecomposition",
    "Evaluation",
    "FeatureBill",
    "ForestModel",
    "LazyAnswer",
    "LazyPredictor",
    "LazyRanking",
    "Mixture",
    "Pruned",
    "PrunedEnsembleClassifier",
    "PrunedEnsembleRegressor",
    "PruningPath",
    "PruningProblem",
    "Receipt",
    "ThriftyClassifier",
    "ThriftyRanker",
    "ThriftyRegressor",
    "Verification",
    "__version__",
    "cost_complexity_path",
    "datasets",
    "dynamic_programming_path",
    "each_tree_path",
    "encoded_by",
    "errors",
    "export",
    "feature_bill",
    "prune",
    "prune_path",
    "pruning_problem",
    "report",
    "verify_pruning",
    "warm_up",
]
