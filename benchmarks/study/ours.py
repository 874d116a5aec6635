"""Methods of this package: prunings, refits, cascades, thrifty models, pruned ensembles."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from held_out import Rows, Split
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.thrifty import PricedUnits

from .boosters import train
from .choosing import FEW_SAMPLES, Choice, Method, best_candidate, best_within
from .data import Task, joined
from .meter import Predict, Prediction, Scores, nothing_bought, of_trees

N_TREES = 40
N_POINTS = 24  # of a path, to choose among


def forest(rows: Rows, seed: int, quick: bool = False) -> RandomForestClassifier:
    """Grow the forest that is pruned; trees that see all features share more of them."""
    n_trees = 10 if quick else N_TREES
    return RandomForestClassifier(n_trees, max_features=None, random_state=seed).fit(*rows)


def pruned(loss: str, refit: bool = False) -> Method:
    """Points of the path of a forest, each as it is or with its leaves fitted again."""

    def fit(task: Task, split: Split, seed: int, quick: bool) -> Choice:
        def path_of(rows: Rows) -> tw.PruningPath:
            return tw.prune_path(forest(rows, seed, quick), *rows, costs=task.prices, loss=loss)

        return choice_of_points(path_of, task, split, refit, quick)

    return fit


def choice_of_points(
    path_of: Callable[[Rows], tw.PruningPath],
    task: Task,
    split: Split,
    refit: bool = False,
    quick: bool = False,
) -> Choice:
    """Choose among points of a path: those within each of many bills."""
    bills = budgets_of(task, 5 if quick else N_POINTS)

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        path = path_of(rows)

        def within(budget: float) -> Predict:
            point = path.at(budget=budget)
            return of_trees(point.refit(*rows).model if refit else point.model)

        return [partial(within, budget) for budget in bills]

    return best_candidate(family, task, split)


def budgets_of(task: Task, number: int) -> list[float]:
    """Return bills from less than the smallest budget of a task to that of all features."""
    units = PricedUnits(task.price_list)
    return np.geomspace(0.8 * task.budgets[0], units.price(range(task.X.shape[1])), number).tolist()


def cascade(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """The better of two cascades, of a forest and of a booster, both refitted at each stage.

    With few samples a forest alone, grown and tuned on all, each judged by trees that have not seen
    it.
    """
    both = joined(split)
    if len(both.y) < FEW_SAMPLES:
        path = log_loss_path(both, task, seed, quick, samples="in_bag")
        return choice_of_cascades([path.cascade(*both, samples="out_of_bag")], task, split)
    booster = train(split.train, task.n_classes, n_trees=20 if quick else 200)
    paths = [
        log_loss_path(split.train, task, seed, quick),
        tw.prune_path(booster, *split.train, costs=task.prices),
    ]
    tuned = [path.cascade(*split.validation, refit=split.train) for path in paths]
    return choice_of_cascades(tuned, task, split)


def log_loss_path(
    rows: Rows, task: Task, seed: int, quick: bool, samples: str = "all"
) -> tw.PruningPath:
    model = forest(rows, seed, quick)
    return tw.prune_path(model, *rows, costs=task.prices, loss="log_loss", samples=samples)


def choice_of_cascades(tuned: list[tw.CascadeClassifier], task: Task, split: Split) -> Choice:
    """Take, within a budget, the cascade whose rule errs least on the samples that tuned it."""

    @cache
    def within(budget: float) -> Predict:
        rules = [(one, one.rules.within(budget)) for one in tuned if one.rules.costs[0] <= budget]
        if not rules:
            return nothing_bought(joined(split).y, task.n_classes)
        best, _ = min(rules, key=lambda pair: pair[0].rules.errors[pair[1]])
        return of_trees(best.at(budget=budget))

    return lambda budget, _metric: within(budget)


def thrifty(effort: str) -> Method:
    """A thrifty model, which needs nobody to choose: it gets all samples together."""

    def fit(task: Task, split: Split, seed: int, quick: bool) -> Choice:
        model = tw.ThriftyClassifier(
            costs=task.prices, effort="quick" if quick else effort, random_state=seed
        )
        return choice_of_thrifty(model.fit(*joined(split)), task, split)

    return fit


def choice_of_thrifty(model: tw.ThriftyClassifier, task: Task, split: Split) -> Choice:
    @cache
    def within(budget: float) -> Predict:
        if model.rules_.costs[0] > budget:
            return nothing_bought(joined(split).y, task.n_classes)
        return of_stages(model.at(budget=budget))

    return lambda budget, _metric: within(budget)


def of_stages(model: tw.ThriftyClassifier) -> Predict:
    """Return predictions of a thrifty model, which asks for sets of features."""

    def predict(X: np.ndarray) -> Prediction:
        path = model.decision_path(X)
        return Prediction(path.predictions, model.stages_.used(path.stage))

    return predict


def pruned_ensemble(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """`PrunedEnsembleClassifier`: points are chosen by cross-validation on all samples together."""
    both = joined(split)
    model = tw.PrunedEnsembleClassifier(
        RandomForestClassifier(10 if quick else N_TREES, max_features=None),
        costs=task.prices,
        random_state=seed,
    ).fit(*both)
    told = model.evaluation_
    constant = nothing_bought(both.y, task.n_classes)
    known = [
        Scores(0.0, float(np.mean(both.y == np.bincount(both.y).argmax())), 0.5),
        *map(Scores, told.cost.tolist(), (1 - told.error).tolist(), told.score.tolist()),
    ]

    @cache
    def at(number: int) -> Predict:
        if not number:
            return constant
        return of_trees(model.path_.at(index=int(told.points[number - 1])).model)

    return lambda budget, metric: at(best_within(known, budget, metric))
