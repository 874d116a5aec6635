"""Estimators that grow and prune, and rows for them."""

import numpy as np
from models import numbers, plain_rows, two_classes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest

X = plain_rows()
Y = two_classes(X)
NUMBERS = numbers(X)
PRICES = np.array([5.0, 1.0, 2.0, 8.0])
WEIGHED = tw.Costs(per_feature=PRICES, weigh_bills=True)
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X))

FOREST = RandomForestClassifier(5, max_features=None, random_state=0)
NUMBER_FOREST = RandomForestRegressor(5, max_depth=4, random_state=0)
TREE = DecisionTreeClassifier(random_state=0)
NUMBER_TREE = DecisionTreeRegressor(max_depth=4, random_state=0)


def classifier(estimator=FOREST, **options):
    return tw.PrunedEnsembleClassifier(estimator, **{"costs": PRICES, **options})


def regressor(estimator=NUMBER_FOREST, **options):
    return tw.PrunedEnsembleRegressor(estimator, **{"costs": PRICES, **options})


# Whole numbers, whose sums do not depend on their order.
TREES = [(classifier, TREE, Y), (regressor, NUMBER_TREE, np.rint(NUMBERS))]


def assert_same_trees(one, other):
    first, second = read_forest(one), read_forest(other)
    np.testing.assert_array_equal(first.feature, second.feature)
    np.testing.assert_array_equal(first.threshold, second.threshold)
    np.testing.assert_allclose(first.values, second.values)
