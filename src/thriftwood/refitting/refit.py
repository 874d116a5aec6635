"""Fit the values of all leaves of a pruned model again, together; the splits stay, and so the bill.

A tree's values were right for the tree alone, or for the splits that are gone. The new ones are
those of one regularised regression on the leaves of all trees, held to the old values with a
strength that rows choose which the trees have not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import (
    BootstrapSamples,
    ForestModel,
    forest_model,
    read_bootstrap,
    read_forest,
    write_model,
)
from thriftwood.errors import InputError
from thriftwood.forest import (
    Forest,
    Link,
    leaf_means,
    leaves,
    sums_below,
)
from thriftwood.forest.table import read_rows
from thriftwood.problem.counting import times_counted
from thriftwood.problem.targets import read_target, read_weights
from thriftwood.refitting import (
    LeafFit,
    LeafProblem,
    StrengthChoice,
    Trial,
    check_strength,
    choose_strength,
    fit_leaf_values,
    out_of_bag_trials,
    prior_of_probabilities,
    validation_trial,
)
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)

# X and y, and how much each row counts, if they do not count alike.
JudgedRows = tuple[Any, ArrayLike] | tuple[Any, ArrayLike, ArrayLike | None]
LINK_OF: dict[str, Link] = {"squared": "identity", "logistic": "logistic", "softmax": "softmax"}
# A good strength hardly depends on the number of rows, so that more of them only take time.
ENOUGH_ROWS = 10_000
# The objective may be this part above its least; predictions move by far less than they are worth.
TOLERANCE = 5e-4
GIVEN, VALIDATION, OUT_OF_BAG, NOTHING = "given", "validation", "out_of_bag", "nothing"


@dataclass(frozen=True, eq=False)
class Refit:
    """How the values of a model were fitted again.

    Attributes
    ----------
    strength : float
        How strongly they are held to the old ones; infinity means that they were left alone,
        because no refit did better on the rows that judged.
    judged_on : {"validation", "out_of_bag", "given", "nothing"}
        Which rows chose the strength, if it was not given; nothing where no split is left.
    choice : StrengthChoice, optional
        Losses and errors of all strengths that were tried.
    """

    strength: float
    judged_on: str
    choice: StrengthChoice | None

    @property
    def changed_nothing(self) -> bool:
        return bool(np.isinf(self.strength))

    def __str__(self) -> str:
        how = {
            GIVEN: "as given",
            VALIDATION: "chosen on validation rows",
            OUT_OF_BAG: "chosen out of bag",
            NOTHING: "every tree is a single leaf",
        }
        if self.changed_nothing:
            return f"Values of leaves not refitted, {how[self.judged_on]}"
        return f"Values of leaves refitted with strength {self.strength:g}, {how[self.judged_on]}"


def refit_model(
    model: Any,
    X: Any,
    y: ArrayLike,
    validation: JudgedRows | None,
    strength: float | None,
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
) -> tuple[Any, Refit]:
    """Return a model with the same splits and new values; parameters as in `Pruned.refit`."""
    forest = read_forest(model)
    given = None if strength is None else check_strength(strength)
    problem = _problem(forest, X, y, sample_weight, n_jobs)
    if not forest.n_splits:
        return model, Refit(np.inf, NOTHING, None)
    _check_refittable(forest)
    judged_on, trials = _trials(model, forest, problem, validation, given, n_jobs)
    if forest.is_averaged and forest.is_classifier:
        prior = prior_of_probabilities(
            forest.values[~forest.is_split], forest.n_trees, [trial.held_out for trial in trials]
        )
        problem = replace(problem, prior=prior)
        trials = [replace(trial, problem=replace(trial.problem, prior=prior)) for trial in trials]
    # A bias that moves has to go into trees that speak for its output.
    fit_bias = problem.speaks is None or bool(problem.speaks.any(axis=0).all())
    start = None
    if given is not None:
        refit = Refit(given, GIVEN, None)
    else:
        choice = choose_strength(trials, fit_bias=fit_bias, n_jobs=n_jobs)
        refit, start = Refit(choice.strength, judged_on, choice), choice.start
    if refit.changed_nothing:
        return model, refit
    fit = fit_leaf_values(
        problem, refit.strength, start, fit_bias=fit_bias, tolerance=TOLERANCE, n_jobs=n_jobs
    )
    return _written(model, forest, problem, fit), refit


def _check_refittable(forest: Forest) -> None:
    what = ""
    if forest.is_classifier:
        if forest.link == "logistic" and forest.n_outputs > 1:
            what = "sets each class against the rest"
    elif forest.link != "identity":
        what = "predicts rates" if forest.link == "exp" else "predicts shares"
    elif forest.aim != "mean":
        what = "predicts no mean but a median, a quantile, a rank or something of your own"
    if what:
        raise InputError(
            f"This model {what}. Only models for classes (two, or several by softmax) and for the "
            "mean of a number can be refitted: use the pruned model as it is."
        )


def _problem(
    forest: Forest, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, n_jobs: int | None
) -> LeafProblem:
    """Return the rows in their leaves, with the values that the leaves have now."""
    table = read_rows(X, forest)
    of_leaves = forest.values[~forest.is_split]
    if forest.combine == "mean":
        of_leaves = of_leaves / forest.n_trees
    loss = _loss(forest)
    n_outputs = forest.n_outputs if loss == "softmax" else 1
    return LeafProblem(
        leaves=_leaf_numbers(forest, table.values, n_jobs),
        n_leaves=len(of_leaves),
        target=read_target(y, forest, table.n_samples),
        weights=read_weights(sample_weight, table.n_samples),
        loss=loss,
        prior=of_leaves[:, -n_outputs:],
        bias=forest.bias[-n_outputs:],
        speaks=None if forest.is_averaged else _speaks(forest)[~forest.is_split],
    )


def _loss(forest: Forest) -> str:
    if forest.classes is None:
        return "squared"
    if forest.is_averaged:
        return "logistic" if len(forest.classes) == 2 else "softmax"
    return forest.link


def _speaks(forest: Forest) -> BoolArray:
    """Return the outputs that the tree of each node speaks for.

    A tree speaks for what it says anything about; one that says nothing, where all others take
    turns and speak for one output each, for the output whose turn it is.
    """
    of_trees = sums_below(forest, np.abs(forest.values))[forest.tree_start[:-1]] > 0
    takes_turns = np.arange(forest.n_trees)[:, None] % forest.n_outputs == np.arange(
        forest.n_outputs
    )
    if not (of_trees & ~takes_turns).any():
        of_trees = takes_turns
    of_nodes: BoolArray = of_trees[forest.tree_of(np.arange(forest.n_nodes))]
    return of_nodes


def _leaf_numbers(forest: Forest, rows: Any, n_jobs: int | None) -> IndexArray:
    number = np.cumsum(~forest.is_split, dtype=np.int32) - 1
    found: IndexArray = number[leaves(forest, rows, n_jobs)]
    return found


def _trials(
    model: Any,
    forest: Forest,
    problem: LeafProblem,
    validation: JudgedRows | None,
    strength: float | None,
    n_jobs: int | None,
) -> tuple[str, Sequence[Trial]]:
    """Return what rows judge a strength, and how."""
    some = _some_rows(problem.n_samples)
    of_some = problem.of_rows(some)
    if validation is not None:
        X, y, weight = read_judged(validation, "validation")
        table = read_rows(X, forest)
        numbers = _leaf_numbers(forest, table.values, n_jobs)
        target = read_target(y, forest, table.n_samples)
        weights = read_weights(weight, table.n_samples)
        return VALIDATION, [validation_trial(of_some, numbers, target, weights)]
    samples = read_bootstrap(model)
    if _has_rows_out_of_bag(samples, problem.n_samples):
        unseen = times_counted(OUT_OF_BAG, samples, forest.n_trees, problem.n_samples) > 0
        return OUT_OF_BAG, out_of_bag_trials(of_some, unseen[:, some])
    if strength is None:
        raise InputError(
            "No row is out of the bags of this model's trees, so nothing can choose how strongly "
            "to refit: pass `validation=(X, y)`, rows that the model was not trained on, or a "
            "`strength`. (For a bagged model, pass the rows that it was trained on as X.)"
        )
    return GIVEN, [validation_trial(of_some, of_some.leaves, of_some.target, of_some.weights)]


def _some_rows(n_samples: int) -> IntArray:
    """Return the rows that a strength is tried on: all, or enough of them to tell."""
    if n_samples <= ENOUGH_ROWS:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(0).permutation(n_samples)[:ENOUGH_ROWS])


def _has_rows_out_of_bag(samples: BootstrapSamples | None, n_samples: int) -> bool:
    return (
        samples is not None
        and samples.n_samples == n_samples
        and any(len(np.unique(sample)) < n_samples for sample in samples.of_trees)
    )


def read_judged(rows: Any, name: str) -> tuple[Any, ArrayLike, ArrayLike | None]:
    """Return the user's argument `name` as X, y and weights, or refuse it."""
    if not isinstance(rows, (tuple, list)) or len(rows) not in (2, 3):
        raise InputError(
            f"`{name}` must be a pair: the rows and what is right for them. How much each row "
            "counts may come third."
        )
    return rows[0], rows[1], rows[2] if len(rows) == 3 else None


def _written(model: Any, forest: Forest, problem: LeafProblem, fit: LeafFit) -> Any:
    """Return the model with new values, of its own type if that can hold them."""
    new = _with_values(forest, problem, fit)
    if isinstance(model, ForestModel) or (forest.is_averaged and forest.is_classifier):
        return forest_model(new)
    speaks = _speaks(forest)
    n_trees = speaks[forest.tree_start[:-1]].sum(axis=0)
    # Other types keep their bias, so the trees share what it moved by.
    values = new.values + speaks * (new.bias - forest.bias) / np.maximum(n_trees, 1)
    if forest.combine == "mean":
        values = values * forest.n_trees
    return write_model(model, forest.is_split, values)


def _with_values(forest: Forest, problem: LeafProblem, fit: LeafFit) -> Forest:
    """Return the forest with new values; those of splits are the means of the leaves below."""
    is_leaf = ~forest.is_split
    weight = np.zeros(forest.n_nodes)
    weight[is_leaf] = _weight_of_leaves(problem)
    values = np.zeros((forest.n_nodes, problem.n_outputs))
    values[is_leaf] = fit.values
    values = leaf_means(forest, values, weight)
    moved = sums_below(forest, weight) * (values**2).sum(axis=1)
    gains = np.zeros(forest.n_nodes)
    split = forest.is_split
    gains[split] = moved[forest.left[split]] + moved[forest.right[split]] - moved[split]
    return replace(
        forest,
        values=values,
        bias=fit.bias,
        combine="sum",
        link=LINK_OF[problem.loss],
        gains=np.maximum(gains, 0.0),
    ).check()


def _weight_of_leaves(problem: LeafProblem) -> FloatArray:
    """Return how much weight is in each leaf, a little at least, so that means are defined."""
    counted = np.repeat(problem.weights, problem.n_trees)
    weight = np.bincount(problem.leaves.ravel(), weights=counted, minlength=problem.n_leaves)
    some: FloatArray = np.maximum(weight, 1e-9 * problem.weights.sum())
    return some
