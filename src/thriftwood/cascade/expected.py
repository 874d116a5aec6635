"""How often stages are expected to be wrong: less noisy than counting which rows they get wrong.

Thresholds that are tuned on counted errors chase single rows. So the surest stage is taken at its
word, once that is calibrated, and all others are judged by where they disagree with it.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from thriftwood.support.arrays import FloatArray, IndexArray, IntArray

# Of how fast disagreement dies out as margins rise, in mean margins.
WIDTHS = np.geomspace(0.02, 2.0, 25)
# How much of the disagreement is believed to be where it was seen, and not spread out.
BELIEF = 0.5


def expected_losses(
    probability: FloatArray, margins: FloatArray, labels: IntArray, weights: FloatArray
) -> FloatArray:
    """Return how likely each stage is to be wrong about each row, shape (n_samples, n_stages).

    Whoever says something else than the likeliest class loses the difference in probability. Half
    of that loss is spread over all rows, as a function of the margin that dies out: no stage is
    without fault where no row happened to find one.

    Parameters
    ----------
    probability : shape (n_samples, n_classes)
        What the surest stage says, calibrated.
    margins : shape (n_samples, n_stages)
    labels : int array, shape (n_samples, n_stages)
        What each stage says.
    weights : shape (n_samples,)
        They add up to 1.
    """
    highest = probability.max(axis=1)[:, None]
    seen = highest - np.take_along_axis(probability, labels, axis=1)
    units = margins / np.maximum(weights @ margins, np.finfo(np.float64).tiny)
    spread = [_dying_out(units[:, s], seen[:, s], weights) for s in range(units.shape[1])]
    expected: FloatArray = 1.0 - highest + BELIEF * seen + (1.0 - BELIEF) * np.column_stack(spread)
    return expected


def calibrated(
    scores: FloatArray, target: IndexArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    """Return probabilities of classes that go with scores, and their log loss.

    Scores are stretched or shrunk, all alike, so that the loss is least.

    Parameters
    ----------
    scores : shape (n_samples, n_outputs)
        A single one is that of the second class, the first has 0.
    target : shape (n_samples,)
        The right classes, by number.
    weights : shape (n_samples,)
        They add up to 1.
    """
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    centred = scores - scores.max(axis=1, keepdims=True)
    unit = float(weights @ np.abs(centred).max(axis=1)) or 1.0

    def log_loss(log_slope: float) -> float:
        logs = log_softmax(np.exp(log_slope) / unit * centred, axis=1)
        return float(-weights @ logs[np.arange(len(logs)), target])

    fit = minimize_scalar(log_loss, bounds=(-8.0, 8.0), method="bounded")
    return softmax(np.exp(fit.x) / unit * centred, axis=1), float(fit.fun)


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
