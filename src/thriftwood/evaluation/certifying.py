"""Proofs that need not trust whoever pruned: a flow for one tradeoff, checked by additions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from thriftwood.closure import (
    LARGEST_TOTAL,
    Certificate,
    ClosureProblem,
    check_certificate,
    exact_sum,
    merge_twin_items,
)
from thriftwood.problem import PruningProblem, closure_at
from thriftwood.solvers import min_cut
from thriftwood.support.arrays import BoolArray
from thriftwood.support.parallel import for_each
from thriftwood.support.progress import progress_bar


def certify(
    problem: PruningProblem, masks: Sequence[BoolArray], tradeoffs: Sequence[float]
) -> tuple[tuple[Certificate, float], ...]:
    """Prove how near prunings, given as masks over nodes, are to the optimum at tradeoffs."""
    closure = problem.closure[0]
    if exact_sum(closure.costs) <= LARGEST_TOTAL:  # once for all tradeoffs, which need the same
        closure = merge_twin_items(closure, LARGEST_TOTAL)[0]
    proofs: dict[int, tuple[Certificate, float]] = {}

    def certify_one(number: int) -> None:
        proofs[number] = prove(problem, closure, masks[number], tradeoffs[number])
        bar(len(proofs) / len(masks))

    with progress_bar("Proving", problem.progress) as bar:
        for_each(certify_one, range(len(masks)), problem.n_jobs)
    return tuple(proofs[number] for number in range(len(masks)))


def prove(
    problem: PruningProblem, closure: ClosureProblem, kept: BoolArray, tradeoff: float
) -> tuple[Certificate, float]:
    """Prove how near a pruning is to the optimum at a tradeoff, by the closure of its problem.

    The bound of the certificate comes from a flow that was checked. The second result is by how
    much loss + tradeoff * cost may be above the least, rounding included.
    """
    index = problem.closure[1]
    own = kept[index.forest.is_split]
    refined, finer = closure_at(problem, tradeoff)
    if finer.certain is not None and own[finer.certain].all():
        closure, index, own = refined, finer, own[~finer.certain]
    lambda_ = index.in_units(tradeoff)
    priced, scale = closure.at(lambda_)
    best = check_certificate(priced, min_cut(priced))
    certificate = Certificate(closure.profit_at(lambda_, own), best.bound)
    missed = certificate.gap * index.gain_unit / scale + index.rounded(lambda_, scale)
    return certificate, float(missed / Fraction(problem.node_losses.weight))
