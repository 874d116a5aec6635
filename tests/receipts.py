"""What rows pay, written down line by line: the slow, obvious version of `tw.Costs`."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from prunings import LOSSES, all_masks


class Receipts(NamedTuple):
    """What was paid for a forest on rows.

    `use` says how often each price was paid, that is by what the mean cost grows, times the weight
    of all rows, when the price goes up by 1: ("price", feature), ("fee", group), "per_split" count
    with the weights of rows; ("model", feature or group) and "per_node" count themselves.
    """

    per_row: np.ndarray  # with equal parts of what batches pay, without what the model pays
    mean: float  # weighted, with what the model pays
    by_feature: np.ndarray  # the rest as in `tw.FeatureBill`, without weights
    bought: np.ndarray
    fees: dict
    test_cost: float
    model_cost: float
    use: Counter


class Tariff:
    """The fields of `tw.Costs`, looked up one question at a time. Features go by their names."""

    def __init__(self, costs, names, n_samples):
        self.costs = costs
        self.column = {name: k for k, name in enumerate(names)}
        self.n_samples = n_samples
        self.groups = costs.groups or {}

    def price(self, row, feature):
        """What a row pays for a feature of its own."""
        special = self._of_feature(self.costs.per_sample, feature)
        if special is not None:
            return float(special[row])
        plain = self.costs.per_feature
        if plain is None:
            return 0.0 if self._something_else_is_priced else 1.0
        return float(plain[feature if isinstance(plain, Mapping) else self.column[feature]])

    def fee(self, group):
        return float((self.costs.group_fee or {}).get(group, 0))

    def upkeep(self, name):
        """What the model pays once for a feature or group."""
        prices = self.costs.per_model
        if prices is None:
            return 0.0
        if isinstance(prices, Mapping):
            return float(prices.get(name, 0))
        return float(prices[self.column[name]]) if name in self.column else 0.0

    def knows(self, row, feature):
        known = self._of_feature(self.costs.known, feature)
        return known is not None and bool(known[row])

    def batch(self, row, name):
        """Who pays for a feature or fee: the row alone, or all rows of its id."""
        shared = self.costs.shared_by
        if isinstance(shared, Mapping):
            shared = shared.get(name)
        return ("row", row) if shared is None else ("batch", shared[row])

    def rows_of(self, batch, name):
        if batch[0] == "row":
            return [batch[1]]
        return [row for row in range(self.n_samples) if self.batch(row, name) == batch]

    def prerequisites(self, feature):
        return (self.costs.requires or {}).get(feature, ())

    def groups_of(self, feature):
        return [group for group in self.groups if self._contains(group, feature)]

    def needs(self, features, row=None):
        """What must be bought for features: all that leads to them, but for what a row knows."""
        needed, waiting = set(), list(features)
        while waiting:
            feature = waiting.pop()
            if feature not in needed and (row is None or not self.knows(row, feature)):
                needed.add(feature)
                waiting.extend(self.prerequisites(feature))
        return needed

    def lines(self, features, row):
        """What a row must pay for features: (what, name, who pays)."""
        lines = set()
        for feature in self.needs(features, row):
            lines.add(("price", feature, self.batch(row, feature)))
            for group in self.groups_of(feature):
                lines.add(("fee", group, self.batch(row, group)))
        return lines

    def part(self, line):
        """What each of those pays who share a line."""
        what, name, batch = line
        sharers = self.rows_of(batch, name)
        due = self.fee(name) if what == "fee" else self.price(sharers[0], name)
        return due / len(sharers)

    def _contains(self, group, feature):
        return any(
            member == feature or (member in self.groups and self._contains(member, feature))
            for member in self.groups[group]
        )

    def _of_feature(self, field, feature):
        """Return the column of a feature in a table of rows, which may be a mapping."""
        if field is None:
            return None
        if isinstance(field, Mapping):
            return field.get(feature)
        return np.asarray(field)[:, self.column[feature]]

    @property
    def _something_else_is_priced(self):
        given = self.costs.group_fee, self.costs.per_model, self.costs.per_sample
        numbers = self.costs.per_split, self.costs.per_node
        return any(field is not None for field in given) or any(numbers)


def counted_in_bills(costs, weights, n_samples):
    """Return how much each row counts in mean bills."""
    weights = np.ones(n_samples) if weights is None else np.asarray(weights, dtype=float)
    return weights if costs.weigh_bills else np.sign(weights)


def receipts(forest, X, costs, feature_names=None, weights=None, kept=None) -> Receipts:
    """Send every row down every tree and write down what is due, each line once.

    Rows stop at splits that are not `kept`; None keeps all.
    """
    names = names_of(forest, feature_names)
    kept = forest.is_split if kept is None else kept
    n_samples = len(X)
    weights = counted_in_bills(costs, weights, n_samples)
    tariff = Tariff(costs, names, n_samples)

    lines = set()  # (what, name, who pays)
    bought = np.zeros(len(names))
    n_tests = np.zeros(n_samples)
    for row, values in enumerate(rows_as_compared(forest, X)):
        passed = [
            node for tree in range(forest.n_trees) for node in walk(forest, tree, values, kept)
        ]
        n_tests[row] = len(passed)
        asked = [names[forest.feature[node]] for node in passed]
        for feature in tariff.needs(asked, row):
            bought[tariff.column[feature]] += 1
        lines |= tariff.lines(asked, row)

    bills = costs.per_split * n_tests
    total = costs.per_split * weights @ n_tests
    use = Counter({"per_split": weights @ n_tests, "per_node": kept.sum()})
    by_feature = np.zeros(len(names))
    fees = Counter()
    for what, name, batch in lines:
        sharers = tariff.rows_of(batch, name)
        assert len({weights[row] for row in sharers}) == 1, "one weight for each batch"
        assert what == "fee" or len({tariff.price(row, name) for row in sharers}) == 1
        due = tariff.fee(name) if what == "fee" else tariff.price(sharers[0], name)
        bills[sharers] += due / len(sharers)
        total += due * weights[sharers[0]]
        use[what, name] += weights[sharers[0]]
        if what == "fee":
            fees[name] += due / n_samples
        else:
            by_feature[tariff.column[name]] += due / n_samples

    model_cost = costs.per_node * kept.sum()
    in_model = tariff.needs(names[feature] for feature in forest.feature[kept])
    in_model |= {group for feature in in_model for group in tariff.groups_of(feature)}
    for name in in_model:
        model_cost += tariff.upkeep(name)
        use["model", name] = 1
    model_cost /= costs.predictions or 1
    mean = total / weights.sum() + model_cost
    test_cost = costs.per_split * n_tests.mean()
    return Receipts(
        bills, mean, by_feature, bought / n_samples, dict(fees), test_cost, model_cost, use
    )


class Story(NamedTuple):
    """What one row pays, in the order in which it comes to that."""

    purchases: list  # (feature, tree, {name: part})
    shared: dict  # parts of what only others of its batches need
    n_tests: int


def story_of(forest, X, costs, row, feature_names=None) -> Story:
    """Send a row down tree after tree and note every feature when it is first met."""
    names = names_of(forest, feature_names)
    tariff = Tariff(costs, names, len(X))
    met_by = [
        [
            (names[forest.feature[node]], tree)
            for tree in range(forest.n_trees)
            for node in walk(forest, tree, values, forest.is_split)
        ]
        for values in rows_as_compared(forest, X)
    ]
    seen, paid, purchases = set(), set(), []
    for feature, tree in met_by[row]:
        if feature not in seen:
            new = tariff.lines([feature], row) - paid
            purchases.append((tariff.column[feature], tree, _parts(tariff, new)))
            seen.add(feature)
            paid |= new
    of_others = set()
    for other, met in enumerate(met_by):
        of_others |= {
            (what, name, batch)
            for what, name, batch in tariff.lines((feature for feature, _ in met), other)
            if batch == tariff.batch(row, name)
        }
    return Story(purchases, _parts(tariff, of_others - paid), len(met_by[row]))


def _parts(tariff, lines):
    """Return what is paid by the names of a price list, which knows groups only by their fees."""
    fees = tariff.costs.group_fee or {}
    return {
        f"feature {name}" if isinstance(name, int) else name: tariff.part((what, name, batch))
        for what, name, batch in lines
        if what == "price" or name in fees
    }


def loss_of(forest, X, y, weights=None, kept=None, loss="error"):
    """Return the mean loss over rows and trees of a pruning."""
    kept = forest.is_split if kept is None else kept
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    total = 0.0
    for values, label, weight in zip(rows_as_compared(forest, X), y, weights, strict=True):
        for tree in range(forest.n_trees):
            leaf = stop(forest, tree, values, kept)
            total += weight * LOSSES[loss](forest.values[leaf], label)
    return total / weights.sum() / forest.n_trees


def every_pruning(forest, X, y, costs, feature_names=None, weights=None, loss="error"):
    """Return kept splits, cost and loss of every pruning of a small forest."""
    return [
        (
            kept,
            receipts(forest, X, costs, feature_names, weights, kept).mean,
            loss_of(forest, X, y, weights, kept, loss),
        )
        for kept in all_masks(forest)
    ]


def least_objective(prunings, tradeoff):
    return min(loss + tradeoff * cost for _, cost, loss in prunings)


def walk(forest, tree, values, kept):
    """Return the kept splits that a row passes in a tree."""
    node = int(forest.tree_start[tree])
    passed = []
    while kept[node]:
        passed.append(node)
        node = next_node(forest, node, values)
    return passed


def stop(forest, tree, values, kept):
    """Return the node at which a row ends in a tree."""
    passed = walk(forest, tree, values, kept)
    return next_node(forest, passed[-1], values) if passed else int(forest.tree_start[tree])


def next_node(forest, node, values):
    value = values[forest.feature[node]]
    goes_left = forest.missing_left[node] if np.isnan(value) else value <= forest.threshold[node]
    return int(forest.left[node] if goes_left else forest.right[node])


def rows_as_compared(forest, X):
    return np.asarray(X).astype(forest.input_dtype)


def names_of(forest, feature_names=None):
    """Return what features are called: columns without names go by their numbers."""
    names = forest.feature_names if feature_names is None else feature_names
    return list(range(forest.n_features) if names is None else names)
