"""Prunings of a model, one after the other: what all paths have in common."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.adapters import read_forest, write_model
from thriftwood.costs import AnyCosts, PriceList
from thriftwood.errors import InputError
from thriftwood.evaluation import choosing, evaluation
from thriftwood.forest import Forest
from thriftwood.pruning import plot, storage
from thriftwood.pruning.frames import frame_of
from thriftwood.pruning.methods import points_in_words
from thriftwood.pruning.pruned import Figures, Pruned
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray
from thriftwood.support.validation import is_whole, one_number_from_zero

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Losses and costs are sums of doubles: two that differ by less than this part are the same.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class PruningSequence(ABC):
    """Prunings of one model, from large to small, with their figures.

    Nothing is said here of how they were found, nor that each is part of the one before. `method`
    names how; the other attributes are described where users see them, in `PruningPath`.
    """

    model: Any
    forest: Forest
    rows: str
    prices: PriceList
    loss_name: str
    method: str
    costs: FloatArray
    losses: FloatArray
    n_splits: IntArray
    n_features: IntArray
    original: Figures

    # Whether each point keeps only splits of the one before.
    is_nested: ClassVar[bool]
    # What a file holds of each kind of sequence beyond the above.
    own_methods: ClassVar[tuple[str, ...]]
    own_arrays: ClassVar[tuple[str, ...]]
    own_numbers: ClassVar[tuple[str, ...]]
    optional_arrays: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def kept_nodes(self, index: int) -> BoolArray:
        """Return which nodes of the forest are splits at a point."""

    @property
    @abstractmethod
    def labels(self) -> dict[str, NDArray[Any]]:
        """What tells the points apart, a name and a number for each."""

    def __len__(self) -> int:
        return len(self.costs)

    def __getitem__(self, index: int) -> Pruned:
        if not is_whole(index):
            raise InputError(f"A point of the path is a whole number, not {index!r}.")
        if not -len(self) <= index < len(self):
            raise IndexError(f"The path has {len(self)} points: there is no point {index}.")
        return self.at(index=index)

    def __repr__(self) -> str:
        kind = type(self.model).__name__
        points = points_in_words(self.method, len(self))
        lines = [
            f"{type(self).__name__} of a {kind}: {len(self)} {points}",
            f"  {self.prices.unit:10.10s} {'cost':>10s} {'loss':>10s} {'splits':>8s} "
            f"{'features':>8s}",
        ]
        rows = {"original": self.original, "first": self._figures(0), "last": self._figures(-1)}
        for name, row in rows.items():
            lines.append(
                f"  {name:10s} {row.cost:10.6g} {row.loss:10.4g} {row.n_splits:8d} "
                f"{row.n_features:8d}"
            )
        return "\n".join(lines)

    def at(
        self,
        *,
        index: int | None = None,
        budget: float | None = None,
        max_loss_increase: float | None = None,
    ) -> Pruned:
        """Return one pruning, with its model.

        Parameters
        ----------
        index : int
            A point of the path; negative ones count from the end.
        budget : float
            The point of least loss among those that cost at most this.
        max_loss_increase : float
            The cheapest point whose loss is at most this much above the original model's.
        """
        check_only_one(index=index, budget=budget, max_loss_increase=max_loss_increase)
        if index is not None:
            return self._pruned(self._read_index(index))
        if budget is not None:
            return self._within(self._read_budget(budget))
        return self._pruned(self._cheapest_within(max_loss_increase))

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        *,
        points: Sequence[int] | None = None,
        rows: str = "all",
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> evaluation.Evaluation:
        """Measure the real errors and bills of the points on rows, usually held-out ones.

        Parameters
        ----------
        X, y
            Rows and what is right.
        points : sequence of int, optional
            Points of the path; None means all.
        rows : {"all", "in_bag", "out_of_bag"}
            Which trees predict a row: all, or those that were grown on it, or those that were not.
            With "out_of_bag" pass the rows that the model was trained on: an estimate without
            held-out rows. It needs a path of `prune_path(..., rows="in_bag")`; otherwise the trees
            were pruned on the labels of these rows. Rows that no tree predicts are left out of
            the errors.
        quantiles : sequence of float
            Of the bills.
        sample_weight : array-like, optional
        costs : array-like, mapping or Costs, optional
            What these rows pay; None means the prices of the path. Needed where those belong to
            the rows that the path was computed on.
        n_jobs : int, optional
            Threads to route the rows with.
        progress : bool, optional
            As in `prune_path`.
        """
        return evaluation.evaluate_path(
            self, X, y, points, rows, quantiles, sample_weight, costs, n_jobs, progress
        )

    def choose(
        self,
        X: Any,
        y: ArrayLike,
        *,
        rule: str = "one_standard_error",
        limit: float | None = None,
        rows: str = "all",
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Pruned:
        """Choose a point by its errors and bills on rows that training did not see.

        Parameters
        ----------
        X, y, rows, sample_weight, costs, n_jobs, progress
            As in `evaluate`.
        rule : str
            "lowest_error": the cheapest point of lowest error. "one_standard_error": the cheapest
            within one standard error of that. "error_increase": the cheapest whose error is at most
            `limit` above that of the model before pruning. "budget": the point of lowest error
            among those whose mean bill on these rows is at most `limit`.
        limit : float, optional
            For the last two rules.

        Errors are those of the whole ensemble; squared errors for regressors. Models that predict
        a quantile or a rank are not judged by these: measure `path[i].model` your own way.
        """
        choosing.check_rule(rule, limit)
        choosing.check_aim(self.forest)
        measured = self.evaluate(
            X,
            y,
            rows=rows,
            quantiles=(),
            sample_weight=sample_weight,
            costs=costs,
            n_jobs=n_jobs,
            progress=progress,
        )
        return self._pruned(choosing.chosen_point(measured, rule, limit))

    def plot(
        self, ax: Axes | None = None, *, measured: evaluation.Evaluation | None = None
    ) -> Axes:
        """Draw cost against loss, or against the real error of an evaluation (matplotlib)."""
        return plot.plot_path(self, ax, measured)

    def to_frame(self) -> pd.DataFrame:
        """Return one line per point as a pandas data frame."""
        return frame_of(
            {
                **self.labels,
                "cost": self.costs,
                "loss": self.losses,
                "n_splits": self.n_splits,
                "n_features": self.n_features,
            }
        )

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the path to a file, without the model: arrays and plain text, no pickle."""
        storage.save_path(self, file)

    @classmethod
    def load(cls, file: str | os.PathLike[str], model: Any = None) -> Self:
        """Read a path from a file.

        Parameters
        ----------
        file : path
        model : optional
            The model that the path was computed for, to get pruned models of its type; without it
            they are of our own kind, `ForestModel`, and predict the same.
        """
        return storage.load_path(cls, file, model)

    def fits(self) -> bool:
        """Say whether the arrays fit the forest and each other: kernels trust them."""
        per_point = (self.costs, self.losses, self.n_splits, self.n_features)
        return (
            self.method in self.own_methods
            and self.prices.n_features == self.forest.n_features
            and all(array.shape == (len(self),) for array in per_point)
        )

    def unchanged_model(self) -> Any:
        """Return the model, or raise where it is no longer the one that was pruned."""
        if not self.forest.has_same_trees(read_forest(self.model)):
            raise InputError(
                "The model was changed or fitted again since its path was computed: compute the "
                "path anew."
            )
        return self.model

    def _figures(self, index: int) -> Figures:
        return Figures(
            cost=float(self.costs[index]),
            loss=float(self.losses[index]),
            n_splits=int(self.n_splits[index]),
            n_features=int(self.n_features[index]),
        )

    def _pruned(self, index: int, **about: Any) -> Pruned:
        """Return a point with its model, and what else is known about it."""
        return Pruned(
            **vars(self._figures(index)),
            **{"tradeoff": None, "bound": None} | about,
            model=write_model(self.unchanged_model(), self.kept_nodes(index)),
            original=self.original,
            index=index,
            method=self.method,
            loss_name=self.loss_name,
        )

    def _read_index(self, index: Any) -> int:
        if not is_whole(index) or not -len(self) <= index < len(self):
            raise InputError(
                f"`index` is {index!r}: pass a whole number from 0 to {len(self) - 1}, or a "
                "negative one that counts from the end."
            )
        return int(index) % len(self)

    def _read_budget(self, budget: Any) -> float:
        if isinstance(budget, float) and budget == math.inf:
            return math.inf
        return one_number_from_zero(
            budget, "budget", "It is what a row may cost on average; a single leaf costs nothing."
        )

    def _within(self, budget: float) -> Pruned:
        affordable = self._affordable(budget)
        best = affordable[self.losses[affordable] == self.losses[affordable].min()]
        return self._pruned(int(best[self.costs[best].argmin()]), budget=budget)

    def _affordable(self, budget: float) -> IntArray:
        affordable = np.flatnonzero(self.costs <= budget * (1 + ROUNDING))
        if not len(affordable):
            raise InputError(
                f"No pruning costs {budget:g} or less; the cheapest costs {self.costs.min():g}."
            )
        return affordable

    def _cheapest_within(self, max_loss_increase: Any) -> int:
        increase = one_number_from_zero(
            max_loss_increase,
            "max_loss_increase",
            "It is how much the loss may rise above the original model's.",
        )
        most = self.original.loss + increase
        most += self._loss_noise + ROUNDING * max(1.0, most)
        allowed = np.flatnonzero(self.losses <= most)
        if not len(allowed):
            return 0
        return int(allowed[self.costs[allowed] == self.costs[allowed].min()][-1])

    @property
    def _loss_noise(self) -> float:
        """By how much the loss of a point may be off the best because numbers were rounded."""
        return 0.0


def check_only_one(**given: Any) -> None:
    """Raise unless exactly one of the named arguments is given."""
    if sum(value is not None for value in given.values()) != 1:
        raise InputError(f"Pass exactly one of {', '.join(f'`{name}`' for name in given)}.")
