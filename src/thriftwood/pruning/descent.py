"""Prune a boosted ensemble on its true loss: step by step, each an exact cut, and never uphill.

The loss of boosted trees is no sum over them. So a step bounds it from above by one that is, and
that touches the true loss where the trees stand; it then finds the pruning with the least bound +
tradeoff * cost. The true objective falls at least as far as the bound. Bounds differ in the pruning
that they have in mind: a few by recorded gains, near and far, are tried in turn. The steps end
where none of them helps: no proof that there is nothing better, but of a descent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from thriftwood.billing import list_purchases
from thriftwood.closure import check_certificate
from thriftwood.forest import Forest, Routes, collapse
from thriftwood.problem import (
    LAMBDARANK,
    Figures,
    PruningProblem,
    build_closure,
    ensemble_losses,
    majorised_losses,
)
from thriftwood.solvers import Solver, parametric_cut
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray, read_only

# How many prunings by recorded gains may be the start.
MOST_STARTS = 60
# A step that brings less than this part of the objective is not taken.
LEAST_PROGRESS = 1e-4


def descend(
    problem: PruningProblem, tradeoff: float, solve: Solver
) -> tuple[BoolArray, Figures, Figures, tuple[float, ...]]:
    """Go down from the best pruning by recorded gains to where no step helps.

    Returns the splits that are left, their figures and those of the whole model, and the objective
    at the start and after each step. Node losses of the problem are recorded gains.
    """
    masks = [problem.forest.is_split, *_by_gains(problem)]
    starts = [_Iterate.of(problem, kept) for kept in masks]
    start = int(np.argmin([iterate.objective(tradeoff) for iterate in starts]))
    best, beyond = starts[start], masks[start + 1 :]
    targets = [None, *beyond[:2], *beyond[3:4], *beyond[7:8], *beyond[15:16]]
    objectives = [best.objective(tradeoff)]
    goes_down = best.forest.n_splits > 0
    while goes_down:
        goes_down = False
        for toward in targets:
            after = _Iterate.of(problem, _step(problem, best, toward, tradeoff, solve))
            if after.objective(tradeoff) < objectives[-1] * (1 - LEAST_PROGRESS):
                best, goes_down = after, True
                objectives.append(best.objective(tradeoff))
    return best.kept, best.figures, starts[0].figures, tuple(objectives)


@dataclass(frozen=True)
class _Iterate:
    """A pruning of the ensemble: its splits, its trees, where they came from, its scores."""

    kept: BoolArray
    forest: Forest
    origin: IntArray
    routes: Routes
    scores: FloatArray
    figures: Figures

    @classmethod
    def of(cls, problem: PruningProblem, kept: BoolArray) -> _Iterate:
        forest, origin = collapse(problem.forest, kept)
        order, start, stop = problem.routes.order, problem.routes.start, problem.routes.stop
        routes = Routes(order, read_only(start[origin]), read_only(stop[origin]))
        scores = _scores(forest, routes)
        figures = replace(problem.figures(kept), loss=_mean_loss(problem, forest, scores))
        return cls(kept, forest, origin, routes, scores, figures)

    def objective(self, tradeoff: float) -> float:
        return self.figures.loss + tradeoff * self.figures.cost


def _mean_loss(problem: PruningProblem, forest: Forest, scores: FloatArray) -> float:
    """Return the loss of all trees together, on average."""
    if problem.loss.name == LAMBDARANK:
        return problem.ranking.total(scores) / problem.ranking.weight
    weights = problem.in_memory.loss_weights
    lost = ensemble_losses(forest, scores, problem.in_memory.target)
    return float(lost @ weights / weights.sum())


def _by_gains(problem: PruningProblem) -> list[BoolArray]:
    """Return prunings by recorded gains, from rich to cheap."""
    if problem.forest.gains is None:
        return []
    closure, index = problem.closure
    cut = parametric_cut(closure, problem.n_jobs)
    points = np.unique(np.linspace(0, cut.n_breakpoints, MOST_STARTS).astype(int))
    return [index.kept_nodes(cut.kept(int(point))) for point in points]


def _step(
    problem: PruningProblem,
    now: _Iterate,
    toward: BoolArray | None,
    tradeoff: float,
    solve: Solver,
) -> BoolArray:
    """One step of majorisation and minimisation: the optimal splits by the bound around now."""
    data = problem.in_memory
    to_bound = now.scores, data.target, data.loss_weights
    weight = float(data.loss_weights.sum())
    if problem.loss.name == LAMBDARANK:
        to_bound, weight = problem.ranking.as_squares(now.scores), problem.ranking.weight
    losses = majorised_losses(
        now.forest,
        now.routes,
        *to_bound,
        None if toward is None else toward[now.origin],
        problem.n_jobs,
    )
    bought = list_purchases(now.forest, now.routes, problem.prices, data.weights)
    loss_per_cost = Fraction(weight) / Fraction(bought.scale)
    closure, index = build_closure(now.forest, bought, losses, loss_per_cost)
    priced, _ = closure.at(index.in_units(tradeoff))
    solution = solve(priced)
    check_certificate(priced, solution)
    stays = index.kept_nodes(solution.kept)
    kept = np.zeros_like(now.kept)
    kept[now.origin[stays]] = True
    return kept


def _scores(forest: Forest, routes: Routes) -> FloatArray:
    """Return the scores of samples, from the leaves that they were routed to."""
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
