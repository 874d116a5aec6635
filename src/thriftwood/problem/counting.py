"""Which samples count in which tree: all, those in its bootstrap sample, or those out of it."""

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import BootstrapSamples
from thriftwood.errors import InputError
from thriftwood.support.arrays import FloatArray
from thriftwood.support.validation import chosen

CountArray = NDArray[np.uint16]
SAMPLES = ("all", "in_bag", "out_of_bag")


def times_counted(
    samples: str, bootstrap: BootstrapSamples | None, n_trees: int, n_samples: int
) -> CountArray:
    """Return how often each sample counts in each tree, shape (n_trees, n_samples).

    All once; those in a tree's bootstrap sample, as often as drawn; or the others once.
    """
    chosen(samples, SAMPLES, "samples")
    if samples == "all":
        return once(n_trees, n_samples)
    if bootstrap is None:
        raise InputError(
            "The model does not know which samples its trees were grown on, so "
            f"samples={samples!r} has no meaning. Use samples='all'."
        )
    if bootstrap.n_samples != n_samples:
        raise InputError(
            f"The model was trained on {bootstrap.n_samples} samples, but X has {n_samples}: for "
            f"samples={samples!r} pass the samples that it was trained on, in their order."
        )
    times = np.zeros((n_trees, n_samples), dtype=np.uint16)
    for tree, drawn_by_tree in enumerate(bootstrap.of_trees):
        drawn = np.bincount(drawn_by_tree, minlength=n_samples)
        times[tree] = drawn if samples == "in_bag" else drawn == 0
    if not times.any():
        raise InputError("Every tree was grown on all samples, so none is out of bag.")
    return times


def once(n_trees: int, n_samples: int) -> CountArray:
    """Return ones for all samples of all trees, in the memory of one."""
    return np.broadcast_to(np.ones(1, dtype=np.uint16), (n_trees, n_samples))


def weight_counted(samples: str, times: CountArray, weights: FloatArray) -> float:
    """Return how much weight is counted in all trees together."""
    if samples == "all":
        return float(weights.sum()) * len(times)
    counted = float((times @ weights).sum())
    if counted == 0:
        raise InputError(f"With samples={samples!r} no sample counts that has any weight.")
    return counted
