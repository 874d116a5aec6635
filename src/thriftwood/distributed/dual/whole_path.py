"""All best closed sets at once, of items that lie in shards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thriftwood.closure import ParametricCut
from thriftwood.distributed.dual.hull import on_hull
from thriftwood.distributed.dual.log import RoundLog, ShardRound
from thriftwood.distributed.dual.options import RowShards
from thriftwood.distributed.dual.rounds import (
    Agreement,
    Crew,
    Projects,
    price_rounds,
)
from thriftwood.distributed.dual.shard import join_shards
from thriftwood.distributed.dual.works import send_all
from thriftwood.solvers.parametric_cut import parametric_cut
from thriftwood.support.arrays import BoolArray
from thriftwood.support.progress import progress_line

# Shards agree where they can miss no more than this part of what is gained: the rest is rounding.
ENOUGH = 1e-11


@dataclass(frozen=True, eq=False)
class ShardedPath:
    """Nested sets for all prices; the path's `slack` holds by how many gains they may fall short.

    Attributes
    ----------
    path : ParametricCut
    rounds : tuple of ShardRound
    """

    path: ParametricCut
    rounds: tuple[ShardRound, ...]


def sharded_path(
    crew: Crew, projects: Projects, n_arcs: int, options: RowShards, n_jobs: int | None = None
) -> ShardedPath:
    """Find the best sets at all prices: exactly, if all arcs may be gathered; else by rounds.

    Parameters
    ----------
    crew, projects
    n_arcs : int
        Of all shards together.
    options : RowShards
    n_jobs : int, optional
        Threads for what is gathered.
    """
    with progress_line("Pruning by shards of rows:", options.progress) as line:
        log = RoundLog(crew, line)
        if n_arcs <= options.most_gathered:
            return _gathered(crew, projects, n_jobs, log)
        return _by_rounds(crew, projects, options, log)


def _gathered(crew: Crew, projects: Projects, n_jobs: int | None, log: RoundLog) -> ShardedPath:
    joined = join_shards(crew.ask(send_all, [None] * projects.n_shards))
    path = parametric_cut(joined.with_gains(projects.gains), n_jobs)
    gained = float(projects.gains[path.kept(0)].sum())
    log.add(gained, gained, np.zeros(len(projects.gains), dtype=np.bool_), joined.n_arcs)
    return ShardedPath(path, log.rounds)


def _by_rounds(crew: Crew, projects: Projects, options: RowShards, log: RoundLog) -> ShardedPath:
    """Stop where at no price more than the tolerance can be missed of what is gained for free."""
    least_gap = np.inf
    for agreement in price_rounds(crew, projects):
        path, gap = _nested(agreement)
        if gap < least_gap:
            least_gap, best = gap, path
            bound = float(agreement.bounds(np.zeros(1))[0])
        log.add(bound - least_gap, bound, _is_open(agreement, projects))
        is_done = least_gap <= ENOUGH * bound or log.is_within(options.tolerance)
        if is_done or len(log) == options.max_rounds:
            break
    return ShardedPath(best, log.rounds)


def _is_open(agreement: Agreement, projects: Projects) -> BoolArray:
    """Say on which projects the shards disagree: when to drop them."""
    earliest = np.where(projects.has_say, agreement.drop_price, np.inf).min(axis=0)
    latest = np.where(projects.has_say, agreement.drop_price, 0.0).max(axis=0)
    is_open: BoolArray = earliest < latest
    return is_open


def _nested(agreement: Agreement) -> tuple[ParametricCut, float]:
    """Return the nested sets that are best among all of them at some price, and the largest gap."""
    gain, cost = agreement.gain_from, agreement.cost_from
    points = on_hull(gain, cost)
    step_of = np.searchsorted(points, agreement.order.step_of, side="right") - 1
    step_gain, step_cost = -np.diff(gain[points]), -np.diff(cost[points])
    prices = np.concatenate([[0.0], step_gain / step_cost])
    profits = gain[points] - prices * cost[points]
    gap = max(float((agreement.bounds(prices) - profits).max()), 0.0)
    path = ParametricCut(step_of.astype(np.int32), step_gain, step_cost, gap)
    return path, gap
