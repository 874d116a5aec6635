"""The best closed set as a minimum cut, by our own pseudoflow.

After J. C. Picard (1976) the maximum-weight closure is the source side of a minimum cut; the kernel
is that of D. S. Hochbaum (2008).
"""

import numpy as np

from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    merge_twin_items,
    smallest_optimum,
)
from thriftwood.solvers import pseudoflow_kernels as kernels
from thriftwood.support.parallel import stopping


def min_cut(problem: ClosureProblem) -> ClosureSolution:
    """Return the smallest best set of projects, with the flow that proves it."""
    smaller, undo = merge_twin_items(problem)
    flow = maximum_flow(smaller)
    return undo(ClosureSolution(smallest_optimum(smaller, flow), flow))


def maximum_flow(problem: ClosureProblem) -> Flow:
    """Return a flow that leaves no excess which could still reach a deficit."""
    # Copies can be written to, like the parts of the parametric cut: nothing is compiled twice.
    arcs = kernels.Arcs(problem.requires.copy(), problem.arc_start.copy(), problem.arc_item.copy())
    excess = np.concatenate([problem.gains, -problem.costs])
    stop = np.zeros(1, dtype=np.bool_)
    with stopping(stop):
        return Flow(*kernels.maximum_flow(arcs, excess, stop))
