"""Prune a boosted ensemble on its true loss: step by step, each an exact cut, and never uphill.

The loss of boosted trees is no sum over them. So a step bounds it from above by one that is, and
that touches the true loss where the trees stand; it then finds the pruning with the least bound +
tradeoff * cost. The true objective falls at least as far as the bound. Bounds differ in the pruning
that they have in mind: a few by recorded gains, near and far, are tried in turn. The steps end
where none of them helps: no proof that there is nothing better, but of a descent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thriftwood.closure import check_certificate
from thriftwood.errors import InputError
from thriftwood.forest import Forest, collapse
from thriftwood.forest.routes import Routes
from thriftwood.problem.majoriser import ensemble_losses, majorised_losses
from thriftwood.problem.recorded_gain import RECORDED_GAIN
from thriftwood.problem.task import PruningTask
from thriftwood.pruning.pruned import Figures
from thriftwood.solvers import Solver, parametric_cut
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

# How many prunings by recorded gains may be the start.
MOST_STARTS = 60
# A step that brings less than this part of the objective is not taken.
LEAST_PROGRESS = 1e-4


@dataclass(frozen=True)
class Descent:
    """Where the steps ended: kept splits, figures, and the objective after each step."""

    kept: BoolArray
    figures: Figures
    objectives: tuple[float, ...]


def needs_descent(task: PruningTask) -> bool:
    """Say whether the loss of a task is that of an ensemble whose trees predict only together."""
    return not task.forest.is_averaged and task.loss_name != RECORDED_GAIN


def refuse_descent(task: PruningTask, instead: str) -> None:
    """Raise where a loss has no path; `instead` says what to do."""
    if needs_descent(task):
        raise InputError(
            f"The {task.loss_name.replace('_', ' ')} of a boosted model is no sum over its trees, "
            f"so it can be descended at one tradeoff, but has no exact path: {instead}"
        )


def descend(
    task: PruningTask, tradeoff: float, solve: Solver, n_jobs: int | None = None
) -> Descent:
    """Go down from the best pruning by recorded gains to where no step helps.

    Parameters
    ----------
    task : PruningTask
        Of a boosted ensemble; its `losses` are recorded gains.
    tradeoff : float
    solve : Solver
        Of each step.
    n_jobs : int, optional
        Threads, as in scikit-learn.
    """
    masks = [task.forest.is_split, *_by_gains(task, n_jobs)]
    starts = [_Standing.of(task, kept) for kept in masks]
    start = int(np.argmin([standing.objective(tradeoff) for standing in starts]))
    best, beyond = starts[start], masks[start + 1 :]
    in_mind = [None, *beyond[:2], *beyond[3:4], *beyond[7:8], *beyond[15:16]]
    objectives = [best.objective(tradeoff)]
    goes_down = best.forest.n_splits > 0
    while goes_down:
        goes_down = False
        for toward in in_mind:
            after = _Standing.of(task, _step(task, best, toward, tradeoff, solve, n_jobs))
            if after.objective(tradeoff) < objectives[-1] * (1 - LEAST_PROGRESS):
                best, goes_down = after, True
                objectives.append(best.objective(tradeoff))
    return Descent(best.kept, best.figures, tuple(objectives))


def original_figures(task: PruningTask) -> Figures:
    """Return cost and true loss of the ensemble before pruning."""
    return _Standing.of(task, task.forest.is_split).figures


@dataclass(frozen=True)
class _Standing:
    """A pruning of the ensemble: its splits, its trees, where they came from, what it says."""

    kept: BoolArray
    forest: Forest
    origin: IntArray
    routes: Routes
    scores: FloatArray
    figures: Figures

    @classmethod
    def of(cls, task: PruningTask, kept: BoolArray) -> _Standing:
        forest, origin = collapse(task.forest, kept)
        routes = Routes(task.routes.order, task.routes.start[origin], task.routes.stop[origin])
        scores = _scores(forest, routes)
        lost = ensemble_losses(forest, scores, task.target)
        weights = task.loss_weights
        figures = replace(task.figures(kept), loss=float(lost @ weights / weights.sum()))
        return cls(kept, forest, origin, routes, scores, figures)

    def objective(self, tradeoff: float) -> float:
        return self.figures.loss + tradeoff * self.figures.cost


def _by_gains(task: PruningTask, n_jobs: int | None) -> list[BoolArray]:
    """Return prunings by recorded gains, from rich to cheap."""
    if task.forest.gains is None:
        return []
    problem, index = task.closure()
    steps = parametric_cut(problem, n_jobs)
    points = np.unique(np.linspace(0, steps.n_breakpoints, MOST_STARTS).astype(int))
    return [index.kept_nodes(steps.kept(int(point))) for point in points]


def _step(
    task: PruningTask,
    now: _Standing,
    toward: BoolArray | None,
    tradeoff: float,
    solve: Solver,
    n_jobs: int | None,
) -> BoolArray:
    """Return the splits that are best by the bound around the present ones."""
    losses = majorised_losses(
        now.forest,
        now.routes,
        now.scores,
        task.target,
        task.loss_weights,
        None if toward is None else toward[now.origin],
        n_jobs,
    )
    bounded = replace(
        task,
        forest=now.forest,
        routes=now.routes,
        losses=losses,
        weight_counted=float(task.loss_weights.sum()),
    )
    problem, index = bounded.closure()
    priced, _ = problem.at(index.closure_tradeoff(tradeoff))
    solution = solve(priced)
    check_certificate(priced, solution)
    stays = index.kept_nodes(solution.kept)
    kept = np.zeros_like(now.kept)
    kept[now.origin[stays]] = True
    return kept


def _scores(forest: Forest, routes: Routes) -> FloatArray:
    """Return what the trees say about the rows that were routed through them."""
    total = np.zeros((routes.n_samples, forest.n_outputs))
    for tree, (first, last) in enumerate(
        zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True)
    ):
        leaves = first + np.flatnonzero(~forest.is_split[first:last])
        leaves = leaves[np.argsort(routes.start[leaves], kind="stable")]
        total[routes.order[tree]] += np.repeat(
            forest.values[leaves], routes.n_samples_of[leaves], axis=0
        )
    if forest.combine == "mean":
        total /= forest.n_trees
    return total + forest.bias
