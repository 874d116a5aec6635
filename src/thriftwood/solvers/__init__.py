"""Solvers of closure problems: minimum cut, parametric cut, linear program, Dantzig-Wolfe.

Law: a solver returns the smallest best set of projects, with a flow that proves it optimal, or
raises. (`brute_force`, the oracle of our tests, proves it by trying everything instead; and where
`DantzigWolfe` is told to stop early, its flow proves how far from the best its answer may be.)
"""

from thriftwood.closure import Solver
from thriftwood.errors import InputError
from thriftwood.solvers.dantzig_wolfe import DantzigWolfe, Round
from thriftwood.solvers.linear_program import linear_program
from thriftwood.solvers.min_cut import min_cut
from thriftwood.solvers.parametric_cut import parametric_cut
from thriftwood.solvers.plain import brute_force, plain_parametric_cut
from thriftwood.support.validation import listed

# Not brute force: it gives no proof that a machine could check, and gives up beyond small problems.
SOLVERS: dict[str, Solver] = {
    "min_cut": min_cut,
    "linear_program": linear_program,
    "dantzig_wolfe": DantzigWolfe(),
}


def read_solver(solver: str | DantzigWolfe) -> Solver:
    """Return the solver that the user means: a name, or one with options of its own."""
    if isinstance(solver, DantzigWolfe):
        return solver
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise InputError(
            f"There is no solver {solver!r}: choose {listed(map(repr, SOLVERS))}, or pass an "
            "object DantzigWolfe(...).",
            "solver",
        )
    return SOLVERS[solver]
