"""Pruning each tree to every size by dynamic programming, as Li et al. do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.baselines import size_kernels
from thriftwood.baselines.size_path import SizeLayout, SizePath
from thriftwood.costs import AnyCosts
from thriftwood.evaluation import walking
from thriftwood.problem.losses import Loss
from thriftwood.problem.targets import ClassWeight
from thriftwood.problem.task import PruningTask, read_task
from thriftwood.pruning.descent import refuse_descent
from thriftwood.pruning.pruned import Figures
from thriftwood.support.arrays import (
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
)
from thriftwood.support.parallel import for_each
from thriftwood.support.progress import progress_bar


def dynamic_programming_path(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: AnyCosts = None,
    loss: Loss = None,
    class_weight: ClassWeight = None,
    rows: str = "all",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> SizePath:
    """Find the best pruning of each tree of an ensemble to every number of splits.

    A baseline to compare `prune_path` with: dynamic programming on each tree alone, no size left
    out. All trees shrink together: at size k each is its own best with exactly k splits, or whole
    where it has fewer. The best trees of two sizes need not be nested. Where several are as good,
    any of the best is taken.

    Parameters
    ----------
    model, X, y, loss, class_weight, rows, sample_weight, n_jobs, progress
        As in `prune_path`.
    costs : array-like, mapping from feature name to price, Costs, or None
        As in `prune_path`, but only to report the bills of the points.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> path = tw.dynamic_programming_path(forest, heart.X, heart.y, costs=heart.costs)
    >>> path.at(size=3).n_splits
    60
    """
    task = read_task(
        model,
        X,
        y,
        costs=costs,
        loss=loss,
        class_weight=class_weight,
        rows=rows,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
    )
    refuse_descent(task, "leave `loss` out.")
    layout = SizeLayout(task.forest)
    choice, losses = _best_trees(task, layout, n_jobs)
    bills = _bills(task, layout, choice, progress)
    sizes = np.arange(layout.largest_size, -1, -1)
    n_splits = np.minimum(sizes[:, None], layout.n_below[task.forest.tree_start[:-1]]).sum(axis=1)
    return SizePath(
        model=model,
        forest=task.forest,
        rows=task.rows,
        prices=task.prices.without_samples(),
        loss_name=task.loss_name,
        method="dynamic_programming",
        costs=read_only(bills.costs),
        losses=read_only(losses[sizes]),
        n_splits=read_only(n_splits),
        n_features=read_only(bills.n_features),
        original=Figures(
            cost=float(bills.costs[0]),
            loss=float(losses[-1]),
            n_splits=int(n_splits[0]),
            n_features=int(bills.n_features[0]),
        ),
        choice=choice,
    )


def _best_trees(
    task: PruningTask, layout: SizeLayout, n_jobs: int | None
) -> tuple[IndexArray, FloatArray]:
    """Return the choices of all splits, and for each size, from 0 on, the loss of all trees."""
    forest, bounds = task.forest, task.forest.tree_start
    choice = np.empty(layout.start[-1], dtype=np.int32)
    best = [np.empty(layout.n_below[root] + 1) for root in bounds[:-1]]

    def solve(tree: int) -> None:
        size_kernels.best_of_each_size(
            bounds[tree],
            bounds[tree + 1],
            forest.left,
            forest.right,
            task.mean_losses,
            layout.n_below,
            layout.start,
            choice,
            best[tree],
        )

    for_each(solve, range(forest.n_trees), n_jobs)
    losses = np.zeros(layout.largest_size + 1)
    for of_tree in best:
        losses[: len(of_tree)] += of_tree
        losses[len(of_tree) :] += of_tree[-1]
    return read_only(choice), losses


class _Bills(NamedTuple):
    """What each point costs, and how many features it tests."""

    costs: FloatArray
    n_features: IntArray


def _bills(
    task: PruningTask, layout: SizeLayout, choice: IndexArray, progress: bool | None
) -> _Bills:
    """Walk the rows from the largest size to the smallest, and see what they pay."""
    forest, n_points = task.forest, layout.largest_size + 1
    nobody = np.broadcast_to(np.zeros(1, dtype=np.uint16), task.routes.order.shape)
    walk, _ = walking.walk_of(forest, task.prices, task.routes, nobody)
    state = walking.nothing_yet(forest, task.prices, len(task.weights))
    bills = _Bills(np.empty(n_points), np.empty(n_points, dtype=np.int64))
    masks = (layout.kept_nodes(size, choice) for size in range(n_points - 1, -1, -1))
    with progress_bar("Pruning", progress) as bar:
        for point, kept in enumerate(walking.visit(forest, masks, walk, state)):
            bar(point / n_points)
            bill = walking.bills_now(walk, state)
            bills.costs[point] = walking.mean_cost(forest, task.prices, kept, bill, task.weights)
            tested = np.bincount(forest.feature[kept], minlength=forest.n_features)
            bills.n_features[point] = np.count_nonzero(tested)
    return bills
