"""From a closure problem to a path of forests."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from thriftwood.closure import ClosureProblem, ParametricCut
from thriftwood.costs import PriceList
from thriftwood.forest import Forest
from thriftwood.problem.build import ClosureIndex
from thriftwood.problem.task import PruningTask
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.points import (
    features_at,
    losses_at,
    splits_at,
    still_there,
)
from thriftwood.pruning.pruned import Figures
from thriftwood.solvers import parametric_cut
from thriftwood.support.arrays import FloatArray, read_only
from thriftwood.support.progress import progress_bar


def nested_path(
    model: Any,
    task: PruningTask,
    closure: tuple[ClosureProblem, ClosureIndex],
    method: str,
    n_jobs: int | None,
    progress: bool | None,
) -> PruningPath:
    """Solve a closure problem at all tradeoffs, and say what each solution is as a forest.

    Parameters
    ----------
    model, task
        What is pruned; bills and losses are the ensemble's, whatever the problem counts.
    closure
        What is optimised, and the way back from it.
    method : {"ensemble", "each_tree", "cost_complexity"}
        What the problem stands for.
    n_jobs, progress
        As in `prune_path`.
    """
    problem, index = closure
    with progress_bar("Pruning", progress) as bar:
        steps = parametric_cut(problem, n_jobs, bar)
    purchases = task.purchases
    # Divided once, at the end, so that whole prices make exact bills.
    items = still_there(
        purchases.last_needed(steps.breakpoint_of), steps.n_breakpoints + 1, purchases.item_cost
    )
    return as_forests(model, task, index, steps, items / purchases.scale, method)


class Counted(Protocol):
    """What a path says of its task, in whatever pieces the rows were counted."""

    @property
    def forest(self) -> Forest: ...

    @property
    def mean_losses(self) -> FloatArray: ...

    @property
    def weight_counted(self) -> float: ...

    @property
    def rows(self) -> str: ...

    @property
    def prices(self) -> PriceList: ...

    @property
    def loss_name(self) -> str: ...

    def original(self) -> Figures: ...


def as_forests(
    model: Any,
    task: Counted,
    index: ClosureIndex,
    steps: ParametricCut,
    costs: FloatArray,
    method: str = "ensemble",
) -> PruningPath:
    """Say what each set of projects on the closure's path means for the forest.

    Parameters
    ----------
    model, task, index
    steps : ParametricCut
    costs : shape (n_breakpoints + 1,)
        The mean bill of a row before each step, and after the last.
    method : str
    """
    forest = task.forest
    drop_step = np.full(forest.n_nodes, -1, dtype=np.int32)
    drop_step[index.split] = steps.breakpoint_of
    prices = [index.tradeoff(lambda_) for lambda_ in steps.breakpoints]
    n_points = steps.n_breakpoints + 1
    lost_loss = index.lost_gain / task.weight_counted
    lost_cost = Fraction(index.lost_cost) * index.loss_per_cost / Fraction(task.weight_counted)
    return PruningPath(
        model=model,
        forest=forest,
        rows=task.rows,
        prices=task.prices.without_samples(),
        loss_name=task.loss_name,
        method=method,
        drop_step=read_only(drop_step),
        tradeoffs=read_only(np.array([0.0, *prices])),
        costs=read_only(costs),
        losses=read_only(losses_at(forest, task.mean_losses, drop_step, n_points)),
        n_splits=read_only(splits_at(forest, drop_step, n_points)),
        n_features=read_only(features_at(forest, drop_step, n_points)),
        original=task.original(),
        # Whole numbers may misstate the loss of the optimum and that of the forest taken instead.
        resolution=steps.slack * float(index.gain_unit) / task.weight_counted + 2 * lost_loss,
        cost_resolution=2 * float(lost_cost),
    )
