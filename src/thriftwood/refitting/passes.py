"""Passes over all rows and over all leaves, on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from thriftwood.refitting import kernels
from thriftwood.support.arrays import FloatArray, IndexArray
from thriftwood.support.parallel import n_threads

# Blocks are the same for any number of threads, so that sums are, to the last digit.
ROWS_IN_BLOCK = 2048
ENTRIES_IN_BLOCK = 1 << 16

Block = tuple[int, int]


class Passes:
    """The sparse matrix of leaves, both ways: from leaves to rows and from rows to leaves."""

    def __init__(self, leaves: IndexArray, n_leaves: int, run: Callable[..., Any] = map) -> None:
        self.leaves = leaves
        self.n_leaves = n_leaves
        self._run = run
        self._start, self._rows = kernels.sort_by_leaf(leaves, n_leaves)
        self._row_blocks = _blocks(np.arange(len(leaves) + 1), ROWS_IN_BLOCK)
        # An empty leaf has to be looked at, too.
        work = self._start + np.arange(n_leaves + 1)
        self._leaf_blocks = _blocks(work, ENTRIES_IN_BLOCK)

    def over_rows(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Call `work(first, last)` on blocks of all rows; return the answers in their order."""
        return list(self._run(lambda block: work(*block), self._row_blocks))

    def over_leaves(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Call `work(first, last)` on blocks of all leaves; return the answers in their order."""
        return list(self._run(lambda block: work(*block), self._leaf_blocks))

    def scores(self, values: FloatArray, bias: FloatArray, scores: FloatArray) -> None:
        """Fill the scores of all rows."""
        self.over_rows(
            lambda first, last: kernels.add_leaves(self.leaves, values, bias, first, last, scores)
        )

    def sums(self, per_row: FloatArray, sums: FloatArray) -> None:
        """Fill what the rows of each leaf have together."""
        self.over_leaves(lambda first, last: self.sums_of(per_row, first, last, sums))

    def sums_of(self, per_row: FloatArray, first: int, last: int, sums: FloatArray) -> None:
        """Fill the same for one block of leaves."""
        kernels.sum_in_leaves(self._start, self._rows, per_row, first, last, sums)


@contextmanager
def passes_over(leaves: IndexArray, n_leaves: int, n_jobs: int | None = None) -> Iterator[Passes]:
    """Yield the passes, on threads that are ended with the context."""
    most = n_threads(n_jobs)
    if most == 1:
        yield Passes(leaves, n_leaves)
        return
    with ThreadPoolExecutor(most) as pool:
        yield Passes(leaves, n_leaves, pool.map)


def _blocks(work: Any, size: int) -> list[Block]:
    """Cut things, whose work is the differences of `work`, into blocks of about equal work."""
    n_blocks = max(int(work[-1]) // size, 1)
    cuts = np.searchsorted(work, np.linspace(0, work[-1], n_blocks + 1))
    cuts[0], cuts[-1] = 0, len(work) - 1
    return [(int(a), int(b)) for a, b in pairwise(cuts) if a < b]
