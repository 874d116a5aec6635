"""The solvers that a user can ask for by name."""

from collections.abc import Callable

from thriftwood.closure import ClosureProblem, ClosureSolution
from thriftwood.errors import InputError
from thriftwood.solvers.brute_force import brute_force
from thriftwood.solvers.linear_program import linear_program
from thriftwood.solvers.min_cut import min_cut

Solver = Callable[[ClosureProblem], ClosureSolution]

SOLVERS: dict[str, Solver] = {
    "min_cut": min_cut,
    "linear_program": linear_program,
    "brute_force": brute_force,
}

# Brute force has no proof that a machine could check, and gives up beyond small problems.
CERTIFYING = ("min_cut", "linear_program")


def solver_named(name: str) -> Solver:
    """Return a solver that proves its answers, by its name."""
    if name not in CERTIFYING:
        known = " or ".join(repr(known) for known in CERTIFYING)
        raise InputError(f"There is no solver {name!r}: choose {known}.")
    return SOLVERS[name]
