"""Numba loops over margins: by how much the best answer is better than the second best."""

import numpy as np

from thriftwood.support.compiling import kernel, small_kernel

# How scores become probabilities; one of these for every stage.
IDENTITY = 0
LOGISTIC = 1
SOFTMAX = 2

# Margins by costs are logarithms, of costs that are not quite 0: of the dearest error this part.
LEAST_SHARE = 1e-3
TINY = float(np.finfo(np.float64).tiny)


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
    highest, total, dearest = -np.inf, 1.0, 0.0
    for score in scores:
        highest = max(highest, score)
    if link == SOFTMAX:
        total = 0.0
        for score in scores:
            total += np.exp(score - highest)
    least, second = np.inf, np.inf
    for answer in range(n_classes):
        cost = 0.0
        for k in range(n_classes):
            if error_costs[k, answer] > 0:
                likely = weight_of(scores, link, highest, n_classes, k) / total
                cost += likely * error_costs[k, answer]
                dearest = max(dearest, error_costs[k, answer])
        if cost < least:
            least, second = cost, least
        elif cost < second:
            second = cost
    nothing = max(LEAST_SHARE * dearest, TINY)
    return max(np.log((second + nothing) / (least + nothing)), 0.0)


@small_kernel
def weight_of(scores, link, highest, n_classes, k):
    """Return the probability of a class as `predictions` has it, times a factor for softmax."""
    if link == IDENTITY:
        return scores[k]
    if link == SOFTMAX:
        return np.exp(scores[k] - highest)
    place = k - (n_classes - len(scores))
    return 1.0 / (1.0 + np.exp(-scores[place])) if place >= 0 else 1.0 / (1.0 + np.exp(scores[0]))
