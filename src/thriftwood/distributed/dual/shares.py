"""Which share of every gain each shard gets; all shares of a gain add up to it, exactly."""

import numpy as np

from thriftwood.distributed.dual import kernels
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray

# What the gains of a shard may add up to, signs aside, in the whole numbers of its problem.
MOST_GAIN = 2**58


def first_shares(gains: IntArray, presence: FloatArray) -> FloatArray:
    """Share gains out by how much of each project there is in each shard.

    Parameters
    ----------
    gains : shape (n_projects,)
    presence : shape (n_shards, n_projects)
    """
    return gains * _parts(presence)


def whole_shares(shares: FloatArray, gains: IntArray, scale: int) -> IntArray:
    """Return shares times a scale in whole numbers that add up to the gains times it."""
    whole = np.rint(shares * scale).astype(np.int64)
    largest = np.abs(shares).argmax(axis=0)
    whole[largest, np.arange(len(gains))] += gains * scale - whole.sum(axis=0)
    return whole


def largest_scale(shares: FloatArray) -> int:
    """Return the power of two that shares can be multiplied by, so that they are finely whole."""
    total = max(float(np.abs(shares).sum(axis=1).max(initial=0.0)), 1.0)
    return 1 << max(int(np.log2(MOST_GAIN / total)), 0)


def room_to_move(capacity: FloatArray, presence: FloatArray, requires: IndexArray) -> FloatArray:
    """Return by how much each share may move per unit of price that shards differ by.

    What a project can pay for is its capacity, the costs of its items. A gain may also be handed on
    to the items of required projects, so these lend half of theirs, by presence.
    """
    return np.array(
        [
            kernels.lend_capacity(own, there, requires)
            for own, there in zip(capacity, presence, strict=True)
        ]
    )


def moved(shares: FloatArray, drop_price: FloatArray, room: FloatArray, step: float) -> FloatArray:
    """Move gains from shards that would keep a project long to those that drop it early.

    Each share moves as far as would bring its shard to the mean price, were it alone in moving.

    Parameters
    ----------
    shares, drop_price, room : shape (n_shards, n_projects)
    step : float
        Which part of the way to go.
    """
    weight = np.where(np.isfinite(drop_price), room, 0.0)
    price = np.where(weight > 0, drop_price, 0.0)
    total = weight.sum(axis=0)
    mean = np.divide((weight * price).sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    after: FloatArray = shares + step * weight * (mean - price)
    return after


def split_by(presence: FloatArray, amounts: IntArray) -> IntArray:
    """Split whole numbers among shards by presence, into whole numbers of the same sign.

    Parameters
    ----------
    presence : shape (n_shards, n_projects)
    amounts : shape (n_projects,)
    """
    size = np.abs(amounts)
    up_to = np.minimum(np.rint(np.cumsum(_parts(presence), axis=0) * size).astype(np.int64), size)
    up_to[-1] = size
    return np.sign(amounts) * np.diff(up_to, axis=0, prepend=0)


def _parts(presence: FloatArray) -> FloatArray:
    """Return presence as parts of 1; nothing is present nowhere."""
    parts: FloatArray = presence / presence.sum(axis=0)
    return parts
