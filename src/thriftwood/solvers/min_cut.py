"""The best closed set as a minimum cut, by our own pseudoflow.

After J. C. Picard (1976) the maximum-weight closure is the source side of a minimum cut; the kernel
is that of D. S. Hochbaum (2008).
"""

import numpy as np

from thriftwood.closure import ClosureProblem, ClosureSolution, Flow
from thriftwood.solvers import pseudoflow_kernels as kernels
from thriftwood.support.parallel import stopping


def min_cut(problem: ClosureProblem) -> ClosureSolution:
    """Return the smallest best set of projects, with the flow that proves it."""
    # Copies can be written to, like the parts of the parametric cut: nothing is compiled twice.
    arcs = kernels.Arcs(problem.requires.copy(), problem.arc_start.copy(), problem.arc_item.copy())
    excess = np.concatenate([problem.gains, -problem.costs])
    stop = np.zeros(1, dtype=np.bool_)
    with stopping(stop):
        is_strong, *flow = kernels.maximum_flow(arcs, excess, stop)
    return ClosureSolution(is_strong[: problem.n_projects], Flow(*flow))
