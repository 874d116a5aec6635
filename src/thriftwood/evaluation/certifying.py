"""Proofs that need not trust whoever pruned: a flow for one tradeoff, checked by additions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.closure import (
    LARGEST_TOTAL,
    Certificate,
    ClosureProblem,
    check_certificate,
    exact_sum,
    merge_twin_items,
)
from thriftwood.costs import AnyCosts, prices_of_samples
from thriftwood.errors import InputError
from thriftwood.evaluation.evaluation import read_points
from thriftwood.problem.build import ClosureIndex
from thriftwood.problem.given import GivenRows, read_given
from thriftwood.problem.losses import Loss, loss_named
from thriftwood.problem.targets import ClassWeight
from thriftwood.problem.task import PruningTask, task_of
from thriftwood.pruning.methods import ROUNDS, SAMPLE
from thriftwood.pruning.tradeoffs import tradeoff_inside
from thriftwood.solvers import min_cut
from thriftwood.support.arrays import BoolArray
from thriftwood.support.parallel import for_each
from thriftwood.support.progress import progress_bar

if TYPE_CHECKING:
    from thriftwood.pruning.path import PruningPath

# Figures of the same rows may differ in their last digits where they were added up in pieces.
SAME_FIGURES = 1e-9


def certify_path(
    path: PruningPath,
    X: Any,
    y: ArrayLike,
    points: Sequence[int] | None,
    loss: Loss,
    class_weight: ClassWeight,
    sample_weight: ArrayLike | None,
    costs: AnyCosts,
    n_jobs: int | None,
    progress: bool | None,
) -> tuple[Certificate, ...]:
    """Prove points of a path; parameters as in `PruningPath.certify`."""
    if path.method not in ("ensemble", ROUNDS, SAMPLE):
        raise InputError(
            f"Points of the method {path.method!r} are no optima of the ensemble, so there is "
            "nothing to prove."
        )
    wanted = range(len(path)) if points is None else read_points(points, len(path)).tolist()
    given = _given_again(path, X, y, loss, class_weight, sample_weight, costs)
    task = task_of(given, n_jobs)
    _check_same_rows(path, task)
    problem, index = task.closure()
    problem = _merged(problem)
    certificates: dict[int, Certificate] = {}

    def certify(point: int) -> None:
        tradeoff = tradeoff_inside(path.tradeoffs, point)
        certificates[point], _ = prove(problem, index, path.kept_nodes(point), tradeoff)
        bar(len(certificates) / len(wanted))

    with progress_bar("Proving", progress) as bar:
        for_each(certify, set(wanted), n_jobs)
    return tuple(certificates[point] for point in wanted)


def _merged(problem: ClosureProblem) -> ClosureProblem:
    """Merge twins once for all tradeoffs: prices do not change who needs what."""
    if exact_sum(problem.costs) > LARGEST_TOTAL:
        return problem
    return merge_twin_items(problem, LARGEST_TOTAL)[0]


def prove(
    problem: ClosureProblem, index: ClosureIndex, kept: BoolArray, tradeoff: float
) -> tuple[Certificate, Fraction]:
    """Prove how near a pruning is to the optimum at a tradeoff.

    Parameters
    ----------
    problem, index
        The pruning problem, and the way back from it.
    kept : bool array, shape (n_nodes,)
        The splits of the pruning.
    tradeoff : float

    Returns
    -------
    certificate : Certificate
        Its profit is that of the pruning; its bound comes from a flow that was checked.
    gap : Fraction
        By how much losses plus costs, added up over rows and trees, may be too high.
    """
    price = index.closure_tradeoff(tradeoff)
    priced, scale = problem.at(price)
    best = check_certificate(priced, min_cut(priced))
    certificate = Certificate(problem.profit_at(price, kept[index.split]), best.bound)
    return certificate, certificate.gap * index.gain_unit / scale


def _given_again(
    path: PruningPath,
    X: Any,
    y: ArrayLike,
    loss: Loss,
    class_weight: ClassWeight,
    sample_weight: ArrayLike | None,
    costs: AnyCosts,
) -> GivenRows:
    """Read the rows that a path was computed on, at its own prices unless others are given."""
    given = read_given(
        path.unchanged_model(),
        X,
        y,
        costs=costs,
        loss=_own_loss(path) if loss is None else loss,
        class_weight=class_weight,
        rows=path.rows,
        sample_weight=sample_weight,
    )
    names = given.forest.feature_names
    return replace(
        given, prices=prices_of_samples(path.prices, "path", costs, names, given.n_samples)
    )


def _own_loss(path: PruningPath) -> Loss:
    try:
        return loss_named(path.loss_name, path.forest)
    except InputError:
        raise InputError(
            f"The path was computed with a loss of your own, {path.loss_name!r}: pass it as `loss`."
        ) from None


def _check_same_rows(path: PruningPath, task: PruningTask) -> None:
    """Raise where the model has other figures than those that the path remembers."""
    now, then = task.original(), path.original
    if not np.allclose((now.cost, now.loss), (then.cost, then.loss), rtol=SAME_FIGURES, atol=0):
        raise InputError(
            f"On these rows the model costs {now.cost:.6g} and loses {now.loss:.6g}; the path was "
            f"computed where it costs {then.cost:.6g} and loses {then.loss:.6g}. Pass the same "
            "rows, weights, prices and loss."
        )
