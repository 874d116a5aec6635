"""The regression problem: leaf indicators of samples, a target and a prior mean of the values."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.problem import (
    LAMBDARANK,
    NDCG,
    Pairs,
    pair_losses,
    read_ranking,
    take_documents,
)
from thriftwood.refitting import kernels
from thriftwood.refitting.kernels import NO_LEAF
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only_copy
from thriftwood.support.validation import chosen

# The number of each loss, and the kernel that computes it with its gradient.
LOSSES = {
    "squared": (kernels.SQUARED, kernels.squared_loss),
    "logistic": (kernels.LOGISTIC, kernels.logistic_loss),
    "softmax": (kernels.SOFTMAX, kernels.softmax_loss),
    LAMBDARANK: (kernels.SQUARED, kernels.squared_loss),  # has pairs and their own kernels
}

JUDGE: Any = read_ranking(NDCG)


@dataclass(frozen=True, eq=False)
class LeafProblem:
    """Samples in leaves. The score of a sample is the bias plus the values of its leaves."""

    # (n_samples, n_trees), numbered over all trees; -1 where a tree does not count
    leaves: IndexArray
    n_leaves: int
    # class numbers (0 and 1 if the loss is logistic), or numbers if it is squared
    target: NDArray[Any]
    weights: FloatArray  # how much each sample counts; 2 is as good as having the sample twice
    # Half the squared error, the log loss, or the loss of rankings, whose `pairs` are those of
    # samples that come query by query. The probability of class 1 is 1 / (1 + exp(-score)) if
    # logistic, that of each class proportional to exp(score) if softmax.
    loss: str
    # (n_leaves, n_outputs), old values; an output for each class if softmax, else one
    prior: FloatArray
    bias: FloatArray  # (n_outputs,), the constant part of the score
    # Which outputs the value of a leaf may change, all if None: each tree of many boosted models
    # belongs to one class.
    trainable: BoolArray | None = None
    # What the values of the leaves are multiplied by where fits are evaluated: how many trees there
    # are for each that counts. Where only a third of the trees has not seen a sample, it gets the
    # score that three times as many would give it. None means 1.
    scale: FloatArray | None = None
    pairs: Pairs | None = None

    def __post_init__(self) -> None:
        chosen(self.loss, LOSSES, "loss")
        dtypes: dict[str, Any] = {
            "leaves": np.int32,
            "target": np.int32 if self.loss in ("logistic", "softmax") else np.float64,
            "weights": np.float64,
            "prior": np.float64,
            "bias": np.float64,
        }
        dtypes |= {"trainable": np.bool_, "scale": np.float64}
        for name, dtype in dtypes.items():  # kernels are compiled once, for read-only arrays
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only_copy(getattr(self, name), dtype))

    @property
    def n_samples(self) -> int:
        return int(self.leaves.shape[0])

    @property
    def n_trees(self) -> int:
        return int(self.leaves.shape[1])

    @property
    def n_outputs(self) -> int:
        return len(self.bias)

    def take(self, samples: IntArray | BoolArray) -> "LeafProblem":
        """Return the same problem with only some of its samples."""
        own = {name: getattr(self, name)[samples] for name in ("leaves", "target", "weights")}
        pairs = None if self.pairs is None else take_documents(self.pairs, np.asarray(samples))
        return replace(self, **own, pairs=pairs)

    def fill(
        self, scores: FloatArray, block: tuple[int, int], gradient: FloatArray, second: FloatArray
    ) -> float:
        """Return the loss of a block of samples; fill what it changes by, see `kernels`.

        `second` has probabilities, or of rankings the second derivatives.
        """
        total: float
        if self.pairs is not None:
            total = pair_losses(self.pairs, scores, block, gradient, second, False)
        else:
            fill = LOSSES[self.loss][1]
            total = fill(self.target, self.weights, scores, block, gradient, second)
        return total

    def scores(self, values: FloatArray, bias: FloatArray) -> FloatArray:
        """Return the scores of the samples by other values."""
        scores = np.empty((self.n_samples, len(bias)))
        block = 0, self.n_samples
        kernels.add_leaves(self.leaves, values, np.zeros_like(bias), block, scores)
        if self.scale is not None:
            scores *= self.scale[:, None]
        scores += bias
        return scores

    def evaluate(self, values: FloatArray, bias: FloatArray) -> tuple[float, float]:
        """Return the loss and the error of other values, summed with the weights of the samples.

        The loss is what it would be if all trees scored each sample, as far as the few that do can
        tell; without this, weak strengths would look worse than they are, since values that were
        fitted together err less together. The error is 1 for a sample whose label is wrong, by the
        trees that score it; if the loss is squared, it is twice the loss; of rankings it is what
        their NDCG lacks, in parts for documents.
        """
        values = np.array(values)  # kernels are compiled once more for arrays that are read-only
        scores = self.scores(values, bias)
        gradient, probability = np.empty_like(scores), np.empty_like(scores)
        number = LOSSES[self.loss][0]
        total = self.fill(scores, (0, len(scores)), gradient, probability)
        if self.scale is not None:
            total -= kernels.excess_of_few_trees(
                number, self.leaves, self.scale, self.weights, probability, values
            )
        if self.loss == "squared":
            return total, 2 * total
        if self.pairs is not None:
            query = np.repeat(np.arange(len(self.pairs.weight)), np.diff(self.pairs.start))
            found = JUDGE.of_queries(self.target, scores[:, 0], query)
            return total, float(self.weights @ (1 - found)[query])
        labels = scores[:, 0] > 0 if self.loss == "logistic" else scores.argmax(axis=1)
        return total, float(self.weights @ (labels != self.target))

    def check(self) -> "LeafProblem":
        """Return the problem, or raise where kernels would read what is not there."""
        n_samples, n_outputs = len(self.target), len(self.bias)
        if self.leaves.ndim != 2 or not self.leaves.size or len(self.leaves) != n_samples:
            raise InputError("`leaves` must have a row for each sample and a column for each tree.")
        if self.leaves.min() < NO_LEAF or self.leaves.max() >= self.n_leaves:
            raise InputError(f"`leaves` must hold numbers from -1 to {self.n_leaves - 1}.")
        if self.weights.shape != (n_samples,) or (self.weights < 0).any() or not self.weights.any():
            raise InputError("`weights` must be at least 0 for each sample, and above for one.")
        if self.prior.shape != (self.n_leaves, n_outputs):
            raise InputError("`prior` must have a row for each leaf and a column for each bias.")
        if self.loss != "softmax" and n_outputs != 1:
            raise InputError(f"The {self.loss} loss has one output, but there are biases for more.")
        if not all(np.isfinite(one).all() for one in (self.target, self.weights, self.prior)):
            raise InputError("`target`, `weights` and `prior` must be finite.")
        n_classes = max(n_outputs, 2)
        if self.loss in ("logistic", "softmax") and (
            self.target.min() < 0 or self.target.max() >= n_classes
        ):
            raise InputError(f"`target` must hold class numbers from 0 to {n_classes - 1}.")
        return self
