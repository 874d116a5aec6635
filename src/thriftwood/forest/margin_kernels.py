"""Numba loops over margins: by how much the best answer is better than the second best."""

import numpy as np

from thriftwood.support.compiling import kernel, small_kernel

# How scores become probabilities; one of these for every stage.
IDENTITY = 0
LOGISTIC = 1
SOFTMAX = 2

# Margins by costs are logarithms, of costs that are not quite 0: of the dearest error this part.
LEAST_SHARE = 1e-3


@kernel
def fill_margins(scores, link, error_costs, margins):
    """Fill in the margin of each sample."""
    for i in range(len(scores)):
        margins[i] = margin_of(scores[i], link, error_costs)


@small_kernel
def margin_of(scores, link, error_costs):
    """Return how far the best score is above the second, or by how much other answers cost more.

    Where errors have costs, that is the logarithm of the ratio of what the second best answer and
    the best are expected to cost: for two classes and equal costs the log odds. A single score is
    that of the second class, the first has 0.
    """
    if len(error_costs) > 0:
        return cost_margin(scores, link, error_costs)
    if len(scores) == 1:
        return abs(scores[0])
    best, second = -np.inf, -np.inf
    for score in scores:
        if score > best:
            best, second = score, best
        elif score > second:
            second = score
    return best - second


@small_kernel
def cost_margin(scores, link, error_costs):
    """Return the logarithm of the ratio of the least two expected costs of answers."""
    n_classes = len(error_costs)
    if n_classes < 2:
        return 0.0
    probability = np.empty(n_classes)
    put_probabilities(scores, link, probability)
    least, second = np.inf, np.inf
    for answer in range(n_classes):
        cost = 0.0
        for k in range(n_classes):
            cost += probability[k] * error_costs[k, answer]
        if cost < least:
            least, second = cost, least
        elif cost < second:
            second = cost
    nothing = max(LEAST_SHARE * error_costs.max(), np.finfo(np.float64).tiny)
    return max(np.log((second + nothing) / (least + nothing)), 0.0)


@small_kernel
def put_probabilities(scores, link, probability):
    """Fill in the probabilities of classes, as `predictions` has them."""
    if link == IDENTITY:
        probability[:] = scores
    elif link == LOGISTIC:
        first = len(probability) - len(scores)
        for k in range(len(scores)):
            probability[first + k] = 1.0 / (1.0 + np.exp(-scores[k]))
        if first > 0:
            probability[0] = 1.0 - probability[1]
    else:
        probability[:] = np.exp(scores - scores.max())
        probability /= probability.sum()
