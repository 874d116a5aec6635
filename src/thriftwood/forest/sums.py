"""Sums over the parts of trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.arrays import FloatArray
from thriftwood.forest.forest import Forest


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
