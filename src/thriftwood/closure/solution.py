"""What a solver returns: the kept projects, and a flow that proves how good they are."""

from dataclasses import dataclass

from thriftwood.closure import kernels
from thriftwood.closure.problem import ClosureProblem
from thriftwood.support.arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Flow:
    """Shares of cost that projects take over for what they need.

    `to_required[h]` is what project `h` hands on to the project that it requires, `to_item[a]` what
    goes over arc `a` to an item. A vertex is left with what it has of its own (its gain, or minus
    its cost), plus what it receives, minus what it hands on.
    """

    to_required: IntArray
    to_item: IntArray


@dataclass(frozen=True, eq=False)
class ClosureSolution:
    """The kept projects and, from solvers that have one, the flow that proves their gap."""

    kept: BoolArray
    flow: Flow | None

    @property
    def gap(self) -> int:
        """How far from the best profit the kept projects may be, as the solver says."""
        return 0


def smallest_optimum(problem: ClosureProblem, flow: Flow) -> BoolArray:
    """Return the smallest best set of projects, given an optimal flow.

    These are the projects that a surplus can still reach: over the arcs of the problem, and back
    over arcs that carry flow. Every best closed set contains them.
    """
    kept: BoolArray = kernels.reached_by_surplus(
        problem.gains,
        problem.requires,
        problem.arc_start,
        problem.arc_item,
        problem.costs,
        flow.to_required,
        flow.to_item,
    )
    return kept
