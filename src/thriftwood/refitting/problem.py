"""The regression problem: leaf indicators of samples, a target and a prior mean of the values."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.refitting import kernels
from thriftwood.refitting.kernels import NO_LEAF
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only_copy
from thriftwood.support.validation import chosen

# The number of each loss, and the kernel that computes it with its gradient.
LOSSES = {
    "squared": (kernels.SQUARED, kernels.squared_loss),
    "logistic": (kernels.LOGISTIC, kernels.logistic_loss),
    "softmax": (kernels.SOFTMAX, kernels.softmax_loss),
}


@dataclass(frozen=True, eq=False)
class LeafProblem:
    """Samples in leaves. The score of a sample is the bias plus the values of its leaves.

    Parameters
    ----------
    leaves : shape (n_samples, n_trees)
        The leaf that a sample is in, numbered over all trees; -1 where a tree does not count.
    n_leaves : int
    target : shape (n_samples,)
        Class numbers (0 and 1 if the loss is logistic), or numbers if it is squared.
    weights : shape (n_samples,)
        How much each sample counts; 2 is as good as having the sample twice.
    loss : {"squared", "logistic", "softmax"}
        Half the squared error, or the log loss. The probability of class 1 is 1 / (1 + exp(-score))
        if logistic, that of each class proportional to exp(score) if softmax.
    prior : shape (n_leaves, n_outputs)
        The prior mean: old values. One output for each class if the loss is softmax, else one.
    bias : shape (n_outputs,)
        The constant part of the score.
    trainable : bool array, shape (n_leaves, n_outputs), optional
        Which outputs the value of a leaf may change: each tree of many boosted models belongs to
        one class. None means all.
    """

    leaves: IndexArray
    n_leaves: int
    target: NDArray[Any]
    weights: FloatArray
    loss: str
    prior: FloatArray
    bias: FloatArray
    trainable: BoolArray | None = None

    def __post_init__(self) -> None:
        chosen(self.loss, LOSSES, "loss")
        dtypes: dict[str, Any] = {
            "leaves": np.int32,
            "target": np.float64 if self.loss == "squared" else np.int32,
            "weights": np.float64,
            "prior": np.float64,
            "bias": np.float64,
        }
        if self.trainable is not None:
            dtypes["trainable"] = np.bool_
        for name, dtype in dtypes.items():
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
        return replace(self, **own)

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
        if self.loss != "squared" and (self.target.min() < 0 or self.target.max() >= n_classes):
            raise InputError(f"`target` must hold class numbers from 0 to {n_classes - 1}.")
        return self
