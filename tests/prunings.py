"""All prunings of small forests, by the plain definitions."""

from itertools import product

import numpy as np

from thriftwood.forest import Forest

LOSSES = {
    "error": lambda p, label: float(p.argmax() != label),
    "expected_error": lambda p, label: 1 - p[label],
    "brier": lambda p, label: ((p - np.eye(len(p))[label]) ** 2).sum() / (1 + (len(p) == 2)),
}
NUMBER_LOSSES = {
    "squared_error": lambda value, target: (value[0] - target) ** 2,
    "absolute_error": lambda value, target: abs(value[0] - target),
}


def all_masks(forest):
    """Return every mask of splits that may be kept."""
    splits = np.flatnonzero(forest.is_split)
    parent = forest.parent
    for flags in product((False, True), repeat=len(splits)):
        kept = np.zeros(forest.n_nodes, dtype=bool)
        kept[splits] = flags
        if all(parent[h] < 0 or kept[parent[h]] for h in np.flatnonzero(kept)):
            yield kept


def cost_and_loss(
    forest, X, y, weights, prices, kept, loss="error", class_weight=None, weigh_bills=False
):
    """Return mean bill and loss of a pruning, by predicting each row with it.

    `loss` is a name, or a function of the values of a node and the number of a class, or a target.
    """
    lost = (LOSSES | NUMBER_LOSSES).get(loss, loss)
    total_cost = total_loss = paying = 0.0
    per_row = [1.0 if class_weight is None else class_weight.get(label, 1.0) for label in y]
    right = y if forest.classes is None else np.searchsorted(forest.classes, y)
    for row, label, weight, times in zip(X, right, weights, per_row, strict=True):
        bought = set()
        for root in forest.tree_start[:-1]:
            node = root
            while kept[node]:
                bought.add(int(forest.feature[node]))
                goes_left = row[forest.feature[node]] <= forest.threshold[node]
                node = forest.left[node] if goes_left else forest.right[node]
            total_loss += times * weight * lost(forest.values[node], label) / forest.n_trees
        pays = weight if weigh_bills else np.sign(weight)
        total_cost += pays * sum(prices[feature] for feature in bought)
        paying += pays
    return total_cost / paying, total_loss / (weights * per_row).sum()


def all_prunings(forest, X, y, weights, prices, loss="error"):
    """Return cost and loss of every pruning of a small forest."""
    for kept in all_masks(forest):
        yield cost_and_loss(forest, X, y, weights, prices, kept, loss)


def trees_alone(forest):
    """Return each tree as a forest of its own."""
    for first, last in zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True):
        own = slice(first, last)
        yield Forest(
            tree_start=[0, last - first],
            feature=forest.feature[own],
            threshold=forest.threshold[own],
            left=np.where(forest.is_split[own], forest.left[own] - first, -1),
            right=np.where(forest.is_split[own], forest.right[own] - first, -1),
            missing_left=forest.missing_left[own],
            values=forest.values[own],
            n_features=forest.n_features,
            classes=forest.classes,
        ).check()
