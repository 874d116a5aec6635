"""Numba loops over pairs of documents of a query; `pairs` checks everything before."""

from collections import namedtuple

import numpy as np

from thriftwood.support.compiling import kernel, small_kernel

# Documents, query after query.
#
#   start               where the documents of each query begin, and one more
#   gain, discount      what a document is worth, and how much its place counts
#   weight              how much a query counts, divided by its ideal gain
Pairs = namedtuple("Pairs", "start gain discount weight")


@kernel
def pair_losses(pairs, scores, block, slope, curvature, of_bound):
    """Return the loss of a block of documents, of whole queries; fill its derivatives.

    The second ones are those of the loss or, `of_bound`, of a bound that adds up over documents.
    """
    total = 0.0
    for i in range(block[0], block[1]):
        slope[i, 0] = curvature[i, 0] = 0.0
    first, last = queries_of(pairs, block)
    for query in range(first, last):
        for i in range(pairs.start[query], pairs.start[query + 1]):
            for j in range(i + 1, pairs.start[query + 1]):
                weight = weight_of(pairs, query, i, j)
                if weight == 0.0:
                    continue
                sign = 1.0 if pairs.gain[i] > pairs.gain[j] else -1.0
                margin = sign * (scores[i, 0] - scores[j, 0])
                wrong = chance_of_error(margin)
                total += weight * (max(-margin, 0.0) + np.log1p(np.exp(-abs(margin))))
                slope[i, 0] -= sign * weight * wrong
                slope[j, 0] += sign * weight * wrong
                bend = weight * wrong * (1.0 - wrong)
                if of_bound:
                    far = abs(margin)
                    bend = weight * (np.tanh(far / 2) / far if far > 1e-6 else 0.5)
                curvature[i, 0] += bend
                curvature[j, 0] += bend
    return total


@kernel
def apply_pair_hessian(pairs, scores, block, changes, work):
    """Multiply changes of scores by the Hessian of the loss, in place."""
    for i in range(block[0], block[1]):
        work[i, 0] = changes[i, 0]
        changes[i, 0] = 0.0
    first, last = queries_of(pairs, block)
    for query in range(first, last):
        for i in range(pairs.start[query], pairs.start[query + 1]):
            for j in range(i + 1, pairs.start[query + 1]):
                weight = weight_of(pairs, query, i, j)
                if weight == 0.0:
                    continue
                wrong = chance_of_error(scores[i, 0] - scores[j, 0])
                moved = weight * wrong * (1.0 - wrong) * (work[i, 0] - work[j, 0])
                changes[i, 0] += moved
                changes[j, 0] -= moved


@small_kernel
def queries_of(pairs, block):
    """Return the first query of a block of documents, and the one behind the last."""
    return np.searchsorted(pairs.start, block[0]), np.searchsorted(pairs.start, block[1])


@small_kernel
def weight_of(pairs, query, i, j):
    """LambdaRank's weight: the change of NDCG if two documents changed places."""
    swapped = abs(pairs.discount[i] - pairs.discount[j])
    return pairs.weight[query] * abs(pairs.gain[i] - pairs.gain[j]) * swapped


@small_kernel
def chance_of_error(margin):
    """Logistic function of minus the margin, which does not overflow."""
    small = np.exp(-abs(margin))
    return (1.0 if margin < 0 else small) / (1.0 + small)
