"""Forests as estimators of scikit-learn, grown with prices in mind, or grown and pruned at once.

Law: fitting a pruned ensemble is nothing but growing the trees, `prune_path` and a choice on that
path, so whatever it does can be done by hand.
"""

from thriftwood.estimators.budget_forest import BudgetForestClassifier
from thriftwood.estimators.pruned_ensemble import PrunedEnsembleClassifier, PrunedEnsembleRegressor
from thriftwood.estimators.thrifty import (
    THRIFTY_FORMAT,
    ThriftyClassifier,
    ThriftyRegressor,
    load_thrifty,
)
from thriftwood.estimators.thrifty_ranker import ThriftyRanker

__all__ = [
    "THRIFTY_FORMAT",
    "BudgetForestClassifier",
    "PrunedEnsembleClassifier",
    "PrunedEnsembleRegressor",
    "ThriftyClassifier",
    "ThriftyRanker",
    "ThriftyRegressor",
    "load_thrifty",
]
