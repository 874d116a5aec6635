"""All optimal prunings of a model at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.arrays import FloatArray, IndexArray, handed_over
from thriftwood.closure import ClosurePath
from thriftwood.formulation import last_needed
from thriftwood.progress import progress_bar
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.task import PruningTask, read_task
from thriftwood.solvers import closure_path


def prune_path(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: ArrayLike | Mapping[str, float] | None = None,
    loss: str | None = None,
    rows: str = "all",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> PruningPath:
    """Compute every optimal pruning of a tree ensemble, from nearly untouched to single leaves.

    The result is exact: between two breakpoints the path holds the forest that `prune` finds at
    any tradeoff there. At a breakpoint both neighbours are optimal.

    Parameters
    ----------
    model, X, y, costs, loss, rows, sample_weight
        As in `prune`.
    n_jobs : int, optional
        Threads, as in scikit-learn. The path does not depend on it.
    progress : bool, optional
        Whether to show a progress bar; None shows one on a terminal, for work of over a second.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> path = tw.prune_path(forest, heart.X, heart.y, costs=heart.costs)
    >>> path.at(budget=50).cost <= 50
    True
    """
    task = read_task(
        model,
        X,
        y,
        costs=costs,
        loss=loss,
        rows=rows,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
    )
    with progress_bar("Pruning", progress) as bar:
        steps = closure_path(task.problem, n_jobs, bar)
    return _as_forests(model, task, steps)


def _as_forests(model: Any, task: PruningTask, steps: ClosurePath) -> PruningPath:
    """Say what each set of projects on the closure's path means for the forest."""
    forest, index = task.forest, task.index
    split = index.split
    drop_step = np.full(forest.n_nodes, -1, dtype=np.int32)
    drop_step[split] = steps.step_of
    prices = [index.tradeoff(steps.price(step)) for step in range(steps.n_steps)]
    gains = task.losses[split] - task.losses[forest.left[split]] - task.losses[forest.right[split]]
    loss_of_leaves = float(task.losses[forest.tree_start[:-1]].sum())
    item_step = last_needed(task.problem, steps.step_of)
    feature_step = np.full(forest.n_features, -1, dtype=np.int32)
    np.maximum.at(feature_step, forest.feature[split], steps.step_of)
    n_points = steps.n_steps + 1
    return PruningPath(
        model=model,
        forest=forest,
        rows=task.rows,
        prices=task.prices,
        loss_name=task.loss_name,
        drop_step=handed_over(drop_step),
        tradeoffs=handed_over(np.array([0.0, *prices])),
        costs=handed_over(_still_there(item_step, n_points, task.bill_weights)),
        losses=handed_over(
            np.maximum(loss_of_leaves - _still_there(steps.step_of, n_points, gains), 0.0)
        ),
        n_splits=handed_over(_still_there(steps.step_of, n_points).astype(np.int64)),
        n_features=handed_over(_still_there(feature_step, n_points).astype(np.int64)),
        original=task.original(),
        # Whole numbers may misstate the loss of the optimum and that of the forest taken instead.
        resolution=steps.slack * task.loss_unit + 2 * task.lost_loss,
        cost_resolution=2 * task.lost_cost,
    )


def _still_there(step: IndexArray, n_points: int, weights: FloatArray | None = None) -> FloatArray:
    """Return for each point how many, or how much, drops with its step or a later one."""
    ever = step >= 0
    counted = np.ones(np.count_nonzero(ever)) if weights is None else weights[ever]
    per_step = np.bincount(step[ever], weights=counted, minlength=n_points)
    from_the_end: FloatArray = np.cumsum(per_step[::-1], dtype=np.float64)
    return from_the_end[::-1].copy()
