"""The best closed set at one price, of items that lie in shards."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from thriftwood.closure import (
    Certificate,
    ScaledLambda,
    exact_sum,
    scale_lambda,
)
from thriftwood.distributed.dual.log import RoundLog, ShardRound
from thriftwood.distributed.dual.options import RowShards
from thriftwood.distributed.dual.rest import (
    KEPT,
    OPEN,
    Status,
    agreed,
    consistent,
    settle_rest,
)
from thriftwood.distributed.dual.rounds import (
    Agreement,
    Crew,
    Projects,
    price_rounds,
)
from thriftwood.distributed.dual.shares import whole_shares
from thriftwood.distributed.dual.works import (
    Proposal,
    RestNews,
    send_rest,
    size_of_rest,
    verdict,
)
from thriftwood.errors import CertificateError
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray
from thriftwood.support.progress import progress_line

# How much larger than all gains the shares of one shard may get, signs aside.
SPREAD = 64


@dataclass(frozen=True, eq=False)
class ShardedSolution:
    """The kept projects, and what all shards together prove about them.

    Attributes
    ----------
    kept : shape (n_projects,)
    certificate : Certificate
        Profit and bound, in gains times `scale`.
    scale : int
    rounds : tuple of ShardRound
    """

    kept: BoolArray
    certificate: Certificate
    scale: int
    rounds: tuple[ShardRound, ...]


def sharded_cut(
    crew: Crew, projects: Projects, price: Fraction, options: RowShards
) -> ShardedSolution:
    """Find the smallest best set at a price of items, or the best found with a proven gap.

    Rounds of prices come first, until what shards disagree on is small enough to be gathered. It is
    settled here, and the shards are asked whether they want what came out. Where one does not, what
    it wants otherwise is opened again and gathered, too.
    """
    room = SPREAD * exact_sum(np.abs(projects.gains))
    pricing = scale_lambda(price, room).refined()
    with progress_line("Pruning by shards of rows:", options.progress) as line:
        log = RoundLog(crew, line)
        found = _agree_on_prices(crew, projects, price, options, log)
        if found.n_rest <= options.most_gathered and not log.is_within(options.tolerance):
            kept, certificate = _settle(crew, projects, pricing, options, found, log)
        else:
            shares = whole_shares(found.shares, projects.gains, pricing.gain_scale)
            kept = found.kept
            certificate = _judged(crew, projects, pricing, kept, shares).certificate
    return ShardedSolution(kept, certificate, pricing.gain_scale, log.rounds)


class _Found(NamedTuple):
    """What rounds of prices came to: a set, shares that give a bound, what is still open."""

    kept: BoolArray
    shares: FloatArray
    status: Status
    n_rest: int


def _agree_on_prices(
    crew: Crew, projects: Projects, price: Fraction, options: RowShards, log: RoundLog
) -> _Found:
    best_profit, least_bound = -np.inf, np.inf
    for agreement in price_rounds(crew, projects):
        step = agreement.best_step(float(price))
        profit = float(agreement.gain_from[step] - float(price) * agreement.cost_from[step])
        if profit > best_profit:
            best_profit, kept = profit, agreement.kept_from(step)
        bound = float(agreement.bounds(np.array([float(price)]))[0])
        if bound < least_bound:
            least_bound, shares = bound, agreement.shares
        status = _agreed_at(price, agreement, projects)
        n_rest = _size_of(crew, status, projects)
        log.add(best_profit, least_bound, status == OPEN)
        if (
            n_rest <= options.most_gathered
            or log.is_within(options.tolerance)
            or len(log) == options.max_rounds
        ):
            return _Found(kept, shares, status, n_rest)
    raise AssertionError("rounds of prices have no end of their own")


def _agreed_at(price: Fraction, agreement: Agreement, projects: Projects) -> Status:
    wanted = agreement.drop_price > float(price)
    return agreed(wanted, projects.has_say, projects.requires)


def _size_of(crew: Crew, status: Status, projects: Projects) -> int:
    return sum(crew.ask(size_of_rest, [status] * projects.n_shards))


def _settle(
    crew: Crew,
    projects: Projects,
    pricing: ScaledLambda,
    options: RowShards,
    found: _Found,
    log: RoundLog,
) -> tuple[BoolArray, Certificate]:
    """Gather and settle the rest, until all shards want what came out or it gets too large."""
    status, n_rest = found.status, found.n_rest
    shares = whole_shares(found.shares, projects.gains, pricing.gain_scale)
    best: tuple[BoolArray, Certificate] | None = None
    while True:
        kept, is_open = status == KEPT, status == OPEN
        if is_open.any():
            rests = crew.ask(send_rest, [RestNews(status, pricing)] * projects.n_shards)
            gains = projects.gains[is_open] * pricing.gain_scale
            settled = settle_rest(rests, gains, projects.presence[:, is_open])
            kept[is_open] = settled.kept
            shares[:, is_open] = settled.shares
        judged = _judged(crew, projects, pricing, kept, shares)
        best = _better(best, kept, judged.certificate)
        log.add(
            best[1].profit / pricing.gain_scale, best[1].bound / pricing.gain_scale, is_open, n_rest
        )
        wrong = ~is_open & judged.differs
        if not wrong.any():
            if judged.certificate.gap:
                raise CertificateError("Shards want what was settled, but do not prove it best.")
            return kept, judged.certificate
        status = np.where(wrong, OPEN, status).astype(np.int8)
        status = consistent(status, projects.requires)
        if np.array_equal(status == OPEN, is_open):
            raise CertificateError("What shards want is not closed, so it cannot be settled.")
        n_rest = _size_of(crew, status, projects)
        if n_rest > options.most_gathered or log.is_within(options.tolerance):
            return best


def _better(
    best: tuple[BoolArray, Certificate] | None, kept: BoolArray, new: Certificate
) -> tuple[BoolArray, Certificate]:
    """Return the more profitable set, and the least bound of all so far."""
    if best is None:
        return kept, new
    old = best[1]
    bound = min(old.bound, new.bound)
    if new.profit > old.profit:
        return kept, Certificate(new.profit, bound)
    return best[0], Certificate(old.profit, bound)


class _Judged(NamedTuple):
    """What shards say to a proposal: profit and bound, and where one of them differs."""

    certificate: Certificate
    differs: BoolArray


def _judged(
    crew: Crew, projects: Projects, pricing: ScaledLambda, kept: BoolArray, shares: IntArray
) -> _Judged:
    verdicts = crew.ask(verdict, [Proposal(kept, share, pricing) for share in shares])
    cost = sum(one.cost for one in verdicts)
    gain = exact_sum(projects.gains[kept]) * pricing.gain_scale
    certificate = Certificate(gain - cost, sum(one.bound for one in verdicts))
    wanted = np.array([one.kept for one in verdicts])
    return _Judged(certificate, ((wanted != kept) & projects.has_say).any(axis=0))
