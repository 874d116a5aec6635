"""What a forest says about rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.arrays import FloatArray, IndexArray
from thriftwood.forest import kernels
from thriftwood.forest.forest import Forest
from thriftwood.forest.links import predictions
from thriftwood.parallel import for_each

# Few enough to stay in fast memory while tree after tree looks at them, enough to fetch a tree for.
ROWS_AT_ONCE = 1024


def predict(forest: Forest, rows: NDArray[Any], n_jobs: int | None = None) -> FloatArray:
    """Return class probabilities, one column per class, or numbers, one column."""
    predicted = predictions(forest.link, scores(forest, rows, n_jobs))
    return predicted if forest.is_classifier else predicted[:, -1:]  # a share, if logistic


def scores(forest: Forest, rows: NDArray[Any], n_jobs: int | None = None) -> FloatArray:
    """Return the score of each output for each row, before the link.

    Parameters
    ----------
    forest
    rows : shape (n_rows, n_features)
        In the forest's `input_dtype`; missing values are NaN.
    n_jobs : int, optional
        Threads, as in scikit-learn.
    """
    total = np.zeros((len(rows), forest.n_outputs))

    def add(first: int) -> None:
        block = slice(first, first + ROWS_AT_ONCE)
        kernels.add_values(forest.splits, forest.values, forest.n_trees, rows[block], total[block])
        if forest.combine == "mean":
            total[block] /= forest.n_trees
        total[block] += forest.bias

    for_each(add, range(0, len(rows), ROWS_AT_ONCE), n_jobs)
    return total


def leaves(forest: Forest, rows: NDArray[Any], n_jobs: int | None = None) -> IndexArray:
    """Return the node that each row ends in, shape (n_rows, n_trees)."""
    found = np.empty((len(rows), forest.n_trees), dtype=np.int32)

    def find(first: int) -> None:
        block = slice(first, first + ROWS_AT_ONCE)
        kernels.leaves_of(forest.splits, rows[block], found[block])

    for_each(find, range(0, len(rows), ROWS_AT_ONCE), n_jobs)
    return found
