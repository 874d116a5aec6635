"""Make a pruning problem: in memory, in partitions, or from a subsample."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.costs import AnyCosts
from thriftwood.distributed import (
    DualDecomposition,
    is_partitioned,
    partitioned_problem,
    subsampled_partitions,
    subsampled_problem,
)
from thriftwood.errors import InputError
from thriftwood.problem import (
    AnyErrorCosts,
    AnyLoss,
    ClassWeight,
    ErrorCosts,
    PruningProblem,
    read_problem,
)


def pruning_problem(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    costs: AnyCosts = None,
    loss: AnyLoss = None,
    error_costs: AnyErrorCosts = None,
    class_weight: ClassWeight = None,
    sample_weight: ArrayLike | None = None,
    samples: str = "all",
    qid: ArrayLike | None = None,
    subsample: int | None = None,
    decomposition: DualDecomposition | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> PruningProblem:
    """Read and check once what is to be pruned, on which samples, at what prices.

    `prune`, `prune_path`, the baselines, `PruningPath.certify`, `verify_pruning` and the report
    take the problem in place of a model and samples.

    Parameters
    ----------
    model : fitted model
        DecisionTree*, ExtraTree*, RandomForest*, ExtraTrees*, Bagging* over decision trees,
        GradientBoosting* or HistGradientBoosting* of scikit-learn, a model of LightGBM, XGBoost or
        CatBoost, a `BudgetForestClassifier` or a `ForestModel`. It is not changed.
    X : array-like or data frame, shape (n_samples, n_features)
        Samples to count losses and bills on; usually those the model was trained on. Samples beyond
        memory may come in partitions: a Dask array or data frame, whose partitions are worked on by
        the current Dask client, or by threads of this process where there is none; an iterator of
        pairs (X, y) or triples (X, y, weight), best of thousands of samples each; or, with a
        `decomposition`, an `np.memmap`. The answer is the same.
    y : array-like, shape (n_samples,)
        The targets. For samples in Dask a Dask array or series with the same partitions, matched by
        position, or an array where the sizes of all partitions are known; left out for an iterator.
    costs : array-like, mapping from feature name to price, Costs, or None
        What it costs to look at each feature of one sample. None means 1 each. `Costs` knows fees
        that features share, prerequisites, prices per model and more.
    loss : str or callable, optional
        For classifiers "error" (misclassified samples), "expected_error" (1 minus the probability
        of the right class), "brier" or "log_loss"; for regressors "squared_error" or
        "absolute_error", the distance of a target from its leaf's value. None takes the first.

        The trees of a boosted model predict only together. Its losses are "recorded_gain", the
        default: the gains that its splits recorded in training, as a share of all of them, given
        up; and the true ones, "log_loss" of classifiers and "squared_error" of regressors for
        numbers, which are descended from the best pruning by recorded gains and only at a tradeoff.

        Or a function of your own. Of a classifier it is called as `loss(values)` with the class
        probabilities of nodes, shape (n_nodes, n_classes) in the order of the model's classes, and
        returns a table of that shape: what predicting with this node costs for a sample of each
        class. Of a regressor it is called as `loss(prediction, target)` with two equally long
        arrays, many times, and returns what each prediction costs. All of it must be finite.
    error_costs : float, mapping from class to cost, or matrix, optional
        In place of a loss: what wrong answers cost, in the unit of the prices. One number for every
        error; what a wrong answer costs where a class is true, for all classes; or a matrix with a
        row for each true class and a column for each answer, in the order of the model's classes.
        A tree answers with the class of least expected cost. The loss is then the mean cost of
        errors, and at a tradeoff of 1 the objective is all that is paid: tests and errors.
    class_weight : "balanced", "uniform", mapping from class to weight, or None
        How much a sample counts in the loss by its class, for classifiers: on top of its
        `sample_weight`, and in the mean loss only; bills stay what samples really pay. None takes
        the class weights that the model was trained with, if any, or with `error_costs` none;
        "uniform" none. Classes that
        are not in the mapping weigh 1. "balanced" makes all classes count the same, by weights as
        scikit-learn defines them, on all samples given and their `sample_weight`: the loss "error"
        of all samples is then 1 minus the balanced accuracy of a tree, averaged over trees.
    sample_weight : array-like, shape (n_samples,), optional
        How much each sample counts in the loss; at 0 it is left out. In bills all count alike, or
        by `Costs(..., weigh_bills=True)` as in the loss: for weights that say how often samples
        occur, as in a survey.
    samples : {"all", "in_bag", "out_of_bag"}
        On which samples each tree's loss counts: all; those in its bootstrap sample, as often as
        they were drawn; or the others. The last two need the samples that the model was trained on,
        in their order. Bills always count on all samples. With "in_bag" leave out `sample_weight`
        where the bootstrap was already drawn by it, as new versions of scikit-learn do.
    qid : array-like, shape (n_samples,), optional
        The query of each sample, where samples are documents that queries found. Needed for prices
        per query and for losses of rankings. Samples of a query need not be neighbours, but all be
        in memory.
    subsample : int, optional
        Where samples are very many: how many of them to prune on, drawn at random, the same every
        time for the same partitions. Losses are those of all samples, and so are all figures of
        what comes out; an estimate of what is missed is in place of a proof. With as many as there
        are samples, or more, nothing is drawn. Not for samples="in_bag" or "out_of_bag", prices
        that belong to samples, or an iterator, which is read only once.
    decomposition : DualDecomposition, optional
        How far to go where samples come in partitions: rounds, tolerance, how much may be gathered.
        With it samples in memory are cut into partitions, too, which saves memory.
    n_jobs : int, optional
        Threads, as in scikit-learn. Results do not depend on it.
    progress : bool, optional
        Whether to show a progress bar; None shows one on a terminal, for work of over a second.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> problem = tw.pruning_problem(forest, heart.X, heart.y, costs=heart.costs)
    >>> path = tw.prune_path(problem)
    >>> path.certify(problem, points=[1])[0].gap
    0.0
    """
    if error_costs is not None:
        if loss is not None:
            raise InputError("Pass either `loss` or `error_costs`: they are the loss.", "loss")
        loss = ErrorCosts(error_costs)
    given: dict[str, Any] = {
        "costs": costs,
        "loss": loss,
        "class_weight": class_weight,
        "sample_weight": sample_weight,
        "samples": samples,
        "qid": qid,
    }
    if decomposition is not None or is_partitioned(X):
        check_decomposition(decomposition)
        if subsample is not None:
            drawn = subsampled_partitions(model, X, y, subsample, n_jobs, progress, **given)
            if drawn is not None:
                return drawn
        return partitioned_problem(model, X, y, decomposition, n_jobs, progress, **given)
    problem = replace(read_problem(model, X, y, **given), n_jobs=n_jobs, progress=progress)
    return problem if subsample is None else subsampled_problem(problem, subsample)


def check_decomposition(decomposition: Any) -> None:
    if decomposition is not None and not isinstance(decomposition, DualDecomposition):
        raise InputError(
            f"`decomposition` is {decomposition!r}: pass None or an object DualDecomposition(...).",
            "decomposition",
        )


@contextmanager
def problem_of(
    model: Any,
    X: Any,
    y: Any,
    *,
    memory_limit: Any = None,
    decomposition: DualDecomposition | None = None,
    **given: Any,
) -> Iterator[PruningProblem]:
    """Yield the problem that a user passed in place of a model, or make one and close it.

    Where the path would not fit into memory it is refused, or with a `decomposition` samples go in
    partitions.
    """
    in_partitions = given | {"decomposition": decomposition}
    if isinstance(model, PruningProblem):
        for name, value in (in_partitions | {"X": X, "y": y}).items():
            is_usual = name == "samples" and isinstance(value, str) and value == "all"
            if value is not None and not is_usual:
                raise InputError(
                    f"The problem has its own samples and options: leave out `{name}`, or give it "
                    "to `tw.pruning_problem`."
                )
        if model.partitions is None:
            model.check_memory(memory_limit)
        yield model
        return
    if X is None:
        raise InputError("X is None: pass samples, or a problem by `tw.pruning_problem`.")
    if decomposition is not None:
        check_decomposition(decomposition)
    problem = pruning_problem(model, X, y, **(in_partitions if is_partitioned(X) else given))
    if problem.partitions is None and not problem.fits(memory_limit):
        if decomposition is None:
            problem.check_memory(memory_limit)
        problem = pruning_problem(model, X, y, **in_partitions)
    try:
        yield problem
    finally:
        if problem.partitions is not None:
            problem.close()
