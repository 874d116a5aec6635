"""What a forest says about rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest import kernels
from thriftwood.forest.forest import Forest
from thriftwood.forest.links import predictions
from thriftwood.support.arrays import FloatArray, IndexArray
from thriftwood.support.parallel import for_each, n_threads

# Rows that walk down one tree before they walk down the next. Fetching a tree for fewer would take
# longer than their walk, and more would not stay in fast memory until the next tree.
FEWEST_ROWS = 512
MOST_ROWS = 16_384


def predict(forest: Forest, rows: NDArray[Any], n_jobs: int | None = None) -> FloatArray:
    """Return class probabilities, one column per class, or numbers, one column."""
    predicted = predictions(forest.link, scores(forest, rows, n_jobs))
    return predicted if forest.is_classifier else predicted[:, -1:]  # a share, if logistic


def scores(forest: Forest, rows: NDArray[Any], n_jobs: int | None = None) -> FloatArray:
    """Return the score of each output for each row, before the link.

    Parameters
    ----------
    forest
    rows : shape (n_samples, n_features)
        In the forest's `input_dtype`; missing values are NaN.
    n_jobs : int, optional
        Threads, as in scikit-learn.
    """
    total = np.zeros((len(rows), forest.n_outputs))

    def add(block: slice) -> None:
        kernels.add_values(
            forest.steps, forest.splits, forest.values, forest.n_trees, rows[block], total[block]
        )
        if forest.combine == "mean":
            total[block] /= forest.n_trees
        total[block] += forest.bias

    for_each(add, _blocks(len(rows), n_jobs), n_jobs)
    return total


def leaves(forest: Forest, rows: NDArray[Any], n_jobs: int | None = None) -> IndexArray:
    """Return the node that each row ends in, shape (n_samples, n_trees)."""
    found = np.empty((len(rows), forest.n_trees), dtype=np.int32)

    def find(block: slice) -> None:
        kernels.leaves_of(forest.steps, forest.splits, rows[block], found[block])

    for_each(find, _blocks(len(rows), n_jobs), n_jobs)
    return found


def _blocks(n_samples: int, n_jobs: int | None) -> list[slice]:
    """Cut rows into blocks, some for each thread, so that none waits long for the others."""
    size = n_samples // (4 * n_threads(n_jobs))
    size = min(max(size, FEWEST_ROWS), MOST_ROWS)
    return [slice(first, first + size) for first in range(0, n_samples, size)]
