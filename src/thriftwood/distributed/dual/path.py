"""The best closed sets at all tradeoffs, by dual decomposition."""

from __future__ import annotations

import math
import time

import numpy as np

from thriftwood.closure import ParametricCut
from thriftwood.distributed.dual.ascent import DecomposedClosure, DualPoint, dual_ascent
from thriftwood.distributed.dual.options import DualDecomposition, DualRound, RoundLog
from thriftwood.distributed.dual.subproblem import join_subproblems, send_all
from thriftwood.distributed.hull import lower_hull
from thriftwood.solvers.parametric_cut import parametric_cut
from thriftwood.support.progress import progress_bar

# Partitions agree where they can miss no more than this part of the gain: the rest is rounding.
ENOUGH = 1e-11


def decomposed_path(
    problem: DecomposedClosure,
    options: DualDecomposition,
    n_jobs: int | None = None,
    deadline: float = math.inf,
) -> tuple[ParametricCut, tuple[DualRound, ...]]:
    """Find the best sets at all tradeoffs: exactly, if all arcs may be gathered; else by ascent.

    The `slack` of the path holds by how many gains its nested sets may fall short. The deadline is
    that of `parametric_cut`; there is always one round.
    """
    with progress_bar("Dual decomposition:", options.progress) as line:
        log = RoundLog(problem.partitions, line)
        if problem.n_arcs > options.most_gathered:
            return _ascended(problem, options, log, deadline), log.rounds
        joined = join_subproblems(problem.map(send_all))
        path = parametric_cut(joined.with_gains(problem.gains), n_jobs, deadline=deadline)
        gained = float(problem.gains[path.kept(0)].sum())
        log.add(gained, gained, 0, joined.n_arcs)
        return path, log.rounds


def _ascended(
    problem: DecomposedClosure, options: DualDecomposition, log: RoundLog, deadline: float
) -> ParametricCut:
    """Stop where at no tradeoff more than the tolerance is missed of what is gained for free."""
    least_gap = np.inf
    for point in dual_ascent(problem):
        path = _nested(point)
        if path.slack < least_gap:
            least_gap, best = path.slack, path
            bound = float(point.bounds(np.zeros(1))[0])
        log.add(bound - least_gap, bound, _count_open(point, problem))
        is_done = least_gap <= ENOUGH * bound or log.is_within(options.tolerance)
        is_late = time.monotonic() > deadline
        if is_done or is_late or len(log.rounds) == options.max_rounds:
            break
    return best


def _count_open(point: DualPoint, problem: DecomposedClosure) -> int:
    """Count the projects on which partitions disagree: when to drop them."""
    earliest = np.where(problem.decides, point.drops_at, np.inf).min(axis=0)
    latest = np.where(problem.decides, point.drops_at, 0.0).max(axis=0)
    return int((earliest < latest).sum())


def _nested(point: DualPoint) -> ParametricCut:
    """Return the nested sets that are best among all of them at some tradeoff."""
    gain, cost = point.gain_from, point.cost_from
    corners = lower_hull(cost, -gain)
    breakpoint_of = np.searchsorted(corners, point.breakpoint_of, side="right") - 1
    step_gain, step_cost = -np.diff(gain[corners]), -np.diff(cost[corners])
    tradeoffs = np.concatenate([[0.0], step_gain / step_cost])
    profits = gain[corners] - tradeoffs * cost[corners]
    gap = max(float((point.bounds(tradeoffs) - profits).max()), 0.0)
    return ParametricCut(breakpoint_of.astype(np.int32), step_gain, step_cost, gap)
