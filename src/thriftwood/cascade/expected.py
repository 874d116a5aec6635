"""How often stages are expected to be wrong: less noisy than counting which rows they get wrong.

Thresholds that are tuned on counted errors chase single rows. So the surest stage is taken at its
word, once that is calibrated, and all others are judged by where they disagree with it.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from thriftwood.arrays import BoolArray, FloatArray

# Of how fast disagreement dies out as margins rise, in mean margins.
WIDTHS = np.geomspace(0.02, 2.0, 25)
# How much of the disagreement is believed to be where it was seen, and not spread out.
BELIEF = 0.5


def expected_losses(margins: FloatArray, wrong: BoolArray, weights: FloatArray) -> FloatArray:
    """Return how likely each stage is to be wrong about each row, shape (n_rows, n_stages).

    The stage with the best calibrated margins is right with a probability that rises with its
    margin. Whoever disagrees with it is right in its place, and so loses what that stage is more
    likely right than wrong. Half of that loss is spread over all rows, as a function of the margin
    that dies out: no stage is without fault where no row happened to find one.

    Parameters
    ----------
    margins : shape (n_rows, n_stages)
    wrong : bool array, shape (n_rows, n_stages)
    weights : shape (n_rows,)
        They add up to 1.
    """
    units = margins / np.maximum(weights @ margins, np.finfo(np.float64).tiny)
    slopes = [calibrated(units[:, s], wrong[:, s], weights) for s in range(units.shape[1])]
    best = int(np.argmin([loss for _, loss in slopes]))
    right = expit(slopes[best][0] * units[:, best])
    seen = np.where(wrong == wrong[:, [best]], 0.0, 2.0 * right[:, None] - 1.0)
    spread = [_dying_out(units[:, s], seen[:, s], weights) for s in range(units.shape[1])]
    expected: FloatArray = (
        1.0 - right[:, None] + BELIEF * seen + (1.0 - BELIEF) * np.column_stack(spread)
    )
    return expected


def calibrated(margin: FloatArray, wrong: BoolArray, weights: FloatArray) -> tuple[float, float]:
    """Return the slope that makes margins the log odds of being right, and the log loss then."""
    sign = np.where(wrong, -1.0, 1.0)

    def log_loss(log_slope: float) -> float:
        return float(-weights @ log_expit(sign * np.exp(log_slope) * margin))

    fit = minimize_scalar(log_loss, bounds=(-10.0, 10.0), method="bounded")
    return float(np.exp(fit.x)), float(fit.fun)


def _dying_out(margin: FloatArray, seen: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the likeliest exponential of the margin with the same mean as what was seen."""
    total = float(weights @ seen)
    if total <= 0:
        return np.zeros_like(seen)
    shapes = np.exp(-margin[:, None] / WIDTHS)
    sums = weights @ shapes
    likeliest = int(np.argmax(-np.log(sums) - (weights * seen) @ margin / total / WIDTHS))
    spread: FloatArray = total / sums[likeliest] * shapes[:, likeliest]
    return spread
