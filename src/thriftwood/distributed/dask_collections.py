"""Partitions of Dask collections: samples, labels and weights that belong together."""

from math import isnan
from typing import Any

import dask
import numpy as np
from dask.array import Array

from thriftwood.distributed.partitions import check_length, slicer
from thriftwood.errors import InputError

ADVICE = "pass a Dask array or series with the same partitions as X"


def partitions_of(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return samples, labels and weights of each partition as the user sees it; read nothing.

    Each is a delayed object, or lies in memory. Where Dask knows how long partitions are, labels
    and weights are cut like X; otherwise they must have its partitions.
    """
    if X.ndim != 2:
        raise InputError(
            f"X has {X.ndim} dimension(s), but samples and features are needed: "
            "pass a Dask array of shape (n_samples, n_features)."
        )
    if y is None:
        raise InputError(f"`y` is None: {ADVICE}.")
    samples, lengths = _delayed(X), _lengths(X)
    if not samples:
        raise InputError("X has no partitions: at least one sample is needed.")
    labels = _cut_like_samples("y", y, lengths, len(samples))
    weights = _cut_like_samples("sample_weight", sample_weight, lengths, len(samples))
    return list(zip(samples, labels, weights, strict=True))


def _cut_like_samples(
    name: str, values: Any, lengths: tuple[int, ...] | None, n_partitions: int
) -> list[Any]:
    """Return labels or weights of each partition."""
    if values is None:
        return [None] * n_partitions
    if not dask.is_dask_collection(values):
        if lengths is None:
            raise InputError(
                f"`{name}` is in memory, but Dask does not know how long the partitions of X are: "
                f"{ADVICE}."
            )
        check_length(name, values, sum(lengths))
        take = slicer(values)
        stops = np.cumsum(lengths).tolist()
        return [take(stop - length, stop) for stop, length in zip(stops, lengths, strict=True)]
    if not isinstance(getattr(values, "ndim", None), int):
        raise InputError(f"`{name}` is a Dask {type(values).__name__}: {ADVICE}.")
    own = _lengths(values)
    if own is not None and lengths is not None and own != lengths:
        if sum(own) != sum(lengths):
            check_length(name, range(sum(own)), sum(lengths))
        values = values.rechunk({0: lengths})
    delayed = _delayed(values)
    if len(delayed) != n_partitions:
        raise InputError(
            f"X has {n_partitions} partitions, but `{name}` has {len(delayed)}, and Dask does not "
            f"know how long all of them are: {ADVICE}, or call compute_chunk_sizes() on arrays."
        )
    return delayed


def _lengths(values: Any) -> tuple[int, ...] | None:
    """Return the number of samples in each partition; None where Dask does not know."""
    if not isinstance(values, Array):
        return None
    lengths: tuple[int, ...] = values.chunks[0]
    return None if any(map(isnan, lengths)) else lengths


def _delayed(values: Any) -> list[Any]:
    """Return the partitions of a collection.

    Tasks are not fused: then a source that X, y and the weights have in common is read once, and
    they surely belong together even if it would give others the next time.
    """
    if isinstance(values, Array):
        if values.ndim > 1:
            values = values.rechunk({1: -1})
        return list(values.to_delayed(optimize_graph=False).ravel())
    # A data frame reads no columns that nobody needs, but then Dask likes to join small partitions:
    # those of X and of y differently.
    with dask.config.set({"optimization.tune.active": False}):
        optimized = values.optimize(fuse=False)
    as_seen = optimized if optimized.npartitions == values.npartitions else values
    return list(as_seen.to_delayed(optimize_graph=False))
