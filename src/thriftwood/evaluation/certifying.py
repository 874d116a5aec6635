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
from thriftwood.problem import ClosureIndex, PruningProblem
from thriftwood.solvers import min_cut
from thriftwood.support.arrays import BoolArray
from thriftwood.support.parallel import for_each
from thriftwood.support.progress import progress_bar


def certify(
    problem: PruningProblem, masks: Sequence[BoolArray], tradeoffs: Sequence[float]
) -> tuple[Certificate, ...]:
    """Prove how near prunings, given as masks over nodes, are to the optimum at tradeoffs."""
    closure, index = problem.closure
    closure = _merged(closure)
    certificates: dict[int, Certificate] = {}

    def certify_one(number: int) -> None:
        certificates[number], _ = prove(closure, index, masks[number], tradeoffs[number])
        bar(len(certificates) / len(masks))

    with progress_bar("Proving", problem.progress) as bar:
        for_each(certify_one, range(len(masks)), problem.n_jobs)
    return tuple(certificates[number] for number in range(len(masks)))


def prove(
    closure: ClosureProblem, index: ClosureIndex, kept: BoolArray, tradeoff: float
) -> tuple[Certificate, Fraction]:
    """Prove how near a pruning is to the optimum at a tradeoff.

    Returns
    -------
    certificate : Certificate
        Its profit is that of the pruning; its bound comes from a flow that was checked.
    gap : Fraction
        By how much losses plus costs, added up over samples and trees, may be too high.
    """
    lambda_ = index.in_units(tradeoff)
    priced, scale = closure.at(lambda_)
    best = check_certificate(priced, min_cut(priced))
    certificate = Certificate(closure.profit_at(lambda_, kept[index.forest.is_split]), best.bound)
    missed = certificate.gap * index.gain_unit / scale
    return certificate, missed + index.rounded(lambda_, scale)


def _merged(closure: ClosureProblem) -> ClosureProblem:
    """Merge twins once for all tradeoffs: prices do not change who needs what."""
    if exact_sum(closure.costs) > LARGEST_TOTAL:
        return closure
    return merge_twin_items(closure, LARGEST_TOTAL)[0]
