"""Newton's method, with steps from conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thriftwood.refitting import kernels
from thriftwood.refitting.objective import Objective, Point
from thriftwood.support.arrays import FloatArray

# Steps of conjugate gradients within one of Newton's. Rounding makes more of them useless.
MOST_PRODUCTS = 1000
# A step must bring this part of what the slope promises, or it is halved.
LEAST_PROGRESS = 1e-4
MOST_HALVINGS = 60
# Two sums of many losses may differ by this part where they should be equal.
ROUNDING = 1e-13


@dataclass(frozen=True)
class End:
    """Where the method stopped, and whether the slope says that the point is good enough."""

    point: Point
    n_steps: int
    converged: bool


def minimise(objective: Objective, point: Point, tolerance: float, max_iter: int) -> End:
    """Walk from `point` to the minimum.

    Conjugate gradients stop early while the point is far from the minimum, where an exact step is
    not worth its price (an inexact Newton method, Nocedal and Wright, section 7.1); they are scaled
    by the diagonal of the Hessian.
    """
    n_steps = 0
    while True:
        gradient = objective.gradient(point)
        diagonal = objective.diagonal()
        square = float(np.square(gradient[:-1]).sum())
        gap = objective.gap(square, gradient[-1], diagonal)
        if gap <= tolerance * point.objective:
            return End(point, n_steps, True)
        if n_steps == max_iter:
            return End(point, n_steps, False)
        enough = 0.1 * tolerance * point.objective
        forcing = 0.0 if objective.is_quadratic else min(0.1, (gap / point.objective) ** 0.5)
        step = _newton_step(objective, gradient, diagonal, forcing, enough)
        further = _line_search(objective, point, step, float((gradient * step).sum()))
        if further is None:
            return End(point, n_steps, False)
        point = further
        n_steps += 1


def _newton_step(
    objective: Objective,
    gradient: FloatArray,
    diagonal: FloatArray,
    forcing: float,
    enough: float,
) -> FloatArray:
    """Return roughly minus the inverse Hessian times the gradient.

    Stops where the residual is below `forcing` times the gradient, or so small that the gap after
    the step would be below `enough` if the objective were quadratic.
    """
    passes = objective.passes
    step = np.zeros_like(gradient)
    residual = -gradient
    direction = residual / diagonal
    product = np.empty_like(gradient)
    scaled = float((residual * direction).sum())
    target = forcing**2 * scaled
    last_line = len(gradient) - 1  # the bias, which belongs to no block of leaves
    for _ in range(MOST_PRODUCTS):
        curvature = objective.product(direction, product)
        if curvature <= 0:  # only rounding is left
            break
        length = scaled / curvature

        def along(first: int, last: int, length: float = length) -> tuple[float, float]:
            squares: tuple[float, float] = kernels.step_along(
                length, direction, product, diagonal, first, last, step, residual
            )
            return squares

        of_leaves = passes.over_leaves(along)
        of_bias = along(last_line, last_line + 1)
        square = sum(plain for plain, _ in of_leaves)
        before, scaled = scaled, sum(one for _, one in of_leaves) + of_bias[1]
        if scaled <= target or objective.gap(square, residual[-1], diagonal) <= enough:
            break
        share = scaled / before

        def turn(first: int, last: int, share: float = share) -> None:
            kernels.turn(share, residual, diagonal, first, last, direction)

        passes.over_leaves(turn)
        turn(last_line, last_line + 1)
    return step


def _line_search(
    objective: Objective, point: Point, step: FloatArray, slope: float
) -> Point | None:
    """Return a point along the step that is better, or None where rounding hides it."""
    changes = np.empty_like(point.scores)
    objective.passes.scores(step, step[-1], changes)
    length = 1.0
    for _ in range(MOST_HALVINGS):
        further = objective.measured(
            point.unknowns + length * step, point.scores + length * changes
        )
        allowed = LEAST_PROGRESS * length * slope + ROUNDING * point.objective
        if further.objective <= point.objective + allowed:
            return further
        length /= 2
    objective.measured(point.unknowns, point.scores)
    return None
