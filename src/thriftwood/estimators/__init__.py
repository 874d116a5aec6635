"""Pruned ensembles as estimators of scikit-learn: they fit, prune and choose the point in one call.

Law: fitting is nothing but growing the trees, `prune_path` and a choice on that path, so whatever
an estimator does can be done by hand.
"""

from thriftwood.estimators.pruned_ensemble import (
    PrunedEnsembleClassifier,
    PrunedEnsembleRegressor,
)

__all__ = ["PrunedEnsembleClassifier", "PrunedEnsembleRegressor"]
