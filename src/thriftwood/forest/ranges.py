"""Between which bounds the leaves below each node lie."""

import numpy as np

from thriftwood.forest.forest import Forest
from thriftwood.support.arrays import FloatArray


def leaf_ranges(forest: Forest) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest value of the leaves below each node, for each output.

    Both have the shape (n_nodes, n_outputs); at leaves they are the leaf's own values.
    """
    is_split = forest.is_split[:, None]
    low = np.where(is_split, np.inf, forest.values)
    high = np.where(is_split, -np.inf, forest.values)
    for depth in range(int(forest.depth.max()), 0, -1):
        below = np.flatnonzero(forest.depth == depth)
        np.minimum.at(low, forest.parent[below], low[below])
        np.maximum.at(high, forest.parent[below], high[below])
    return low, high
