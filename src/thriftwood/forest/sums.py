"""Sums over the parts of trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest.forest import Forest
from thriftwood.support.arrays import FloatArray


def sums_below(forest: Forest, amounts: NDArray[Any]) -> FloatArray:
    """Return for every node the amounts at it and at all nodes below it, added up.

    Parameters
    ----------
    forest
    amounts : shape (n_nodes, ...)
    """
    total: FloatArray = np.array(amounts, dtype=np.float64)
    for depth in range(int(forest.depth.max()), 0, -1):
        below = np.flatnonzero(forest.depth == depth)
        np.add.at(total, forest.parent[below], total[below])
    return total


def leaf_means(forest: Forest, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return for each node the weighted mean of the leaves below it; leaves keep their values.

    Parameters
    ----------
    forest : Forest
        Only its shape counts.
    values : shape (n_nodes,) or (n_nodes, n_outputs)
        Read at the leaves alone.
    weights : shape (n_nodes,)
        How much training weight each node has; read at the leaves alone.
    """
    weight = np.where(forest.is_split, 0.0, weights)
    per_output = weight.reshape(-1, *[1] * (values.ndim - 1))
    is_split = forest.is_split.reshape(per_output.shape)
    with np.errstate(divide="ignore", invalid="ignore"):  # a forest refuses what is not finite
        means = sums_below(forest, np.where(is_split, 0.0, values * per_output))
        means /= sums_below(forest, weight).reshape(per_output.shape)
    return np.where(is_split, means, values)
