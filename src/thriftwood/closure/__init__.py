"""Project selection: which projects to keep when they share the items they need.

This package knows no tree. A `ClosureProblem` has *projects*, each worth a gain and needing at most
one other project and any number of *items*; an item costs the same whoever needs it and is paid
once. A set of projects with all they need is *closed*; the best closed set has the largest profit,
gains minus costs.

Law: a solution that passes `check_certificate` is optimal, whoever computed it.
"""

from thriftwood.closure.certificate import Certificate, check_certificate
from thriftwood.closure.path import ClosurePath, last_steps
from thriftwood.closure.pricing import Pricing, pricing_at
from thriftwood.closure.problem import NOTHING, ClosureProblem
from thriftwood.closure.reductions import merge_twin_items, reduce_closure, reduce_until_stable
from thriftwood.closure.solution import ClosureSolution, Flow, smallest_optimum
from thriftwood.closure.sums import LARGEST_TOTAL, exact_sum, from_the_end

__all__ = [
    "LARGEST_TOTAL",
    "NOTHING",
    "Certificate",
    "ClosurePath",
    "ClosureProblem",
    "ClosureSolution",
    "Flow",
    "Pricing",
    "check_certificate",
    "exact_sum",
    "from_the_end",
    "last_steps",
    "merge_twin_items",
    "pricing_at",
    "reduce_closure",
    "reduce_until_stable",
    "smallest_optimum",
]
