"""What every method hands over: the model that it takes within a budget."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

import numpy as np
from held_out import Rows, Split
from sklearn.model_selection import StratifiedKFold

from .data import Task, joined
from .meter import Predict, Prediction, Scores, nothing_bought, scores_of

FEW_SAMPLES = 1_000  # below, candidates are compared by cross-validation
N_FOLDS = 5

# What is wanted of a model: more is better.
Metric = Callable[[Scores], float]
# From samples to candidates, always as many in the same order, each trained when it is called.
Family = Callable[[Rows], Sequence[Callable[[], Predict]]]


def accuracy(scores: Scores) -> float:
    return scores.accuracy


def auc(scores: Scores) -> float:
    return scores.auc


class Choice(Protocol):
    """The model that a method takes within a budget, if it is to be good by a metric."""

    def __call__(self, budget: float, metric: Metric) -> Predict: ...


class Method(Protocol):
    """Fits whatever it needs on the samples to train and to choose."""

    def __call__(self, task: Task, split: Split, seed: int, quick: bool) -> Choice: ...


def best_candidate(family: Family, task: Task, split: Split) -> Choice:
    """Choose, within a budget, the candidate with the best score on samples it was not trained on.

    These are the samples to choose, or where there are few of all, five folds. What was chosen is
    trained again on all. One that buys nothing is always among the candidates.
    """

    def with_constant(rows: Rows) -> list[Callable[[], Predict]]:
        return [lambda: nothing_bought(rows.y, task.n_classes), *family(rows)]

    known = known_scores(with_constant, task, split)
    again = with_constant(joined(split))

    @cache
    def trained_again(number: int) -> Predict:
        return again[number]()

    return lambda budget, metric: trained_again(best_within(known, budget, metric))


def known_scores(family: Family, task: Task, split: Split) -> list[Scores]:
    """Return what every candidate scores on samples that it was not trained on."""
    folds = folds_of(split)
    told: dict[int, list[Prediction]] = {}
    for train, held_out in folds:
        for number, fit in enumerate(family(train)):
            told.setdefault(number, []).append(fit()(held_out.X))
    y, prices = np.concatenate([held_out.y for _, held_out in folds]), task.price_list
    return [
        scores_of(Prediction(*(np.concatenate(part) for part in zip(*own, strict=True))), y, prices)
        for own in told.values()
    ]


def folds_of(split: Split) -> list[tuple[Rows, Rows]]:
    """Return pairs of samples to train and to choose."""
    both = joined(split)
    if len(both.y) >= FEW_SAMPLES:
        return [(split.train, split.validation)]
    parts = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(both.X, both.y)
    return [
        (Rows(both.X[train], both.y[train]), Rows(both.X[held_out], both.y[held_out]))
        for train, held_out in parts
    ]


def best_within(known: Sequence[Scores], budget: float, metric: Metric) -> int:
    """Return the number of the best within a budget; of equals the cheapest."""
    within = [number for number, one in enumerate(known) if one.bill <= budget]
    return max(within, key=lambda number: (metric(known[number]), -known[number].bill))
