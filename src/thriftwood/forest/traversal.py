"""Amounts passed up trees, level by level: sums, means and ranges of what lies below each node."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest.forest import Forest
from thriftwood.support.arrays import FloatArray, IndexArray


def _splits_bottom_up(forest: Forest) -> list[IndexArray]:
    """Return the splits level by level, the deepest level first."""
    return [level[forest.is_split[level]] for level in forest.levels()][::-1]


def sums_below(forest: Forest, amounts: NDArray[Any]) -> FloatArray:
    """Return for every node the sum of the amounts, shape (n_nodes, ...), at it and below it."""
    total: FloatArray = np.array(amounts, dtype=np.float64)
    for split in _splits_bottom_up(forest):
        total[split] += total[forest.left[split]]
        total[split] += total[forest.right[split]]
    return total


def leaf_means(forest: Forest, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return for each node the weighted mean of the leaves below it; leaves keep their values.

    `values`, shape (n_nodes,) or (n_nodes, n_outputs), and `weights` are read at leaves alone.
    """
    weight = np.where(forest.is_split, 0.0, weights)
    per_output = weight.reshape(-1, *[1] * (values.ndim - 1))
    is_split = forest.is_split.reshape(per_output.shape)
    with np.errstate(divide="ignore", invalid="ignore"):  # a forest refuses what is not finite
        means = sums_below(forest, np.where(is_split, 0.0, values * per_output))
        means /= sums_below(forest, weight).reshape(per_output.shape)
    return np.where(is_split, means, values)


def leaf_ranges(forest: Forest) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest value of the leaves at or below each node, per output."""
    low, high = forest.values.copy(), forest.values.copy()
    for split in _splits_bottom_up(forest):
        left, right = forest.left[split], forest.right[split]
        low[split] = np.minimum(low[left], low[right])
        high[split] = np.maximum(high[left], high[right])
    return low, high
