"""The best closed set as a minimum cut, by our own pseudoflow."""

import numpy as np

from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    reduce_closure,
    smallest_optimum,
)
from thriftwood.solvers import kernels


def min_cut(problem: ClosureProblem) -> ClosureSolution:
    """Return the smallest best set of projects, with the flow that proves it."""
    smaller, undo = reduce_closure(problem)
    flow = optimal_flow(smaller)
    return undo(ClosureSolution(smallest_optimum(smaller, flow), flow))


def optimal_flow(problem: ClosureProblem) -> Flow:
    """Return a flow that leaves no surplus which could still be used."""
    n_vertices = problem.n_projects + problem.n_items
    trees = kernels.plant(
        problem.requires.copy(),  # the same types as on the path: nothing is compiled twice
        problem.arc_start.copy(),
        problem.arc_item.copy(),
        np.concatenate([problem.gains, -problem.costs]),
        np.full(n_vertices, kernels.NOTHING, dtype=np.int32),
    )
    kernels.settle(trees)
    to_required, to_item = kernels.flow_over_arcs(trees)
    return Flow(to_required, to_item)
