"""Expected losses of stages: less noisy than counting which samples they get wrong.

Thresholds that are tuned on counted errors overfit single samples. So the stage with the least log
loss is trusted, once its scores are calibrated by temperature scaling (Guo, Pleiss, Sun and
Weinberger, ICML 2017), and all others err where they disagree with it.

Where nearly all samples are of one class, errors are blind: whoever names that class is mostly
right, and what a stage knows of the others shows in its probabilities alone. Their Brier score is
the loss then.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from thriftwood.support.arrays import FloatArray, IndexArray, IntArray

# Of how fast disagreement dies out as margins rise, in mean margins.
WIDTHS = np.geomspace(0.02, 2.0, 25)
# How much of the disagreement is taken where it was observed, the rest is smoothed.
OBSERVED_SHARE = 0.5
# A class with more than this share of all samples leaves errors little to tell.
MOST_OF_ALL = 0.75


def expected_errors(
    probability: FloatArray,
    margins: FloatArray,
    answers: IntArray,
    weights: FloatArray,
    error_costs: FloatArray,
) -> FloatArray:
    """Return what the answers of stages are expected to cost, shape (n_samples, n_stages).

    Where every error costs 1, that is how likely they are wrong. A stage that does not give the
    best answer loses the difference. Half of that loss is spread over all samples, as an
    exponential of the margin: no stage is without fault where no sample happened to find one.
    Arguments are as in `StageResults`.
    """
    expected = probability @ error_costs
    least = expected.min(axis=1)[:, None]
    seen = np.take_along_axis(expected, answers, axis=1) - least
    units = margins / np.maximum(weights @ margins, np.finfo(np.float64).tiny)
    smooth = np.column_stack(
        [_exponential(units[:, s], seen[:, s], weights) for s in range(units.shape[1])]
    )
    return least + OBSERVED_SHARE * seen + (1.0 - OBSERVED_SHARE) * smooth


def is_lopsided(target: IndexArray, weights: FloatArray) -> bool:
    """Return True if nearly all samples are of one class; weights add up to 1."""
    return bool(np.bincount(target, weights).max() > MOST_OF_ALL)


def brier_scores(outputs: FloatArray, probability: FloatArray) -> FloatArray:
    """Return the Brier score that stages are expected to have, shape (n_samples, n_stages).

    `outputs` has the shape (n_samples, n_stages, n_classes), and `probability` how likely classes
    are, or which is true.
    """
    agreed = np.einsum("isk,ik->is", outputs, probability)
    return 1.0 - 2.0 * agreed + (outputs**2).sum(axis=2)


def temperature_scaling(
    scores: FloatArray, target: IndexArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    """Return the probabilities of classes at the temperature of least log loss, and that loss.

    A single score is that of the second class, the first has 0; weights add up to 1.
    """
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    centred = scores - scores.max(axis=1, keepdims=True)
    unit = float(weights @ np.abs(centred).max(axis=1)) or 1.0

    own = centred[np.arange(len(centred)), target]

    def log_loss(log_slope: float) -> float:
        slope = np.exp(log_slope) / unit
        likelihoods = np.exp(slope * centred).sum(axis=1)  # at least 1, that of the largest score
        return float(np.einsum("i,i", weights, np.log(likelihoods) - slope * own))

    fit = minimize_scalar(log_loss, bounds=(-8.0, 8.0), method="bounded")
    return softmax(np.exp(fit.x) / unit * centred, axis=1), float(fit.fun)


def _exponential(margin: FloatArray, seen: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the likeliest exponential of the margin with the same mean as was observed."""
    total = float(weights @ seen)
    if total <= 0:
        return np.zeros_like(seen)
    shapes = np.exp(-margin[:, None] / WIDTHS)
    sums = weights @ shapes
    likeliest = int(np.argmax(-np.log(sums) - (weights * seen) @ margin / total / WIDTHS))
    return total / sums[likeliest] * shapes[:, likeliest]
