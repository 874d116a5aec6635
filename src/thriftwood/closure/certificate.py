"""Check an answer by arithmetic alone, without trusting whoever computed it: weak duality.

For any flow that is nowhere negative and any closed set S, the profit of S is at most the sum of
the excesses of S (nothing flows out of a closed set), hence at most the sum of all positive
excesses. So a closed set whose profit equals that sum is a best one.
"""

from dataclasses import dataclass

import numpy as np

from thriftwood.closure import kernels
from thriftwood.closure.integers import LARGEST_TOTAL, exact_sum
from thriftwood.closure.problem import ClosureProblem
from thriftwood.closure.solution import ClosureSolution, Flow
from thriftwood.errors import CertificateError


@dataclass(frozen=True)
class Certificate:
    """A checked proof: the profit that was reached, and the bound that cannot be passed.

    Attributes
    ----------
    profit : int
        Gains minus costs of the answer, in the units of the closure problem.
    bound : int
        No closed set has a larger profit.
    """

    profit: int
    bound: int

    @property
    def gap(self) -> int:
        """The most by which another answer could be better; 0 means that this one is optimal."""
        return self.bound - self.profit


def check_certificate(problem: ClosureProblem, solution: ClosureSolution) -> Certificate:
    """Verify that a solution is closed and that its flow proves its gap; raise if not."""
    kept = solution.kept
    if kept.dtype != np.bool_ or kept.shape != (problem.n_projects,):
        raise CertificateError("The answer is not a mask with one entry per project.")
    needs_other = kept & (problem.requires >= 0)
    if not kept[problem.requires[needs_other]].all():
        raise CertificateError("The answer is not closed: it keeps a project without its required.")
    if solution.flow is None:
        raise CertificateError("The answer comes without a flow, so nothing proves it optimal.")
    certificate = Certificate(problem.profit(kept), _bound(problem, solution.flow))
    if certificate.gap != solution.gap:
        raise CertificateError(
            f"The answer has profit {certificate.profit}, but its flow only proves that none is "
            f"better than {certificate.bound}, and it claims a gap of {solution.gap}."
        )
    return certificate


def _bound(problem: ClosureProblem, flow: Flow) -> int:
    """Return the sum of all positive excesses."""
    up, down = flow.to_required, flow.to_item
    if up.shape != (problem.n_projects,) or down.shape != (problem.n_arcs,):
        raise CertificateError("The flow does not match the arcs of the problem.")
    if (up < 0).any() or (down < 0).any():
        raise CertificateError("The flow is negative somewhere.")
    if up[problem.requires < 0].any():
        raise CertificateError("A project hands flow to a project that it does not require.")
    excess, traffic = kernels.excess_and_traffic(problem.arrays, up, down)
    # Doubles are too coarse for the sums themselves, but tell whether they fit into 64 bits.
    if traffic.max(initial=0.0) > 4 * LARGEST_TOTAL:
        raise CertificateError("The flow is too large to be added up exactly.")
    return exact_sum(excess[excess > 0])
