"""Scores of predictions, and how surely two models that predicted the same samples differ in them.

A score comes with one deviation per group of samples. Its standard error is the length of this
vector, and that of the difference between two models is the length of the difference of theirs:
deviations are paired, so that what both models get wrong does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import (
    ABOUT_ONE,
    ClassScore,
    Scorer,
    Scoring,
    read_scorer,
    score_predictions,
)
from thriftwood.errors import InputError
from thriftwood.evaluation import kernels
from thriftwood.evaluation.confusion import FORMULAS, judge
from thriftwood.evaluation.money import Money
from thriftwood.forest import Forest, weights_of_queries
from thriftwood.forest.table import readable
from thriftwood.problem import (
    NDCG,
    AnyErrorCosts,
    ErrorCosts,
    RankingScore,
    SampleData,
    grades_of,
    ranking_names,
    ranking_values,
    read_error_costs,
    read_ranking,
)
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, by_place

# Rows of the losses of classifiers; those of regressors are squared errors alone.
CLASS_LOSSES = ("error", "brier", "log_loss", "vote_error")
BRIER, LOG_LOSS = 1, 2
# Up to so many samples every one is a group of its own.
N_GROUPS = 200
# Groups for scores that must be computed again without each of them.
N_LEFT_OUT = 10
SEED = 0
# Probabilities stay this far from 0 and 1, as for scikit-learn.
SMALLEST = float(np.finfo(np.float64).eps)
NEG_ERROR_COSTS = "neg_error_costs"


class Predicted(NamedTuple):
    """Predictions of one model for all samples, and the losses of each.

    `losses` has the shape (n_losses, n_samples), `outputs` (n_samples, n_classes) or, for
    regressors, (n_samples, 1); `labels` are the numbers of the predicted classes.
    """

    losses: FloatArray
    outputs: FloatArray
    labels: IntArray


@dataclass(frozen=True)
class Score:
    """A score by its name, and the function that returns it with its deviations."""

    name: str
    of: Callable[[Predicted], tuple[float, FloatArray]]
    money: Money | None = None  # what decides on answers

    @property
    def error_costs(self) -> FloatArray | None:
        return None if self.money is None else self.money.matrix


def read_score(
    scoring: Scoring | ErrorCosts,
    forest: Forest,
    data: SampleData,
    X: Any,
    reference: FloatArray | None = None,
) -> Score:
    """Return the score that `scoring` stands for, on samples; `X` is as the user passed it.

    `reference` is what the model before pruning predicts, where answers are recalibrated.
    """
    weights = data.counted(data.loss_weights)
    if isinstance(scoring, ErrorCosts):
        matrix = read_error_costs(scoring, forest.classes)
        labels = data.target.astype(np.int32)
        money = Money(matrix, labels, weights, reference)
        of = _deviating(partial(_cost_of_errors, matrix), forest, data, weights)
        return Score(NEG_ERROR_COSTS, of, money)
    if scoring is None:
        scoring = default_scoring(forest, data.target[weights > 0], data.query is not None)
    name, label = scoring if isinstance(scoring, ClassScore) else (scoring, 1)
    ranking = read_ranking(name)
    if ranking is not None:
        return Score(ranking.name, _ranking(ranking, forest, data, weights))
    if isinstance(name, str) and name in KNOWN:
        _check_kind(name, forest)
        return Score(name, _known(name, label, forest, data, weights))
    name, scorer = check_scoring(scoring)
    return Score(name, _left_out(name, scorer, forest, data, weights, X))


def score_or_money(scoring: Scoring | ErrorCosts, error_costs: AnyErrorCosts) -> Any:
    """Return the score or the costs of errors to judge by; refuse both."""
    if error_costs is None:
        return scoring
    if scoring is not None:
        raise InputError("Pass either `scoring` or `error_costs`.", "scoring")
    return ErrorCosts(error_costs)


def check_scoring(scoring: Any) -> tuple[str, Any]:
    """Return the name of a score, and a scorer; refuse what is none.

    Scores of rankings have no scorer.
    """
    if read_ranking(scoring) is not None:
        return scoring, None
    return read_scorer(scoring, ranking_names())


def default_scoring(forest: Forest, target: NDArray[Any], has_queries: bool = False) -> str:
    """Return the score that chooses where none is named.

    For classifiers that is the area under the ROC curve, of more than two classes the mean over
    each against the rest, or where a class is missing the Brier score; for regressors the squared
    error, or NDCG where samples are documents of queries.
    """
    if forest.classes is None:
        return NDCG if has_queries else "neg_mean_squared_error"
    if len(np.unique(target)) < len(forest.classes) or len(forest.classes) < 2:
        return "neg_brier_score"
    return "roc_auc" if len(forest.classes) == 2 else "roc_auc_ovr"


def areas_under_curve(
    target: IndexArray, shares: FloatArray, n_classes: int
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """Return what tells the area under the ROC curve of probabilities, with its deviations.

    Of more than two classes it is the mean over each against the rest. Shares add up to 1.
    """
    samples = ScoredSamples(target, shares, n_classes, {})
    area = roc_auc if n_classes == 2 else roc_auc_ovr
    nothing = np.empty((0, 0))
    return lambda outputs: area(samples, Predicted(nothing, outputs, outputs.argmax(axis=1)))


def class_losses(outputs: FloatArray, y_true: IndexArray | FloatArray) -> FloatArray:
    """Return error, Brier score and log loss of each sample, shape (3, n_samples)."""
    right = np.arange(len(outputs)), y_true
    error = outputs.argmax(axis=1) != y_true
    log_loss = -np.log(np.clip(outputs[right], SMALLEST, 1.0 - SMALLEST))
    distance = outputs.copy()
    distance[right] -= 1.0
    brier = (distance**2).sum(axis=1) / (2 if outputs.shape[1] == 2 else 1)
    return np.array([error, brier, log_loss])


def standard_errors_to(deviations: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the standard errors of the differences between scores and one of them."""
    with np.errstate(invalid="ignore"):
        lengths: FloatArray = np.linalg.norm(deviations - reference, axis=1)
    return lengths


def _check_kind(name: str, forest: Forest) -> None:
    if name in OF_NUMBERS and forest.is_classifier:
        raise InputError(
            f"`scoring` is {name!r}, which judges numbers, and this model predicts classes: choose "
            "'roc_auc', 'balanced_accuracy', 'neg_log_loss' or another score of classes.",
            "scoring",
        )
    if name not in OF_NUMBERS and not forest.is_classifier:
        raise InputError(
            f"`scoring` is {name!r}, which judges classes or their probabilities, and this model "
            "predicts numbers: choose 'neg_mean_squared_error', 'r2' or another score of numbers.",
            "scoring",
        )


def _known(
    name: str, label: Any, forest: Forest, data: SampleData, weights: FloatArray
) -> Callable[[Predicted], tuple[float, FloatArray]]:
    """Return a score of scikit-learn whose deviations follow from what each sample adds to it."""
    score_of = KNOWN[name]
    if name in OF_CLASSES:
        _check_classes(name, forest, data.target[weights > 0])
    has_two = forest.classes is not None and len(forest.classes) == 2
    if name in ABOUT_ONE and (has_two or name != "average_precision"):  # that has a mean of all
        score_of = partial(score_of, own_class=_own_class(name, label, forest))
    return _deviating(score_of, forest, data, weights)


def _ranking(
    score: RankingScore, forest: Forest, data: SampleData, weights: FloatArray
) -> Callable[[Predicted], tuple[float, FloatArray]]:
    """Return the mean of a score over queries, each weighed as its documents are on average."""
    if data.query is None:
        raise InputError(
            f"`scoring` is {score.name!r}, which judges the documents of each query: pass `qid`, "
            "the query of each sample.",
            "qid",
        )
    grades, value_of = grades_of(score, forest, data.target), ranking_values(score, forest)
    documents = np.flatnonzero(weights > 0)
    documents = documents[np.argsort(data.query[documents], kind="stable")]
    _, first, query = np.unique(data.query[documents], return_index=True, return_inverse=True)
    shares = weights_of_queries(query, weights[documents])
    shares /= shares.sum()
    influence = np.zeros(len(weights))

    def score_of(_: ScoredSamples, predicted: Predicted) -> Judged:
        values = value_of(predicted.outputs)[documents]
        mean, of_queries = _mean(score.of_queries(grades[documents], values, query), shares)
        influence[documents[first]] = of_queries
        return mean, influence

    return _deviating(score_of, forest, data, weights)


def _deviating(
    score_of: Callable[[ScoredSamples, Predicted], Judged],
    forest: Forest,
    data: SampleData,
    weights: FloatArray,
) -> Callable[[Predicted], tuple[float, FloatArray]]:
    """Return a score with its deviations, added up over groups of samples."""
    n_classes = 0 if forest.classes is None else len(forest.classes)
    samples = ScoredSamples(data.target, weights / weights.sum(), n_classes, {})
    group, n_groups = _groups(weights, N_GROUPS, data.query)
    correction = math.sqrt(n_groups / max(n_groups - 1, 1))

    def measure(predicted: Predicted) -> tuple[float, FloatArray]:
        with np.errstate(invalid="ignore", over="ignore"):
            score, influence = score_of(samples, predicted)
            deviations = correction * np.bincount(group, influence, n_groups).astype(np.float64)
        return float(score), deviations

    return measure


def _check_classes(name: str, forest: Forest, target: NDArray[Any]) -> None:
    assert forest.classes is not None
    n_classes, missing = len(forest.classes), np.setdiff1d(np.arange(len(forest.classes)), target)
    if name == "roc_auc" and n_classes != 2:
        raise InputError(
            f"`scoring` is 'roc_auc', which judges two classes, and this model has {n_classes}: "
            "pass 'roc_auc_ovr', each class against the rest, or 'roc_auc_ovo'.",
            "scoring",
        )
    if len(missing):
        raise InputError(
            f"`scoring` is {name!r}, which needs samples of every class, and none of these is of "
            f"class {forest.classes[missing[0]].item()!r}: pass more samples, or scoring="
            "'neg_brier_score'.",
            "scoring",
        )


def _own_class(name: str, label: Any, forest: Forest) -> int:
    """Return the number of the class that scores of one of two classes are about."""
    assert forest.classes is not None
    labels = forest.classes.tolist()
    if len(labels) == 2 and label in labels:
        return int(labels.index(label))
    has = f"has {len(labels)} classes" if len(labels) != 2 else "has {!r} and {!r}".format(*labels)
    of_all = f"{name}_macro" if f"{name}_macro" in FORMULAS else "f1_macro"
    of_scores = "" if name in FORMULAS else ", response_method='predict_proba'"
    raise InputError(
        f"`scoring` is {name!r}, which judges how the class {label!r} is told from another, and "
        f"this model {has}: pass '{of_all}' or 'roc_auc_ovr', which judge all classes, or "
        f"`sklearn.metrics.make_scorer(sklearn.metrics.{name}_score, pos_label=...{of_scores})`.",
        "scoring",
    )


def _groups(weights: FloatArray, most: int, query: IndexArray | None) -> tuple[IntArray, int]:
    """Return the group of each sample, drawn at random, and how many there are.

    Documents of a query stay together: what they score hangs together.
    """
    counted = np.flatnonzero(weights > 0)
    units, unit = counted, np.arange(len(counted))
    if query is not None:
        units, unit = np.unique(query[counted], return_inverse=True)
    n_groups = min(most, len(units))
    group = np.zeros(len(weights), dtype=np.int64)
    drawn = np.argsort(np.random.default_rng(SEED).permutation(len(units)))
    group[counted] = (drawn % n_groups)[unit]
    return group, n_groups


class ScoredSamples(NamedTuple):
    """True values of samples, their shares of the whole weight, and what was sorted before."""

    target: IndexArray | FloatArray
    shares: FloatArray
    n_classes: int
    orders: dict[int, IntArray]


Judged = tuple[float, FloatArray]


def _mean(values: FloatArray, shares: FloatArray) -> Judged:
    """Return a mean, and what each sample adds to its deviation."""
    mean = float(np.einsum("i,i", shares, values))  # threads of BLAS would wait for others
    return mean, shares * (values - mean)


def roc_auc(samples: ScoredSamples, predicted: Predicted) -> Judged:
    """Area under the ROC curve of the second class."""
    return _area(samples, predicted.outputs[:, 1], 1)


def roc_auc_ovr(samples: ScoredSamples, predicted: Predicted) -> Judged:
    """Mean area under the ROC curves of each class against the rest."""
    areas = [_area(samples, predicted.outputs[:, k], k) for k in range(samples.n_classes)]
    return float(np.mean([area for area, _ in areas])), np.mean([own for _, own in areas], axis=0)


def average_precision(
    samples: ScoredSamples, predicted: Predicted, own_class: int | None = None
) -> Judged:
    """Mean precision at the samples of a class, from the likeliest on down; or its mean of all."""
    if own_class is None:
        found = [average_precision(samples, predicted, k) for k in range(samples.n_classes)]
        return float(np.mean([one for one, _ in found])), np.mean([own for _, own in found], axis=0)
    values, shares = predicted.outputs[:, own_class], samples.shares
    before = samples.orders.get(own_class, np.arange(len(values)))
    order = samples.orders[own_class] = sorted_from(before, values)
    own = np.where(samples.target == own_class, shares, 0.0)
    size = own.sum()
    # Of each sample, the first in the order that is as likely: it and all behind it come together.
    first = np.searchsorted(values[order], values)
    above = np.maximum(np.cumsum(shares[order][::-1])[::-1][first], SMALLEST)
    own_above = np.cumsum(own[order][::-1])[::-1][first]
    precision = own_above / above
    average = float(own @ precision) / size
    # What one more sample changes for those of the class that are as likely or less.
    last = np.searchsorted(values[order], values, side="right") - 1
    gained = np.cumsum((own / above)[order])[last]
    diluted = np.cumsum((own * precision / above)[order])[last]
    is_own = own > 0
    influence = is_own * (precision - average + gained) - diluted
    return average, shares * influence / size


def r2(samples: ScoredSamples, predicted: Predicted) -> Judged:
    """Share of the variance that is explained."""
    mean = samples.shares @ samples.target
    spread = (samples.target - mean) ** 2
    variance = float(samples.shares @ spread)
    if variance == 0:
        raise InputError(
            "`scoring` is 'r2', and all samples have the same number, so that there is no variance "
            "to explain: pass other samples, or scoring='neg_mean_squared_error'.",
            "scoring",
        )
    score = 1.0 - float(samples.shares @ predicted.losses[0]) / variance
    return score, samples.shares * ((1.0 - score) * spread - predicted.losses[0]) / variance


def neg_root_mean_squared_error(samples: ScoredSamples, predicted: Predicted) -> Judged:
    mean, influence = _mean(predicted.losses[0], samples.shares)
    root = math.sqrt(mean)
    return -root, -influence / (2.0 * root or 1.0)


def _cost_of_errors(matrix: FloatArray, samples: ScoredSamples, predicted: Predicted) -> Judged:
    """Score minus the mean cost of answers, which stand as the predicted labels."""
    return _mean(-matrix[samples.target, predicted.labels], samples.shares)


KNOWN: dict[str, Callable[..., Judged]] = {
    name: partial(judge, formula) for name, formula in FORMULAS.items()
} | {
    "neg_log_loss": lambda samples, found: _mean(-found.losses[LOG_LOSS], samples.shares),
    "neg_brier_score": lambda samples, found: _mean(-found.losses[BRIER], samples.shares),
    "roc_auc": roc_auc,
    "roc_auc_ovr": roc_auc_ovr,
    "average_precision": average_precision,
    "neg_mean_squared_error": lambda samples, found: _mean(-found.losses[0], samples.shares),
    "neg_root_mean_squared_error": neg_root_mean_squared_error,
    "neg_mean_absolute_error": lambda samples, found: _mean(
        -np.abs(found.outputs[:, -1] - samples.target), samples.shares
    ),
    "r2": r2,
}
OF_NUMBERS = (
    "neg_mean_squared_error",
    "neg_root_mean_squared_error",
    "neg_mean_absolute_error",
    "r2",
)
# Those that need samples of every class.
OF_CLASSES = ("roc_auc", "roc_auc_ovr", "average_precision")


def _area(samples: ScoredSamples, values: FloatArray, own_class: int) -> Judged:
    """Return the area under a ROC curve, and what each sample adds to its deviation.

    That is how far the share of samples of the other kind which it is ranked rightly against is
    from the mean (DeLong, DeLong and Clarke-Pearson 1988). Points of a path hardly differ: sorting
    begins with the order of the point before.
    """
    before = samples.orders.get(own_class, np.arange(len(values)))
    order = samples.orders[own_class] = sorted_from(before, values)
    influence = np.empty(len(values))
    is_own = samples.target == own_class
    return kernels.area(order, values[order], samples.shares, is_own, influence), influence


def sorted_from(order: IntArray, values: FloatArray) -> IntArray:
    """Return the order of values, which is quick where `order` nearly sorts them."""
    return order[np.argsort(values[order], kind="stable")]


def _left_out(
    name: str, scorer: Scorer, forest: Forest, data: SampleData, weights: FloatArray, X: Any
) -> Callable[[Predicted], tuple[float, FloatArray]]:
    """Return any score, with deviations by the jackknife: computed again without each group."""
    counted = np.flatnonzero(weights > 0)
    group, n_groups = _groups(weights, N_LEFT_OUT, data.query)
    y_true = data.target if forest.classes is None else forest.classes[data.target]
    is_weighed = bool((weights[counted] != weights[counted[0]]).any())
    factor = math.sqrt(max(n_groups - 1, 0) / n_groups)
    parts = [counted, *(counted[group[counted] != g] for g in range(n_groups))]
    table = by_place(readable(X))
    tables = [table[rows] for rows in parts]

    def score_of(predicted: Predicted, part: int) -> float:
        rows = parts[part]
        return score_predictions(
            name,
            scorer,
            predicted.outputs[rows],
            forest.classes,
            tables[part],
            y_true[rows],
            weights[rows] if is_weighed else None,
        )

    def measure(predicted: Predicted) -> tuple[float, FloatArray]:
        score = score_of(predicted, 0)
        without = np.full(n_groups, score)
        for g in range(n_groups):
            with suppress(InputError):  # a class is missing then
                without[g] = score_of(predicted, 1 + g)
        return score, factor * (without.mean() - without)

    return measure
