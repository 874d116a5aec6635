"""The solvers that a user can ask for by name."""

from collections.abc import Callable

from thriftwood.closure import ClosureProblem, ClosureSolution
from thriftwood.errors import InputError
from thriftwood.solvers.dantzig_wolfe import dantzig_wolfe
from thriftwood.solvers.linear_program import linear_program
from thriftwood.solvers.min_cut import min_cut

Solver = Callable[[ClosureProblem], ClosureSolution]

# Not brute force: it gives no proof that a machine could check, and gives up beyond small problems.
SOLVERS: dict[str, Solver] = {
    "min_cut": min_cut,
    "linear_program": linear_program,
    "dantzig_wolfe": dantzig_wolfe,
}


def solver_named(name: str) -> Solver:
    """Return a solver that proves its answers, by its name."""
    if name not in SOLVERS:
        *known, last = map(repr, SOLVERS)
        raise InputError(f"There is no solver {name!r}: choose {', '.join(known)} or {last}.")
    return SOLVERS[name]
