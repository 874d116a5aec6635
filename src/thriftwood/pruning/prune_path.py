"""All optimal prunings of a model at once; or, to compare with, those of each tree alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.costs import AnyCosts
from thriftwood.distributed.dual.options import RowShards
from thriftwood.distributed.plan import comes_in_pieces
from thriftwood.distributed.sampled_pieces import sampled_path_of_pieces
from thriftwood.distributed.sampling import read_sample, sampled_path
from thriftwood.distributed.sharded import path_of_shards, read_shards
from thriftwood.distributed.sharded_task import sharded_task
from thriftwood.errors import InputError
from thriftwood.problem.given import GivenRows, read_given
from thriftwood.problem.losses import Loss
from thriftwood.problem.targets import ClassWeight
from thriftwood.problem.task import task_of
from thriftwood.pruning.descent import refuse_descent
from thriftwood.pruning.nested import nested_path
from thriftwood.pruning.path import PruningPath

SCOPES = ("ensemble", "each_tree")


def prune_path(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    costs: AnyCosts = None,
    loss: Loss = None,
    class_weight: ClassWeight = None,
    rows: str = "all",
    scope: str = "ensemble",
    sample_weight: ArrayLike | None = None,
    shards: RowShards | None = None,
    n_jobs: int | None = None,
    sample: int | None = None,
    progress: bool | None = None,
) -> PruningPath:
    """Compute every optimal pruning of a tree ensemble, from nearly untouched to single leaves.

    The result is exact: between two breakpoints the path holds the forest that `prune` finds at
    any tradeoff there. At a breakpoint both neighbours are optimal.

    Where nothing costs anything (`costs` all 0) there is one point, the pruning of least loss: the
    paper's IP0.

    Parameters
    ----------
    model, X, y, costs, loss, class_weight, rows, sample_weight, shards
        As in `prune`. Where rows come in pieces the path is exact if all distinct purchases may be
        gathered, as `shards` says; otherwise its points are nested, their figures exact, and
        `resolution` is the proven gap.
    scope : {"ensemble", "each_tree"}
        Whose objective is optimised. "ensemble": that of all trees together, in which a row pays
        for a feature once. "each_tree": a baseline that shows what sharing is worth: every tree
        alone, with a loss and a mean bill of its own, all at the same tradeoff. The costs of the
        path are the real bills of the ensemble either way.
    n_jobs : int, optional
        Threads, as in scikit-learn. The path does not depend on it.
    sample : int, optional
        Where rows are very many: how many of them to prune on, drawn at random, the same every
        time for the same pieces. The optimal prunings of the sample are then measured on all rows,
        in little memory; the path holds those that are the best of them, with the costs, losses and
        tradeoffs of all rows, and an estimate of what they miss, `sampling_errors`, in place of a
        proof. With as
        many as there are rows, or more, nothing is drawn. Not for rows="in_bag" or "out_of_bag",
        scope="each_tree", prices that belong to rows, or an iterator, which is read only once.
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
    _check_scope(scope)
    options: dict[str, Any] = {
        "costs": costs,
        "loss": loss,
        "class_weight": class_weight,
        "rows": rows,
        "sample_weight": sample_weight,
    }
    if comes_in_pieces(X, shards, model, scope != "ensemble" or sample is not None, options):
        return _path_in_pieces(model, X, y, scope, shards, sample, n_jobs, progress, options)
    given = read_given(model, X, y, **options)
    size = read_sample(sample, given.n_samples)
    if size is None:
        return exact_path(model, given, scope, n_jobs, progress)
    if scope != "ensemble":
        raise InputError(
            f"scope={scope!r} is a baseline for the exact path: leave `sample` out, or pass the "
            "rows that you drew yourself."
        )
    return sampled_path(model, given, size, n_jobs, progress)


def _path_in_pieces(
    model: Any,
    X: Any,
    y: Any,
    scope: str,
    shards: RowShards | None,
    sample: int | None,
    n_jobs: int | None,
    progress: bool | None,
    options: dict[str, Any],
) -> PruningPath:
    """Return the path where rows come in pieces."""
    if scope != "ensemble":
        raise InputError("Where rows come in pieces, only scope='ensemble' is possible.")
    how = read_shards(shards)
    if how.progress is None:
        how = replace(how, progress=progress)
    if sample is not None:
        path = sampled_path_of_pieces(model, X, y, sample, n_jobs, how.progress, options)
        if path is not None:
            return path
    with sharded_task(model, X, y, n_jobs=n_jobs, progress=how.progress, **options) as task:
        return path_of_shards(model, task, how, n_jobs)


def exact_path(
    model: Any, given: GivenRows, scope: str, n_jobs: int | None, progress: bool | None
) -> PruningPath:
    """Return the path of all rows given; parameters as in `prune_path`."""
    task = task_of(given, n_jobs)
    refuse_descent(task, "leave `loss` out, or use prune(..., tradeoff=...).")
    closure = task.closure() if scope == "ensemble" else task.closure_of_each_tree()
    return nested_path(model, task, closure, scope, n_jobs, progress)


def _check_scope(scope: str) -> None:
    if scope not in SCOPES:
        names = " or ".join(repr(name) for name in SCOPES)
        raise InputError(f"`scope` is {scope!r}: choose {names}.")
