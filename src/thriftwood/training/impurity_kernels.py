"""How mixed the classes of some rows are; `grow_tree` checks everything beforehand."""

import numpy as np

from thriftwood.support.compiling import kernel

PAIRS, POWERS, ENTROPY = 0, 1, 2


@kernel
def impurity_of(counts, rules):
    """Return the impurity of rows with these class weights."""
    if rules.impurity == PAIRS:
        return pairs(counts, rules.alpha)
    if rules.impurity == POWERS:
        return powers(counts, rules.power)
    return entropy(counts, rules.alpha)


@kernel
def impurity_after(left, right, rules):
    """Return what a split leaves: the worse of its sides, but of entropies the mean over rows."""
    of_left, of_right = impurity_of(left, rules), impurity_of(right, rules)
    if rules.impurity == ENTROPY:
        n_left, n_right = left.sum(), right.sum()
        return (n_left * of_left + n_right * of_right) / (n_left + n_right)
    return max(of_left, of_right)


@kernel
def pairs(counts, alpha):
    """Return the sum over pairs of classes of [[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+."""
    total = 0.0
    if alpha == 0:
        so_far = 0.0
        for k in range(len(counts)):
            total += counts[k] * so_far
            so_far += counts[k]
        return total
    for j in range(len(counts)):
        for k in range(j):
            above = max(counts[j] - alpha, 0.0) * max(counts[k] - alpha, 0.0) - alpha * alpha
            total += max(above, 0.0)
    return total


@kernel
def powers(counts, power):
    """Return (sum n)^power - sum n^power."""
    total, own = 0.0, 0.0
    for k in range(len(counts)):
        total += counts[k]
        own += counts[k] ** power
    return total**power - own


@kernel
def entropy(counts, alpha):
    """Return the entropy in nats; below alpha it counts as 0."""
    total = counts.sum()
    nats = 0.0
    for k in range(len(counts)):
        if counts[k] > 0:
            nats -= counts[k] / total * np.log(counts[k] / total)
    return nats if nats >= alpha else 0.0
