"""Multipliers: which part of every gain each partition gets; parts add up to the gain, exactly."""

import numpy as np

from thriftwood.distributed.dual import kernels
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray

# What the multipliers of a partition may add up to, signs aside, in the whole numbers of its
# problem.
MOST_GAIN = 2**58


def first_multipliers(gains: IntArray, weight: FloatArray) -> FloatArray:
    """Divide gains, shape (n_projects,), by weight, shape (n_partitions, n_projects)."""
    return gains * _parts(weight)


def whole_multipliers(multipliers: FloatArray, gains: IntArray, scale: int) -> IntArray:
    """Return multipliers times a scale in whole numbers that add up to the gains times it."""
    whole = np.rint(multipliers * scale).astype(np.int64)
    largest = np.abs(multipliers).argmax(axis=0)
    whole[largest, np.arange(len(gains))] += gains * scale - whole.sum(axis=0)
    return whole


def largest_scale(multipliers: FloatArray) -> int:
    """Return the largest power of two that multipliers may be scaled by."""
    total = max(float(np.abs(multipliers).sum(axis=1).max(initial=0.0)), 1.0)
    return 1 << max(int(np.log2(MOST_GAIN / total)), 0)


def step_sizes(capacity: FloatArray, weight: FloatArray, requires: IndexArray) -> FloatArray:
    """Return by how much each multiplier moves per unit of tradeoff that partitions differ by.

    What a project can pay for is its capacity, the costs of its items. A gain may also be handed on
    to the items of required projects, so these lend half of theirs, by weight.
    """
    pairs = zip(capacity, weight, strict=True)
    return np.array([kernels.lend_capacity(own, there, requires) for own, there in pairs])


def moved(
    multipliers: FloatArray, drops_at: FloatArray, sizes: FloatArray, part: float
) -> FloatArray:
    """Move gains from partitions that would keep a project long to those that drop it early.

    Each multiplier goes a part of the way that would bring its partition to the mean tradeoff,
    were it alone in moving. All arrays have the shape (n_partitions, n_projects).
    """
    weight = np.where(np.isfinite(drops_at), sizes, 0.0)
    place = np.where(weight > 0, drops_at, 0.0)
    total = weight.sum(axis=0)
    mean = np.divide((weight * place).sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    after: FloatArray = multipliers + part * weight * (mean - place)
    return after


def split_by(weight: FloatArray, amounts: IntArray) -> IntArray:
    """Split whole numbers among partitions by weight, into whole numbers of the same sign."""
    size = np.abs(amounts)
    up_to = np.minimum(np.rint(np.cumsum(_parts(weight), axis=0) * size).astype(np.int64), size)
    up_to[-1] = size
    return np.sign(amounts) * np.diff(up_to, axis=0, prepend=0)


def _parts(weight: FloatArray) -> FloatArray:
    """Return weight as parts of 1; every project has some somewhere."""
    parts: FloatArray = weight / weight.sum(axis=0)
    return parts
