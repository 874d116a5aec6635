"""The twin of `grow_tree`: the pseudo-code of BudgetRF, slow and obvious.

grow(S):  if F(S) <= 0: leaf
          for each feature f:  r_f = least over thresholds of max(F(S_left), F(S_right))
          take the f with the least price_f / (F(S) - r_f), if any gains
          grow(S_left), grow(S_right)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest import LEAF
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray
from thriftwood.training.grow import GrownTree, Growth, as_tree

# Less gain than this part of the impurity is rounding.
NOISE = 1e-12


class Candidate(NamedTuple):
    """A way to split the samples of a node."""

    feature: int
    threshold: float
    missing_left: bool
    gain: float = 0.0


@dataclass
class PlainGrower:
    """The arguments of `grow_tree`, but for the plain table X, and the nodes grown so far."""

    X: NDArray[np.float32]
    label: IndexArray
    weight: FloatArray
    n_classes: int
    growth: Growth
    seed: int
    nodes: list[dict[str, object]] = field(default_factory=list)

    def impurity(self, counts: list[float]) -> float:
        """Return F of the paper for class weights."""
        return IMPURITY[self.growth.impurity](counts, self.growth)

    def grow(self) -> GrownTree:
        """Grow the tree that `grow_tree` grows."""
        self._grow(np.flatnonzero(self.weight > 0), depth=0, bought=frozenset())
        nodes = {name: np.array([node[name] for node in self.nodes]) for name in self.nodes[0]}
        return as_tree(nodes, self.X.shape[1])

    def _grow(self, samples: IntArray, depth: int, bought: frozenset[int]) -> int:
        """Grow what is below some samples, and return its first node."""
        number = len(self.nodes)
        node: dict[str, object] = {
            "feature": LEAF,
            "threshold": 0.0,
            "left": LEAF,
            "right": LEAF,
            "missing_left": False,
            "n_samples": len(samples),
            "counts": self._counts(samples),
        }
        self.nodes.append(node)
        best = None if depth == self.growth.max_depth else self._best(samples, bought)
        if best is not None:
            goes_left = self._goes_left(samples, best)
            below = bought | {best.feature}
            node["feature"], node["threshold"] = best.feature, best.threshold
            node["missing_left"] = best.missing_left
            node["left"] = self._grow(samples[goes_left], depth + 1, below)
            node["right"] = self._grow(samples[~goes_left], depth + 1, below)
        return number

    def _best(self, samples: IntArray, bought: frozenset[int]) -> Candidate | None:
        """Return the split to take, if there is one."""
        growth = self.growth
        before = self.impurity(self._counts(samples))
        if before <= 0 or len(samples) < 2 * growth.min_samples_leaf:
            return None
        found = list(self._candidates(samples, before))
        if not found:
            return None
        cheapest = min(found, key=lambda split: self._price_per_gain(split, bought))
        owned = [split for split in found if growth.free_once_bought and split.feature in bought]
        most = min(owned, key=lambda split: (-split.gain, split.feature), default=cheapest)
        return most if most.gain >= cheapest.gain else cheapest

    def _price_per_gain(self, split: Candidate, bought: frozenset[int]) -> tuple[float, float, int]:
        """Return what makes a split cheap; of equals one that gains more, or the lower feature."""
        return self._price(split.feature, bought) / split.gain, -split.gain, split.feature

    def _price(self, feature: int, bought: frozenset[int]) -> float:
        """Return what a feature costs below others, whose cost items it may share."""
        growth, price = self.growth, float(self.growth.prices[feature])
        if growth.bundles is None or not growth.free_once_bought or feature in bought:
            return price
        start, cost_item, amount = growth.bundles
        paid = {item for other in bought for item in cost_item[start[other] : start[other + 1]]}
        for place in range(start[feature], start[feature + 1]):
            if cost_item[place] in paid:
                price -= float(amount[place])
        return max(price, 0.0)

    def _candidates(self, samples: IntArray, before: float) -> Iterator[Candidate]:
        """Yield the best split of every feature that is tried and gains something."""
        n_tried, n_useful = 0, 0
        for feature in self._draw():
            if n_tried >= (self.growth.max_features or math.inf) and n_useful > 0:
                return
            if len(np.unique(self.X[samples, feature])) == 1:
                continue
            n_tried += 1
            every = self._splits(samples, feature)
            splits = [split for split in every if self._is_allowed(samples, split)]
            left_over = [self._after(samples, split) for split in splits]
            least = min(left_over, default=math.inf)
            if before - least > NOISE * before:
                n_useful += 1
                yield splits[left_over.index(least)]._replace(gain=before - least)

    def _draw(self) -> list[int]:
        """Return the features in the order in which they are tried."""
        order = list(range(self.X.shape[1]))
        if self.growth.max_features is None or self.growth.max_features >= len(order):
            return order
        for last in range(len(order) - 1, 0, -1):
            chosen = self._random_bits() % (last + 1)
            order[last], order[chosen] = order[chosen], order[last]
        return order

    def _random_bits(self) -> int:
        """Return 64 random bits, by Vigna's splitmix64."""
        self.seed = (self.seed + 0x9E3779B97F4A7C15) % 2**64
        bits = self.seed
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
        return bits ^ (bits >> 31)

    def _splits(self, samples: IntArray, feature: int) -> Iterator[Candidate]:
        """Yield all splits of a feature."""
        values = self.X[samples, feature].astype(np.float64)
        any_missing = bool(np.isnan(values).any())
        distinct = np.unique(values[~np.isnan(values)])
        for threshold in ((distinct[:-1] + distinct[1:]) / 2).tolist():
            n_left = np.count_nonzero(values <= threshold)
            ways = [False, True] if any_missing else [bool(n_left > len(samples) - n_left)]
            for missing_left in ways:
                yield Candidate(feature, threshold, missing_left)
        if any_missing:
            yield Candidate(feature, math.inf, False)

    def _is_allowed(self, samples: IntArray, split: Candidate) -> bool:
        """Return True if the leaves of a split would be large enough."""
        goes_left = self._goes_left(samples, split)
        return all(
            len(side) >= self.growth.min_samples_leaf
            and self.weight[side].sum() >= self.growth.min_weight_leaf
            for side in (samples[goes_left], samples[~goes_left])
        )

    def _after(self, samples: IntArray, split: Candidate) -> float:
        """Return the impurity that a split leaves."""
        goes_left = self._goes_left(samples, split)
        left, right = self._counts(samples[goes_left]), self._counts(samples[~goes_left])
        of_left, of_right = self.impurity(left), self.impurity(right)
        if self.growth.impurity == "entropy":
            return (sum(left) * of_left + sum(right) * of_right) / (sum(left) + sum(right))
        return max(of_left, of_right)

    def _goes_left(self, samples: IntArray, split: Candidate) -> NDArray[np.bool_]:
        values = self.X[samples, split.feature].astype(np.float64)
        return np.where(np.isnan(values), split.missing_left, values <= split.threshold)

    def _counts(self, samples: IntArray) -> list[float]:
        counts = [0.0] * self.n_classes
        for sample in samples:
            counts[self.label[sample]] += float(self.weight[sample])
        return counts


def _pairs(counts: list[float], growth: Growth) -> float:
    above = [max(count - growth.alpha, 0.0) for count in counts]
    return sum(
        max(above[j] * above[k] - growth.alpha**2, 0.0) for j in range(len(above)) for k in range(j)
    )


def _powers(counts: list[float], growth: Growth) -> float:
    return sum(counts) ** growth.power - sum(count**growth.power for count in counts)


def _entropy(counts: list[float], growth: Growth) -> float:
    shares = [count / sum(counts) for count in counts if count > 0]
    nats = -sum(share * math.log(share) for share in shares)
    return nats if nats >= growth.alpha else 0.0


IMPURITY = {"pairs": _pairs, "powers": _powers, "entropy": _entropy}
