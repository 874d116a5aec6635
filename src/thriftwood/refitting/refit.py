"""Refit the leaf values of a pruned model; the splits stay, and so what every sample pays.

A tree's values were right for the tree alone, or for the splits that are gone. The new ones are
those of one regularised regression on the leaves of all trees, with the old values as prior mean
and a strength that is chosen on samples which the trees have not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import (
    ForestModel,
    forest_model,
    in_pipeline_of,
    read_bootstrap,
    read_forest,
    unwrapped,
    without_pipeline,
    write_model,
)
from thriftwood.errors import InputError
from thriftwood.forest import Forest, Link, leaf_means, leaves, scores, sums_below
from thriftwood.forest.table import read_rows
from thriftwood.problem import (
    LAMBDARANK,
    ranking_loss,
    ranks,
    read_queries,
    read_target,
    read_weights,
    times_counted,
)
from thriftwood.refitting.newton import LeafFit, check_strength, fit_leaf_values
from thriftwood.refitting.problem import LeafProblem
from thriftwood.refitting.strength import (
    Fold,
    StrengthChoice,
    choose_strength,
    out_of_bag_folds,
    prior_of_probabilities,
    validation_fold,
)
from thriftwood.support.arrays import BoolArray, IntArray

# X, y, the sample weights, if samples do not count alike, and queries, if they are documents.
LabelledSamples = (
    tuple[Any, ArrayLike]
    | tuple[Any, ArrayLike, ArrayLike | None]
    | tuple[Any, ArrayLike, ArrayLike | None, ArrayLike | None]
)
LINK_OF: dict[str, Link] = {
    "squared": "identity",
    "logistic": "logistic",
    "softmax": "softmax",
    LAMBDARANK: "identity",
}
# A good strength hardly depends on the number of samples, so that more of them only take time.
ENOUGH_SAMPLES = 10_000
# The objective may be this part above its least; predictions move by far less than they are worth.
TOLERANCE = 5e-4
CHOSEN_HOW = {
    "given": "as given",
    "validation": "chosen on the validation set",
    "out_of_bag": "chosen out of bag",
    "nothing": "every tree is a single leaf",
}


@dataclass(frozen=True, eq=False)
class Refit:
    """Record of a refit: how the values of a model were fitted again.

    Attributes
    ----------
    strength : float
        Of the regularisation; infinity means that the old values were kept, because no refit did
        better on validation.
    chosen_on : {"validation", "out_of_bag", "given", "nothing"}
        Which samples chose the strength, if it was not given; nothing where no split is left.
    choice : StrengthChoice, optional
        Losses and errors of all strengths that were tried.
    """

    strength: float
    chosen_on: str
    choice: StrengthChoice | None

    @property
    def changed_nothing(self) -> bool:
        return bool(np.isinf(self.strength))

    def __str__(self) -> str:
        how = CHOSEN_HOW[self.chosen_on]
        if self.changed_nothing:
            return f"Values of leaves not refitted, {how}"
        return f"Values of leaves refitted with strength {self.strength:g}, {how}"


def refit_model(
    model: Any,
    training: LabelledSamples,
    validation: LabelledSamples | None = None,
    strength: float | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, Refit]:
    """Return a model with the same splits and new values; parameters as in `Pruned.refit`."""
    forest = read_forest(model)
    given = None if strength is None else check_strength(strength)
    problem = _problem(forest, training, n_jobs)
    if not forest.n_splits:
        return model, Refit(np.inf, "nothing", None)
    _check_refittable(forest, problem.pairs is not None)
    chosen_on, folds = _folds(model, forest, problem, validation, n_jobs)
    if chosen_on == "given" and given is None:
        raise InputError(
            "No sample is out of the bags of this model's trees, so nothing can choose how "
            "strongly to refit: pass `validation=(X, y)`, samples that the model was not trained "
            "on, or a `strength`. (For a bagged model, pass its training samples as X.)"
        )
    if forest.is_averaged and forest.is_classifier:
        probabilities = forest.values[~forest.is_split]
        prior = prior_of_probabilities(probabilities, forest.n_trees, [one for _, one in folds])
        problem = replace(problem, prior=prior)
        folds = [(replace(fitted, prior=prior), one) for fitted, one in folds]
    # A bias that moves has to go into trees that belong to its output.
    fit_bias = problem.trainable is None or bool(problem.trainable.any(axis=0).all())
    start = None
    if given is not None:
        refit = Refit(given, "given", None)
    else:
        choice = choose_strength(folds, fit_bias=fit_bias, n_jobs=n_jobs)
        refit, start = Refit(choice.strength, chosen_on, choice), choice.start
    if refit.changed_nothing:
        return model, refit
    fit = fit_leaf_values(
        problem, refit.strength, start, fit_bias=fit_bias, tolerance=TOLERANCE, n_jobs=n_jobs
    )
    return _written(model, forest, problem, fit), refit


def read_labelled(
    samples: Any, name: str
) -> tuple[Any, ArrayLike, ArrayLike | None, ArrayLike | None]:
    """Return the user's argument `name` as X, y, sample weights and queries, or refuse it."""
    if not isinstance(samples, (tuple, list)) or len(samples) not in (2, 3, 4):
        raise InputError(
            f"`{name}` must be a pair: X and y. Sample weights may come third, and fourth the "
            "query of each sample."
        )
    X, y, weights, qid = (*samples, None, None)[:4]
    return X, y, weights, qid


def _check_refittable(forest: Forest, has_queries: bool) -> None:
    what = ""
    if forest.is_classifier:
        if forest.link == "logistic" and forest.n_outputs > 1:
            what = "sets each class against the rest"
    elif forest.link != "identity":
        what = "predicts rates" if forest.link == "exp" else "predicts shares"
    elif forest.statistic != "mean" and not has_queries:
        what = "predicts no mean but a median, a quantile, a rank or something of your own"
    if what:
        raise InputError(
            f"This model {what}. Only models for classes (two, or several by softmax), for the "
            "mean of a number, and rankers with `qid`, the query of each sample, can be refitted: "
            "use the pruned model as it is."
        )


def _problem(forest: Forest, training: LabelledSamples, n_jobs: int | None) -> LeafProblem:
    """Return the samples in their leaves, with the present values as prior mean."""
    of_leaves = forest.values[~forest.is_split]
    if forest.combine == "mean":
        of_leaves = of_leaves / forest.n_trees
    samples = _in_leaves(forest, training, n_jobs)
    loss = _loss(forest) if "pairs" not in samples else LAMBDARANK
    n_outputs = forest.n_outputs if loss == "softmax" else 1
    return LeafProblem(
        **samples,
        n_leaves=len(of_leaves),
        loss=loss,
        prior=of_leaves[:, -n_outputs:],
        bias=forest.bias[-n_outputs:],
        trainable=None if forest.is_averaged else _outputs_of_trees(forest)[~forest.is_split],
    )


def _in_leaves(forest: Forest, samples: LabelledSamples, n_jobs: int | None) -> dict[str, Any]:
    """Return the leaves of samples, numbered from 0, targets and weights; of a ranker pairs, too.

    Documents then come query by query.
    """
    X, y, sample_weight, qid = read_labelled(samples, "samples")
    table = read_rows(X, forest)
    target = read_target(y, forest, table.n_samples)
    weights, query = read_weights(sample_weight, table.n_samples), read_queries(qid, len(target))
    number = np.cumsum(~forest.is_split, dtype=np.int32) - 1
    found = {
        "leaves": number[leaves(forest, table.values, n_jobs)],
        "target": target,
        "weights": weights,
    }
    if query is None or not ranks(forest):
        return found
    before = scores(forest, table.values, n_jobs)[:, 0]
    ranking = ranking_loss(target, query, weights, before)
    found = {name: own[ranking.order] for name, own in found.items()}
    # Queries count alike, and so do the documents of each.
    found["weights"] = found["weights"] / np.repeat(sizes := np.diff(ranking.pairs.start), sizes)
    return found | {"pairs": ranking.pairs}


def _loss(forest: Forest) -> str:
    if forest.classes is None:
        return "squared"
    if forest.is_averaged:
        return "logistic" if len(forest.classes) == 2 else "softmax"
    return forest.link


def _outputs_of_trees(forest: Forest) -> BoolArray:
    """Return the outputs that the tree of each node may change.

    Those for which it has any value; where all values of a tree are 0, and all other trees take
    turns and belong to one output each, the output whose turn it is.
    """
    of_trees = sums_below(forest, np.abs(forest.values))[forest.tree_start[:-1]] > 0
    turn = np.arange(forest.n_trees)[:, None] % forest.n_outputs
    takes_turns = turn == np.arange(forest.n_outputs)
    if not (of_trees & ~takes_turns).any():
        of_trees = takes_turns
    return of_trees[forest.tree_of(np.arange(forest.n_nodes))]


def _folds(
    model: Any,
    forest: Forest,
    problem: LeafProblem,
    validation: LabelledSamples | None,
    n_jobs: int | None,
) -> tuple[str, list[Fold]]:
    """Return how strengths are validated, and the folds; training samples if there are none."""
    n_samples, some = problem.n_samples, _some(problem)
    fitted = problem.take(some)
    if validation is not None:
        others = _in_leaves(forest, read_labelled(validation, "validation"), n_jobs)
        if ("pairs" in others) != (problem.pairs is not None):
            raise InputError(
                "Queries are known of some samples only: pass `qid`, and validation=(X, y, None, "
                "qid)."
            )
        return "validation", [validation_fold(fitted, **others)]
    bags = read_bootstrap(model) if problem.pairs is None else None
    of_trees = bags.of_trees if bags is not None and bags.n_samples == n_samples else ()
    if any(len(np.unique(bag)) < n_samples for bag in of_trees):
        unseen = times_counted(forest.n_trees, n_samples, "out_of_bag", bags) > 0
        return "out_of_bag", out_of_bag_folds(fitted, unseen[:, some])
    own = fitted.leaves, fitted.target, fitted.weights, fitted.pairs
    return "given", [validation_fold(fitted, *own)]


def _some(problem: LeafProblem) -> IntArray:
    """Return the samples to choose a strength on, or those of some queries."""
    if problem.n_samples <= ENOUGH_SAMPLES:
        return np.arange(problem.n_samples)
    unit = np.arange(problem.n_samples)
    if problem.pairs is not None:
        unit = np.repeat(np.arange(len(problem.pairs.weight)), np.diff(problem.pairs.start))
    drawn = np.random.default_rng(0).permutation(unit[-1] + 1)
    n_taken = np.searchsorted(np.cumsum(np.bincount(unit)[drawn]), ENOUGH_SAMPLES, side="right")
    return np.flatnonzero(np.isin(unit, drawn[: max(n_taken, 1)]))


def _written(model: Any, forest: Forest, problem: LeafProblem, fit: LeafFit) -> Any:
    """Return the model with new values, of its own type if that can hold them."""
    new = _with_values(forest, problem, fit)
    is_own = isinstance(without_pipeline(unwrapped(model)), ForestModel)
    if is_own or (forest.is_averaged and forest.is_classifier):
        return in_pipeline_of(model, forest_model(replace(new, inputs=None)))
    trainable = _outputs_of_trees(forest)
    n_trees = trainable[forest.tree_start[:-1]].sum(axis=0)
    # Other types keep their bias, so the trees share what it moved by.
    values = new.values + trainable * (new.bias - forest.bias) / np.maximum(n_trees, 1)
    if forest.combine == "mean":
        values = values * forest.n_trees
    return write_model(model, forest.is_split, values, forest.columns.names)


def _with_values(forest: Forest, problem: LeafProblem, fit: LeafFit) -> Forest:
    """Return the forest with new values; those of splits are the means of the leaves below."""
    is_leaf, split = ~forest.is_split, forest.is_split
    counted = np.repeat(problem.weights, problem.n_trees)
    in_leaves = np.bincount(problem.leaves.ravel(), weights=counted, minlength=problem.n_leaves)
    weight = np.zeros(forest.n_nodes)
    weight[is_leaf] = np.maximum(in_leaves, 1e-9 * problem.weights.sum())  # means need some
    values = np.zeros((forest.n_nodes, problem.n_outputs))
    values[is_leaf] = fit.values
    values, below = leaf_means(forest, values, weight)
    squares = below * (values**2).sum(axis=1)
    gains = np.zeros(forest.n_nodes)
    gains[split] = squares[forest.left[split]] + squares[forest.right[split]] - squares[split]
    return replace(
        forest,
        values=values,
        bias=fit.bias,
        combine="sum",
        link=LINK_OF[problem.loss],
        gains=np.maximum(gains, 0.0),
    ).check()
