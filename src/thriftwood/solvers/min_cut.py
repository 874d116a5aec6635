"""The best closed set as a minimum cut, by our own push-relabel."""

import numpy as np

from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    reduce_closure,
    smallest_optimum,
)
from thriftwood.closure.kernels import arcs_by_item, children_of
from thriftwood.solvers import kernels


def min_cut(problem: ClosureProblem) -> ClosureSolution:
    """Return the smallest best set of projects, with the flow that proves it."""
    smaller, undo = reduce_closure(problem)
    flow = optimal_flow(smaller)
    return undo(ClosureSolution(smallest_optimum(smaller, flow), flow))


def optimal_flow(problem: ClosureProblem) -> Flow:
    """Return a flow that leaves no surplus which could still be used."""
    network = _network_of(problem)
    kernels.make_flow_optimal(network)
    return Flow(network.to_required, network.flow[network.arc_slot])


def _network_of(problem: ClosureProblem) -> kernels.Network:
    """Lay out the network of a problem, with no flow on it."""
    n_projects, n_items, n_arcs = problem.n_projects, problem.n_items, problem.n_arcs
    first_child, next_child = children_of(problem.requires)
    item_start, slot_arc, slot_project = arcs_by_item(problem.arc_start, problem.arc_item, n_items)
    arc_slot = np.empty(n_arcs, dtype=np.int32)
    arc_slot[slot_arc] = np.arange(n_arcs, dtype=np.int32)
    return kernels.Network(
        requires=problem.requires,
        first_child=first_child,
        next_child=next_child,
        arc_start=problem.arc_start,
        arc_item=problem.arc_item,
        arc_slot=arc_slot,
        carries=np.full(n_arcs, kernels.EMPTY, dtype=np.uint8),
        item_start=item_start,
        slot_project=slot_project,
        slot_arc=slot_arc,
        flow=np.zeros(n_arcs, dtype=np.int64),
        cost=problem.costs,
        to_required=np.zeros(n_projects, dtype=np.int64),
        rest=np.concatenate([problem.gains, -problem.costs]),
        label=np.empty(n_projects + n_items, dtype=np.int32),
        current=np.empty(n_projects + n_items, dtype=np.int32),
        queue=np.empty(n_projects + n_items, dtype=np.int32),
    )
