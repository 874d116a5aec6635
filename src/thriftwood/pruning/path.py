"""The frontier: every optimal pruning of a model, and ways to pick one."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_forest, write_model
from thriftwood.arguments import one_number_from_zero
from thriftwood.arrays import BoolArray, FloatArray, IndexArray, IntArray
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.pruning import choosing, evaluation, mixture, plot, storage
from thriftwood.pruning.frames import frame_of
from thriftwood.pruning.pruned import Figures, Pruned

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Losses are sums of doubles: two that differ by less than this part are the same.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class PruningPath:
    """Every optimal pruning of a model, from the richest to single leaves.

    Point `i` is optimal for tradeoffs from `tradeoffs[i]` to `tradeoffs[i + 1]`. Points are nested:
    each keeps only splits that the one before keeps. So the whole path is one number per split.

    `path[i]` is `path.at(index=i)`, and `len(path)` the number of points.

    Attributes
    ----------
    model
        The model that is pruned.
    forest : Forest
        Its trees.
    rows : str
        On which rows each tree's loss counted: "all", "in_bag" or "out_of_bag".
    prices : shape (n_features,)
    loss_name : str
        The loss that was counted.
    drop_step : shape (n_nodes,)
        Point `i` keeps the splits with a step of at least `i`; -1 at leaves and at splits that gain
        nothing.
    tradeoffs : shape (n_points,)
        The paper's lambda from which on each point is optimal; 0 for the first.
    costs, losses : shape (n_points,)
        Mean bill of a row, and loss averaged over rows and trees, on the rows given.
    n_splits, n_features : shape (n_points,)
        What each point keeps.
    original : Figures
        The figures of the model before pruning. The first point has the least loss that any
        pruning has, but for the resolution, and may be smaller: splits that gain nothing are gone.
    resolution, cost_resolution : float
        By how much, at any tradeoff, loss + tradeoff * cost may miss the optimum because numbers
        had to be rounded: at most `resolution + tradeoff * cost_resolution`. Both are 0 for counted
        errors and prices of up to six decimals, within a wide range.
    """

    model: Any
    forest: Forest
    rows: str
    prices: FloatArray
    loss_name: str
    drop_step: IndexArray
    tradeoffs: FloatArray
    costs: FloatArray
    losses: FloatArray
    n_splits: IntArray
    n_features: IntArray
    original: Figures
    resolution: float
    cost_resolution: float

    def __len__(self) -> int:
        return len(self.tradeoffs)

    def __getitem__(self, index: int) -> Pruned:
        if not isinstance(index, (int, np.integer)):
            raise InputError(f"A point of the path is a whole number, not {index!r}.")
        if not -len(self) <= index < len(self):
            raise IndexError(f"The path has {len(self)} points: there is no point {index}.")
        return self.at(index=index)

    def __repr__(self) -> str:
        kind = type(self.model).__name__
        lines = [
            f"PruningPath of a {kind}: {len(self)} optimal pruning{'s' * (len(self) > 1)}",
            f"  {'':10s} {'cost':>10s} {'loss':>10s} {'splits':>8s} {'features':>8s}",
        ]
        rows = {"original": self.original, "first": self._figures(0), "last": self._figures(-1)}
        for name, row in rows.items():
            lines.append(
                f"  {name:10s} {row.cost:10.6g} {row.loss:10.4g} {row.n_splits:8d} "
                f"{row.n_features:8d}"
            )
        return "\n".join(lines)

    @property
    def drop_values(self) -> FloatArray:
        """The tradeoff at which each node stops being a split.

        0 where a split gains nothing, infinity where it costs nothing, NaN at leaves.
        """
        beyond = np.concatenate([self.tradeoffs[1:], [np.inf, 0.0]])  # the last for step -1
        return np.where(self.forest.is_split, beyond[self.drop_step], np.nan)

    def kept_nodes(self, index: int) -> BoolArray:
        """Return which nodes of the forest are splits at a point."""
        return self.forest.is_split & (self.drop_step >= index)

    def at(
        self,
        *,
        tradeoff: float | None = None,
        index: int | None = None,
        budget: float | None = None,
        max_loss_increase: float | None = None,
    ) -> Pruned:
        """Return one pruning, with its model.

        Parameters
        ----------
        tradeoff : float
            The paper's lambda: the optimum of loss + tradeoff * cost.
        index : int
            A point of the path; negative ones count from the end.
        budget : float
            The best point that costs at most this. Its `bound` says how much less any pruning
            within the budget could lose, at the most. Beyond the cost of the first point more
            money buys nothing: the first point is returned.
        max_loss_increase : float
            The cheapest point whose loss is at most this much above the original model's.
        """
        given = {
            "tradeoff": tradeoff,
            "index": index,
            "budget": budget,
            "max_loss_increase": max_loss_increase,
        }
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            raise InputError(f"Pass exactly one of {', '.join(f'`{name}`' for name in given)}.")
        if tradeoff is not None:
            return self._at_tradeoff(tradeoff)
        if index is not None:
            return self._pruned(self._read_index(index))
        if budget is not None:
            return self._within(budget)
        return self._pruned(self._cheapest_within(max_loss_increase))

    def mix(self, *, budget: float, random_state: int = 0) -> mixture.Mixture:
        """Return the two points around a budget, mixed so that the budget is met on average.

        Each row is predicted by one of the two, drawn at random: the optimum of the paper's LP1,
        which no single pruning reaches between two points. From the cost of the first point on it
        is that point alone.

        Parameters
        ----------
        budget : float
        random_state : int
            The draw of a row depends on this and on the values of the row, nothing else.
        """
        number = self._read_budget(budget)
        index = self._first_within(number)
        return mixture.mixture_of(
            self._pruned(index),
            self._pruned(max(index - 1, 0)),
            number,
            random_state,
            self.forest.input_dtype,
        )

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        *,
        points: Sequence[int] | None = None,
        rows: str = "all",
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        sample_weight: ArrayLike | None = None,
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
        n_jobs : int, optional
            Threads to route the rows with.
        progress : bool, optional
            As in `prune_path`.
        """
        return evaluation.evaluate_path(
            self, X, y, points, rows, quantiles, sample_weight, n_jobs, progress
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
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Pruned:
        """Choose a point by its errors and bills on rows that training did not see.

        Parameters
        ----------
        X, y, rows, sample_weight, n_jobs, progress
            As in `evaluate`.
        rule : str
            "lowest_error": the cheapest point of lowest error. "one_standard_error": the cheapest
            within one standard error of that. "error_increase": the cheapest whose error is at most
            `limit` above the error of the first point. "budget": the point of lowest error among
            those whose mean bill on these rows is at most `limit`.
        limit : float, optional
            For the last two rules.

        Errors are those of the averaged trees; squared errors for regressors.
        """
        choosing.check_rule(rule, limit)
        measured = self.evaluate(
            X,
            y,
            rows=rows,
            quantiles=(),
            sample_weight=sample_weight,
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
                "tradeoff": self.tradeoffs,
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
    def load(cls, file: str | os.PathLike[str], model: Any = None) -> PruningPath:
        """Read a path from a file.

        Parameters
        ----------
        file : path
        model : optional
            The model that the path was computed for, to get pruned models of its type; without it
            they are plain `Forest` objects, which hold the trees but do not predict.
        """
        return storage.load_path(cls, file, model)

    def _figures(self, index: int) -> Figures:
        return Figures(
            cost=float(self.costs[index]),
            loss=float(self.losses[index]),
            n_splits=int(self.n_splits[index]),
            n_features=int(self.n_features[index]),
        )

    def _pruned(
        self,
        index: int,
        tradeoff: float | None = None,
        budget: float | None = None,
        bound: float | None = None,
    ) -> Pruned:
        return Pruned(
            **vars(self._figures(index)),
            model=write_model(self.unchanged_model(), self.kept_nodes(index)),
            tradeoff=float(self.tradeoffs[index]) if tradeoff is None else tradeoff,
            original=self.original,
            index=index,
            budget=budget,
            bound=self._resolution_at(index) if bound is None else bound,
        )

    def unchanged_model(self) -> Any:
        """Return the model, or raise where it is no longer the one that was pruned."""
        if not self.forest.has_same_trees(read_forest(self.model)):
            raise InputError(
                "The model was changed or fitted again since its path was computed: compute the "
                "path anew."
            )
        return self.model

    def _read_index(self, index: Any) -> int:
        is_whole = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
        if not is_whole or not -len(self) <= index < len(self):
            raise InputError(
                f"`index` is {index!r}: pass a whole number from 0 to {len(self) - 1}, or a "
                "negative one that counts from the end."
            )
        return int(index) % len(self)

    def _at_tradeoff(self, tradeoff: Any) -> Pruned:
        number = one_number_from_zero(
            tradeoff, "tradeoff", "At 0 cost does not matter, the larger it is the more is pruned."
        )
        index = int(np.searchsorted(self.tradeoffs, number, side="right")) - 1
        return self._pruned(index, tradeoff=number)

    def _within(self, budget: Any) -> Pruned:
        """Return the best point within a budget, and what it may lack to the best pruning."""
        number = self._read_budget(budget)
        index = self._first_within(number)
        bound = self._resolution_at(index)
        if index > 0:
            # Every pruning lies on or above the line through two neighbouring points.
            costs, losses = self.costs[[index, index - 1]], self.losses[[index, index - 1]]
            share = (number - costs[0]) / (costs[1] - costs[0])
            bound += float(share * (losses[0] - losses[1]))
        return self._pruned(index, budget=number, bound=bound)

    def _resolution_at(self, index: int) -> float:
        return self.resolution + float(self.tradeoffs[index]) * self.cost_resolution

    def _read_budget(self, budget: Any) -> float:
        if isinstance(budget, float) and budget == math.inf:
            return math.inf
        return one_number_from_zero(
            budget, "budget", "It is what a row may cost on average; a single leaf costs nothing."
        )

    def _first_within(self, budget: float) -> int:
        affordable = np.flatnonzero(self.costs <= budget)
        if not len(affordable):
            raise InputError(
                f"No pruning costs {budget:g} or less; the cheapest costs {self.costs[-1]:g}."
            )
        return int(affordable[0])

    def _cheapest_within(self, max_loss_increase: Any) -> int:
        increase = one_number_from_zero(
            max_loss_increase,
            "max_loss_increase",
            "It is how much the loss may rise above the original model's.",
        )
        most = self.original.loss + increase
        most += self.resolution + ROUNDING * max(1.0, most)
        return int(np.flatnonzero(self.losses <= most)[-1]) if self.losses[0] <= most else 0
