"""Numba loops of refitting; `LeafProblem` checks everything before they are called.

Each call works on a block `(first, last)` of samples, or of leaves, and writes only there, so that
threads can share a pass; a sum over all samples is the sum of the blocks in their order.
"""

import numpy as np

from thriftwood.support.compiling import kernel, small_kernel

NO_LEAF = -1
SQUARED, LOGISTIC, SOFTMAX = range(3)


@kernel
def sort_by_leaf(leaves, n_leaves):
    """Return the samples of every leaf: those of leaf j are `samples[start[j]:start[j + 1]]`."""
    n_samples, n_trees = leaves.shape
    start = np.zeros(n_leaves + 1, dtype=np.int64)
    for i in range(n_samples):
        for t in range(n_trees):
            if leaves[i, t] != NO_LEAF:
                start[leaves[i, t] + 1] += 1
    for j in range(n_leaves):
        start[j + 1] += start[j]
    samples = np.empty(start[n_leaves], dtype=np.int32)
    place = start[:-1].copy()
    for i in range(n_samples):
        for t in range(n_trees):
            j = leaves[i, t]
            if j != NO_LEAF:
                samples[place[j]] = i
                place[j] += 1
    return start, samples


@kernel
def add_leaves(leaves, values, bias, block, scores):
    """Set the scores of a block of samples to the bias plus the values of their leaves.

    Outputs are added four, two or one at a time: the sums then stay in registers, which is more
    than twice as fast as a loop over the outputs of each leaf.
    """
    n_outputs = len(bias)
    for i in range(block[0], block[1]):
        k = np.int64(0)  # no literal: nothing is compiled twice
        while k + 4 <= n_outputs:
            add_four(leaves[i], values, bias, k, scores[i])
            k += 4
        if k + 2 <= n_outputs:
            add_two(leaves[i], values, bias, k, scores[i])
            k += 2
        if k < n_outputs:
            add_one(leaves[i], values, bias, k, scores[i])


@small_kernel
def add_four(leaves, values, bias, k, scores):
    a, b, c, d = bias[k], bias[k + 1], bias[k + 2], bias[k + 3]
    for j in leaves:
        if j != NO_LEAF:
            a += values[j, k]
            b += values[j, k + 1]
            c += values[j, k + 2]
            d += values[j, k + 3]
    scores[k], scores[k + 1], scores[k + 2], scores[k + 3] = a, b, c, d


@small_kernel
def add_two(leaves, values, bias, k, scores):
    a, b = bias[k], bias[k + 1]
    for j in leaves:
        if j != NO_LEAF:
            a += values[j, k]
            b += values[j, k + 1]
    scores[k], scores[k + 1] = a, b


@small_kernel
def add_one(leaves, values, bias, k, scores):
    a = bias[k]
    for j in leaves:
        if j != NO_LEAF:
            a += values[j, k]
    scores[k] = a


@kernel
def sum_in_leaves(start, samples, per_sample, block, sums):
    """Set the sums of a block of leaves to what their samples have together."""
    n_outputs = per_sample.shape[1]
    if n_outputs == 1:
        for j in range(block[0], block[1]):
            total = 0.0
            for place in range(start[j], start[j + 1]):
                total += per_sample[samples[place], 0]
            sums[j, 0] = total
        return
    for j in range(block[0], block[1]):
        for k in range(n_outputs):
            sums[j, k] = 0.0
        for place in range(start[j], start[j + 1]):
            i = samples[place]
            for k in range(n_outputs):
                sums[j, k] += per_sample[i, k]


# The three kernels that follow return the loss of a block of samples at their scores, and fill:
#
#   gradient     (n_samples, n_outputs)  derivative of the loss by the scores, times the weight
#   probability  (n_samples, n_outputs)  of classes, which the Hessian is made of
#
# Each has the target in its own type, so they cannot be one.


@kernel
def squared_loss(target, weights, scores, block, gradient, probability):
    """Half the squared error; the probability has no meaning here."""
    total = 0.0
    for i in range(block[0], block[1]):
        error = scores[i, 0] - target[i]
        gradient[i, 0] = weights[i] * error
        probability[i, 0] = 1.0
        total += 0.5 * weights[i] * error * error
    return total


@kernel
def logistic_loss(target, weights, scores, block, gradient, probability):
    """log(1 + exp(-margin)), so that nothing overflows; the probability is that of an error."""
    total = 0.0
    for i in range(block[0], block[1]):
        sign = 1.0 if target[i] == 1 else -1.0
        margin = sign * scores[i, 0]
        small = np.exp(-abs(margin))
        wrong = (1.0 if margin < 0 else small) / (1.0 + small)
        gradient[i, 0] = -sign * weights[i] * wrong
        probability[i, 0] = wrong
        total += weights[i] * (max(-margin, 0.0) + np.log1p(small))
    return total


@kernel
def softmax_loss(target, weights, scores, block, gradient, probability):
    """Minus the logarithm of the probability of the true class."""
    total = 0.0
    n_outputs = scores.shape[1]
    for i in range(block[0], block[1]):
        label = target[i]
        top = scores[i, 0]
        for k in range(1, n_outputs):
            top = max(top, scores[i, k])
        together = 0.0
        for k in range(n_outputs):
            probability[i, k] = np.exp(scores[i, k] - top)
            together += probability[i, k]
        others = 0.0  # one minus the probability of the true class, exact where it is tiny
        for k in range(n_outputs):
            probability[i, k] /= together
            gradient[i, k] = weights[i] * probability[i, k]
            if k != label:
                others += probability[i, k]
        gradient[i, label] = -weights[i] * others
        total += weights[i] * (top - scores[i, label] + np.log(together))
    return total


@kernel
def apply_hessian(loss, weights, probability, block, changes):
    """Multiply changes of scores by the Hessian of each sample's loss, in place."""
    n_outputs = probability.shape[1]
    for i in range(block[0], block[1]):
        if loss == SQUARED:
            changes[i, 0] *= weights[i]
        elif loss == LOGISTIC:
            changes[i, 0] *= weights[i] * probability[i, 0] * (1.0 - probability[i, 0])
        else:
            mean = 0.0
            for k in range(n_outputs):
                mean += probability[i, k] * changes[i, k]
            for k in range(n_outputs):
                changes[i, k] = weights[i] * probability[i, k] * (changes[i, k] - mean)


@kernel
def hessian_diagonal(loss, weights, probability, block, diagonal):
    """Fill the second derivatives of each sample's loss by its scores, times its weight."""
    for i in range(block[0], block[1]):
        for k in range(probability.shape[1]):
            p = probability[i, k]
            diagonal[i, k] = weights[i] * (1.0 if loss == SQUARED else p * (1.0 - p))


@kernel
def add_ridge(ridge, direction, block, product):
    """Add the ridge to the product of the Hessian and `direction`; return `direction @ product`."""
    total = 0.0
    for j in range(block[0], block[1]):
        for k in range(direction.shape[1]):
            product[j, k] += ridge * direction[j, k]
            total += direction[j, k] * product[j, k]
    return total


@kernel
def cg_step(length, direction, product, diagonal, block, solution, residual):
    """Take a step of conjugate gradients; return the residual's square, plain and scaled."""
    plain, scaled = 0.0, 0.0
    for j in range(block[0], block[1]):
        for k in range(direction.shape[1]):
            solution[j, k] += length * direction[j, k]
            residual[j, k] -= length * product[j, k]
            square = residual[j, k] * residual[j, k]
            plain += square
            scaled += square / diagonal[j, k]
    return plain, scaled


@kernel
def cg_direction(share, residual, diagonal, block, direction):
    """Turn the direction of conjugate gradients towards the scaled residual."""
    for j in range(block[0], block[1]):
        for k in range(direction.shape[1]):
            direction[j, k] = residual[j, k] / diagonal[j, k] + share * direction[j, k]


@kernel
def excess_of_few_trees(loss, leaves, scale, weights, probability, values):
    """Return the expected excess of the loss where only few trees score each sample.

    A score stands for that of all N trees, but only n of them, a random sample, were added and
    multiplied by `scale` = N / n. Its variance is then scale * (scale - 1) * n times that of the
    values of single trees, and the loss is higher by half its curvature times that: exactly if it
    is squared, to second order else.
    """
    n_outputs = probability.shape[1]
    mean = np.empty(n_outputs)
    total = 0.0
    for i in range(len(leaves)):
        if scale[i] == 1.0:
            continue
        n_trees = 0
        mean[:] = 0.0
        for j in leaves[i]:
            if j != NO_LEAF:
                n_trees += 1
                for k in range(n_outputs):
                    mean[k] += values[j, k]
        if n_trees < 2:
            continue
        square = 0.0  # of the distances to the mean, in the norm of the Hessian
        for j in leaves[i]:
            if j == NO_LEAF:
                continue
            first, second = 0.0, 0.0
            for k in range(n_outputs):
                away = values[j, k] - mean[k] / n_trees
                first += probability[i, k] * away
                second += probability[i, k] * away * away
            square += second if loss == SQUARED else second - first * first
        variance = scale[i] * (scale[i] - 1.0) * n_trees / (n_trees - 1.0) * square
        total += 0.5 * weights[i] * variance
    return total
