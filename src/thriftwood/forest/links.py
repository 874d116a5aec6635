"""Inverse links: from the scores of an ensemble to its predictions."""

from typing import Literal, get_args

import numpy as np
from scipy.special import expit, softmax

from thriftwood.support.arrays import FloatArray

Link = Literal["identity", "logistic", "softmax", "exp"]
LINKS = get_args(Link)
Statistic = Literal["mean", "median", "other"]
STATISTICS = get_args(Statistic)


def predictions(link: Link, scores: FloatArray) -> FloatArray:
    """Return class probabilities, or the numbers that a regressor predicts.

    One score of a logistic model is that of its second class; several are those of one class
    against the rest each, and their probabilities need not add up to 1.
    """
    if link == "logistic":
        probability: FloatArray = expit(scores)
        if scores.shape[1] > 1:
            return probability
        return np.hstack([1.0 - probability, probability])
    if link == "softmax":
        return softmax(scores, axis=1)
    if link == "exp":
        with np.errstate(over="ignore"):
            return np.exp(scores)
    return scores
