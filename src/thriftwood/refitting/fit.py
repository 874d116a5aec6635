"""Find the values of leaves that fit the rows best and stay near the old ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thriftwood.errors import InputError
from thriftwood.refitting.newton import minimise
from thriftwood.refitting.objective import Objective
from thriftwood.refitting.passes import passes_over
from thriftwood.refitting.problem import LeafProblem
from thriftwood.support.arrays import FloatArray, read_only, read_only_copy
from thriftwood.support.validation import (
    one_number,
    one_number_from_zero,
    truth,
    whole_number,
)


@dataclass(frozen=True, eq=False)
class LeafFit:
    """Fitted values.

    Parameters
    ----------
    values : shape (n_leaves, n_outputs)
    bias : shape (n_outputs,)
    loss : float
        The sum of the rows' losses, each times the weight of its row.
    objective : float
        The same plus what the distance to the old values costs: what was minimised.
    n_iterations : int
        Steps of Newton's method.
    converged : bool
        Whether the objective is within the tolerance of the least possible, as its slope bounds it:
        strictly for the values, by its present curvature for the bias.
    """

    values: FloatArray
    bias: FloatArray
    loss: float
    objective: float
    n_iterations: int
    converged: bool

    def __post_init__(self) -> None:
        for name in ("values", "bias"):
            object.__setattr__(self, name, read_only_copy(getattr(self, name), np.float64))


def fit_leaf_values(
    problem: LeafProblem,
    strength: float,
    start: LeafFit | None = None,
    fit_bias: bool = True,
    tolerance: float = 1e-6,
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> LeafFit:
    """Minimise the losses of all rows plus a price on leaving the old values.

    Over all values v of leaves, and over all biases, this minimises

        sum of weight_i * loss_i  +  strength * n_trees / 2 * sum of (v - prior)^2

    by Newton's method; its steps come from conjugate gradients, which only add and gather, so that
    the matrix of leaves is never written down. In Bayes' words, each row's score had before the
    rows were seen a normal distribution around the old score, of variance 1 / strength: this is why
    a good strength depends little on how many rows, trees and leaves there are.

    Parameters
    ----------
    problem : LeafProblem
    strength : float
        Above 0. Infinity returns the old values and the old bias.
    start : LeafFit, optional
        Where to start; the result of a similar strength saves time. The old values if left out.
    fit_bias : bool
        Whether the bias may change, too; that costs nothing. The biases of classes that no row has
        may not, nor those of all others against them: there would be no end to it.
    tolerance : float
        The objective may be this part of itself above the least possible.
    max_iter : int
        Give up after as many steps of Newton's method.
    n_jobs : int, optional
        Threads, as in joblib. Results are the same for any number.
    """
    problem.check()
    strength = check_strength(strength)
    fit_bias = truth(fit_bias, "fit_bias")
    tolerance = one_number_from_zero(tolerance, "tolerance", "1e-6 is enough for most uses.")
    max_iter = whole_number(max_iter, "max_iter", 0)
    counted = np.flatnonzero(problem.weights)
    if len(counted) < problem.n_samples:
        problem = problem.of_rows(counted)
    with passes_over(problem.leaves, problem.n_leaves, n_jobs) as passes:
        if math.isinf(strength):
            objective = Objective(problem, passes, 0.0, False)
            point = objective.point(problem.prior, problem.bias)
            return LeafFit(problem.prior, problem.bias, point.loss, point.loss, 0, True)
        objective = Objective(problem, passes, strength * problem.n_trees, fit_bias)
        values, bias = _where_to_start(problem, start)
        end = minimise(objective, objective.point(values, bias), tolerance, max_iter)
    values, bias = end.point.unknowns[:-1], end.point.unknowns[-1]
    return LeafFit(
        read_only(values.copy()),
        read_only(bias.copy()),
        end.point.loss,
        end.point.objective,
        end.n_steps,
        end.converged,
    )


def check_strength(strength: object) -> float:
    """Return the strength, or refuse it."""
    number = one_number(strength, "strength")
    if not number > 0:
        raise InputError(
            f"`strength` is {number:g}: it must be above 0; infinity keeps the old values."
        )
    return number


def _where_to_start(problem: LeafProblem, start: LeafFit | None) -> tuple[FloatArray, FloatArray]:
    if start is None:
        return problem.prior, problem.bias
    if start.values.shape != problem.prior.shape or start.bias.shape != problem.bias.shape:
        raise InputError("`start` is the fit of other leaves: pass one of the same problem.")
    return start.values, start.bias
