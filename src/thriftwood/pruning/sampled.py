"""Paths from a subsample, with figures of all samples and an estimate of what it misses.

Losses are those of all samples, bills those of a subsample. So its optimum, x_s, has the least
F_s = loss of all samples + tradeoff * cost of the subsample. Of any one pruning F_s is right on
average; its minimum is too low, if anything: the sample average approximation of Mak, Morton and
Wood (1999)::

    E[F_s(x_s)] <= F* <= F(x_s)        F with the cost of all samples, F* its least

So F(x_s) - F_s(x_s) is on average at least what x_s misses. F_s is off its mean by chance, the more
the more bills differ; 1.96 standard errors are added for that. Where time was up, x_s is not the
optimum of F_s: what it may miss is added, too. It is an estimate, not a proof.
"""

from dataclasses import replace

import numpy as np

from thriftwood.billing import nested_bills
from thriftwood.distributed import lower_hull, slopes_of
from thriftwood.problem import Figures, PruningProblem, nested_figures
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.proof import Optimal, Sampled
from thriftwood.support.arrays import FloatArray, IndexArray, read_only

# Standard errors that chance stays within, 39 times out of 40 on one side.
STANDARD_ERRORS = 1.96


def best_on_all_samples(problem: PruningProblem, path: PruningPath) -> PruningPath:
    """Measure the optima of a subsample on all samples, and keep the best of them.

    The whole forest is measured, too: it may be better than what the subsample thinks is as good.
    """
    assert problem.subsample is not None
    assert path.drop_step is not None
    assert isinstance(path.proof, Optimal)
    forest, total, proof = path.forest, problem.node_losses.total, path.proof
    step = _after_the_whole_forest(problem, path.drop_step, len(path))
    costs, losses = problem.subsample.measure(step, len(path) + 1)
    best = lower_hull(costs, losses)
    drop_step = (np.searchsorted(best, step, side="right") - 1).astype(np.int32)
    _, n_splits, n_features = nested_figures(forest, problem.prices, total, drop_step, len(best))
    starts = np.append(0.0, slopes_of(costs[best], losses[best]))
    ends = np.append(starts[1:], max(starts[-1], path.tradeoffs[-1]))
    chance = STANDARD_ERRORS * standard_errors(problem, path.drop_step, len(path))
    if not proof.is_exact:  # the optimum of the subsample is not among the points
        chance[:] = chance.max()

    def estimate(at: FloatArray) -> FloatArray:
        """Estimate how much better than each of the best some pruning may be at a tradeoff."""
        point = np.searchsorted(path.tradeoffs, at, side="right") - 1
        least = path.losses[point] + at * (path.costs[point] - chance[point])
        missed: FloatArray = losses[best] + at * costs[best] - least
        missed += proof.gap + at * proof.cost_gap
        return missed

    gaps = read_only(np.maximum(np.maximum(estimate(starts), estimate(ends)), 0.0))
    drawn = problem.subsample
    n_used = problem.prices.n_columns_of(forest.feature[forest.is_split])
    return replace(
        path,
        costs=read_only(costs[best]),
        losses=read_only(losses[best]),
        n_splits=read_only(n_splits),
        n_features=read_only(n_features),
        original=Figures(float(costs[0]), float(losses[0]), forest.n_splits, n_used),
        proof=Sampled(gaps, drawn.n_drawn, drawn.n_samples, proof.is_exact),
        tradeoffs=read_only(starts),
        drop_step=read_only(drop_step),
    )


def standard_errors(problem: PruningProblem, drop_step: IndexArray, n_points: int) -> FloatArray:
    """Return the standard error of the mean bill of the samples drawn, at nested points.

    They are drawn without putting them back. With weights the mean is a ratio of two sums, and its
    variance that of the ratio, to first order.
    """
    assert problem.subsample is not None
    weights = problem.in_memory.weights / problem.in_memory.weights.mean()
    n_drawn, variances = len(weights), np.empty(n_points)
    bills = nested_bills(problem.forest, problem.routes, problem.prices, drop_step, n_points)
    for point, bill in zip(range(n_points - 1, -1, -1), bills, strict=True):
        off = weights * (bill - (weights * bill).mean())
        variances[point] = np.square(off).sum() / (n_drawn * (n_drawn - 1))
    return np.sqrt(variances * (1 - n_drawn / problem.subsample.n_samples))


def _after_the_whole_forest(
    problem: PruningProblem, drop_step: IndexArray, n_points: int
) -> IndexArray:
    """Return steps with which splits drop if the whole forest is the first point."""
    forest, step, last = problem.forest, drop_step.copy(), n_points - 1
    # What no sample of the subsample passes costs nothing there, whatever its price: only splits
    # that are free, with all above them, stay to the end.
    free = forest.is_split & (problem.prices.bundle_prices()[forest.feature] == 0)
    for nodes in list(forest.levels())[1:]:
        free[nodes] &= free[forest.parent[nodes]]
    step[(step == last) & ~free] = last - 1
    return np.where(forest.is_split, step + 1, -1).astype(np.int32)
