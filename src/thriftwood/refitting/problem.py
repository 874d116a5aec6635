"""The frozen problem: which leaf each row is in, what it should predict, and the old values."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.refitting.kernels import (
    LOGISTIC,
    NO_LEAF,
    SOFTMAX,
    SQUARED,
    logistic_slopes,
    softmax_slopes,
    squared_slopes,
)
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only_copy,
)

LOSSES = {"squared": SQUARED, "logistic": LOGISTIC, "softmax": SOFTMAX}
SLOPES = {
    "squared": squared_slopes,
    "logistic": logistic_slopes,
    "softmax": softmax_slopes,
}


@dataclass(frozen=True, eq=False)
class LeafProblem:
    """Rows in leaves. The score of a row is the bias plus the values of the leaves it is in.

    Parameters
    ----------
    leaves : shape (n_samples, n_trees)
        The number of the leaf that a row is in, for each tree; -1 where the tree does not count for
        this row.
    n_leaves : int
        Of all trees together.
    target : shape (n_samples,)
        Class numbers (0 and 1 if the loss is logistic), or what to predict if it is squared.
    weights : shape (n_samples,)
        How much each row counts; 2 is as good as having the row twice.
    loss : {"squared", "logistic", "softmax"}
        Half the squared error, or minus the logarithm of the probability of the right class. This
        is 1 / (1 + exp(-score)) for class 1 if logistic, proportional to exp(score) if softmax.
    prior : shape (n_leaves, n_outputs)
        Old values. There is one output for each class if the loss is softmax, else one.
    bias : shape (n_outputs,)
        The constant part of the score.
    speaks : bool array, shape (n_leaves, n_outputs), optional
        Which outputs the value of a leaf may change: the trees of many boosted models speak for one
        class each. None means all.
    """

    leaves: IndexArray
    n_leaves: int
    target: NDArray[Any]
    weights: FloatArray
    loss: str
    prior: FloatArray
    bias: FloatArray
    speaks: BoolArray | None = None

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            names = ", ".join(repr(name) for name in LOSSES)
            raise InputError(f"There is no loss {self.loss!r} to refit by: choose {names}.")
        of_target = np.float64 if self.loss == "squared" else np.int32
        dtypes = {"leaves": np.int32, "target": of_target} | dict.fromkeys(
            ("weights", "prior", "bias"), np.float64
        )
        for name, dtype in dtypes.items():
            object.__setattr__(self, name, read_only_copy(getattr(self, name), dtype))
        if self.speaks is not None:
            object.__setattr__(self, "speaks", read_only_copy(self.speaks, np.bool_))

    @property
    def n_samples(self) -> int:
        return int(self.leaves.shape[0])

    @property
    def n_trees(self) -> int:
        return int(self.leaves.shape[1])

    @property
    def n_outputs(self) -> int:
        return len(self.bias)

    def __repr__(self) -> str:
        return (
            f"LeafProblem({self.n_samples} rows in {self.n_leaves} leaves of {self.n_trees} trees, "
            f"{self.loss})"
        )

    def of_rows(self, rows: IntArray | BoolArray) -> "LeafProblem":
        """Return the same problem with only some of its rows."""
        return self.with_rows(self.leaves[rows], self.target[rows], self.weights[rows])

    def with_rows(
        self, leaves: IndexArray, target: NDArray[Any], weights: FloatArray
    ) -> "LeafProblem":
        """Return the same problem with other rows in the same leaves."""
        return replace(self, leaves=leaves, target=target, weights=weights)

    def check(self) -> "LeafProblem":
        """Return the problem, or raise where its arrays contradict each other."""
        if self.leaves.ndim != 2 or self.n_samples == 0 or self.n_trees == 0:
            raise InputError("`leaves` must have a line for each row and a column for each tree.")
        if self.leaves.min() < NO_LEAF or self.leaves.max() >= self.n_leaves:
            raise InputError(f"`leaves` must hold numbers from -1 to {self.n_leaves - 1}.")
        for name in ("target", "weights"):
            if getattr(self, name).shape != (self.n_samples,):
                raise InputError(
                    f"`{name}` must have one number for each of {self.n_samples} rows."
                )
        if self.bias.ndim != 1 or self.prior.shape != (self.n_leaves, self.n_outputs):
            raise InputError("`prior` must have a line for each leaf and a column for each bias.")
        if self.speaks is not None and self.speaks.shape != self.prior.shape:
            raise InputError("`speaks` must have the shape of `prior`.")
        if self.loss != "softmax" and self.n_outputs != 1:
            raise InputError(f"The {self.loss} loss has one output, but there are biases for more.")
        for name in ("target", "weights", "prior", "bias"):
            if not np.isfinite(getattr(self, name)).all():
                raise InputError(f"`{name}` holds a number that is not finite.")
        if (self.weights < 0).any() or not self.weights.any():
            raise InputError("`weights` must be at least 0, and at least one of them above.")
        n_classes = 2 if self.loss == "logistic" else self.n_outputs
        if self.loss != "squared" and (self.target.min() < 0 or self.target.max() >= n_classes):
            raise InputError(f"`target` must hold class numbers from 0 to {n_classes - 1}.")
        return self
