"""The best closed set as a minimum cut, by our own push-relabel."""

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
    to_required, to_item = kernels.optimal_flow(
        smaller.gains, smaller.requires, smaller.arc_start, smaller.arc_item, smaller.costs
    )
    flow = Flow(to_required, to_item)
    return undo(ClosureSolution(smallest_optimum(smaller, flow), flow))
