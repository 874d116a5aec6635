"""The master of the decomposition: the best set made of pieces, and prices that prove it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thriftwood.closure import ClosureProblem, ClosureSolution, merge_twin_items
from thriftwood.closure import kernels as closure_kernels
from thriftwood.solvers import dantzig_wolfe_kernels as kernels
from thriftwood.solvers.components import largest_charge
from thriftwood.support.arrays import (
    BoolArray,
    IndexArray,
    IntArray,
    read_only,
)


@dataclass(frozen=True, eq=False)
class Master:
    """A closure problem whose projects come in pieces: a piece is kept whole or not at all.

    Attributes
    ----------
    problem : ClosureProblem
    solver : callable
        Solves the problem of pieces, and returns a flow with its answer.
    """

    problem: ClosureProblem
    solver: Callable[[ClosureProblem], ClosureSolution]

    def solve(self, pieces: BoolArray) -> tuple[BoolArray, IntArray]:
        """Return the best set made of pieces, and prices of all arcs from the flow that proves it.

        Parameters
        ----------
        pieces : shape (n_projects,)
            Which projects begin a piece.
        """
        problem = self.problem
        gains, requires, arc_start, arc_item, piece, part_of = kernels.contract(
            problem.gains,
            problem.requires,
            problem.arc_start,
            problem.arc_item,
            problem.n_items,
            pieces,
        )
        whole = ClosureProblem(
            gains, requires, read_only(arc_start), read_only(arc_item), problem.costs
        )
        merged, _ = merge_twin_items(whole)
        group, _ = closure_kernels.twin_groups(arc_start, arc_item, problem.n_items)
        solution = self.solver(merged)
        assert solution.flow is not None
        shares = kernels.share_evenly(
            problem.costs,
            arc_start,
            arc_item,
            group,
            merged.arc_start,
            merged.arc_item,
            solution.flow.to_item,
        )
        return solution.kept[piece], self._prices(part_of, shares)

    def equal_shares(self) -> IntArray:
        """Return prices at which all who need an item pay about the same part of its cost."""
        n_arcs = self.problem.n_arcs
        return self._prices(np.arange(n_arcs, dtype=np.int32), np.zeros(n_arcs, dtype=np.int64))

    def _prices(self, part_of: IndexArray, shares: IntArray) -> IntArray:
        """Return prices of arcs: what the pieces they are part of pay, and what nobody pays."""
        prices: IntArray = kernels.prices_of_arcs(
            self.problem.costs,
            self.problem.arc_start,
            self.problem.arc_item,
            part_of,
            shares,
            largest_charge(self.problem),
        )
        return prices
