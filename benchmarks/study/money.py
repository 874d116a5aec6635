"""Bills and errors added up, in money: what a test sample costs where wrong answers cost something.

On data whose tests have real prices. Everybody has the same samples to train and to choose, and is
told what an error costs.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from held_out import Split
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

from . import boosters, fixed_sets
from .choosing import Method
from .data import Task, joined, make_task
from .meter import Predict, Prediction, measure, of_trees
from .ours import of_stages
from .results import Row, Unit
from .single_trees import MOST_COLUMNS, OptimalTree

KEY = ("task", "repeat", "method")
TASKS = {"heart": 10, "pima": 10, "thyroid": 5, "nhanes": 3}  # repeats
ERRORS = (50.0, 200.0, 600.0)
QUICK_ERRORS = ERRORS[1:2]

# What a method predicts where an error costs so much.
ByErrorCost = Callable[[float], Predict]
Fit = Callable[[Task, Split, int, bool], ByErrorCost]


def thrifty(task: Task, split: Split, seed: int, quick: bool) -> ByErrorCost:
    """A thrifty model that minimises bill and errors."""
    effort = "quick" if quick else "full"

    def fit(error_cost: float) -> Predict:
        model = tw.ThriftyClassifier(
            costs=task.prices, error_costs=error_cost, effort=effort, random_state=seed
        )
        return answers_of(model.fit(*joined(split)), of_stages(model))

    return fit


def pruned(make: Callable[[Task, int, bool], Any]) -> Fit:
    """A forest, pruned to the least bill and errors by cross-validation."""

    def method(task: Task, split: Split, seed: int, quick: bool) -> ByErrorCost:
        def fit(error_cost: float) -> Predict:
            model = tw.PrunedEnsembleClassifier(
                make(task, seed, quick),
                costs=task.prices,
                error_costs=error_cost,
                random_state=seed,
            ).fit(*joined(split))
            return answers_of(model, of_trees(model.pruned_.model))

        return fit

    return method


def answers_of(model: Any, predict: Predict) -> Predict:
    """Return predictions whose likeliest class is the model's answer, of least expected cost."""

    def answer(X: Any) -> Prediction:
        probability, used = predict(X)
        answers = model.predict(X)
        return Prediction((answers[:, None] == range(probability.shape[1])) * 1.0, used)

    return answer


def chosen(method: Method) -> Fit:
    """A method that has many models, by the least bill and errors on the samples to choose."""

    def fit(task: Task, split: Split, seed: int, quick: bool) -> ByErrorCost:
        choose = method(task, split, seed, quick)
        return lambda error_cost: choose(
            float("inf"), lambda one: -one.bill - error_cost * (1 - one.accuracy)
        )

    return fit


def streed(task: Task, split: Split, _seed: int, quick: bool) -> ByErrorCost:
    """The optimal tree of depth 3, with as many nodes as its own cross-validation finds best."""
    return lambda error_cost: (
        OptimalTree(task, joined(split), error_cost, hyper_tune=not quick).predict
    )


def budget_forest(n_trees: int) -> Callable[[Task, int, bool], Any]:
    return lambda task, seed, quick: tw.BudgetForestClassifier(
        5 if quick else n_trees, costs=task.prices, bootstrap=n_trees > 1, random_state=seed
    )


def random_forest(_task: Task, seed: int, quick: bool) -> Any:
    return RandomForestClassifier(5 if quick else 100, random_state=seed)


METHODS: dict[str, tuple[str, Fit]] = {
    "thrifty": ("ThriftyClassifier", thrifty),
    "budget_forest": ("BudgetRF, pruned", pruned(budget_forest(40))),
    "one_tree": ("one price-aware tree, pruned", pruned(budget_forest(1))),
    "forest": ("random forest, pruned", pruned(random_forest)),
    "streed": ("STreeD, one tree", streed),
    "cegb": ("LightGBM CEGB", chosen(boosters.cegb)),
    "forward": ("fixed set, forward selection", chosen(fixed_sets.forward_selection)),
}


def units(tasks: list[Task], methods: list[str]) -> list[Unit]:
    has_streed = find_spec("pystreed") is not None
    if "streed" in methods and not has_streed:
        print("Leaving out STreeD: the package `pystreed` is not installed.")
    return [
        (task.name, repeat, method)
        for repeat in range(max(TASKS.values()))
        for task in tasks
        if repeat < TASKS.get(task.name, 0)
        for method in methods
        if method != "streed" or (has_streed and task.X.shape[1] <= MOST_COLUMNS)
    ]


def work(
    task_name: str, repeat: int, method: str, folder: Path | None = None, quick: bool = False
) -> list[Row]:
    """Return what a test sample costs at each cost of an error."""
    task = make_task(task_name, folder, quick)
    split = task.split(repeat)
    predict = METHODS[method][1](task, split, repeat, quick)
    rows = []
    for error_cost in QUICK_ERRORS if quick else ERRORS:
        scores = measure(predict(error_cost), split.test, task.price_list)
        rows.append(
            {
                "task": task_name,
                "repeat": repeat,
                "method": method,
                "error_cost": error_cost,
                "bill": scores.bill,
                "errors": error_cost * (1 - scores.accuracy),
            }
        )
    return rows
