"""Prune a model at one tradeoff."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_forest, write_model
from thriftwood.arguments import one_number
from thriftwood.arrays import BoolArray, FloatArray
from thriftwood.closure import ClosureProblem, check_certificate
from thriftwood.costs import prices_per_feature
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.formulation import (
    ClosureIndex,
    build_closure,
    node_losses,
    read_target,
    read_weights,
)
from thriftwood.pruning.pruned import Figures, Pruned
from thriftwood.routing import route_examples
from thriftwood.solvers import solver_named
from thriftwood.table import read_table


def prune(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    tradeoff: float,
    costs: ArrayLike | Mapping[str, float] | None = None,
    loss: str | None = None,
    sample_weight: ArrayLike | None = None,
    solver: str = "min_cut",
    n_jobs: int | None = None,
) -> Pruned:
    """Prune a tree ensemble to the exact optimum of loss + tradeoff * cost.

    The optimum is that of the paper's IP3: over all ways to collapse splits of the trees, the loss
    averaged over rows and trees, plus the tradeoff times the mean bill of a row. A row pays for
    each feature once, however many trees ask for it. Of several optima the smallest forest is
    taken.

    Parameters
    ----------
    model : fitted scikit-learn model
        DecisionTree*, ExtraTree*, RandomForest*, ExtraTrees*, or Bagging* over decision trees. It
        is not changed.
    X : array-like or data frame, shape (n_rows, n_features)
        Rows to count losses and bills on; usually those the model was trained on.
    y : array-like, shape (n_rows,)
    tradeoff : float
        The paper's lambda, at least 0: how much loss one unit of cost is worth. At 0 only splits
        that gain nothing are collapsed; the larger, the smaller the forest.
    costs : array-like, mapping from feature name to price, or None
        What it costs to look at each feature of one row. None means 1 each.
    loss : str, optional
        What to count: "error", misclassified rows, for classifiers; "squared_error" for
        regressors. None takes the one that fits.
    sample_weight : array-like, shape (n_rows,), optional
        How much each row counts, in loss and cost alike.
    solver : {"min_cut", "linear_program"}
        Our own maximum flow, or the linear relaxation through HiGHS: the same answer, slower.
    n_jobs : int, optional
        Threads to route the rows with, as in scikit-learn.

    Returns
    -------
    Pruned
        With the pruned model of the same type, its figures and a certificate of optimality.

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
    tradeoff = _read_tradeoff(tradeoff)
    solve = solver_named(solver)
    forest = read_forest(model)
    table = read_table(X, forest.input_dtype)
    routes = route_examples(forest, table, n_jobs)
    prices = prices_per_feature(costs, forest.n_features, forest.feature_names or table.names)
    target = read_target(y, forest, table.n_rows)
    weights = read_weights(sample_weight, table.n_rows)
    losses = node_losses(forest, routes, target, weights, loss)

    problem, index = build_closure(forest, routes, losses, prices, weights)
    priced, _ = problem.at(index.closure_tradeoff(tradeoff))
    solution = solve(priced)
    certificate = check_certificate(priced, solution)
    everything = np.ones(problem.n_projects, dtype=np.bool_)
    figures = _figures(forest, problem, index, losses, prices, weights, solution.kept)
    return Pruned(
        **vars(figures),
        model=write_model(model, index.kept_nodes(solution.kept)),
        tradeoff=tradeoff,
        certificate=certificate,
        original=_figures(forest, problem, index, losses, prices, weights, everything),
    )


def _read_tradeoff(tradeoff: Any) -> float:
    try:
        number = one_number(tradeoff, "tradeoff")
    except InputError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise InputError(
            f"`tradeoff` is {reprlib.repr(tradeoff)}: it must be one finite number of at least 0. "
            "At 0 cost does not matter, the larger it is the more is pruned."
        )
    return abs(number)  # minus zero is zero


def _figures(
    forest: Forest,
    problem: ClosureProblem,
    index: ClosureIndex,
    losses: FloatArray,
    prices: FloatArray,
    weights: FloatArray,
    kept: BoolArray,
) -> Figures:
    """Return cost and loss of the forest whose kept splits are given."""
    kept_nodes = index.kept_nodes(kept)
    parent = forest.parent
    is_leaf = ~kept_nodes & ((parent < 0) | kept_nodes[parent])
    bought = problem.needed_items(kept)
    total_cost = prices[index.item_feature[bought]] @ weights[index.item_row[bought]]
    total_weight = weights.sum()
    return Figures(
        cost=float(total_cost / total_weight),
        loss=float(losses[is_leaf].sum() / (total_weight * forest.n_trees)),
        n_splits=int(kept.sum()),
        n_features=len(np.unique(forest.feature[kept_nodes])),
    )
