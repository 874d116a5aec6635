"""Pruning each tree to every size by dynamic programming, as Li et al. do."""

from __future__ import annotations

import numpy as np

from thriftwood.baselines import kernels
from thriftwood.problem import PruningProblem, check_problem
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.proof import Baseline
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.parallel import for_each
from thriftwood.support.progress import progress_bar


def dynamic_programming_path(problem: PruningProblem) -> PruningPath:
    """Find the best pruning of each tree of an ensemble to every number of splits.

    Dynamic programming on each tree alone, no size left out; what features cost plays no part. All
    trees shrink together: at point `-1 - k` each is its own best with exactly k splits, or whole
    where it has fewer. The best trees of two sizes need not be nested, and neither costs nor losses
    change in one direction only. Where several are as good, any of the best is taken.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> problem = tw.pruning_problem(forest, heart.X, heart.y, costs=heart.costs)
    >>> path = tw.dynamic_programming_path(problem)
    >>> path[-1 - 3].n_splits
    60
    """
    check_problem(problem).check_adds_up("leave `loss` out.")
    forest = problem.forest
    n_below: IntArray = kernels.count_splits_below(forest.left, forest.right)
    start: IntArray = np.concatenate([[0], np.cumsum(n_below)])
    choice, losses = _best_trees(problem, n_below, start)
    sizes = np.arange(len(losses) - 1, -1, -1)
    trees = (forest.tree_start[:-1], forest.left, forest.right)
    masks = [kernels.kept_at_size(size, *trees, n_below, start, choice) for size in sizes]
    with progress_bar("Counting bills", problem.progress) as bar:
        figures = []
        for kept in masks:
            figures.append(problem.figures(kept))
            bar(len(figures) / len(masks))
    return PruningPath(
        model=problem.model,
        forest=forest,
        samples=problem.samples,
        prices=problem.prices.without_samples(),
        loss_name=problem.loss.name,
        error_costs=problem.loss.error_costs,
        costs=read_only(np.array([one.cost for one in figures])),
        losses=read_only(losses[sizes]),
        n_splits=read_only(np.array([one.n_splits for one in figures])),
        n_features=read_only(np.array([one.n_features for one in figures])),
        original=figures[0],
        proof=Baseline("dynamic_programming"),
        tradeoffs=read_only(np.full(len(sizes), np.nan)),
        masks=read_only(np.packbits(masks, axis=1)),
    )


def _best_trees(
    problem: PruningProblem, n_below: IntArray, start: IntArray
) -> tuple[IndexArray, FloatArray]:
    """Return the choices of all splits, and for each size, from 0 on, the loss of all trees."""
    forest, bounds = problem.forest, problem.forest.tree_start
    choice = np.empty(start[-1], dtype=np.int32)
    best = [np.empty(n_below[root] + 1) for root in bounds[:-1]]
    total, weight = problem.node_losses.total, problem.node_losses.weight
    subtrees = kernels.Subtrees(forest.left, forest.right, total, n_below, start, choice)

    def solve(tree: int) -> None:
        kernels.best_of_each_size(subtrees, bounds[tree], bounds[tree + 1], best[tree])

    for_each(solve, range(forest.n_trees), problem.n_jobs)
    losses = np.zeros(max(map(len, best)))
    for of_tree in best:
        losses[: len(of_tree)] += of_tree
        losses[len(of_tree) :] += of_tree[-1]
    return choice, losses / weight
