"""Solve the paper's programs with HiGHS, and read a solution back into kept splits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import vstack

from thriftwood.errors import CertificateError, InputError
from thriftwood.paper.instance import PaperInstance
from thriftwood.paper.numbering import nodes_down_to
from thriftwood.paper.program import Constraints, LinearProgram
from thriftwood.support.arrays import BoolArray, FloatArray, read_only

# HiGHS works with doubles: what is this near to a whole number is one.
NOISE = 1e-6
# Weights are scaled to this. The tolerances of HiGHS for optimality, 1e-7 and for branch and bound
# 1e-6, are in their unit; smaller ones are not to be had there, or are below what doubles hold.
LARGEST = 2.0**20
FEASIBILITY = {"primal_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False, repr=False)
class ProgramSolution:
    """An optimal solution of a program.

    Attributes
    ----------
    program : LinearProgram
    values : shape (n_columns,)
    """

    program: LinearProgram
    values: FloatArray

    @property
    def objective(self) -> float:
        return float(self.program.objective @ self.values)

    @property
    def is_integral(self) -> bool:
        return bool((np.abs(self.values - np.rint(self.values)) <= NOISE).all())

    def by_name(self) -> dict[str, float]:
        """Return the value of every variable."""
        names = self.program.constraints.column_names
        return dict(zip(names, self.values.tolist(), strict=True))

    def __repr__(self) -> str:
        kind = "integral" if self.is_integral else "fractional"
        shown = [f"{name} = {value:.4g}" for name, value in self.by_name().items() if value > NOISE]
        title = f"{self.program.name}: optimum {self.objective:.6g}, {kind}"
        return title if len(shown) > 40 else f"{title}\n  " + ", ".join(shown)


def solve(program: LinearProgram) -> ProgramSolution:
    """Return an optimum by HiGHS: a vertex if the program is relaxed, by the dual simplex.

    A program over 0 and 1 is relaxed first. Where that is integral, as always for IP0, IP2 and IP3,
    no branching is needed.
    """
    if program.is_binary:
        relaxed = solve(program.relax())
        if relaxed.is_integral:
            return ProgramSolution(program, read_only(np.rint(relaxed.values)))
    unit = float(np.abs(program.objective).max(initial=0.0)) / LARGEST or 1.0
    result = linprog(
        program.objective / unit,
        **_sides(program.constraints),
        bounds=(0, 1),
        **_method(program.is_binary),
    )
    if result.status != 0:
        raise CertificateError(f"HiGHS did not solve {program.name}: {result.message}")
    return ProgramSolution(program, read_only(np.array(result.x)))


def kept_splits(instance: PaperInstance, solution: ProgramSolution) -> BoolArray:
    """Return which nodes stay splits, as a mask over the forest's nodes.

    A node is a split if neither it nor a node above it is a leaf of the pruned tree: 1 minus its z
    and minus the sum of z over p(h) is 1.
    """
    value_of = solution.by_name()
    missing = [name for name in instance.z_names if name not in value_of]
    if missing:
        raise InputError(f"The solution has no {missing[0]}: it is one of another forest.")
    leaf_at = np.array([value_of[name] for name in instance.z_names])
    fractional = np.flatnonzero(np.abs(leaf_at - np.rint(leaf_at)) > NOISE)
    if len(fractional):
        name, value = instance.z_names[fractional[0]], leaf_at[fractional[0]]
        raise InputError(
            f"The solution is fractional ({name} is {value:.4g}), so it is no pruning: solve IP0, "
            "IP2 or IP3, or a program over 0 and 1."
        )
    forest = instance.forest
    which, passed = nodes_down_to(forest, np.arange(forest.n_nodes))
    leaves_passed = np.bincount(which, weights=leaf_at[passed], minlength=forest.n_nodes)
    kept: BoolArray = forest.is_split & (leaves_passed < 0.5)
    return kept


def _sides(constraints: Constraints) -> dict[str, Any]:
    """Return equalities and inequalities as scipy wants them: = and <= apart, >= turned round."""
    senses, matrix, right = np.array(constraints.senses), constraints.matrix, constraints.right_side
    equal, most, least = (np.flatnonzero(senses == sense) for sense in ("=", "<=", ">="))
    return {
        "A_eq": matrix[equal],
        "b_eq": right[equal],
        "A_ub": vstack([matrix[most], -matrix[least]]),
        "b_ub": np.concatenate([right[most], -right[least]]),
    }


def _method(is_binary: bool) -> dict[str, Any]:
    if is_binary:
        return {"method": "highs", "integrality": 1, "options": FEASIBILITY | {"mip_rel_gap": 0.0}}
    return {"method": "highs-ds", "options": FEASIBILITY}
