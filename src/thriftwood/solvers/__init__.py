"""Ways to the best closed set of a `ClosureProblem`.

Law: a solver returns the smallest best set of projects, with a flow that proves it optimal, or
raises. (`brute_force`, the oracle of our tests, proves it by trying everything instead.)
"""

from thriftwood.solvers.brute_force import brute_force
from thriftwood.solvers.dantzig_wolfe import DecomposedSolution, Round, dantzig_wolfe
from thriftwood.solvers.linear_program import linear_program
from thriftwood.solvers.min_cut import min_cut
from thriftwood.solvers.path import closure_path
from thriftwood.solvers.plain_path import plain_path
from thriftwood.solvers.registry import Solver, solver_named

__all__ = [
    "DecomposedSolution",
    "Round",
    "Solver",
    "brute_force",
    "closure_path",
    "dantzig_wolfe",
    "linear_program",
    "min_cut",
    "plain_path",
    "solver_named",
]
