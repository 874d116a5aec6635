"""All optimal prunings of a model at once; or, to compare with, those of each tree alone."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from thriftwood.costs import AnyCosts
from thriftwood.crews import is_chunked
from thriftwood.errors import InputError
from thriftwood.formulation import ClassWeight, Loss
from thriftwood.pruning.descent import refuse_descent
from thriftwood.pruning.nested import nested_path
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.sharded import path_of_shards, read_shards
from thriftwood.pruning.sharded_task import sharded_task
from thriftwood.pruning.task import read_task
from thriftwood.solvers.shards import RowShards

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
    if shards is not None or is_chunked(X):
        if scope != "ensemble":
            raise InputError("Where rows come in pieces, only scope='ensemble' is possible.")
        how = read_shards(shards)
        with sharded_task(
            model,
            X,
            y,
            costs=costs,
            loss=loss,
            class_weight=class_weight,
            rows=rows,
            sample_weight=sample_weight,
            n_jobs=n_jobs,
            progress=progress,
        ) as pieces:
            return path_of_shards(model, pieces, how, n_jobs)
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
    refuse_descent(task, "leave `loss` out, or use prune(..., tradeoff=...).")
    closure = task.closure() if scope == "ensemble" else task.closure_of_each_tree()
    return nested_path(model, task, closure, scope, n_jobs, progress)


def _check_scope(scope: str) -> None:
    if scope not in SCOPES:
        names = " or ".join(repr(name) for name in SCOPES)
        raise InputError(f"`scope` is {scope!r}: choose {names}.")
