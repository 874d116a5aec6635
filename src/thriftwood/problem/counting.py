"""On which rows each tree is judged: all of them, those it was grown on, or those it never saw."""

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import BootstrapSamples
from thriftwood.errors import InputError
from thriftwood.support.arrays import FloatArray

CountArray = NDArray[np.uint16]
ROWS = ("all", "in_bag", "out_of_bag")


def times_counted(
    rows: str, samples: BootstrapSamples | None, n_trees: int, n_samples: int
) -> CountArray:
    """Return how often each row counts in each tree, shape (n_trees, n_samples).

    Parameters
    ----------
    rows : {"all", "in_bag", "out_of_bag"}
        All rows once; the rows in a tree's sample, as often as they were drawn; the others once.
    samples : BootstrapSamples, optional
        The rows that each tree was grown on, where the model knows them.
    """
    if rows not in ROWS:
        names = ", ".join(repr(name) for name in ROWS)
        raise InputError(f"`rows` is {rows!r}: choose {names}.")
    if rows == "all":
        return once(n_trees, n_samples)
    if samples is None:
        raise InputError(
            f"The model does not know which rows its trees were grown on, so rows={rows!r} has no "
            "meaning. Use rows='all'."
        )
    if samples.n_samples != n_samples:
        raise InputError(
            f"The model was trained on {samples.n_samples} rows, but X has {n_samples}: for "
            f"rows={rows!r} pass the rows that it was trained on, in their order."
        )
    times = np.zeros((n_trees, n_samples), dtype=np.uint16)
    for tree, sample in enumerate(samples.of_trees):
        drawn = np.bincount(sample, minlength=n_samples)
        times[tree] = drawn if rows == "in_bag" else drawn == 0
    if not times.any():
        raise InputError("Every tree was grown on all rows, so none is out of bag.")
    return times


def once(n_trees: int, n_samples: int) -> CountArray:
    """Return ones for all rows of all trees, in the memory of one."""
    return np.broadcast_to(np.ones(1, dtype=np.uint16), (n_trees, n_samples))


def weight_counted(rows: str, times: CountArray, weights: FloatArray) -> float:
    """Return how much weight is counted in all trees together."""
    if rows == "all":
        return float(weights.sum()) * len(times)
    counted = float((times @ weights).sum())
    if counted == 0:
        raise InputError(f"With rows={rows!r} no row counts that has any weight.")
    return counted
