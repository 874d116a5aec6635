"""The paper's own formulations, to be read, printed and solved.

Law: the optimum of IP3 here is the one that `build_closure` and a minimum cut find, by another way:
the paper's variables, the paper's constraints, and HiGHS. Meant for small forests; `prune` is made
for large ones.
"""

from thriftwood.paper.formulations import (
    ip0,
    ip1,
    ip2,
    ip3,
    lp1,
)
from thriftwood.paper.instance import PaperInstance, read_instance
from thriftwood.paper.network import network_form, tree_equalities
from thriftwood.paper.program import Constraints, LinearProgram, stacked
from thriftwood.paper.rows import sharing_constraints
from thriftwood.paper.sizes import ProgramSizes, Size, count_sizes
from thriftwood.paper.solving import ProgramSolution, kept_splits, solve

__all__ = [
    "Constraints",
    "LinearProgram",
    "PaperInstance",
    "ProgramSizes",
    "ProgramSolution",
    "Size",
    "count_sizes",
    "ip0",
    "ip1",
    "ip2",
    "ip3",
    "kept_splits",
    "lp1",
    "network_form",
    "read_instance",
    "sharing_constraints",
    "solve",
    "stacked",
    "tree_equalities",
]
