"""The best closed set at one tradeoff, by dual decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from thriftwood.closure import (
    NOTHING,
    Certificate,
    ClosureProblem,
    ScaledLambda,
    exact_sum,
    scale_lambda,
)
from thriftwood.distributed.dual.ascent import (
    DecomposedClosure,
    DualPoint,
    dual_ascent,
    split_by,
    whole_multipliers,
)
from thriftwood.distributed.dual.kernels import not_above_required as consistent
from thriftwood.distributed.dual.options import DualDecomposition, DualRound, RoundLog
from thriftwood.distributed.dual.subproblem import (
    DROPPED,
    KEPT,
    OPEN,
    Status,
    Subproblem,
    certify,
    send_disagreement,
    side_by_side,
    size_of_disagreement,
)
from thriftwood.errors import CertificateError
from thriftwood.solvers.min_cut import min_cut
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray
from thriftwood.support.progress import progress_bar

# How much larger than all gains the multipliers of one partition may get, signs aside.
SPREAD = 64


class DualSolution(NamedTuple):
    """The kept projects, and their proven profit and dual bound, in gains times `scale`."""

    kept: BoolArray
    certificate: Certificate
    scale: int
    rounds: tuple[DualRound, ...]


def decomposed_cut(
    problem: DecomposedClosure, tradeoff: Fraction, options: DualDecomposition
) -> DualSolution:
    """Find the smallest best set at a tradeoff, or the best found with a proven gap.

    Rounds of dual ascent come first, until what partitions disagree on is small enough to be
    gathered. It is solved here, and the partitions are asked whether they want what came out. Where
    one does not, what it wants otherwise is opened again and gathered, too.
    """
    room = SPREAD * exact_sum(np.abs(problem.gains))
    scaled = scale_lambda(tradeoff, room).refined()
    with progress_bar("Dual decomposition:", options.progress) as line:
        log = RoundLog(problem.partitions, line)
        kept, best, status, n_arcs = _ascend(problem, tradeoff, options, log)
        multipliers = whole_multipliers(best, problem.gains, scaled.gain_scale)
        if n_arcs <= options.most_gathered and not log.is_within(options.tolerance):
            kept, certificate = _gather(problem, scaled, options, log, multipliers, status)
        else:
            certificate, _ = _certified(problem, scaled, kept, multipliers)
    return DualSolution(kept, certificate, scaled.gain_scale, log.rounds)


def _ascend(
    problem: DecomposedClosure, tradeoff: Fraction, options: DualDecomposition, log: RoundLog
) -> tuple[BoolArray, FloatArray, Status, int]:
    """Ascend until the rest can be gathered; return best set, multipliers, what is open, arcs."""
    lambda_ = float(tradeoff)
    best_profit, least_bound = -np.inf, np.inf
    for point in dual_ascent(problem):
        profits = point.gain_from - lambda_ * point.cost_from
        best = int(profits.argmax())
        if profits[best] > best_profit:
            best_profit, kept = float(profits[best]), point.breakpoint_of >= best
        bound = float(point.bounds(np.array([lambda_]))[0])
        if bound < least_bound:
            least_bound, multipliers = bound, point.multipliers
        status = _agreed(point, lambda_, problem)
        n_arcs = sum(problem.map(size_of_disagreement, status))
        log.add(best_profit, least_bound, int((status == OPEN).sum()))
        if (
            n_arcs <= options.most_gathered
            or log.is_within(options.tolerance)
            or len(log.rounds) == options.max_rounds
        ):
            break
    return kept, multipliers, status, n_arcs


def _agreed(point: DualPoint, tradeoff: float, problem: DecomposedClosure) -> Status:
    """Return what all partitions agree on that have anything to say about a project.

    What requires a dropped project is dropped, and what requires an open one is open.
    """
    wanted = point.drops_at > tradeoff
    status = np.full(wanted.shape[1], OPEN, dtype=np.int8)
    status[(wanted | ~problem.decides).all(axis=0)] = KEPT
    status[~(wanted & problem.decides).any(axis=0)] = DROPPED
    return consistent(status, problem.requires)


def _gather(
    problem: DecomposedClosure,
    scaled: ScaledLambda,
    options: DualDecomposition,
    log: RoundLog,
    multipliers: IntArray,
    status: Status,
) -> tuple[BoolArray, Certificate]:
    """Gather and solve what is open, until all partitions want it or it gets too large."""
    best: Certificate | None = None  # the largest profit and the least bound so far
    while True:
        kept, is_open, n_arcs = status == KEPT, status == OPEN, 0
        if is_open.any():
            gathered = problem.map(send_disagreement, (status, scaled))
            n_arcs = sum(one.n_arcs for one in gathered)
            gains = problem.gains[is_open] * scaled.gain_scale
            weight = problem.weight[:, is_open]
            kept[is_open], multipliers[:, is_open] = _solve_gathered(gathered, gains, weight)
        certificate, differs = _certified(problem, scaled, kept, multipliers)
        if best is None or certificate.profit > best.profit:
            best_kept = kept
        so_far = [certificate] if best is None else [best, certificate]
        best = Certificate(max(one.profit for one in so_far), min(one.bound for one in so_far))
        profit, bound = (number / scaled.gain_scale for number in (best.profit, best.bound))
        log.add(profit, bound, int(is_open.sum()), n_arcs)
        wrong = ~is_open & differs
        if not wrong.any():
            if certificate.gap:
                raise CertificateError("Partitions want the gathered set, but do not prove it.")
            return kept, certificate
        status = consistent(np.where(wrong, OPEN, status).astype(np.int8), problem.requires)
        if np.array_equal(status == OPEN, is_open):
            raise CertificateError("What partitions want is not closed: it cannot be gathered.")
        n_arcs = sum(problem.map(size_of_disagreement, status))
        if n_arcs > options.most_gathered or log.is_within(options.tolerance):
            return best_kept, best


def _certified(
    problem: DecomposedClosure, scaled: ScaledLambda, kept: BoolArray, multipliers: IntArray
) -> tuple[Certificate, BoolArray]:
    """Return profit and dual bound of a set, and the projects on which a partition differs."""
    messages = [(kept, own, scaled) for own in multipliers]
    wanted, bounds, costs = zip(*problem.partitions.map(certify, messages), strict=True)
    gain = exact_sum(problem.gains[kept]) * scaled.gain_scale
    differs = ((np.array(wanted) != kept) & problem.decides).any(axis=0)
    return Certificate(gain - sum(costs), sum(bounds)), differs


def _solve_gathered(
    gathered: Sequence[Subproblem], gains: IntArray, weight: FloatArray
) -> tuple[BoolArray, IntArray]:
    """Find the smallest best set of the open projects, and multipliers that prove it.

    With these every partition by itself wants what is kept, other projects aside: they say for
    which items of which partition the flow of the minimum cut has paid. Weight has the shape
    (n_partitions, n_open).
    """
    arc_start, arc_item = side_by_side(gathered)
    requires = gathered[0].requires
    costs = np.concatenate([one.costs for one in gathered])
    problem = ClosureProblem(gains, requires, arc_start, arc_item, costs).check()
    solution = min_cut(problem)
    flow = solution.flow
    assert flow is not None
    first_item = np.cumsum([one.n_items for one in gathered])
    partition_of_arc = np.searchsorted(first_item, arc_item, side="right")

    paid = np.zeros(weight.shape, dtype=np.int64)
    np.add.at(paid, (partition_of_arc, problem.arc_project()), flow.to_item)
    handed_on = split_by(weight, flow.to_required)
    received = np.zeros_like(paid)
    needs_other = np.flatnonzero(requires != NOTHING)
    np.add.at(received.T, requires[needs_other], handed_on.T[needs_other])
    left = gains + (received - handed_on - paid).sum(axis=0)
    return solution.kept, paid + handed_on - received + split_by(weight, left)
