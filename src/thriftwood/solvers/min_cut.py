"""The best closed set as a minimum cut, by our own pseudoflow."""

import numpy as np

from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    reduce_closure,
    smallest_optimum,
)
from thriftwood.solvers import pseudoflow_kernels as kernels


def min_cut(problem: ClosureProblem) -> ClosureSolution:
    """Return the smallest best set of projects, with the flow that proves it."""
    smaller, undo = reduce_closure(problem)
    flow = optimal_flow(smaller)
    return undo(ClosureSolution(smallest_optimum(smaller, flow), flow))


def optimal_flow(problem: ClosureProblem) -> Flow:
    """Return a flow that leaves no surplus which could still be used."""
    # Copies can be written to, like the parts of the path: nothing is compiled twice.
    needs = (problem.requires.copy(), problem.arc_start.copy(), problem.arc_item.copy())
    rest = np.concatenate([problem.gains, -problem.costs])
    trees = kernels.plant(*needs, rest, kernels.pay_from_below(*needs, rest))
    kernels.settle(trees)
    to_required, to_item = kernels.flow_over_arcs(trees)
    return Flow(to_required, to_item)
