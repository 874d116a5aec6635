"""Points of a frontier as arrays: figures of nested prunings, and the tradeoffs where each is best.

Sums over nested points are taken from the last one back.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np

from thriftwood.closure import from_the_end
from thriftwood.costs import PriceList
from thriftwood.forest import Forest
from thriftwood.support.arrays import (
    FloatArray,
    IndexArray,
    IntArray,
)
from thriftwood.support.validation import one_number_from_zero

MOST_DIGITS = 17  # that a double has
FEWEST_DIGITS = 4  # that people get to read
MARGIN = 0.1  # how much of an interval stays free at either end


@dataclass(frozen=True)
class Figures:
    """Cost and loss of a forest on the samples it was pruned on.

    Attributes
    ----------
    cost : float
        Mean bill of a sample: the prices of the features that it buys, each once.
    loss : float
        Loss of a sample, averaged over samples and trees; of a boosted model as `loss_name` says.
    n_splits : int
    n_features : int
        How many features any split tests; of a pipeline, how many columns they are made of.
    """

    cost: float
    loss: float
    n_splits: int
    n_features: int


def nested_figures(
    forest: Forest,
    prices: PriceList,
    losses: FloatArray,
    drop_step: IndexArray,
    n_points: int,
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return for each point the loss of its leaves, its splits and the columns they need.

    Point `i` keeps the splits with a `drop_step` of at least `i`; it is -1 at leaves. `losses` is
    what each node would lose as a leaf.
    """
    split = np.flatnonzero(forest.is_split)
    step = drop_step[split]
    # A node is a leaf from where it drops to where its parent does. Losses rise on the way, so they
    # are added up from the rich end: nothing small is left over from something large.
    parent = forest.parent
    from_point, to_point = drop_step + 1, np.where(parent < 0, n_points, drop_step[parent] + 1)
    ever = np.flatnonzero(from_point < to_point)
    change = np.bincount(from_point[ever], losses[ever], n_points + 1)
    change -= np.bincount(to_point[ever], losses[ever], n_points + 1)
    least = float(np.minimum(losses, 0.0).sum())  # of any leaves; below is only rounding
    lost = np.maximum(np.cumsum(change[:-1]), least)
    last_of_feature = np.full(forest.n_features, -1, dtype=np.int32)
    np.maximum.at(last_of_feature, forest.feature[split], step)
    last_use = prices.last_by_column(last_of_feature)
    n_splits, n_features = (
        from_the_end(np.bincount(one + 1, minlength=n_points + 1)[1:]) for one in (step, last_use)
    )
    return lost, n_splits, n_features


def read_tradeoff(tradeoff: Any) -> float:
    """Return the user's tradeoff as a number, or refuse it."""
    return one_number_from_zero(
        tradeoff, "tradeoff", "At 0 cost does not matter, the larger it is the more is pruned."
    )


def tradeoffs_of(tradeoffs: FloatArray, point: int) -> tuple[float, float]:
    """Return the interval of tradeoffs where a point is optimal; the last has no end."""
    is_last = point + 1 == len(tradeoffs)
    return float(tradeoffs[point]), math.inf if is_last else float(tradeoffs[point + 1])


def tradeoff_inside(tradeoffs: FloatArray, point: int) -> float:
    """Return a tradeoff well inside those for which a point is optimal, with few digits to copy."""
    low, high = tradeoffs_of(tradeoffs, point)
    if math.isinf(high):
        high = 3 * low or 2.0
    middle, margin = (low + high) / 2, MARGIN * (high - low)
    for digits in range(1, MOST_DIGITS):
        rounded = float(f"{middle:.{digits}g}")
        if low + margin <= rounded <= high - margin:
            return rounded
    return middle


def interval_in_words(low: float, high: float) -> str:
    """Return the tradeoffs from one to another in words, in digits enough to tell the two apart.

    The ends are rounded inwards: whoever types one gets the point whose tradeoffs these are.
    """
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        first, last = _at_least(low, digits), _below(high, digits)
        if first < last:
            end = "on" if math.isinf(high) else f"to {last:.{digits}g}"
            return f"from {first:.{digits}g} {end}"
    return f"at {low!r}"  # the next double is the next point's


def _at_least(number: float, digits: int) -> float:
    return float(Context(digits, ROUND_CEILING).create_decimal(repr(number)))


def _below(number: float, digits: int) -> float:
    """Return the largest number of so many digits that is smaller; of infinity that itself."""
    if math.isinf(number):
        return number
    return float(Context(digits).next_minus(Decimal(repr(number))))
