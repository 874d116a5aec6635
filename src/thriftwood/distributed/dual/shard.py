"""A part of the items of a problem: shards share the projects, and no item lies in two of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.closure import (
    LARGEST_TOTAL,
    ClosureProblem,
    ScaledLambda,
    exact_sum,
    kernels,
    last_needed,
)
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
    read_only_copy,
)


@dataclass(frozen=True, eq=False)
class Shard:
    """What all projects need of one part of the items; gains belong to all shards together.

    Arrays are those of a `ClosureProblem`. Items that exactly the same projects need are bought
    together, so that a shard grows much more slowly than what it was made of.

    Attributes
    ----------
    requires : shape (n_projects,)
    arc_start : shape (n_projects + 1,)
    arc_item : shape (n_arcs,)
    costs : shape (n_items,)
        Real numbers while a shard is made, and whole ones, by `in_units`, once it is known what
        all shards cost together: only these make a problem.
    presence : shape (n_projects,)
        How much of each project there is in this shard, in a unit that all shards share. Where
        there is none the shard has nothing to say about the project.
    """

    requires: IndexArray
    arc_start: IntArray
    arc_item: IndexArray
    costs: NDArray[Any]
    presence: FloatArray

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            object.__setattr__(self, name, read_only_copy(getattr(self, name), dtype))

    @property
    def n_projects(self) -> int:
        return len(self.requires)

    @property
    def n_items(self) -> int:
        return len(self.costs)

    @property
    def n_arcs(self) -> int:
        return len(self.arc_item)

    def with_gains(self, gains: IntArray) -> ClosureProblem:
        """Return the closure problem of this shard, for its share of the gains."""
        needs = (self.requires, self.arc_start, self.arc_item, self.costs)
        return ClosureProblem(gains, *needs).check()

    def in_units(self, per_unit: float) -> "Shard":
        """Return the same shard with costs as whole numbers of units, 1 at least."""
        whole = np.rint(self.costs * per_unit).astype(np.int64)
        return replace(self, costs=read_only(np.maximum(whole, self.costs > 0)))

    def without_free_items(self) -> "Shard":
        """Return the same shard without items that cost nothing."""
        return self.with_arcs(self.costs[self.arc_item] > 0)

    def with_arcs(self, stays: BoolArray) -> "Shard":
        """Return the same shard with some of its arcs, and the items that these lead to."""
        needs = kernels.leave_out(self.arc_start, self.arc_item, self.costs, stays)
        arc_start, arc_item, costs = map(read_only, needs)
        return replace(self, arc_start=arc_start, arc_item=arc_item, costs=costs)

    def at(self, pricing: ScaledLambda) -> "Shard":
        """Return the same shard with costs in the unit of gains."""
        return replace(self, costs=read_only(pricing.scale_costs(self.costs)))

    def needed_items(self, kept: BoolArray) -> BoolArray:
        """Return the items that the kept projects need."""
        step_of = np.where(kept, 0, -1).astype(np.int32)
        needed: BoolArray = last_needed(step_of, self.arc_start, self.arc_item, self.n_items) == 0
        return needed

    def cost_of(self, kept: BoolArray) -> int:
        """Return what the items cost that the kept projects need."""
        return exact_sum(self.costs[self.needed_items(kept)])

    def cost_by_step(self, step_of: IndexArray, n_steps: int) -> IntArray:
        """Return what the items cost that are needed up to each step and no longer.

        Parameters
        ----------
        step_of : shape (n_projects,)
            The step with which each project drops, from 0; -1 if it is never kept.
        n_steps : int
        """
        last = last_needed(step_of, self.arc_start, self.arc_item, self.n_items)
        cost = np.zeros(n_steps, dtype=np.int64)
        ever = last >= 0
        np.add.at(cost, last[ever], self.costs[ever])
        return cost

    def capacity(self) -> FloatArray:
        """Return for each project the costs of its items, each shared by all who need it."""
        n_needers = np.bincount(self.arc_item, minlength=self.n_items)
        share = self.costs / np.maximum(n_needers, 1)
        paid = np.zeros(self.n_projects)
        project = np.repeat(np.arange(self.n_projects), np.diff(self.arc_start))
        np.add.at(paid, project, share[self.arc_item])
        return paid


def join_shards(shards: Sequence[Shard]) -> Shard:
    """Return the items of several shards as one shard; twins are bought together."""
    arc_start, arc_item = side_by_side(shards)
    costs = np.concatenate([shard.costs for shard in shards])
    group, n_groups = kernels.twin_groups(arc_start, arc_item, len(costs))
    arc_start, arc_item = kernels.merge_arcs(arc_start, arc_item, group, n_groups)
    most = LARGEST_TOTAL if costs.dtype.kind == "i" else np.inf
    costs = kernels.merge_costs(costs, group, n_groups, most)
    return Shard(
        shards[0].requires,
        read_only(arc_start),
        read_only(arc_item),
        read_only(costs),
        read_only(np.sum([shard.presence for shard in shards], axis=0)),
    )


def side_by_side(shards: Sequence[Shard]) -> tuple[IntArray, IndexArray]:
    """Return the arcs of all shards, project by project; items are numbered one after the other."""
    arc_start = np.sum([shard.arc_start for shard in shards], axis=0)
    arc_item = np.empty(arc_start[-1], dtype=np.int32)
    next_place = arc_start[:-1].copy()
    n_items = 0
    for shard in shards:
        n_arcs = np.diff(shard.arc_start)
        place = np.repeat(next_place - shard.arc_start[:-1], n_arcs) + np.arange(shard.n_arcs)
        arc_item[place] = shard.arc_item + n_items
        next_place += n_arcs
        n_items += shard.n_items
    return arc_start, arc_item


_DTYPES = {
    "requires": np.int32,
    "arc_start": np.int64,
    "arc_item": np.int32,
    "costs": None,
    "presence": np.float64,
}
