"""Every pruning of a small forest with its exact cost and loss: what is optimal, by brute force."""

import math
from copy import copy
from fractions import Fraction

import numpy as np

from fuzz.bills import payables
from fuzz.exact import binary, decimal, dot, whole

# Doubles that are added up are off by at most this part of what is added.
ROUNDING = 2.0**-46
LEAST = 2.0**-52  # probabilities count as at least this in the logarithmic loss


class TooLargeError(Exception):
    """The forest has too many prunings to try them all."""


class Oracle:
    """All prunings of a forest: `masks` of kept splits in bits, `costs` and `losses` of each.

    Costs count in `1 / cost_unit`, losses in `1 / loss_unit`, both whole numbers.
    """

    def __init__(self, case, most=3000):
        self.trees = case.trees
        self.bit_of = {}
        for number, tree in enumerate(self.trees):
            for node in tree.splits:
                self.bit_of[number, node] = len(self.bit_of)
        self.masks = self._all_masks(most)
        self.kept = (self.masks[:, None] >> np.arange(len(self.bit_of)) & 1).astype(np.int64)
        self.splits = [
            (self.trees[tree].feature[node], np.flatnonzero(self.trees[tree].passed[node]).tolist())
            for tree, node in self.bit_of
        ]
        self.features = [feature for feature, _ in self.splits]
        self.count_costs(case, case.weights)
        self.node_losses, self.magnitudes, self.loss_unit = node_losses(case, self.trees)
        gains = [self._gain(tree, node) for tree, node in self.bit_of]
        self.terms = [term for _, term in gains]
        of_roots = sum(own[0] for own in self.node_losses)
        self.losses = dot(
            np.column_stack([np.ones(len(self.masks), dtype=np.int64), self.kept]),
            [of_roots, *(-gain for gain, _ in gains)],
        )
        self.root_loss = float(Fraction(of_roots, self.loss_unit))
        sizes = sum(abs(one) for own in self.magnitudes for one in own)
        self.size_of_losses = float(Fraction(sizes, self.loss_unit))
        self.hull = self._hull()

    def of_drawn(self, case, drawn):
        """Return an oracle for the losses of all samples and the bills of those drawn."""
        other = copy(self)
        other.count_costs(case, [w * (n in drawn) for n, w in enumerate(case.weights)])
        other.hull = other._hull()
        return other

    def count_costs(self, case, weights):
        """Count what samples of these weights pay."""
        due, self.cost_unit = payables(case.prices, self.splits, weights, case.n_features)
        self.due_bits, self.due = np.array(list(due), dtype=np.int64), list(due.values())
        is_due = ((self.masks[:, None] & self.due_bits) != 0).astype(np.int64)
        self.costs = dot(is_due, self.due)

    def mask(self, kept):
        """Return sets of kept nodes, one a tree, as bits."""
        return sum(1 << self.bit_of[tree, node] for tree, own in enumerate(kept) for node in own)

    def place(self, mask):
        """Return which pruning has these splits."""
        (found,) = np.flatnonzero(self.masks == mask)
        return int(found)

    def cost(self, place):
        return Fraction(int(self.costs[place]), self.cost_unit)

    def loss(self, place):
        return Fraction(int(self.losses[place]), self.loss_unit)

    def n_features(self, mask):
        return len({f for bit, f in enumerate(self.features) if mask >> bit & 1})

    def excess(self, place, tradeoff):
        """Return by how much a pruning misses the least loss + tradeoff * cost, and the best."""
        tradeoff = decimal(tradeoff)
        objective = {one: self.loss(one) + tradeoff * self.cost(one) for one in self.hull}
        best = min(objective, key=objective.__getitem__)
        return self.loss(place) + tradeoff * self.cost(place) - objective[best], best

    def best_within(self, budget):
        """Return the pruning of least loss among those that cost no more than a budget."""
        most = math.floor(budget * self.cost_unit)
        within = np.array([place for place, cost in enumerate(self.costs.tolist()) if cost <= most])
        return int(within[self.losses[within].argmin()])

    def rounding(self, one, other, tradeoff=0.0):
        """Return by how much doubles may misstate the difference between two prunings."""
        differ = int(self.masks[one] ^ self.masks[other])
        terms = sum(term for bit, term in enumerate(self.terms) if differ >> bit & 1)
        paid = (self.masks[[one, other], None] & self.due_bits) != 0
        changed = np.flatnonzero(paid[0] != paid[1])
        costs = sum(self.due[item] for item in changed)
        size = Fraction(terms, self.loss_unit) + decimal(tradeoff) * Fraction(costs, self.cost_unit)
        return ROUNDING * float(size)

    def _all_masks(self, most):
        masks = np.zeros(1, dtype=np.int64)
        for number in range(len(self.trees)):
            own = np.array(self._masks_below(number, 0), dtype=np.int64)
            if len(own) * len(masks) > most:
                raise TooLargeError
            masks = (masks[:, None] | own).ravel()
        return masks

    def _masks_below(self, number, node):
        tree = self.trees[number]
        if tree.left[node] < 0:
            return [0]
        bit = 1 << self.bit_of[number, node]
        right = self._masks_below(number, tree.right[node])
        return [0] + [
            bit | one | two for one in self._masks_below(number, tree.left[node]) for two in right
        ]

    def _gain(self, number, node):
        """Return the gain of a split, and the size of the numbers that it is made of."""
        tree, lost, sizes = self.trees[number], self.node_losses[number], self.magnitudes[number]
        left, right = tree.left[node], tree.right[node]
        return lost[node] - lost[left] - lost[right], sizes[node] + sizes[left] + sizes[right]

    def _hull(self):
        """Return the prunings at the corners of the lower left hull, from rich to cheap."""
        order = sorted(range(len(self.masks)), key=lambda p: (self.costs[p], self.losses[p]))
        corners = []
        for place in order:
            x, y = int(self.costs[place]), int(self.losses[place])
            if corners and y >= corners[-1][1]:
                continue
            while len(corners) > 1 and _is_above(*corners[-2][:2], *corners[-1][:2], x, y):
                corners.pop()
            corners.append((x, y, place))
        return [place for _, _, place in reversed(corners)]


def _is_above(x0, y0, x1, y1, x2, y2):
    """Say whether the middle one of three points lies on or above the line of the others."""
    return (y1 - y0) * (x2 - x0) >= (y2 - y0) * (x1 - x0)


def node_losses(case, trees):
    """Return for every node of every tree its loss as a leaf, in whole numbers, and their unit.

    Between the two, the size of the numbers that each loss was added up from.
    """
    if case.loss == "recorded_gain":
        pairs = [
            [(lost, lost) for _, lost in sorted(_recorded(tree, 0, {}).items())] for tree in trees
        ]
        unit = sum(own[0][0] for own in pairs) or Fraction(1)
    else:
        pairs, unit = _of_samples(case, trees)
    flat = [Fraction(one) for own in pairs for pair in own for one in pair]
    numbers, common = whole([one * unit.denominator for one in flat])
    pair = iter(zip(numbers[::2], numbers[1::2], strict=True))
    found = [[next(pair) for _ in own] for own in pairs]
    lost = [[one for one, _ in own] for own in found]
    sizes = [[one for _, one in own] for own in found]
    return lost, sizes, common * unit.numerator


def _recorded(tree, node, lost):
    """Add up the gains at and below a node."""
    if tree.left[node] < 0:
        lost[node] = Fraction(0)
    else:
        below = [
            _recorded(tree, child, lost)[child] for child in (tree.left[node], tree.right[node])
        ]
        lost[node] = binary(tree.gains[node]) + sum(below)
    return lost


def _of_samples(case, trees):
    """Return loss and size of each node on its samples, and how much weight counts in them."""
    each = zip(case.weights, case.shares, strict=True)
    counted, _ = whole([decimal(one) * share for one, share in each])
    pairs, total = [], 0
    for number, tree in enumerate(trees):
        times = case.times[number] if case.times is not None else [1] * len(counted)
        weight = [one * int(often) for one, often in zip(counted, times, strict=True)]
        total += sum(weight)
        add_up = _of_classes if case.is_classifier else _of_numbers
        pairs.append(add_up(case, tree, weight))
    return pairs, Fraction(total)


def _of_classes(case, tree, weight):
    """Add up class by class what predicting with each node costs."""
    pairs = []
    for node, values in enumerate(tree.values):
        per_class = [0] * len(values)
        for sample in np.flatnonzero(tree.passed[node]):
            per_class[case.labels[sample]] += weight[sample]
        table = class_losses(case.loss, values, case)
        lost = sum(one * cost for one, cost in zip(per_class, table, strict=True) if one)
        # Brier's score is added up from numbers of about 1, however small it is.
        pairs.append((lost, sum(per_class) if case.loss == "brier" else lost))
    return pairs


def class_losses(loss, values, case=None):
    """Return what a node with these probabilities loses on a sample of each class."""
    if loss == "error_costs":
        costs = [decimal(case.error_costs[label]) for label in case.model.classes_.tolist()]
        wrong = [binary(one) * cost for one, cost in zip(values, costs, strict=True)]
        answer = wrong.index(max(wrong))  # of all others together, least is paid
        return [Fraction(0) if label == answer else cost for label, cost in enumerate(costs)]
    if loss == "error":
        return [Fraction(int(label != values.argmax())) for label in range(len(values))]
    if loss == "log_loss":
        return [binary(-math.log(min(max(one, LEAST), 1.0))) for one in values]
    exact = [binary(one) for one in values]
    if loss == "expected_error":
        return [1 - one for one in exact]
    squares = sum(one**2 for one in exact)
    return [(squares - 2 * one + 1) / (2 if len(values) == 2 else 1) for one in exact]


def _of_numbers(case, tree, weight):
    """Add up squared or absolute distances of targets from what a node says."""
    numbers, unit = whole([binary(one) for one in [*tree.values[:, 0], *case.y]])
    said, target = numbers[: len(tree.values)], numbers[len(tree.values) :]
    power = 2 if case.loss == "squared_error" else 1
    pairs = []
    for node, says in enumerate(said):
        samples = np.flatnonzero(tree.passed[node])
        lost = sum(weight[one] * abs(says - target[one]) ** power for one in samples)
        pairs.append((Fraction(lost, unit**power),) * 2)
    return pairs
