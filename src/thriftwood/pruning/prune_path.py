"""The whole frontier by one parametric minimum cut."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.closure import ParametricCut
from thriftwood.costs import AnyCosts
from thriftwood.distributed import DualDecomposition
from thriftwood.problem import (
    FINE,
    AnyErrorCosts,
    AnyLoss,
    ClassWeight,
    ClosureIndex,
    PruningProblem,
    certain_splits,
    coarse_below,
    hidden_in_others,
    nested_figures,
    refined,
)
from thriftwood.pruning.making import problem_of
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.proof import Optimal, PathProof
from thriftwood.pruning.sampled import best_on_all_samples
from thriftwood.solvers import min_cut, parametric_cut
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, read_only
from thriftwood.support.memory import tells_memory
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import one_number_from_zero

# How many times less must be hidden for other units to be worth a cut.
WORTHWHILE = 4


@tells_memory
def prune_path(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    costs: AnyCosts = None,
    loss: AnyLoss = None,
    error_costs: AnyErrorCosts = None,
    class_weight: ClassWeight = None,
    sample_weight: ArrayLike | None = None,
    samples: str = "all",
    qid: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    time_limit: float | None = None,
    memory_limit: float | str | None = None,
    decomposition: DualDecomposition | None = None,
) -> PruningPath:
    """Compute every optimal pruning of a tree ensemble, from nearly untouched to single leaves.

    The result is exact: between two breakpoints the path holds the forest that `prune` finds at
    any tradeoff there. At a breakpoint both neighbours are optimal.

    Where nothing costs anything (`costs` all 0) there is one point, the pruning of least loss: the
    paper's IP0.

    Parameters
    ----------
    model : fitted model, or PruningProblem
        A problem comes alone: it has its own samples and options, those of
        `tw.pruning_problem`, which knows a few more for experts.
    X, y, costs, loss, error_costs, class_weight, sample_weight, samples, qid, n_jobs, progress
        As in `pruning_problem`. Where samples come in partitions the path is exact if all distinct
        purchases may be gathered; otherwise its points are nested, their figures exact, and
        `path.proof.gap` is what is proven.
    time_limit : float, optional
        Seconds after which the path ends with what it has: fewer points, nested, their figures
        exact, and `path.proof.gap` what is proven. Reading the samples is never cut short.
    memory_limit : float or str, optional
        How much memory the path may take, beyond the model and the samples, in bytes or as text
        such as "2GB"; by default what the machine, or the control group of the process, has free.
        A path that is estimated to take more (`problem.memory_estimate`) is refused before it
        begins, unless there is a `decomposition`. Samples in partitions have no limit but their
        own.
    decomposition : DualDecomposition, optional
        Go to partitions where the path does not fit: samples in memory are cut into some, which
        takes less memory and more time. Also the options for samples that come in partitions.

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
    deadline = math.inf
    if time_limit is not None:
        limit = one_number_from_zero(time_limit, "time_limit", "Give seconds, or leave it out.")
        deadline = time.monotonic() + limit
    with problem_of(
        model,
        X,
        y,
        costs=costs,
        loss=loss,
        error_costs=error_costs,
        class_weight=class_weight,
        sample_weight=sample_weight,
        samples=samples,
        qid=qid,
        n_jobs=n_jobs,
        progress=progress,
        memory_limit=memory_limit,
        decomposition=decomposition,
    ) as problem:
        problem.check_adds_up("leave `loss` out, or prune at a tradeoff.")
        if problem.partitions is not None:
            index = problem.partitions.index
            cut, rounds = problem.partitions.parametric_cut(deadline)
            proof = optimal_proof(problem, index, cut, rounds)
            return nested_path(problem, index.tradeoffs(cut), cut.breakpoint_of, proof)
        closure, index = problem.closure
        with progress_bar("Pruning", problem.progress) as bar:
            cut = parametric_cut(closure, problem.n_jobs, bar, deadline)
        tradeoffs, proof = index.tradeoffs(cut), optimal_proof(problem, index, cut)
        hidden, first = proof.gap * problem.node_losses.weight, tradeoffs[1:].min(initial=np.inf)
        if hidden and not cut.is_unfinished and first < coarse_below(problem, hidden):
            path = refined_path(problem, index, cut, deadline)
        else:
            path = nested_path(problem, tradeoffs, cut.breakpoint_of, proof)
        return path if problem.subsample is None else best_on_all_samples(problem, path)


def refined_path(
    problem: PruningProblem, index: ClosureIndex, cut: ParametricCut, deadline: float
) -> PruningPath:
    """Return the path where gains reach too far for one unit: low tradeoffs have their own.

    A cut at the end of each band says what drops within it, and when that does is found alone. The
    rest drops as it would, though not before. What a band misses, all above it may, too: there it
    is a small part of costs, the smaller the further above.
    """
    weight, proof = problem.node_losses.weight, optimal_proof(problem, index, cut)
    hidden, last = proof.gap * weight, np.inf
    dropped_at = np.append(index.tradeoffs(cut), np.inf)[cut.breakpoint_of + 1]
    coarser = []  # what each band hides, and where it begins; from high to low
    while 0 < (high := coarse_below(problem, hidden, FINE)) < last / 2:
        certain = certain_splits(problem, high)
        if hidden_in_others(problem, certain) > hidden / WORTHWHILE or time.monotonic() >= deadline:
            break
        stays, missed = _kept_at(problem, certain, high)
        closure, finer = refined(problem, stays)
        cut = parametric_cut(closure, problem.n_jobs, None, deadline)
        if cut.is_unfinished:  # the band stays as it was
            break
        coarser.append((hidden, high))
        hidden = missed + optimal_proof(problem, finer, cut).gap * weight
        found = np.append(np.minimum(finer.tradeoffs(cut), high), high)
        dropped_at = np.maximum(dropped_at, high)
        dropped_at[~stays] = found[cut.breakpoint_of + 1]
        last = high
    some = np.unique(dropped_at[(dropped_at > 0) & (dropped_at < np.inf)])
    step = np.where(dropped_at > 0, np.searchsorted(some, dropped_at), -1)
    hidden_so_far = times_tradeoff = 0.0
    for band_hides, begin in reversed(coarser):
        hidden_so_far += band_hides
        times_tradeoff = max(times_tradeoff, hidden_so_far / begin)
    if coarser:
        proof = Optimal(hidden / weight, times_tradeoff / weight + proof.cost_gap)
    return nested_path(problem, np.append(0.0, some), step, proof)


def _kept_at(
    problem: PruningProblem, certain: BoolArray, tradeoff: float
) -> tuple[BoolArray, float]:
    """Return the splits that stay at a tradeoff, and by how much losses may miss the least."""
    closure, index = refined(problem, certain)
    lambda_ = index.in_units(tradeoff)
    priced, scale = closure.at(lambda_)
    stays = certain.copy()
    stays[~certain] = min_cut(priced).kept
    return stays, float(index.rounded(lambda_, scale))


def optimal_proof(
    problem: PruningProblem,
    index: ClosureIndex,
    cut: ParametricCut,
    rounds: tuple[Any, ...] = (),
) -> Optimal:
    """Return the gap of the points of a parametric cut: what rounding hides, or time cut off.

    Whole numbers may misstate losses and costs of the optimum, and of the forest taken instead.
    """
    weight = problem.node_losses.weight
    lost = Fraction(index.lost_cost) * index.loss_per_cost / Fraction(weight)
    hidden = cut.slack * float(index.gain_unit) + 2 * index.lost_gain
    is_finished = not cut.is_unfinished and (not rounds or bool(rounds[-1].gap == 0))
    return Optimal(hidden / weight, 2 * float(lost), rounds, is_finished or cut.slack == 0)


def nested_path(
    problem: PruningProblem, tradeoffs: FloatArray, breakpoint_of: IndexArray, proof: PathProof
) -> PruningPath:
    """Return the path whose splits drop at these breakpoints, numbered from 0; -1 is never kept.

    Bills and losses are the ensemble's, whatever the closure problem counts.
    """
    forest, weight = problem.forest, problem.node_losses.weight
    n_points = len(tradeoffs)
    drop_step = np.full(forest.n_nodes, -1, dtype=np.int32)
    drop_step[forest.is_split] = breakpoint_of
    losses, *sizes = nested_figures(
        forest, problem.prices, problem.node_losses.total, drop_step, n_points
    )
    return PruningPath(
        model=problem.model,
        forest=forest,
        samples=problem.samples,
        prices=problem.prices.without_samples(),
        loss_name=problem.loss.name,
        error_costs=problem.loss.error_costs,
        costs=read_only(problem.mean_costs(drop_step, n_points)),
        losses=read_only(losses / weight),
        n_splits=read_only(sizes[0]),
        n_features=read_only(sizes[1]),
        original=problem.figures(forest.is_split),
        proof=proof,
        tradeoffs=read_only(tradeoffs),
        drop_step=read_only(drop_step),
    )
