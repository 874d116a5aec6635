"""Compile all kernels ahead, by real calls on a few samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

from thriftwood.acquisition import LazyPredictor
from thriftwood.baselines import dynamic_programming_path
from thriftwood.billing import feature_bill
from thriftwood.closure import NOTHING, ClosureProblem
from thriftwood.costs import Costs
from thriftwood.distributed import DualDecomposition
from thriftwood.estimators import BudgetForestClassifier
from thriftwood.pruning import prune, prune_path, pruning_problem
from thriftwood.solvers import DantzigWolfe, parametric_cut
from thriftwood.support.compiling import cache_folder
from thriftwood.support.progress import progress_bar, quietly

N_SAMPLES = 60
N_STEPS = 8
N_PROJECTS = 250  # pairs of so many share enough items for a large closure
# Prices of every kind, so that whatever counts them is compiled.
PRICES = [1.0, 2.0, 3.0, 4.0]
COSTS = Costs(
    per_feature=PRICES,
    groups={"together": [0, 1]},
    group_fee={"together": 1.0},
    per_split=0.1,
)
# So few may be gathered that partitions agree by rounds.
ROUNDS = DualDecomposition(max_rounds=2, most_gathered=1, progress=False)


def warm_up(*, progress: bool | None = None) -> Path | None:
    """Compile whatever is not compiled yet, so that later calls start at once.

    Compiled code is kept on disk: beside the package, or else in a folder of the user's, or in that
    which the environment variable NUMBA_CACHE_DIR names. It takes a minute at the most, once.

    Parameters
    ----------
    progress : bool, optional
        Whether to show how far it is; None shows it on a terminal and in a notebook.

    Returns
    -------
    folder : Path or None
        Where compiled code is kept; None where there is no place, so that every process compiles
        anew what it uses.

    Examples
    --------
    >>> import thriftwood as tw
    >>> folder = tw.warm_up()
    """
    with progress_bar("Compiling", progress) as bar, quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few samples nothing else is to be expected
        for number, _ in enumerate(_steps(), start=1):
            bar(number / N_STEPS)
    return cache_folder()


def _steps() -> Iterator[None]:
    """Use everything on a few samples, and yield after each step."""
    X = np.random.default_rng(0).normal(size=(N_SAMPLES, len(PRICES)))
    y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    problem = pruning_problem(forest, X, y, costs=COSTS)
    path = prune_path(problem)
    path.at(budget=2.0)
    yield
    path.evaluate(X, y)
    path.mix(budget=2.0).predict(X)
    feature_bill(forest, X, COSTS).receipt(0)
    path.certify(problem)
    yield
    cascade = path.cascade(X, y)
    cascade.predict(X)
    LazyPredictor(cascade).predict(X)
    yield
    LazyPredictor(forest, costs=COSTS, stop="decided").predict(X)
    yield
    regressor = RandomForestRegressor(3, max_depth=3, random_state=0)
    several = np.digitize(X[:, 0], (-0.5, 0.5))
    for model, target in ((forest, y), (clone(forest), several), (regressor, X[:, 0])):
        pruned = prune(model.fit(X, target), X, target, tradeoff=0.001)
        pruned.refit(X, target).model.predict(X)
    yield
    grades = np.digitize(X[:, 0] + X[:, 1], (0.0, 1.0))
    qid = np.repeat(np.arange(6), N_SAMPLES // 6)
    ranker = GradientBoostingRegressor(n_estimators=3).fit(X, grades)
    pruned = prune(ranker, X, grades, qid=qid, loss="lambdarank", tradeoff=0.001)
    pruned.refit(X, grades, qid=qid, strength=1.0)
    prune_path(ranker, X, grades, costs=COSTS).cascade(X, grades, qid=qid)
    yield
    dynamic_programming_path(problem)
    prune(problem, tradeoff=0.001, solver=DantzigWolfe())
    parametric_cut(_large_closure())
    prune_path(pruning_problem(forest, X, y, costs=COSTS, decomposition=ROUNDS))
    boosted = GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    prune(boosted, X, X[:, 0], tradeoff=0.001, loss="squared_error")
    leaves = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    prune(leaves, X, y, tradeoff=0.001, loss="log_loss")
    yield
    for impurity in ("pairs", "entropy", "powers"):
        BudgetForestClassifier(2, costs=PRICES, impurity=impurity).fit(X, y)
    yield


def _large_closure() -> ClosureProblem:
    """Return projects of which any two share an item; large parts have a kernel of their own."""
    pairs = np.array(np.triu_indices(N_PROJECTS, 1))
    n_items = pairs.shape[1]
    by_project = np.argsort(pairs, axis=None, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(pairs.ravel()))])
    return ClosureProblem(
        gains=100 * np.arange(N_PROJECTS),
        requires=np.full(N_PROJECTS, NOTHING, dtype=np.int32),
        arc_start=start,
        arc_item=(by_project % n_items).astype(np.int32),
        costs=np.ones(n_items, dtype=np.int64),
    )
