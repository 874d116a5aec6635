"""What a node of a tree says, in few words."""

from __future__ import annotations

import math

import numpy as np

from thriftwood.forest import NO_SET, Forest
from thriftwood.support.axes import shortened, shortened_inside

MOST_LETTERS = 14  # of a name, a label, a set
MOST_CATEGORIES = 3
MOST_NUMBERS = 3  # of a leaf that says several


def question(forest: Forest, node: int) -> tuple[str, str]:
    """Return the name of the feature that a split tests, and the test: who passes goes left.

    Where missing values go is not said: most trees have a side for them whether or not any are.
    """
    feature = int(forest.feature[node])
    name = forest.feature_names[feature] if forest.feature_names else f"feature {feature}"
    return shortened_inside(name, MOST_LETTERS), shortened(_test(forest, node), MOST_LETTERS)


def saying(forest: Forest, node: int) -> str:
    """Return what a node predicts where it is a leaf.

    The class and its share, or the number; in a boosted model what it adds to the score.
    """
    values = forest.values[node]
    if not forest.is_averaged:
        return _addition(forest, node)
    if forest.classes is not None:
        best = int(values.argmax())
        return f"{shortened_inside(str(forest.classes[best]), MOST_LETTERS)}\n{values[best]:.2f}"
    numbers = [f"{value:.4g}" for value in values[:MOST_NUMBERS]]
    return ", ".join(numbers) + (", …" if len(values) > MOST_NUMBERS else "")


def _test(forest: Forest, node: int) -> str:
    if forest.category_set[node] != NO_SET:
        return f"in {_categories(forest, node)}"
    threshold = float(forest.threshold[node])
    if threshold == math.inf:
        return "is known"  # every value passes; only a missing one may not
    return f"≤ {threshold:.4g}"


def _categories(forest: Forest, node: int) -> str:
    chosen = forest.category_set[node]
    members = forest.in_set[forest.set_start[chosen] : forest.set_start[chosen + 1]]
    labels = forest.category_labels.get(int(forest.feature[node]), ())
    categories = np.flatnonzero(members).tolist()
    words = [str(labels[one]) if one < len(labels) else str(one) for one in categories]
    more = ["…"] if len(words) > MOST_CATEGORIES else []
    return "{" + ", ".join(words[:MOST_CATEGORIES] + more) + "}"


def _addition(forest: Forest, node: int) -> str:
    """Return the largest number that a node adds, and to the score of which class."""
    values = forest.values[node]
    best = int(np.abs(values).argmax())
    if forest.classes is None or len(values) == 1:
        return f"{values[best]:+.3g}"
    return f"{shortened_inside(str(forest.classes[best]), MOST_LETTERS)}\n{values[best]:+.3g}"
