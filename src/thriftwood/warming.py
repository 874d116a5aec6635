"""Compile all kernels ahead, by real calls on a few samples."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

from thriftwood.acquisition import LazyPredictor
from thriftwood.baselines import dynamic_programming_path
from thriftwood.billing import feature_bill
from thriftwood.costs import Costs
from thriftwood.distributed import DualDecomposition
from thriftwood.estimators import BudgetForestClassifier
from thriftwood.pruning import PruningPath, prune, prune_path, pruning_problem
from thriftwood.solvers import DantzigWolfe
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.compiling import cache_folder
from thriftwood.support.progress import progress_bar, quietly

N_SAMPLES = 60
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
    X = np.random.default_rng(0).normal(size=(N_SAMPLES, len(PRICES)))
    steps = (_prune, _measure, _decide, _fetch, _refit, _rank, _solve, _grow)
    with progress_bar("Compiling", progress) as bar, quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few samples nothing else is to be expected
        for number, step in enumerate(steps):
            step(X)
            bar((number + 1) / len(steps))
    return cache_folder()


def _two_classes(X: FloatArray) -> IntArray:
    return (X[:, 0] + X[:, 1] > 0).astype(np.int64)


def _path(X: FloatArray) -> PruningPath:
    y = _two_classes(X)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    return prune_path(forest, X, y, costs=COSTS)


def _prune(X: FloatArray) -> None:
    _path(X).at(budget=2.0)


def _measure(X: FloatArray) -> None:
    path, y = _path(X), _two_classes(X)
    path.evaluate(X, y)
    path.mix(budget=2.0).predict(X)
    feature_bill(path.model, X, COSTS).receipt(0)
    path.certify(pruning_problem(path.model, X, y, costs=COSTS))


def _decide(X: FloatArray) -> None:
    cascade = _path(X).cascade(X, _two_classes(X))
    cascade.predict(X)
    LazyPredictor(cascade).predict(X)


def _fetch(X: FloatArray) -> None:
    LazyPredictor(_path(X).model, costs=COSTS, stop="decided").predict(X)


def _refit(X: FloatArray) -> None:
    several = np.digitize(X[:, 0], (-0.5, 0.5))
    for model, y in (
        (RandomForestClassifier(3, max_depth=3, random_state=0), _two_classes(X)),
        (RandomForestClassifier(3, max_depth=3, random_state=0), several),
        (RandomForestRegressor(3, max_depth=3, random_state=0), X[:, 0]),
    ):
        pruned = prune(model.fit(X, y), X, y, tradeoff=0.001)
        pruned.refit(X, y).model.predict(X)


def _rank(X: FloatArray) -> None:
    grades = np.digitize(X[:, 0] + X[:, 1], (0.0, 1.0))
    qid = np.repeat(np.arange(6), N_SAMPLES // 6)
    model = GradientBoostingRegressor(n_estimators=3).fit(X, grades)
    pruned = prune(model, X, grades, qid=qid, loss="lambdarank", tradeoff=0.001)
    pruned.refit(X, grades, qid=qid, strength=1.0)
    prune_path(model, X, grades, costs=COSTS).cascade(X, grades, qid=qid)


def _solve(X: FloatArray) -> None:
    y = _two_classes(X)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    problem = pruning_problem(forest, X, y, costs=COSTS)
    dynamic_programming_path(problem)
    prune(problem, tradeoff=0.001, solver=DantzigWolfe())
    prune_path(pruning_problem(forest, X, y, costs=COSTS, decomposition=ROUNDS))
    boosted = GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    prune(boosted, X, X[:, 0], tradeoff=0.001, loss="squared_error")
    leaves = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    prune(leaves, X, y, tradeoff=0.001, loss="log_loss")


def _grow(X: FloatArray) -> None:
    for impurity in ("pairs", "entropy", "powers"):
        BudgetForestClassifier(2, costs=PRICES, impurity=impurity).fit(X, _two_classes(X))
