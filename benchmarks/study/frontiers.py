"""Every method on every task: what it scores within each budget."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import thriftwood as tw

from . import boosters, fixed_sets, ours, prunings, single_trees
from .choosing import Choice, Method, accuracy, auc
from .data import Task, make_task
from .meter import Predict, Scores, measure
from .results import Row, Unit

KEY = ("task", "repeat", "method")


class Entry(NamedTuple):
    """A method, and what it stands for in pictures and tables."""

    title: str
    fit: Method
    is_ours: bool = False
    package: str | None = None  # that it needs


def neural(*given: Any) -> Choice:
    from .neural import neural as fit

    return fit(*given)


METHODS = {
    "thrifty": Entry("ThriftyClassifier", ours.thrifty("full"), True),
    "thrifty_quick": Entry("ThriftyClassifier, quick", ours.thrifty("quick"), True),
    "cascade": Entry("cascade of prunings", ours.cascade, True),
    "refit": Entry("forest, pruned and refitted", ours.pruned("log_loss", refit=True), True),
    "pruned_log_loss": Entry("forest, pruned by log loss", ours.pruned("log_loss"), True),
    "pruned": Entry("forest, pruned", ours.pruned("error"), True),
    "pruned_ensemble": Entry("PrunedEnsembleClassifier", ours.pruned_ensemble, True),
    "forward": Entry("fixed set, forward selection", fixed_sets.forward_selection),
    "importance": Entry("fixed set, importance", fixed_sets.by_importance),
    "cegb": Entry("LightGBM CEGB", boosters.cegb),
    "catboost": Entry("CatBoost penalties", boosters.catboost),
    "neural": Entry("neural acquisition", neural, package="torch"),
    "budget_forest": Entry("BudgetRF", prunings.budget_forest),
    "each_tree": Entry("each tree pruned alone", prunings.alone(tw.each_tree_path)),
    "by_size": Entry("pruned by size", prunings.alone(tw.cost_complexity_path)),
    "streed": Entry("STreeD, one tree", single_trees.streed, package="pystreed"),
    "imodels": Entry("imodels, one tree", single_trees.imodels_tree, package="imodels"),
    "plain": Entry("plain models", fixed_sets.plain_models),
}


def units(tasks: list[Task], methods: list[str], repeats: Mapping[str, int]) -> list[Unit]:
    """Return what is to be done: first repeats first, so that all tasks have some early."""
    entries = {name: METHODS[name] for name in methods if name in METHODS}
    missing = [name for name, entry in entries.items() if not is_installed(entry)]
    for name in missing:
        entry = METHODS[name]
        print(f"Leaving out {entry.title}: the package `{entry.package}` is not installed.")
    return [
        (task.name, repeat, method)
        for repeat in range(max(repeats.values(), default=0))
        for task in tasks
        if repeat < repeats.get(task.name, 0)
        for method in methods
        if method not in missing and fits(task, method)
    ]


def is_installed(entry: Entry) -> bool:
    return entry.package is None or find_spec(entry.package) is not None


def fits(task: Task, method: str) -> bool:
    """Say whether a method can do a task: some search too long among many columns or samples."""
    n_train, n_validation, _ = task.sizes
    if method == "streed":
        return task.X.shape[1] <= single_trees.MOST_COLUMNS
    return method != "imodels" or n_train + n_validation <= single_trees.MOST_ROWS


def work(
    task_name: str,
    repeat: int,
    method: str,
    folder: Path | None = None,
    quick: bool = False,
    methods: Mapping[str, Entry] = METHODS,
) -> list[Row]:
    """Return what a method scores on one split: a row for each budget."""
    task = make_task(task_name, folder, quick)
    split = task.split(repeat)
    begin = process_time()
    choose = methods[method].fit(task, split, repeat, quick)
    chosen = [(choose(budget, accuracy), choose(budget, auc)) for budget in task.budgets]
    seconds = process_time() - begin
    measured: dict[int, Scores] = {}

    def scores(predict: Predict) -> Scores:
        if id(predict) not in measured:
            measured[id(predict)] = measure(predict, split.test, task.price_list)
        return measured[id(predict)]

    rows = []
    for budget, (by_accuracy, by_auc) in zip(task.budgets, chosen, strict=True):
        rows.append(
            {
                "task": task.name,
                "repeat": repeat,
                "method": method,
                "budget": budget,
                "bill": scores(by_accuracy).bill,
                "accuracy": scores(by_accuracy).accuracy,
                "auc_bill": scores(by_auc).bill,
                "auc": scores(by_auc).auc,
                "cpu_seconds": round(seconds, 2),
            }
        )
    return rows
