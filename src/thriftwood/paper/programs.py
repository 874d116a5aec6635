"""Linear programs with names: constraints, an objective, how they read, and HiGHS to solve them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from thriftwood.errors import CertificateError
from thriftwood.support.arrays import FloatArray, read_only
from thriftwood.support.parallel import aside

# What is larger is shown by its size alone.
MOST_SHOWN = 40
# HiGHS works with doubles: what is this near to a whole number is one.
NOISE = 1e-6
# Weights are scaled to this. The tolerances of HiGHS for optimality, 1e-7 and for branch and bound
# 1e-6, are in their unit; smaller ones are not to be had there, or are below what doubles hold.
LARGEST = 2.0**20
FEASIBILITY = {"primal_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False, repr=False)
class Constraints:
    """Rows of a linear program, each with a name, over variables with names.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)
    senses : tuple of {"=", "<=", ">="}
    right_side : shape (n_rows,)
    row_names, column_names : tuple of str
    """

    matrix: Any
    senses: tuple[str, ...]
    right_side: FloatArray
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_names), len(self.column_names)

    def __repr__(self) -> str:
        """Show the matrix as the paper prints it, with a dot for 0."""
        if max(self.shape) > MOST_SHOWN:
            return f"Constraints({self.shape[0]} rows, {self.shape[1]} columns)"
        lines = [["", *self.column_names, ""]]
        for name, row, side in zip(self.row_names, self.matrix.toarray(), self._sides, strict=True):
            entries = ["." if value == 0 else f"{value:.4g}" for value in row]
            lines.append([name, *entries, side])
        return _aligned(lines)

    def equations(self) -> list[str]:
        """Return every row as a formula."""
        formulas = []
        for row, side in enumerate(self._sides):
            entries = self.matrix[[row]]
            names = [self.column_names[column] for column in entries.indices]
            formulas.append(f"{formula(entries.data, names)} {side}")
        return formulas

    @property
    def _sides(self) -> list[str]:
        sides = zip(self.senses, self.right_side, strict=True)
        return [f"{sense} {side:g}" for sense, side in sides]


@dataclass(frozen=True, eq=False, repr=False)
class LinearProgram:
    """Minimise an objective under constraints, over variables from 0 to 1.

    Attributes
    ----------
    name : str
        What the paper calls it.
    objective : shape (n_columns,)
    constraints : Constraints
    is_binary : bool
        True where variables must be 0 or 1, False where they may lie in between.
    """

    name: str
    objective: FloatArray
    constraints: Constraints
    is_binary: bool = True

    def relax(self) -> LinearProgram:
        """Return the linear relaxation: the same, with variables anywhere from 0 to 1."""
        return replace(self, is_binary=False)

    def restrict(self) -> LinearProgram:
        """Return the same over 0 and 1 alone."""
        return replace(self, is_binary=True)

    def __repr__(self) -> str:
        n_rows, n_columns = self.constraints.shape
        values = "{0, 1}" if self.is_binary else "[0, 1]"
        title = f"{self.name}: {n_columns} variables in {values}, {n_rows} constraints"
        if max(self.constraints.shape) > MOST_SHOWN:
            return title
        goal = formula(self.objective, self.constraints.column_names)
        names = ("minimise", *self.constraints.row_names)
        width = max(map(len, names)) + 2
        lines = zip(names, (goal, *self.constraints.equations()), strict=True)
        return "\n".join([title, *(f"  {name:{width}s}{text}" for name, text in lines)])


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
        return title if len(shown) > MOST_SHOWN else f"{title}\n  " + ", ".join(shown)


def stacked(*blocks: Constraints) -> Constraints:
    """Return the rows of all blocks, over the variables of all, matched by their names."""
    place: dict[str, int] = {}
    for block in blocks:
        for name in block.column_names:
            place.setdefault(name, len(place))
    return Constraints(
        matrix=csr_array(vstack([_spread(block, place) for block in blocks])),
        senses=tuple(sense for block in blocks for sense in block.senses),
        right_side=np.concatenate([block.right_side for block in blocks]),
        row_names=tuple(name for block in blocks for name in block.row_names),
        column_names=tuple(place),
    )


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
    method: dict[str, Any] = {"method": "highs-ds", "options": FEASIBILITY}
    if program.is_binary:
        options = FEASIBILITY | {"mip_rel_gap": 0.0}
        method = {"method": "highs", "integrality": 1, "options": options}
    sides = _sides(program.constraints)
    highs = partial(linprog, **sides, bounds=(0, 1), **method)
    result = aside(highs, program.objective / unit)
    if result.status != 0:
        raise CertificateError(f"HiGHS did not solve {program.name}: {result.message}")
    return ProgramSolution(program, read_only(np.array(result.x)))


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


def formula(weights: FloatArray, names: tuple[str, ...] | list[str]) -> str:
    """Return a weighted sum as text, such as `z_1 + 0.5 z_2 - w_1,1`."""
    text = ""
    for weight, name in zip(weights, names, strict=True):
        if weight != 0:
            sign = "- " if weight < 0 else "+ "
            size = "" if abs(weight) == 1 else f"{abs(weight):.4g} "
            text += f"{sign}{size}{name} "
    return text.removeprefix("+ ").strip() or "0"


def _spread(block: Constraints, place: dict[str, int]) -> csr_array:
    """Return the matrix of a block with its columns at their places among more."""
    entries = block.matrix.tocoo()
    row, column = entries.coords
    places = np.array([place[name] for name in block.column_names], dtype=np.int64)
    return csr_array((entries.data, (row, places[column])), shape=(block.shape[0], len(place)))


def _aligned(lines: list[list[str]]) -> str:
    """Return cells as a table: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        line[0].ljust(widths[0])
        + "".join(cell.rjust(width + 2) for cell, width in zip(line[1:], widths[1:], strict=True))
        for line in lines
    ]
    return "\n".join(row.rstrip() for row in text)
