"""Make a closure problem smaller without changing its smallest optimum.

Others are known: private items charged to their project, hopeless projects dropped, sure ones kept.
They take longer than they save.
"""

from collections.abc import Callable

from thriftwood.closure import kernels
from thriftwood.closure.problem import ClosureProblem
from thriftwood.closure.solution import ClosureSolution, Flow
from thriftwood.support.arrays import IndexArray, read_only

Undo = Callable[[ClosureSolution], ClosureSolution]


def merge_twin_items(
    problem: ClosureProblem, most: int | None = None
) -> tuple[ClosureProblem, Undo]:
    """Buy items together that exactly the same projects need, at the sum of their costs.

    Returns the smaller problem and an `undo` that carries a solution, flow included, back to the
    larger one: the certificate is always checked on the problem that the user asked about.

    Parameters
    ----------
    problem : ClosureProblem
    most : int, optional
        What that sum is at the most. None is more than all gains: nothing that costs more is ever
        bought. That is so only once the costs are multiplied by lambda.
    """
    merged, group = group_twin_items(problem, most)

    def undo(solution: ClosureSolution) -> ClosureSolution:
        flow = solution.flow
        if flow is not None:
            to_item = kernels.share_out(problem.arrays, group, merged.arrays, flow.to_item)
            flow = Flow(flow.to_required, to_item)
        return ClosureSolution(solution.kept, flow, solution.gap, solution.rounds)

    return merged, undo


def group_twin_items(
    problem: ClosureProblem, most: int | None = None
) -> tuple[ClosureProblem, IndexArray]:
    """Return the problem with twins merged, and for each item its number there, -1 for none."""
    # Copies can be written to, like the parts of the parametric cut: nothing is compiled twice.
    arc_start, arc_item, group, n_groups = kernels.merge_all_twins(
        problem.arc_start.copy(), problem.arc_item.copy(), problem.n_items
    )
    never = problem.never if most is None else most
    costs = kernels.merge_costs(problem.costs.copy(), group, n_groups, never)
    arrays = read_only(arc_start), read_only(arc_item), read_only(costs)
    return ClosureProblem(problem.gains, problem.requires, *arrays), group
