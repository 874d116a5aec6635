"""Numba loops of refitting; `LeafProblem` checks everything before they are called.

Each call works on a block of rows, or of leaves, and writes only there, so threads can share a
pass; a sum over all rows is the sum of the blocks in their order, whoever worked on them.
"""

import numpy as np

from thriftwood.support.compiling import kernel

NO_LEAF = -1
SQUARED, LOGISTIC, SOFTMAX = range(3)


@kernel
def sort_by_leaf(leaves, n_leaves):
    """Return the rows of every leaf: those of leaf j are `rows[start[j]:start[j + 1]]`."""
    n_samples, n_trees = leaves.shape
    start = np.zeros(n_leaves + 1, dtype=np.int64)
    for i in range(n_samples):
        for t in range(n_trees):
            if leaves[i, t] != NO_LEAF:
                start[leaves[i, t] + 1] += 1
    for j in range(n_leaves):
        start[j + 1] += start[j]
    rows = np.empty(start[n_leaves], dtype=np.int32)
    place = start[:-1].copy()
    for i in range(n_samples):
        for t in range(n_trees):
            j = leaves[i, t]
            if j != NO_LEAF:
                rows[place[j]] = i
                place[j] += 1
    return start, rows


@kernel
def add_leaves(leaves, values, bias, first, last, scores):
    """Set the scores of rows `first:last` to the bias plus the values of their leaves.

    Outputs are added four, two or one at a time: the sums then stay in registers, which is more
    than twice as fast as a loop over the outputs of each leaf.
    """
    n_outputs = len(bias)
    for i in range(first, last):
        k = 0
        while k + 4 <= n_outputs:
            add_four(leaves[i], values, bias, k, scores[i])
            k += 4
        if k + 2 <= n_outputs:
            add_two(leaves[i], values, bias, k, scores[i])
            k += 2
        if k < n_outputs:
            add_one(leaves[i], values, bias, k, scores[i])


@kernel
def add_four(leaves, values, bias, k, scores):
    a, b, c, d = bias[k], bias[k + 1], bias[k + 2], bias[k + 3]
    for j in leaves:
        if j != NO_LEAF:
            a += values[j, k]
            b += values[j, k + 1]
            c += values[j, k + 2]
            d += values[j, k + 3]
    scores[k], scores[k + 1], scores[k + 2], scores[k + 3] = a, b, c, d


@kernel
def add_two(leaves, values, bias, k, scores):
    a, b = bias[k], bias[k + 1]
    for j in leaves:
        if j != NO_LEAF:
            a += values[j, k]
            b += values[j, k + 1]
    scores[k], scores[k + 1] = a, b


@kernel
def add_one(leaves, values, bias, k, scores):
    a = bias[k]
    for j in leaves:
        if j != NO_LEAF:
            a += values[j, k]
    scores[k] = a


@kernel
def sum_in_leaves(start, rows, per_row, first, last, sums):
    """Set the sums of leaves `first:last` to what their rows have together."""
    n_outputs = per_row.shape[1]
    if n_outputs == 1:
        for j in range(first, last):
            total = 0.0
            for place in range(start[j], start[j + 1]):
                total += per_row[rows[place], 0]
            sums[j, 0] = total
        return
    for j in range(first, last):
        for k in range(n_outputs):
            sums[j, k] = 0.0
        for place in range(start[j], start[j + 1]):
            i = rows[place]
            for k in range(n_outputs):
                sums[j, k] += per_row[i, k]


# The three kernels that follow fill what the loss of rows `first:last` is at their scores, and
# return its sum. Each has the target in its own type, so they cannot be one.
#
#   slopes   (n_samples, n_outputs)  derivative of the row's loss by its scores, times its weight
#   chances  (n_samples, n_outputs)  what the curvature is made of: probabilities


@kernel
def squared_slopes(target, weights, scores, first, last, slopes, chances):
    """Half the squared error; chances have no meaning here."""
    total = 0.0
    for i in range(first, last):
        error = scores[i, 0] - target[i]
        slopes[i, 0] = weights[i] * error
        chances[i, 0] = 1.0
        total += 0.5 * weights[i] * error * error
    return total


@kernel
def logistic_slopes(target, weights, scores, first, last, slopes, chances):
    """log(1 + exp(-margin)), written so that nothing overflows; a chance is that of an error."""
    total = 0.0
    for i in range(first, last):
        sign = 1.0 if target[i] == 1 else -1.0
        margin = sign * scores[i, 0]
        small = np.exp(-abs(margin))
        wrong = (1.0 if margin < 0 else small) / (1.0 + small)
        slopes[i, 0] = -sign * weights[i] * wrong
        chances[i, 0] = wrong
        total += weights[i] * (max(-margin, 0.0) + np.log1p(small))
    return total


@kernel
def softmax_slopes(target, weights, scores, first, last, slopes, chances):
    """Minus the logarithm of the chance of the right class."""
    total = 0.0
    n_outputs = scores.shape[1]
    for i in range(first, last):
        right = target[i]
        top = scores[i].max()
        together = 0.0
        for k in range(n_outputs):
            chances[i, k] = np.exp(scores[i, k] - top)
            together += chances[i, k]
        others = 0.0  # one minus the chance of the right class, exact where it is tiny
        for k in range(n_outputs):
            chances[i, k] /= together
            slopes[i, k] = weights[i] * chances[i, k]
            if k != right:
                others += chances[i, k]
        slopes[i, right] = -weights[i] * others
        total += weights[i] * (top - scores[i, right] + np.log(together))
    return total


@kernel
def bend(loss, weights, chances, first, last, changes):
    """Turn changes of scores into the changes of slopes that they cause, in place."""
    n_outputs = chances.shape[1]
    for i in range(first, last):
        if loss == SQUARED:
            changes[i, 0] *= weights[i]
        elif loss == LOGISTIC:
            changes[i, 0] *= weights[i] * chances[i, 0] * (1.0 - chances[i, 0])
        else:
            mean = 0.0
            for k in range(n_outputs):
                mean += chances[i, k] * changes[i, k]
            for k in range(n_outputs):
                changes[i, k] = weights[i] * chances[i, k] * (changes[i, k] - mean)


@kernel
def curvatures_of_rows(loss, weights, chances, first, last, curvatures):
    """Fill the second derivatives of the row's loss by each of its scores, times its weight."""
    for i in range(first, last):
        for k in range(chances.shape[1]):
            chance = chances[i, k]
            curvatures[i, k] = weights[i] * (1.0 if loss == SQUARED else chance * (1.0 - chance))


@kernel
def curve(ridge, direction, first, last, product):
    """Complete the product of the Hessian and `direction`, and return theirs."""
    total = 0.0
    for j in range(first, last):
        for k in range(direction.shape[1]):
            product[j, k] += ridge * direction[j, k]
            total += direction[j, k] * product[j, k]
    return total


@kernel
def step_along(length, direction, product, diagonal, first, last, solution, residual):
    """Take a step of conjugate gradients; return the residual's square, plain and scaled."""
    plain, scaled = 0.0, 0.0
    for j in range(first, last):
        for k in range(direction.shape[1]):
            solution[j, k] += length * direction[j, k]
            residual[j, k] -= length * product[j, k]
            square = residual[j, k] * residual[j, k]
            plain += square
            scaled += square / diagonal[j, k]
    return plain, scaled


@kernel
def turn(share, residual, diagonal, first, last, direction):
    """Turn the direction of conjugate gradients towards the scaled residual."""
    for j in range(first, last):
        for k in range(direction.shape[1]):
            direction[j, k] = residual[j, k] / diagonal[j, k] + share * direction[j, k]


@kernel
def excess_of_few_trees(loss, leaves, scale, weights, scores, values):
    """Return by how much losses are too high because few trees judge each row, in expectation.

    A row's score stands for that of all its trees, but only n of them, a random sample, were added
    and multiplied by `scale` = N / n. Its variance is then scale * (scale - 1) * n times that of
    the values of single trees, and the loss is higher by half its curvature times that: exactly if
    it is squared, to second order else.
    """
    n_samples, n_outputs = scores.shape
    mean = np.empty(n_outputs)
    chances = np.empty(n_outputs)
    total = 0.0
    for i in range(n_samples):
        if scale[i] == 1.0:
            continue
        n_judges = mean_of_leaves(leaves[i], values, mean)
        if n_judges < 2:
            continue
        chances_of(loss, scores[i], chances)
        bent = 0.0  # how far judges are from their mean, squared, as the curvature has it
        for j in leaves[i]:
            if j != NO_LEAF:
                bent += bent_square(loss, chances, values[j], mean)
        variance = scale[i] * (scale[i] - 1.0) * n_judges / (n_judges - 1.0) * bent
        total += 0.5 * weights[i] * variance
    return total


@kernel
def mean_of_leaves(leaves, values, mean):
    """Fill the mean value of the leaves of one row, and return how many there are."""
    n_leaves = 0
    for k in range(len(mean)):
        mean[k] = 0.0
    for j in leaves:
        if j != NO_LEAF:
            n_leaves += 1
            for k in range(len(mean)):
                mean[k] += values[j, k]
    for k in range(len(mean)):
        mean[k] /= max(n_leaves, 1)
    return n_leaves


@kernel
def chances_of(loss, scores, chances):
    """Fill the probabilities that the scores of one row stand for."""
    if loss == LOGISTIC:
        chances[0] = 1.0 / (1.0 + np.exp(-scores[0]))
    elif loss == SOFTMAX:
        top, together = scores.max(), 0.0
        for k in range(len(scores)):
            chances[k] = np.exp(scores[k] - top)
            together += chances[k]
        for k in range(len(scores)):
            chances[k] /= together


@kernel
def bent_square(loss, chances, value, mean):
    """Return the square of `value - mean` in the norm of the curvature of one row's loss."""
    if loss == SQUARED:
        return (value[0] - mean[0]) ** 2
    if loss == LOGISTIC:
        return chances[0] * (1.0 - chances[0]) * (value[0] - mean[0]) ** 2
    first, second = 0.0, 0.0
    for k in range(len(mean)):
        away = value[k] - mean[k]
        first += chances[k] * away
        second += chances[k] * away * away
    return second - first * first
