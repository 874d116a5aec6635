"""The best closed set as a minimum cut, by our own push-relabel."""

from thriftwood.closure import ClosureProblem, ClosureSolution, Flow, smallest_optimum
from thriftwood.solvers import kernels


def min_cut(problem: ClosureProblem) -> ClosureSolution:
    """Return the smallest best set of projects, with the flow that proves it."""
    to_required, to_item, _ = kernels.optimal_flow(
        problem.gains, problem.requires, problem.arc_start, problem.arc_item, problem.costs
    )
    flow = Flow(to_required, to_item)
    return ClosureSolution(smallest_optimum(problem, flow), flow)
