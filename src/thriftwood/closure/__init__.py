"""Maximum-weight closure: which projects to keep when they share the items they need.

This room knows no tree. A `ClosureProblem` has *projects*, each worth a gain and needing at most
one other project and any number of *items*; an item costs the same whoever needs it and is paid
once. A set of projects with all they need is *closed*; the best closed set has the largest profit,
gains minus costs. It is one side of a minimum cut: J. C. Picard (1976), Maximal closure of a graph
and applications to combinatorial problems, Management Science 22(11). With costs times lambda, the
best sets for all lambda are nested: G. Gallo, M. D. Grigoriadis and R. E. Tarjan (1989), A fast
parametric maximum flow algorithm and applications, SIAM Journal on Computing 18(1).

Law: a solution that passes `check_certificate` is optimal, whoever computed it.
"""

from thriftwood.closure.certificate import Certificate, check_certificate
from thriftwood.closure.integers import (
    LARGEST_TOTAL,
    SAME_LAMBDA,
    ScaledLambda,
    exact_sum,
    from_the_end,
    scale_lambda,
    simple_fraction,
)
from thriftwood.closure.kernels import NOTHING, last_needed
from thriftwood.closure.problem import ClosureProblem
from thriftwood.closure.reductions import group_twin_items, merge_twin_items
from thriftwood.closure.solution import (
    ClosureSolution,
    Flow,
    ParametricCut,
    Solver,
    smallest_optimum,
)
