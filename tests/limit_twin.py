"""The obvious buyer with a limit: one row, plain loops, a set of what is bought."""

from typing import NamedTuple

import numpy as np
from lazy_twin import next_node

from thriftwood.billing.payments import amount_of
from thriftwood.billing.receipt import items_needed
from thriftwood.forest import predictions


class Limited(NamedTuple):
    """What a row gets within a limit."""

    stage: int
    predicted: np.ndarray
    bought: list
    bill: float


class Wallet:
    """Adds up what one row pays, each cost item once."""

    def __init__(self, prices, row, max_cost):
        self.prices, self.row, self.max_cost = prices, row, max_cost

    def items(self, features):
        return {item for one in features for item in items_needed(self.prices, one, self.row)}

    def part(self, item):
        amount = amount_of(self.prices, item)
        return amount if isinstance(amount, float) else float(amount[self.row])

    def bill(self, features, n_tests):
        items = sorted(self.items(features))
        paid = sum((self.part(item) for item in items), 0.0)
        return paid + self.prices.per_split * n_tests

    def fits(self, features, n_tests):
        return self.bill(features, n_tests) <= self.max_cost

    def adds(self, bought, feature):
        """What a feature adds to the bill, in the order of the price list."""
        entries = slice(self.prices.start[feature], self.prices.start[feature + 1])
        new = self.items([feature]) - self.items(bought)
        items = [item for item in self.prices.cost_item[entries].tolist() if item in new]
        return sum((self.part(item) for item in items), 0.0)


def within_limit(stages, values, wallet):
    """Return the answer for a row whose values are as the forest compares them."""
    bought, given_up = [], set()
    for stage in stages.in_use:
        forest = stages.forests[stage]
        reached, n_tests = descend(forest, values, wallet, bought, given_up)
        said = scores_at(forest, reached)
        seen = np.full(len(values), np.nan, values.dtype)
        seen[bought] = values[bought]
        margin = stages.margins(stage, seen[None], said[None])[0]
        if stage == stages.in_use[-1] or margin >= stages.thresholds[stage]:
            break
    predicted = predictions(forest.link, said[None])[0]
    return Limited(stage, predicted, bought, wallet.bill(bought, n_tests))


def descend(forest, values, wallet, bought, given_up):
    """Send the row down all trees of a stage, buying; return the nodes that they reach."""
    reached = forest.tree_start[:-1].tolist()
    stands, n_tests = set(), 0
    ranges = [subtree_range(forest, node) for node in range(forest.n_nodes)]
    while True:
        waiting = {}
        for tree in range(forest.n_trees):
            while tree not in stands and forest.left[reached[tree]] >= 0:
                feature = int(forest.feature[reached[tree]])
                if feature in bought and wallet.fits(bought, n_tests + 1):
                    n_tests += 1
                    reached[tree] = next_node(forest, reached[tree], values[feature])
                elif feature in bought or feature in given_up:
                    stands.add(tree)
                else:
                    waiting.setdefault(feature, []).append(tree)
                    break
        if not waiting:
            return reached, n_tests
        wanted = most_telling(forest, reached, stands, waiting, ranges, wallet, bought)
        if wallet.fits([*bought, wanted], n_tests + 1):
            bought.append(wanted)
        else:
            given_up.add(wanted)


def most_telling(forest, reached, stands, waiting, ranges, wallet, bought):
    """Return what is worth most for what it adds; what is free first, then the lower column."""
    leading = two_leading(forest, reached, stands, ranges)
    best = None
    for feature in sorted(waiting):
        worth = 0.0
        for tree in waiting[feature]:
            low, high = ranges[reached[tree]]
            worth = worth + high[leading[0]] - low[leading[0]]
            for output in leading[1:]:
                worth += high[output] - low[output]
        price = wallet.adds(bought, feature)
        key = (price == 0, worth if price == 0 else worth / price)
        if best is None or key > best[0]:
            best = key, feature
    return best[1]


def two_leading(forest, reached, stands, ranges):
    """Return the two outputs whose bounds have the highest middle."""
    if forest.n_outputs == 1:
        return [0]
    low, high = np.zeros(forest.n_outputs), np.zeros(forest.n_outputs)
    for tree, node in enumerate(reached):
        value = forest.values[node]
        own = (value, value) if tree in stands else ranges[node]
        low, high = low + own[0], high + own[1]
    divisor = forest.n_trees if forest.combine == "mean" else 1
    middle = (low / divisor + forest.bias) + (high / divisor + forest.bias)
    order = sorted(range(forest.n_outputs), key=lambda output: (-middle[output], output))
    return order[:2]


def subtree_range(forest, node):
    """Return the least and the greatest value of a node and all below it."""
    low = high = forest.values[node]
    if forest.left[node] >= 0:
        for below in (forest.left[node], forest.right[node]):
            least, greatest = subtree_range(forest, below)
            low, high = np.minimum(low, least), np.maximum(high, greatest)
    return low, high


def scores_at(forest, reached):
    """Return the scores of trees that say what these nodes say."""
    total = np.zeros(forest.n_outputs)
    for node in reached:
        total = total + forest.values[node]
    divisor = forest.n_trees if forest.combine == "mean" else 1
    return total / divisor + forest.bias
