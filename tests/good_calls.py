"""A good model with good arguments, to be changed into bad ones, or into other good ones."""

from typing import Any

import numpy as np
from models import NAMES, fitted, numbers, plain_rows, two_classes

import thriftwood as tw

ROWS = plain_rows()
LABELS = two_classes(ROWS)
TARGETS = numbers(ROWS)
ONES = np.ones(90)
PRICES = [1.0, 2.5, 4.0, 8.0]
BY_NAME = dict(zip(NAMES, PRICES, strict=True))


def prune(kind: str = "random_forest_classifier", **changes: Any) -> tw.Pruned:
    """Prune a good model with good arguments, but for the changes."""
    model, X, y = fitted(kind)
    arguments = {"model": model, "X": X, "y": y, "tradeoff": 0.01, "costs": PRICES, **changes}
    return tw.prune(**arguments)


def bill(kind: str = "random_forest_classifier", **changes: Any) -> tw.FeatureBill:
    """Measure a good model with good arguments, but for the changes."""
    model, X, _ = fitted(kind)
    return tw.feature_bill(**{"model": model, "X": X, "costs": PRICES, **changes})
