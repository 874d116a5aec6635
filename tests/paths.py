"""Paths that several tests look at, on the bundled data."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

HEART = tw.datasets.load_heart()
FOREST = RandomForestClassifier(12, max_features=None, random_state=0).fit(HEART.X, HEART.y)
PATH = tw.prune_path(FOREST, HEART.X, HEART.y, costs=HEART.costs)
NHANES = tw.datasets.load_nhanes()
TRAIN, VALID = np.arange(0, 1500), np.arange(1500, 2200)


def heart_problem(model=FOREST, X=HEART.X, **options):
    return tw.pruning_problem(model, X, HEART.y, **{"costs": HEART.costs} | options)


def heart_path(model=FOREST, X=HEART.X, make=tw.prune_path, **options):
    return make(heart_problem(model, X, **options))


def assert_same_path(path, other):
    np.testing.assert_array_equal(path.drop_step, other.drop_step)
    np.testing.assert_allclose(path.tradeoffs, other.tradeoffs, rtol=1e-12)
    np.testing.assert_allclose(path.costs, other.costs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9, atol=1e-12)


def nhanes_forest_and_path():
    """Return a forest grown on some rows of NHANES, and its path."""
    X, y = NHANES.X[TRAIN], NHANES.y[TRAIN]
    forest = RandomForestClassifier(
        10, max_features=None, min_samples_leaf=2, random_state=0, n_jobs=1
    ).fit(X, y)
    return forest, tw.prune_path(forest, X, y, costs=NHANES.costs)
