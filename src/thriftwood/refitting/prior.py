"""Scores of leaves to start from, where a forest averages probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thriftwood.errors import InputError
from thriftwood.refitting.held_out import HeldOutRows
from thriftwood.support.arrays import FloatArray, read_only_copy

# Powers of two that are tried, as factors of probabilities averaged over all trees.
LEAST_POWER, LARGEST_POWER = -1, 7


def prior_of_probabilities(
    probabilities: FloatArray, n_trees: int, held_out: Sequence[HeldOutRows]
) -> FloatArray:
    """Return scores of leaves that give the labels of a forest that averages probabilities.

    A forest predicts the class whose probability, averaged over its trees, is the largest. Scores
    that are a multiple of the probabilities say the same, and as log-odds they are sensible if the
    multiple is: it is the one with the least log loss on the held-out rows. It is a power of
    two, so that nothing is rounded that would not have been: a tie between pure leaves stays one.

    Parameters
    ----------
    probabilities : shape (n_leaves, n_classes)
    n_trees : int
    held_out : sequence of HeldOutRows
        Rows with class numbers.

    Returns
    -------
    prior : shape (n_leaves, 1) for two classes, else (n_leaves, n_classes)
        To be used with a bias of zero.
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim != 2 or probabilities.shape[1] < 2:
        raise InputError("`probabilities` must have a column for each of two or more classes.")
    if not held_out:
        raise InputError("There are no held-out rows: pass some.")
    is_binary = probabilities.shape[1] == 2
    plain = probabilities[:, 1:] - 0.5 if is_binary else probabilities
    loss = "logistic" if is_binary else "softmax"
    bias = np.zeros(plain.shape[1])
    least = round(-np.log2(n_trees)) + LEAST_POWER
    scales = [2.0**power for power in range(least, least + LARGEST_POWER - LEAST_POWER + 1)]
    losses = [
        sum(rows.judge(scale * plain, bias, loss)[0] for rows in held_out) for scale in scales
    ]
    return read_only_copy(plain * scales[int(np.argmin(losses))], np.float64)
