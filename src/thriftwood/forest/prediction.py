"""Leaves, scores and predictions of samples, in blocks on threads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest import kernels
from thriftwood.forest.forest import Forest
from thriftwood.forest.links import predictions
from thriftwood.support.arrays import FloatArray, IndexArray, read_only
from thriftwood.support.parallel import for_each, n_threads

# Samples that go down one tree before they go down the next. Fetching a tree for fewer would take
# longer than the descent, and more would not stay in fast memory until the next tree.
MIN_BLOCK = 512
MAX_BLOCK = 16_384
# So many descents at most take less time than having another thread do them, once compiled for
# such rows: in another thread, where no signal interrupts the compiler.
FEW = 1024
_compiled: set[tuple[str, bool, bool]] = set()


def predict(forest: Forest, X: NDArray[Any], n_jobs: int | None = None) -> FloatArray:
    """Return class probabilities, one column per class, or numbers, one column."""
    predicted = predictions(forest.link, scores(forest, X, n_jobs))
    return predicted if forest.is_classifier else predicted[:, -1:]  # a share, if logistic


def scores(forest: Forest, X: NDArray[Any], n_jobs: int | None = None) -> FloatArray:
    """Return the score of each output for each sample, before the link.

    X has the forest's `input_dtype`; missing values are NaN.
    """
    total = np.zeros((len(X), forest.n_outputs))

    def add(block: slice) -> None:
        kernels.add_values(forest.layout, forest.values, read_only(X[block]), total[block])
        if forest.combine == "mean":
            total[block] /= forest.n_trees
        total[block] += forest.bias

    if len(X) * forest.n_trees <= FEW and _kind(X) in _compiled:
        add(slice(None))
    else:
        blocks = _blocks(len(X), n_jobs)
        for_each(add, blocks, n_jobs)
        _compiled.update(_kind(X[block]) for block in blocks[:1])
    return total


def _kind(X: NDArray[Any]) -> tuple[str, bool, bool]:
    """Return the type and layout that a kernel is compiled for."""
    return X.dtype.str, X.flags.c_contiguous, X.flags.f_contiguous


def leaves(forest: Forest, X: NDArray[Any], n_jobs: int | None = None) -> IndexArray:
    """Return the leaf that each sample ends in, shape (n_samples, n_trees)."""
    found = np.empty((len(X), forest.n_trees), dtype=np.int32)

    def find(block: slice) -> None:
        kernels.leaves_of(forest.layout, read_only(X[block]), found[block])

    for_each(find, _blocks(len(X), n_jobs), n_jobs)
    return found


def _blocks(n_samples: int, n_jobs: int | None) -> list[slice]:
    """Cut samples into blocks, some for each thread, so that none waits long for the others."""
    size = n_samples // (4 * n_threads(n_jobs))
    size = min(max(size, MIN_BLOCK), MAX_BLOCK)
    return [slice(first, first + size) for first in range(0, n_samples, size)]
