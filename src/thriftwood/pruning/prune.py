"""Prune a model to one point of its frontier."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.adapters import write_model
from thriftwood.closure import check_certificate
from thriftwood.costs import AnyCosts
from thriftwood.distributed.dual.options import RowShards
from thriftwood.distributed.plan import comes_in_pieces
from thriftwood.distributed.sampling import read_sample, sampled_path
from thriftwood.distributed.sharded import prune_shards, read_shards
from thriftwood.distributed.sharded_task import sharded_task
from thriftwood.errors import InputError
from thriftwood.problem.given import read_given
from thriftwood.problem.losses import Loss
from thriftwood.problem.targets import ClassWeight
from thriftwood.problem.task import PruningTask, task_of
from thriftwood.pruning.descent import descend, needs_descent, original_figures
from thriftwood.pruning.methods import DESCENT
from thriftwood.pruning.prune_path import prune_path
from thriftwood.pruning.pruned import Pruned
from thriftwood.pruning.tradeoffs import read_tradeoff
from thriftwood.solvers import (
    DantzigWolfe,
    DecomposedSolution,
    Solver,
    read_solver,
)


def prune(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    tradeoff: float | None = None,
    budget: float | None = None,
    costs: AnyCosts = None,
    loss: Loss = None,
    class_weight: ClassWeight = None,
    rows: str = "all",
    sample_weight: ArrayLike | None = None,
    shards: RowShards | None = None,
    solver: str | DantzigWolfe = "min_cut",
    refit: bool = False,
    validation: tuple[Any, ArrayLike] | None = None,
    n_jobs: int | None = None,
    sample: int | None = None,
) -> Pruned:
    """Prune a tree ensemble to the exact optimum of loss + tradeoff * cost, or within a budget.

    The optimum is that of the paper's IP3: over all ways to collapse splits of the trees, the loss
    averaged over rows and trees, plus the tradeoff times the mean bill of a row. A row pays for
    each feature once, however many trees ask for it. Of several optima the smallest forest is
    taken.

    Parameters
    ----------
    model : fitted model
        DecisionTree*, ExtraTree*, RandomForest*, ExtraTrees*, Bagging* over decision trees,
        GradientBoosting* or HistGradientBoosting* of scikit-learn, a model of LightGBM, XGBoost or
        CatBoost, a `BudgetForestClassifier` or a `ForestModel`. It is not changed.
    X : array-like or data frame, shape (n_samples, n_features)
        Rows to count losses and bills on; usually those the model was trained on. Rows beyond
        memory may come in pieces: a Dask array or data frame, whose partitions are worked on by the
        current Dask client, or by threads of this process where there is none; an `np.memmap`; or
        an iterator of pairs (X, y) or triples (X, y, weight), best of thousands of rows each. The
        answer is the same.
    y : array-like, shape (n_samples,)
        What is right for each row. For rows in Dask a Dask array or series with the same
        partitions, matched by position, or an array where the sizes of all partitions are known;
        left out for an iterator.
    tradeoff : float, optional
        The paper's lambda, at least 0: how much loss one unit of cost is worth. At 0 only splits
        that gain nothing are collapsed; the larger, the smaller the forest.
    budget : float, optional
        In place of a tradeoff: what a row may cost on average. Computes the whole path and returns
        `prune_path(...).at(budget=budget)`.
    costs : array-like, mapping from feature name to price, Costs, or None
        What it costs to look at each feature of one row. None means 1 each. `Costs` knows fees that
        features share, prerequisites, prices per model and more.
    loss : str or callable, optional
        What to count. For classifiers "error" (misclassified rows), "expected_error" (1 minus the
        probability of the right class), "brier" or "log_loss"; for regressors "squared_error" or
        "absolute_error", the distance of a row's target from what its leaf predicts. None takes
        the first.

        The trees of a boosted model predict only together. Its losses are "recorded_gain", the
        default: the gains that its splits recorded in training, as a share of all of them, given
        up; and the true ones, "log_loss" of classifiers and "squared_error" of regressors for
        numbers, which are descended from the best pruning by recorded gains and only at a tradeoff.

        Or a function of your own. Of a classifier it is called as `loss(values)` with the class
        probabilities of nodes, shape (n_nodes, n_classes) in the order of the model's classes, and
        returns a table of that shape: what predicting with this node costs for a row of each class.
        Of a regressor it is called as `loss(prediction, target)` with two equally long arrays, many
        times, and returns what each prediction costs. All of it must be finite.
    class_weight : "balanced", mapping from class to weight, or None
        How much a row counts in the loss by its class, for classifiers: on top of its
        `sample_weight`, and in the mean loss only; bills stay what rows really pay. Classes that
        are not in the mapping weigh 1. "balanced" makes all classes count the same, by weights as
        scikit-learn defines them, on all rows given and their `sample_weight`: the loss "error" of
        all rows is then 1 minus the balanced accuracy of a tree, averaged over trees.
    rows : {"all", "in_bag", "out_of_bag"}
        On which rows each tree's loss counts: all; those in the sample that it was grown on, as
        often as they were drawn; or the others. The last two need the rows that the model was
        trained on, in their order. Bills always count on all rows. With "in_bag" leave out
        `sample_weight` where the samples were already drawn by it, as new versions of scikit-learn
        do.
    sample_weight : array-like, shape (n_samples,), optional
        How much each row counts, in loss and cost alike.
    shards : RowShards, optional
        How far to go where rows come in pieces: rounds, tolerance, how much may be gathered. With
        it rows in memory are cut into pieces, too, which saves memory.
    solver : {"min_cut", "linear_program", "dantzig_wolfe"} or DantzigWolfe
        Our own maximum flow; the linear relaxation through HiGHS; or trees that prune themselves
        at prices that a master adjusts. The same answer from all three, soonest from the first. A
        `DantzigWolfe(...)` has a tolerance, a limit on rounds and workers.
    refit : bool
        Whether to fit the values of all leaves again, as `Pruned.refit` does on the same rows.
    validation : pair of X and y, optional
        Rows that the model was not trained on, for `refit` to choose its strength by. Models that
        are not bagged need them.
    n_jobs : int, optional
        Threads, as in scikit-learn. The workers of `DantzigWolfe` have an `n_jobs` of their own.
    sample : int, optional
        As in `prune_path`: prune on so many rows, drawn at random, and measure on all. The result
        is then nearly optimal, with an estimate, `sampling_error`, in place of a certificate.

    Returns
    -------
    Pruned
        With the pruned model of the same type, its figures and, at a tradeoff, a certificate of
        optimality (of the gap that is left, where `DantzigWolfe` was told to stop early).

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> pruned = tw.prune(forest, heart.X, heart.y, costs=heart.costs, tradeoff=0.001)
    >>> pruned.cost < pruned.original.cost
    True
    >>> pruned.certificate.gap
    0
    """
    if (tradeoff is None) == (budget is None):
        raise InputError("Pass either `tradeoff` or `budget`.")
    if validation is not None and not refit:
        raise InputError("`validation` rows are for the refit: pass `refit=True`, too.")
    solve = read_solver(solver)
    options: dict[str, Any] = {
        "costs": costs,
        "loss": loss,
        "class_weight": class_weight,
        "rows": rows,
        "sample_weight": sample_weight,
    }
    is_plain = solver == "min_cut"
    if comes_in_pieces(X, shards, model, not is_plain or refit or sample is not None, options):
        _refuse_in_pieces(solver, refit)
        return _in_pieces(model, X, y, tradeoff, budget, shards, sample, n_jobs, options)
    if not is_plain and (budget is not None or sample is not None):
        raise InputError(
            f"The solver {solver!r} works at a tradeoff on all rows, not within a budget or with a "
            "sample: leave it out, or these."
        )
    if budget is not None:
        path = prune_path(model, X, y, sample=sample, n_jobs=n_jobs, **options)
        pruned = path.at(budget=budget)
    else:
        given, number = read_given(model, X, y, **options), read_tradeoff(tradeoff)
        size = read_sample(sample, given.n_samples)
        if size is None:
            pruned = _at_tradeoff(model, task_of(given, n_jobs), number, solve, n_jobs)
        else:
            pruned = sampled_path(model, given, size, n_jobs, None).at(tradeoff=number)
    if not refit:
        return pruned
    return pruned.refit(X, y, validation=validation, sample_weight=sample_weight, n_jobs=n_jobs)


def _refuse_in_pieces(solver: str | DantzigWolfe, refit: bool) -> None:
    """Raise where something is asked for that needs all rows in memory."""
    if solver != "min_cut":
        raise InputError(
            f"The solver {solver!r} works on rows in memory: leave it out where rows come in "
            "pieces."
        )
    if refit:
        raise InputError(
            "Leaves are refitted on rows in memory: prune without `refit`, then call "
            "`pruned.refit(X, y)` with a sample of the rows."
        )


def _in_pieces(
    model: Any,
    X: Any,
    y: Any,
    tradeoff: float | None,
    budget: float | None,
    shards: RowShards | None,
    sample: int | None,
    n_jobs: int | None,
    options: dict[str, Any],
) -> Pruned:
    """Prune where rows come in pieces."""
    if budget is not None or sample is not None:
        path = prune_path(model, X, y, shards=shards, sample=sample, n_jobs=n_jobs, **options)
        return path.at(budget=budget) if tradeoff is None else path.at(tradeoff=tradeoff)
    how, number = read_shards(shards), read_tradeoff(tradeoff)
    with sharded_task(model, X, y, n_jobs=n_jobs, progress=how.progress, **options) as task:
        return prune_shards(model, task, number, how)


def _at_tradeoff(
    model: Any, task: PruningTask, tradeoff: float, solve: Solver, n_jobs: int | None
) -> Pruned:
    """Return the optimum at a tradeoff, or where the true loss of a boosted model comes to."""
    if needs_descent(task):
        return _descended(model, task, tradeoff, solve, n_jobs)
    problem, index = task.closure()
    priced, scale = problem.at(index.closure_tradeoff(tradeoff))
    solution = solve(priced)
    certificate = check_certificate(priced, solution)
    kept = index.kept_nodes(solution.kept)
    return Pruned(
        **vars(task.figures(kept)),
        certificate=certificate,
        bound=float(certificate.gap * index.gain_unit / scale / Fraction(task.weight_counted)),
        rounds=solution.rounds if isinstance(solution, DecomposedSolution) else (),
        model=write_model(model, kept),
        tradeoff=tradeoff,
        original=task.original(),
        loss_name=task.loss_name,
    )


def _descended(
    model: Any, task: PruningTask, tradeoff: float, solve: Solver, n_jobs: int | None
) -> Pruned:
    """Return where the true loss of a boosted model is descended to."""
    descent = descend(task, tradeoff, solve, n_jobs)
    return Pruned(
        **vars(descent.figures),
        model=write_model(model, descent.kept),
        tradeoff=tradeoff,
        original=original_figures(task),
        bound=None,
        method=DESCENT,
        loss_name=task.loss_name,
        objectives=descent.objectives,
    )
