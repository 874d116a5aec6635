"""A path from a sample of the rows, with figures of all rows and an estimate of what it misses.

What nodes lose is a number per node, however many rows there are, so losses are those of all rows.
Bills are what grows with the rows: who buys what at which split. They are those of a sample. So the
optimum of the sample, x_s, has the least F_s = loss of all rows + tradeoff * cost of the sample. Of
any one pruning F_s is right on average; its minimum is too low, if anything (Mak, Morton and Wood
1999)::

    E[F_s(x_s)] <= F* <= F(x_s)        F with the cost of all rows, F* its least

So F(x_s) - F_s(x_s) is on average at least what x_s misses. F_s is off its mean by chance, the more
the more bills differ; 1.96 standard errors are added for that. It is an estimate, not a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thriftwood.costs import PriceList
from thriftwood.distributed.hull import hull_of, slopes_of
from thriftwood.distributed.measuring import Measure, RowsInBlocks
from thriftwood.distributed.spread import Spread, spread_along
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.problem.given import GivenRows
from thriftwood.problem.node_losses import NodeLosses
from thriftwood.problem.task import task_of
from thriftwood.pruning.descent import refuse_descent
from thriftwood.pruning.methods import SAMPLE
from thriftwood.pruning.nested import nested_path
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.points import features_at, splits_at
from thriftwood.pruning.pruned import Figures
from thriftwood.support.arrays import (
    BoolArray,
    IndexArray,
    IntArray,
    read_only,
)
from thriftwood.support.validation import whole_number

# The same rows are drawn every time.
SEED = 20_150_501
# Standard errors that chance stays within, 39 times out of 40 on one side.
STANDARD_ERRORS = 1.96
# One row says nothing about how rows differ.
LEAST_ROWS = 2


def sampled_path(
    model: Any,
    given: GivenRows,
    size: int,
    n_jobs: int | None,
    progress: bool | None,
    seed: int = SEED,
) -> PruningPath:
    """Return a path whose order of splits comes from a sample, and all figures from all rows.

    Parameters
    ----------
    model
    given : GivenRows
        All rows.
    size : int
        How many of them to draw, fewer than there are.
    n_jobs, progress
        As in `prune_path`.
    seed : int
    """
    _check_rows_are_alike(given)
    sample = given.take(drawn_rows(given.n_samples, size, seed))
    every = RowsInBlocks(given, n_jobs, progress)
    optima = optima_of(model, sample, given.n_samples, every.losses, n_jobs, progress)
    return path_on_all_rows(optima, every.measure)


def read_sample(sample: Any, n_samples: int) -> int | None:
    """Return how many rows to draw, or None where all rows are wanted anyway."""
    if sample is None:
        return None
    size = whole_number(sample, "sample", LEAST_ROWS)
    return size if size < n_samples else None


def drawn_rows(n_samples: int, size: int, seed: int = SEED) -> IntArray:
    """Return `size` of the rows at random, each once, in their order."""
    drawn: IntArray = np.random.default_rng(seed).choice(
        n_samples, size, replace=False, shuffle=False
    )
    return np.sort(drawn)


@dataclass(frozen=True, eq=False)
class SampleOptima:
    """The optimal prunings by a sample, and what they say about those of all rows.

    Attributes
    ----------
    path : PruningPath
        Exact for the bills of the sample; its costs are of these.
    spread : Spread
        Of the rows at each point of the path.
    size, n_samples : int
        How many rows the sample has, and how many there are in all.
    """

    path: PruningPath
    spread: Spread
    size: int
    n_samples: int

    def least_objective(self, tradeoff: float) -> float:
        """Return the least loss + tradeoff * cost of the sample: too low for all rows, mostly."""
        point = self._point(tradeoff)
        return float(self.path.losses[point] + tradeoff * self.path.costs[point])

    def standard_error(self, tradeoff: float) -> float:
        """Return the standard error of that, of rows drawn without putting them back."""
        left = 1 - self.size / self.n_samples
        return self.spread.standard_error(self._point(tradeoff), tradeoff) * float(np.sqrt(left))

    def estimate(self, objective: float, tradeoff: float) -> float:
        """Estimate how much better the best pruning may be than one with this objective."""
        least = self.least_objective(tradeoff) - STANDARD_ERRORS * self.standard_error(tradeoff)
        return max(objective - least, 0.0)

    def _point(self, tradeoff: float) -> int:
        return int(np.searchsorted(self.path.tradeoffs, tradeoff, side="right")) - 1


def optima_of(
    model: Any,
    sample: GivenRows,
    n_samples: int,
    losses: NodeLosses | None,
    n_jobs: int | None,
    progress: bool | None,
) -> SampleOptima:
    """Prune on the bills of a sample.

    Parameters
    ----------
    model
    sample : GivenRows
        Rows drawn at random from all.
    n_samples : int
        How many rows there are in all.
    losses : NodeLosses, optional
        Of all rows; without them those of the sample count, which miss far more.
    n_jobs, progress
        As in `prune_path`.
    """
    if not (sample.weights.any() if losses else sample.loss_weights.any()):
        raise InputError(
            f"None of the {sample.n_samples} rows that were drawn has any weight: draw more, by a "
            "larger `sample`."
        )
    task = task_of(sample, n_jobs, losses)
    refuse_descent(task, "leave `loss` or `sample` out.")
    path = nested_path(model, task, task.closure(), "ensemble", n_jobs, progress)
    spread = spread_along(sample, task, path.drop_step, len(path), losses_vary=losses is None)
    return SampleOptima(path, spread, sample.n_samples, n_samples)


def path_on_all_rows(optima: SampleOptima, measure: Measure) -> PruningPath:
    """Measure the optima of a sample on all rows, and return the best of them at each tradeoff.

    Parameters
    ----------
    optima : SampleOptima
    measure : callable
        Measures nested points on all rows. The whole forest is among them: it may be better than
        what the sample thinks is as good.
    """
    by_sample, forest = optima.path, optima.path.forest
    step, n_steps = _after_the_whole_forest(by_sample), len(by_sample) + 1
    costs, losses = measure(step, n_steps)
    chosen = hull_of(costs, losses)
    drop_step = (np.searchsorted(chosen, step, side="right") - 1).astype(np.int32)
    n_splits, n_features = splits_at(forest, step, n_steps), features_at(forest, step, n_steps)
    original = Figures(float(costs[0]), float(losses[0]), int(n_splits[0]), int(n_features[0]))
    costs, losses = costs[chosen], losses[chosen]
    tradeoffs = np.append(0.0, slopes_of(costs, losses))
    ends = np.append(tradeoffs[1:], max(tradeoffs[-1], by_sample.tradeoffs[-1]))
    errors = [
        max(optima.estimate(loss + tradeoff * cost, tradeoff) for tradeoff in around)
        for cost, loss, *around in zip(costs, losses, tradeoffs, ends, strict=True)
    ]
    return PruningPath(
        model=by_sample.model,
        forest=forest,
        rows=by_sample.rows,
        prices=by_sample.prices,
        loss_name=by_sample.loss_name,
        method=SAMPLE,
        drop_step=read_only(drop_step),
        tradeoffs=read_only(tradeoffs),
        costs=read_only(costs),
        losses=read_only(losses),
        n_splits=read_only(n_splits[chosen]),
        n_features=read_only(n_features[chosen]),
        original=original,
        resolution=by_sample.resolution,
        cost_resolution=by_sample.cost_resolution,
        sampling_errors=read_only(np.array(errors)),
        sampled=(optima.size, optima.n_samples),
    )


def _after_the_whole_forest(path: PruningPath) -> IndexArray:
    """Return steps with which splits drop if the whole forest is the first point."""
    step, last = path.drop_step.copy(), len(path) - 1
    # What no row of the sample passes costs nothing there, whatever its price.
    stays = _free(path.forest, path.prices)
    step[(step == last) & ~stays] = last - 1
    return np.where(path.forest.is_split, step + 1, -1).astype(np.int32)


def _free(forest: Forest, prices: PriceList) -> BoolArray:
    """Return the splits that cost nothing, with all above them."""
    free: BoolArray = forest.is_split & (prices.bundle_prices()[forest.feature] == 0)
    for nodes in list(forest.levels())[1:]:
        free[nodes] &= free[forest.parent[nodes]]
    return free


def _check_rows_are_alike(given: GivenRows) -> None:
    """Refuse rows of which a sample would not pay or lose as all rows do."""
    if given.rows != "all":
        raise InputError(
            f"With `sample`, all trees are judged on all rows that are drawn, so rows="
            f"{given.rows!r} cannot be met: use rows='all', or leave `sample` out."
        )
    if given.prices.is_tied_to_samples:
        raise InputError(
            "The prices belong to certain rows, know some of their values or are shared by rows, "
            "so that a sample of the rows would pay other prices: leave `sample` out, or draw rows "
            "and their prices yourself."
        )
