"""A randomised model between two points of a path: it meets a budget on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import read_rows
from thriftwood.pruning.pruned import Pruned
from thriftwood.support.arrays import BoolArray, FloatArray
from thriftwood.support.draws import uniform_per_row
from thriftwood.support.validation import numbers


@dataclass(frozen=True, repr=False)
class Mixture:
    """Two neighbouring points of a path, one drawn for each sample: the optimum of the paper's LP1.

    Which one predicts a sample depends on its values and on `random_state` alone: the same sample
    gets the same model again, in any company. So the share that gets the rich one is the
    probability where samples are many and different; equal ones share one draw. Values of a sample
    that are not bought yet cannot be looked at: pass `keys` then, one number each (an id, a time),
    and the draw depends on these instead.

    Attributes
    ----------
    cheap, rich : Pruned
        The points on either side of the budget.
    probability : float
        How often the rich one is drawn.
    random_state : int
    """

    cheap: Pruned
    rich: Pruned
    probability: float
    random_state: int
    _forest: Forest

    @property
    def cost(self) -> float:
        """The expected bill of a sample."""
        return self.cheap.cost + self.probability * (self.rich.cost - self.cheap.cost)

    @property
    def loss(self) -> float:
        """The expected loss of a sample and tree; no randomised pruning as cheap has less."""
        return self.cheap.loss + self.probability * (self.rich.loss - self.cheap.loss)

    def draws_rich(self, X: Any, keys: ArrayLike | None = None) -> BoolArray:
        """Return a mask of the samples that the rich model predicts."""
        rows = read_rows(X, self._forest).values
        if keys is not None:
            n_samples, rows = len(rows), numbers(keys, "keys").reshape(-1, 1)
            if len(rows) != n_samples:
                raise InputError(f"There are {len(rows)} keys for {n_samples} samples: one each.")
        return uniform_per_row(rows, self.random_state) < self.probability

    def predict(self, X: Any, keys: ArrayLike | None = None) -> NDArray[Any]:
        """Predict the class, or the number, of each sample."""
        rich, cheap = self.rich.model, self.cheap.model
        return np.where(self.draws_rich(X, keys), rich.predict(X), cheap.predict(X))

    def predict_proba(self, X: Any, keys: ArrayLike | None = None) -> FloatArray:
        """Predict the probability of each class for each sample."""
        rich, cheap = self.rich.model, self.cheap.model
        is_rich = self.draws_rich(X, keys)[:, None]
        return np.where(is_rich, rich.predict_proba(X), cheap.predict_proba(X))

    def __repr__(self) -> str:
        if self.rich.index == self.cheap.index:
            return f"Mixture: always point {self.rich.index}, cost {self.cost:.6g}"
        return (
            f"Mixture: {self.probability:.1%} of point {self.rich.index} (cost "
            f"{self.rich.cost:.6g}, loss {self.rich.loss:.4g}), else point {self.cheap.index} "
            f"(cost {self.cheap.cost:.6g}, loss {self.cheap.loss:.4g})\n"
            f"  expected cost {self.cost:.6g}, expected loss {self.loss:.4g}"
        )
