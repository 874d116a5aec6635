"""The frontier: every optimal pruning of a model, and ways to pick one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.cascade import CascadeClassifier
from thriftwood.cascade import building as cascading
from thriftwood.closure import Certificate
from thriftwood.costs import AnyCosts
from thriftwood.distributed.dual.log import ShardRound
from thriftwood.errors import InputError
from thriftwood.evaluation import certifying
from thriftwood.problem.losses import Loss
from thriftwood.problem.targets import ClassWeight
from thriftwood.pruning import mixture
from thriftwood.pruning.methods import ROUNDS, SAMPLE, points_in_words
from thriftwood.pruning.pruned import Pruned
from thriftwood.pruning.sequence import PruningSequence, check_only_one
from thriftwood.pruning.tradeoffs import read_tradeoff
from thriftwood.refitting import LabelledSamples
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray

# Methods whose points are proven to be within the resolution of the optimum.
PROVEN = ("ensemble", ROUNDS)


@dataclass(frozen=True, eq=False, repr=False)
class PruningPath(PruningSequence):
    """Every optimal pruning of a model, from the richest to single leaves.

    Point `i` is optimal for tradeoffs from `tradeoffs[i]` to `tradeoffs[i + 1]`. Points are nested:
    each keeps only splits that the one before keeps. So the whole path is one number per split.

    What is optimal depends on `method`. "ensemble": the paper's objective of all trees together,
    loss + tradeoff * cost. The others are baselines: for "each_tree" every tree is optimal alone,
    with its own loss and cost; for "cost_complexity" with its number of leaves in place of its
    cost. Costs and losses are those of the ensemble in any case. "sample", of
    `prune_path(..., sample=...)`: the best on all rows among the optimal prunings of a sample;
    nearly optimal, as `sampling_errors` estimate. "rounds": what shards of rows agreed on where
    they were too large to be gathered, proven to be within `resolution` of the optimum.

    `path[i]` is `path.at(index=i)`, and `len(path)` the number of points.

    Attributes
    ----------
    model
        The model that is pruned.
    forest : Forest
        Its trees.
    rows : str
        On which rows each tree's loss counted: "all", "in_bag" or "out_of_bag".
    prices : PriceList
    loss_name : str
        The loss that was counted.
    method : {"ensemble", "each_tree", "cost_complexity", "sample", "rounds"}
        What is optimal at each point.
    drop_step : shape (n_nodes,)
        Point `i` keeps the splits with a step of at least `i`; -1 at leaves and at splits that gain
        nothing.
    tradeoffs : shape (n_points,)
        The paper's lambda from which on each point is optimal; 0 for the first. For
        "cost_complexity" the price of a leaf.
    costs, losses : shape (n_points,)
        Mean bill of a row, and loss averaged over rows and trees, on the rows given.
    n_splits, n_features : shape (n_points,)
        What each point keeps.
    original : Figures
        The figures of the model before pruning. The first point has the least loss that any
        pruning has, but for the resolution, and may be smaller: splits that gain nothing are gone.
    resolution, cost_resolution : float
        By how much, at any tradeoff, what the method minimises may miss the optimum because numbers
        had to be rounded, or because shards of rows could not agree: at most
        `resolution + tradeoff * cost_resolution`. Both are 0 for counted errors and prices of up to
        six decimals, within a wide range, of rows in memory or shards that were gathered. Of a path
        from a sample they are those of the sample.
    rounds : tuple of ShardRound
        How shards of rows came to it; empty for rows in memory, and in a path from a file.
    sampling_errors : shape (n_points,), optional
        For "sample": by how much loss + tradeoff * cost of the best pruning may be less than that
        of each point, at the tradeoffs where the point is the best on the path. Estimated, not
        proven: too low about once in forty draws.
    sampled : pair of int, optional
        For "sample": how many rows were drawn, and from how many.
    """

    drop_step: IndexArray
    tradeoffs: FloatArray
    resolution: float
    cost_resolution: float
    rounds: tuple[ShardRound, ...] = ()
    sampling_errors: FloatArray | None = None
    sampled: tuple[int, int] | None = None

    is_nested: ClassVar = True
    own_methods: ClassVar = ("ensemble", "each_tree", "cost_complexity", SAMPLE, ROUNDS)
    own_arrays: ClassVar = ("drop_step", "tradeoffs")
    own_numbers: ClassVar = ("resolution", "cost_resolution")
    optional_arrays: ClassVar = ("sampling_errors", "sampled")

    @property
    def labels(self) -> dict[str, NDArray[Any]]:
        """The tradeoffs."""
        return {"tradeoff": self.tradeoffs}

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
            The paper's lambda: the optimum of loss + tradeoff * cost, or of what else the method
            minimises.
        index : int
            A point of the path; negative ones count from the end.
        budget : float
            The best point that costs at most this. Its `bound` says how much less any pruning
            within the budget could lose, at the most, where the method is "ensemble". Beyond the
            cost of the first point more money buys nothing: the first point is returned.
        max_loss_increase : float
            The cheapest point whose loss is at most this much above the original model's.
        """
        check_only_one(
            tradeoff=tradeoff, index=index, budget=budget, max_loss_increase=max_loss_increase
        )
        if tradeoff is not None:
            return self._at_tradeoff(tradeoff)
        return super().at(index=index, budget=budget, max_loss_increase=max_loss_increase)

    def mix(self, *, budget: float, random_state: int = 0) -> mixture.Mixture:
        """Return the two points around a budget, mixed so that the budget is met on average.

        Each row is predicted by one of the two, drawn at random: the optimum of the paper's LP1,
        which no single pruning reaches between two points. From the cost of the first point on it
        is that point alone. Only for the method "ensemble": mixtures of other points are not
        optimal, so that there is nothing to promise.

        Parameters
        ----------
        budget : float
        random_state : int
            The draw of a row depends on this and on the values of the row, nothing else.
        """
        if self.method != "ensemble":
            raise InputError(
                f"This path has {points_in_words(self.method, 2)}, of which no mixture is optimal: "
                "mix points of prune_path(..., scope='ensemble') on all rows."
            )
        number = self._read_budget(budget)
        index = self._first_within(number)
        return mixture.mixture_of(
            self._pruned(index),
            self._pruned(max(index - 1, 0)),
            number,
            random_state,
            self.forest,
        )

    def cascade(
        self,
        X: Any,
        y: ArrayLike,
        *,
        budget: float | None = None,
        stages: int | Sequence[int] = cascading.N_STAGES,
        refit: LabelledSamples | None = None,
        rows: str = "all",
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> CascadeClassifier:
        """Return a classifier that starts cheap, and buys more only where it is not sure.

        Points of the path become stages. A row is predicted by the first one that is sure enough of
        it; since points are nested, nothing that it bought before is wasted. How sure is sure
        enough, at each stage, is tuned on the rows given, for every budget at once:
        `cascade.at(budget=...)` takes another budget without further work. Budgets between two
        points of the path are used, too, as far as rows differ in what they have bought.

        Parameters
        ----------
        X, y
            Rows that the model was not trained on.
        budget : float, optional
            What a row may cost on average, measured on these rows. None means as little as
            possible within a quarter of a standard error of the best that was found.
        stages : int or sequence of int
            How many stages to try, the whole model as the last among them; or the points of the
            path that are to be stages, and no others. Tuning leaves out those that do not help.
        refit : X and y, optional
            The rows that the model was trained on, to fit the values of leaves again at each stage,
            as `Pruned.refit` does; where that predicts worse, the values stay. It brings most at
            small budgets. The whole model as the last stage stays as it is. Weights of rows may
            come third.
        rows : {"all", "out_of_bag"}
            With "out_of_bag" pass the rows that the model was trained on: each is then judged by
            the trees that were not grown on it. It needs a path of
            `prune_path(..., rows="in_bag")`, and goes without `refit`.
        sample_weight : array-like, optional
        costs : array-like, mapping or Costs, optional
            What these rows pay; None means the prices of the path.
        n_jobs : int, optional
            Threads, as in scikit-learn.
        progress : bool, optional
            As in `prune_path`.
        """
        return cascading.cascade_of(
            self, X, y, budget, stages, refit, rows, sample_weight, costs, n_jobs, progress
        )

    def certify(
        self,
        X: Any,
        y: ArrayLike,
        *,
        points: Sequence[int] | None = None,
        loss: Loss = None,
        class_weight: ClassWeight = None,
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> tuple[Certificate, ...]:
        """Return a checked proof for each point, at a tradeoff inside its interval.

        A gap of 0 says that no pruning is better there. The proofs are made anew, from the rows
        that the path was computed on: they do not trust the path.

        Parameters
        ----------
        X, y, class_weight, sample_weight
            As they were for `prune_path`.
        points : sequence of int, optional
            Points of the path; None means all.
        loss : str or callable, optional
            None means that of the path. A function of your own must be passed again.
        costs : array-like, mapping or Costs, optional
            None means the prices of the path. Needed where those belong to rows.
        n_jobs : int, optional
            Threads, for the rows and for the proofs.
        progress : bool, optional
            As in `prune_path`.
        """
        return certifying.certify_path(
            self, X, y, points, loss, class_weight, sample_weight, costs, n_jobs, progress
        )

    def fits(self) -> bool:
        """Say whether the arrays fit the forest and each other: kernels trust them."""
        steps, parent, n_points = self.drop_step, self.forest.parent, len(self)
        return (
            super().fits()
            and self.tradeoffs.shape == (n_points,)
            and steps.shape == parent.shape
            and steps.dtype == np.int32
            and bool(((steps >= -1) & (steps < n_points)).all())
            and bool(((parent < 0) | (steps <= steps[parent])).all())
            and self._fits_its_sample()
        )

    def _fits_its_sample(self) -> bool:
        if self.method != SAMPLE:
            return self.sampling_errors is None and self.sampled is None
        if self.sampling_errors is None or self.sampled is None:
            return False
        are_two = len(self.sampled) == 2 and all(isinstance(count, int) for count in self.sampled)
        return are_two and self.sampling_errors.shape == (len(self),)

    def _at_tradeoff(self, tradeoff: Any) -> Pruned:
        number = read_tradeoff(tradeoff)
        index = int(np.searchsorted(self.tradeoffs, number, side="right")) - 1
        return self._pruned(index, tradeoff=number)

    def _pruned(self, index: int, **about: Any) -> Pruned:
        known = {"tradeoff": float(self.tradeoffs[index])}
        if self.method in PROVEN:
            known["bound"] = self._resolution_at(index)
        if self.sampling_errors is not None:
            known["sampling_error"] = float(self.sampling_errors[index])
        return super()._pruned(index, **known | {"sampled": self.sampled} | about)

    def _within(self, budget: float) -> Pruned:
        """Return the best point within a budget, and what it may lack to the best pruning."""
        index = self._first_within(budget)
        if self.sampling_errors is not None:
            error = float(self.sampling_errors[index]) + self._unused(index, budget)
            return self._pruned(index, budget=budget, sampling_error=error)
        if self.method not in PROVEN:
            return self._pruned(index, budget=budget)
        bound = self._resolution_at(index) + self._unused(index, budget)
        return self._pruned(index, budget=budget, bound=bound)

    def _unused(self, index: int, budget: float) -> float:
        """Return what the rest of a budget could buy on the line to the next richer point.

        Every pruning lies on or above the line through two neighbouring points.
        """
        if index == 0:
            return 0.0
        costs, losses = self.costs[[index, index - 1]], self.losses[[index, index - 1]]
        share = max(budget - costs[0], 0.0) / (costs[1] - costs[0])
        return float(share * (losses[0] - losses[1]))

    def _first_within(self, budget: float) -> int:
        """Return the best point within a budget: losses rise along a path."""
        return int(self._affordable(budget)[0])

    def _resolution_at(self, index: int) -> float:
        return self.resolution + float(self.tradeoffs[index]) * self.cost_resolution

    @property
    def _loss_noise(self) -> float:
        return self.resolution
