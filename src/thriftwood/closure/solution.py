"""Solutions: the kept projects with a flow that proves them, and the parametric cut."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from thriftwood.closure import kernels
from thriftwood.closure.problem import ClosureProblem
from thriftwood.support.arrays import BoolArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow from projects to what they need: shares of cost that they take over.

    `to_required[h]` is what project `h` hands on to the project that it requires, `to_item[a]` what
    goes over arc `a` to an item. The *excess* of a vertex is what it has of its own (its gain, or
    minus its cost), plus what it receives, minus what it hands on.
    """

    to_required: IntArray
    to_item: IntArray


@dataclass(frozen=True, eq=False)
class ClosureSolution:
    """The answer of a solver.

    Attributes
    ----------
    kept : shape (n_projects,)
    flow : Flow, optional
        From solvers that have one; it proves the gap.
    gap : int
        How far from the best profit the kept projects may be, as the solver claims.
    rounds : tuple
        Of a decomposition.
    """

    kept: BoolArray
    flow: Flow | None
    gap: int = 0
    rounds: tuple[Any, ...] = ()


Solver = Callable[[ClosureProblem], ClosureSolution]


def smallest_optimum(problem: ClosureProblem, flow: Flow) -> BoolArray:
    """Return the smallest best set of projects, given an optimal flow: the minimal source set.

    These are the projects that an excess can still reach in the residual graph: over the arcs of
    the problem, and back over arcs that carry flow. Every best closed set contains them.
    """
    return kernels.reached_by_excess(problem.arrays, flow.to_required, flow.to_item)


@dataclass(frozen=True, eq=False)
class ParametricCut:
    """All smallest best sets for lambda from 0 up: the parametric minimum cut.

    At lambda the smallest best closed set keeps the projects whose breakpoint is larger. So the
    sets are nested, and there is one more than there are breakpoints.

    Attributes
    ----------
    breakpoint_of : shape (n_projects,)
        The number of the breakpoint at which a project drops, from 0; -1 if it is never kept,
        `n_breakpoints` if it is kept at any lambda, because it needs nothing that costs.
    gain, cost : shape (n_breakpoints,)
        The gains given up and the costs saved at each breakpoint; lambda is their ratio there.
    slack : float
        By how many gains, at any lambda, the set may miss the optimum because lambda had to be
        rounded to stay within 64 bits, or because time was up; 0 where neither happened.
    is_unfinished : bool
        Whether time was up.
    """

    breakpoint_of: IndexArray
    gain: IntArray
    cost: IntArray
    slack: float
    is_unfinished: bool = False

    @property
    def n_breakpoints(self) -> int:
        return len(self.gain)

    @property
    def breakpoints(self) -> list[Fraction]:
        """The exact values of lambda at which projects drop, rising."""
        return [
            Fraction(*pair) for pair in zip(self.gain.tolist(), self.cost.tolist(), strict=True)
        ]

    def kept(self, n_passed: int) -> BoolArray:
        """Return the projects that are kept after a number of breakpoints."""
        return self.breakpoint_of >= n_passed
