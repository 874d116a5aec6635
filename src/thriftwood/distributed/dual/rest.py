"""What is left to decide when shards agree on most projects: small enough to be gathered."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.closure import NOTHING, ClosureProblem
from thriftwood.distributed.dual import kernels
from thriftwood.distributed.dual.shard import Shard, join_shards, side_by_side
from thriftwood.distributed.dual.shares import split_by
from thriftwood.solvers.min_cut import min_cut
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)

# For each project whether it is kept or dropped for sure, or still open.
Status = NDArray[np.int8]
OPEN, KEPT, DROPPED = 0, 1, -1


def agreed(wanted: BoolArray, present: BoolArray, requires: IndexArray) -> Status:
    """Return what all shards agree on that have anything to say about a project.

    Parameters
    ----------
    wanted, present : shape (n_shards, n_projects)
        What each shard wants to keep, and where it has a say.
    requires : shape (n_projects,)
    """
    status = np.full(wanted.shape[1], OPEN, dtype=np.int8)
    status[(wanted | ~present).all(axis=0)] = KEPT
    status[~(wanted & present).any(axis=0)] = DROPPED
    return consistent(status, requires)


def consistent(status: Status, requires: IndexArray) -> Status:
    """Drop what requires a dropped project, and open what requires an open one."""
    lowered: Status = kernels.consistent(status, requires)
    return lowered


def rest_of(shard: Shard, status: Status) -> Shard:
    """Return what open projects need of a shard beyond what kept ones have bought."""
    is_open = status == OPEN
    bought = shard.needed_items(status == KEPT)
    stays = np.repeat(is_open, np.diff(shard.arc_start)) & ~bought[shard.arc_item]
    sparse = shard.with_arcs(stays)
    number = np.cumsum(is_open, dtype=np.int32) - 1
    required = shard.requires[is_open]
    rest = Shard(
        np.where((required == NOTHING) | ~is_open[required], NOTHING, number[required]),
        sparse.arc_start[np.append(np.flatnonzero(is_open), shard.n_projects)],
        sparse.arc_item,
        sparse.costs,
        shard.presence[is_open],
    )
    return join_shards([rest])


class Settled(NamedTuple):
    """Which open projects are kept, and the share of their gains that each shard takes.

    With these shares every shard by itself wants what is kept, fixed projects aside.
    """

    kept: BoolArray
    shares: IntArray


def settle_rest(rests: Sequence[Shard], gains: IntArray, presence: FloatArray) -> Settled:
    """Find the smallest best set of the open projects, and shares of gains that prove it.

    Parameters
    ----------
    rests : sequence of Shard
        What the open projects need in each shard.
    gains : shape (n_open,)
    presence : shape (n_shards, n_open)
    """
    arc_start, arc_item = side_by_side(rests)
    requires = rests[0].requires
    costs = np.concatenate([rest.costs for rest in rests])
    problem = ClosureProblem(gains, requires, arc_start, arc_item, costs).check()
    solution = min_cut(problem)
    flow = solution.flow
    assert flow is not None
    first_item = np.cumsum([rest.n_items for rest in rests])
    shard_of_arc = np.searchsorted(first_item, arc_item, side="right")

    paid = np.zeros(presence.shape, dtype=np.int64)
    np.add.at(paid, (shard_of_arc, problem.arc_project()), flow.to_item)
    handed_on = split_by(presence, flow.to_required)
    received = np.zeros_like(paid)
    needs_other = np.flatnonzero(requires != NOTHING)
    np.add.at(received.T, requires[needs_other], handed_on.T[needs_other])
    left = gains + (received - handed_on - paid).sum(axis=0)
    return Settled(solution.kept, paid + handed_on - received + split_by(presence, left))
