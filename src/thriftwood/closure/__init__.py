"""Project selection: which projects to keep when they share the items they need.

This package knows no tree. A `ClosureProblem` has *projects*, each worth a gain and needing at most
one other project and any number of *items*; an item costs the same whoever needs it and is paid
once. A set of projects with all they need is *closed*; the best closed set has the largest profit,
gains minus costs.

Law: a solution that passes `check_certificate` is optimal, whoever computed it.
"""

from thriftwood.closure.certificate import Certificate, check_certificate
from thriftwood.closure.integers import (
    LARGEST_TOTAL,
    ScaledLambda,
    exact_sum,
    from_the_end,
    scale_lambda,
)
from thriftwood.closure.problem import NOTHING, ClosureProblem
from thriftwood.closure.reductions import merge_twin_items, reduce_closure, reduce_until_stable
from thriftwood.closure.solution import (
    ClosureSolution,
    Flow,
    ParametricCut,
    last_needed,
    smallest_optimum,
)

__all__ = [
    "LARGEST_TOTAL",
    "NOTHING",
    "Certificate",
    "ClosureProblem",
    "ClosureSolution",
    "Flow",
    "ParametricCut",
    "ScaledLambda",
    "check_certificate",
    "exact_sum",
    "from_the_end",
    "last_needed",
    "merge_twin_items",
    "reduce_closure",
    "reduce_until_stable",
    "scale_lambda",
    "smallest_optimum",
]
