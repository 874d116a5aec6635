"""Shards agree on prices, round by round: gains move to where projects are dropped too early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from thriftwood.closure import from_the_end
from thriftwood.distributed.dual import kernels
from thriftwood.distributed.dual.shares import (
    first_shares,
    largest_scale,
    moved,
    room_to_move,
    whole_shares,
)
from thriftwood.distributed.dual.works import (
    Order,
    Wishes,
    bills,
    capacity,
    wishes,
)
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
)

# Moving all the way at once overshoots, since many projects move; less where rounds still do.
FIRST_STEP = 0.7
SMALLEST_STEP = 0.05
# By which part sums of doubles may be off: a bound is raised by it.
ROUNDING = 1e-12


class Crew(Protocol):
    """Workers that hold one shard each."""

    @property
    def bytes_moved(self) -> int: ...

    def ask(self, work: Callable[[Any, Any], Any], news: Sequence[Any]) -> list[Any]:
        """Return `work(shard, news)` of every shard, in their order."""


@dataclass(frozen=True, eq=False)
class Projects:
    """What all shards share: the projects, and how much of each there is in every shard.

    Attributes
    ----------
    gains, requires : shape (n_projects,)
    presence : shape (n_shards, n_projects)
        A project that is present nowhere is taken to be where the one that it requires is: who has
        a say on a project has one on all that it needs.
    """

    gains: IntArray
    requires: IndexArray
    presence: FloatArray

    def __post_init__(self) -> None:
        somewhere = kernels.present_somewhere(self.presence, self.requires)
        object.__setattr__(self, "presence", read_only(somewhere))

    @property
    def n_shards(self) -> int:
        return len(self.presence)

    @cached_property
    def has_say(self) -> BoolArray:
        """Which shards have something to say on each project."""
        return self.presence > 0


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far shards agree at some shares: nested sets from all their wishes, and a bound.

    Attributes
    ----------
    shares, drop_price : shape (n_shards, n_projects)
    wishes : what each shard wants
    scale : int
        What shares were multiplied by when the shards were asked.
    order : Order
        The nested sets; those that never drop have the last step.
    gain, cost : shape (n_steps,)
        What each step gives up and saves, on all shards together.
    """

    shares: FloatArray
    drop_price: FloatArray
    wishes: list[Wishes]
    scale: int
    order: Order
    gain: IntArray
    cost: IntArray

    @cached_property
    def gain_from(self) -> IntArray:
        """What is gained by keeping all from each step on."""
        return from_the_end(self.gain)

    @cached_property
    def cost_from(self) -> IntArray:
        """What it costs to keep all from each step on."""
        return from_the_end(self.cost)

    def best_step(self, price: float) -> int:
        """Return from which step on to keep projects at a price of items."""
        return int((self.gain_from - price * self.cost_from).argmax())

    def kept_from(self, step: int) -> BoolArray:
        return self.order.step_of >= step

    def bounds(self, prices: FloatArray) -> FloatArray:
        """Return what no closed set gains more than, at each price of items."""
        gain = np.concatenate([one.gain for one in self.wishes]) / self.scale
        cost = np.concatenate([one.cost for one in self.wishes]).astype(np.float64)
        sure = sum(one.sure_gain + one.slack for one in self.wishes) / self.scale
        dear_first = np.argsort(-gain / cost, kind="stable")
        up_to = np.searchsorted(-(gain / cost)[dear_first], -prices, side="left")
        gain_to = np.concatenate([[0.0], np.cumsum(gain[dear_first])])
        cost_to = np.concatenate([[0.0], np.cumsum(cost[dear_first])])
        total: FloatArray = sure + gain_to[up_to] - prices * cost_to[up_to]
        return total + ROUNDING * (abs(sure) + gain_to[up_to])

    @property
    def disagreement(self) -> float:
        """A convex function of the shares that is least where all shards agree at all prices."""
        return (
            sum(float((one.gain.astype(np.float64) ** 2 / one.cost).sum()) for one in self.wishes)
            / float(self.scale) ** 2
        )


def price_rounds(crew: Crew, projects: Projects) -> Iterator[Agreement]:
    """Yield how far shards agree, round by round, without end."""
    can_pay = np.array(crew.ask(capacity, [None] * projects.n_shards))
    room = room_to_move(can_pay, projects.presence, projects.requires)
    shares = first_shares(projects.gains, projects.presence)
    step, last = FIRST_STEP, np.inf
    while True:
        agreement = _agree(crew, projects, shares)
        yield agreement
        if agreement.disagreement > last:
            step = max(step / 2, SMALLEST_STEP)
        last = agreement.disagreement
        shares = moved(shares, agreement.drop_price, room, step)


def _agree(crew: Crew, projects: Projects, shares: FloatArray) -> Agreement:
    scale = largest_scale(shares)
    wanted = crew.ask(wishes, list(whole_shares(shares, projects.gains, scale)))
    drop_price = np.array([one.drop_price for one in wanted]) / scale
    order = _order(_mean_price(drop_price, projects), projects.requires)
    cost = np.sum(crew.ask(bills, [order] * len(wanted)), axis=0)
    gain = np.zeros(order.n_steps, dtype=np.int64)
    ever = order.step_of >= 0
    np.add.at(gain, order.step_of[ever], projects.gains[ever])
    return Agreement(shares, drop_price, wanted, scale, order, gain, cost)


def _mean_price(drop_price: FloatArray, projects: Projects) -> FloatArray:
    """Return the mean price at which shards drop a project; infinity if none ever does."""
    counts = np.isfinite(drop_price) & projects.has_say
    weight = np.where(counts, projects.presence, 0.0)
    total = weight.sum(axis=0)
    price = (weight * np.where(counts, drop_price, 0.0)).sum(axis=0)
    mean: FloatArray = np.divide(price, total, out=np.full_like(total, np.inf), where=total > 0)
    return mean


def _order(drop_price: FloatArray, requires: IndexArray) -> Order:
    """Number the prices at which projects drop; those that never drop come last."""
    price = kernels.not_beyond_required(drop_price, requires)
    prices = np.unique(price[(price > 0) & np.isfinite(price)])
    step_of = np.searchsorted(prices, price).astype(np.int32)
    step_of[price <= 0] = -1
    return Order(step_of, len(prices) + 1)
