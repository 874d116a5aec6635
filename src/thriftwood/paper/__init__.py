"""The paper's own programs, to be read, printed and solved.

F. Nan, J. Wang and V. Saligrama (2016), Optimally pruning decision tree ensembles with feature
cost, arXiv:1601.00955.

Law: the optimum of IP3 here is the one that a closure problem and a minimum cut find, by another
way: the paper's variables, the paper's constraints, and HiGHS. Meant for small forests; `prune` is
made for large ones.
"""

from thriftwood.paper.constraints import network_form, sharing_constraints, tree_equalities
from thriftwood.paper.formulations import (
    ProgramSizes,
    count_sizes,
    ip0,
    ip1,
    ip2,
    ip3,
    kept_splits,
    lp1,
)
from thriftwood.paper.instance import PaperInstance, read_instance
from thriftwood.paper.programs import (
    Constraints,
    LinearProgram,
    ProgramSolution,
    solve,
    stacked,
)

__all__ = [
    "Constraints",
    "LinearProgram",
    "PaperInstance",
    "ProgramSizes",
    "ProgramSolution",
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
