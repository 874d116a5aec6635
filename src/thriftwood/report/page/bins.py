"""Bars of the page: rows by what they pay, trees by how large they are."""

import math

import numpy as np

from thriftwood.support.arrays import FloatArray, IntArray

MOST_BILL_BARS = 30
MOST_TREE_BARS = 100


def bill_edges(bills: FloatArray) -> FloatArray:
    """Return the edges of bins from 0 to the largest bill, as wide as people would choose them."""
    largest = float(bills.max())
    if largest <= 0:
        return np.array([0.0, 1.0])
    width = _round_up(largest / MOST_BILL_BARS)
    n_bars = math.ceil(largest / width * (1 - 1e-12))
    return np.linspace(0.0, n_bars * width, n_bars + 1)


def _round_up(width: float) -> float:
    """Return the next of 1, 2, 2.5, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(power * step for step in (1, 2, 2.5, 5, 10, 20) if power * step >= width)


def bill_counts(bills: FloatArray, edges: FloatArray, weights: FloatArray) -> FloatArray:
    """Return how many rows fall into each bin, each as often as it counts."""
    counts, _ = np.histogram(np.minimum(bills, edges[-1]), edges, weights=weights)
    return np.asarray(counts, dtype=np.float64)


def trees_per_bar(n_trees: int) -> int:
    """Return how many trees a bar stands for: one, unless there are very many."""
    return -(-n_trees // MOST_TREE_BARS)


def bar_heights(sizes: IntArray, before: IntArray) -> FloatArray:
    """Return the sizes of trees, those that were largest before pruning first.

    Parameters
    ----------
    sizes, before : shape (n_trees,)
        Splits of each tree, now and before pruning. Where a bar stands for several trees it is
        their mean; they were of about the same size.
    """
    in_order = sizes[np.argsort(-before, kind="stable")].astype(np.float64)
    per_bar = trees_per_bar(len(sizes))
    return np.array([bar.mean() for bar in np.split(in_order, range(per_bar, len(sizes), per_bar))])
