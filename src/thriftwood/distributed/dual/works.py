"""What a shard does when it is asked. All of it runs where the shard lies; only answers travel."""

from typing import NamedTuple

import numpy as np

from thriftwood.closure import ScaledLambda, check_certificate
from thriftwood.distributed.dual.rest import Status, rest_of
from thriftwood.distributed.dual.shard import Shard
from thriftwood.solvers.min_cut import min_cut
from thriftwood.solvers.parametric_cut import parametric_cut
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)


class Wishes(NamedTuple):
    """What a shard wants for its share of the gains, at all prices.

    Attributes
    ----------
    drop_price : shape (n_projects,)
        The price of items at which each project drops: 0 if it is never kept, infinity if at any
        price.
    gain, cost : shape (n_steps,)
        What each step of its path gives up and saves, in the units of its problem.
    sure_gain : int
        What it gains at any price.
    slack : float
        By how many gains the path may miss the optimum because prices had to be rounded.
    """

    drop_price: FloatArray
    gain: IntArray
    cost: IntArray
    sure_gain: int
    slack: float


def wishes(shard: Shard, gains: IntArray) -> Wishes:
    """Find the best sets of a shard for its share of the gains, at all prices."""
    path = parametric_cut(shard.with_gains(gains), n_jobs=1)
    prices = np.concatenate([path.gain / path.cost, [np.inf, 0.0]])  # the last for step -1
    sure = int(gains[path.breakpoint_of == path.n_breakpoints].sum())
    return Wishes(prices[path.breakpoint_of], path.gain, path.cost, sure, path.slack)


class Order(NamedTuple):
    """With which of `n_steps` steps each project drops; -1 if it is never kept."""

    step_of: IndexArray
    n_steps: int


def bills(shard: Shard, order: Order) -> IntArray:
    """Return what the items of a shard cost that are needed up to each step and no longer."""
    return shard.cost_by_step(order.step_of, order.n_steps)


class Proposal(NamedTuple):
    """A closed set, and the share of the gains at which a shard should want it."""

    kept: BoolArray
    gains: IntArray
    pricing: ScaledLambda


class Verdict(NamedTuple):
    """What a shard wants instead, what it can gain at most, and what the proposal costs there."""

    kept: BoolArray
    bound: int
    cost: int


def verdict(shard: Shard, proposal: Proposal) -> Verdict:
    """Find the best set of a shard at one price, and prove it."""
    shard = shard.at(proposal.pricing)
    problem = shard.with_gains(proposal.gains)
    solution = min_cut(problem)
    bound = check_certificate(problem, solution).bound
    return Verdict(solution.kept, bound, shard.cost_of(proposal.kept))


def size_of_rest(shard: Shard, status: Status) -> int:
    """Return how many arcs lead from open projects to items that are not bought anyway."""
    return rest_of(shard, status).n_arcs


class RestNews(NamedTuple):
    """Which projects are open, and the price of items."""

    status: Status
    pricing: ScaledLambda


def send_rest(shard: Shard, news: RestNews) -> Shard:
    """Return what open projects need of a shard, priced."""
    return rest_of(shard.at(news.pricing), news.status)


def send_all(shard: Shard, _: None) -> Shard:
    """Return the whole shard."""
    return shard


def capacity(shard: Shard, _: None) -> FloatArray:
    """Return how much each project can pay for in a shard."""
    return shard.capacity()
