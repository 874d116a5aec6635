"""What each part brings: thrifty models and cascades of prunings, each part left out once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from held_out import Rows, Split

import thriftwood as tw
from thriftwood.thrifty import PricedUnits, cross_fitting, spread_sets

from . import frontiers, ours
from .choosing import Choice
from .data import Task, joined
from .fixed_sets import gains_of
from .frontiers import Entry
from .meter import Predict, Prediction
from .results import Row

KEY = frontiers.KEY
TASKS = {"covertype": 3, "miniboone": 5, "nhanes": 5, "thyroid": 5, "heart": 10}  # repeats


def thrifty(make: Callable[..., tw.ThriftyClassifier]) -> frontiers.Method:
    """A thrifty model with a part left out."""

    def fit(task: Task, split: Split, seed: int, quick: bool) -> Choice:
        options: dict[str, Any] = {"costs": task.prices, "random_state": seed}
        if quick:
            options["effort"] = "quick"
        model = make(task, split, **options).fit(*joined(split))
        return ours.choice_of_thrifty(model, task, split)

    return fit


def boosters_alone(_task: Task, _split: Split, **options: Any) -> tw.ThriftyClassifier:
    booster = lightgbm.LGBMClassifier(n_estimators=100, learning_rate=0.05, n_jobs=1, verbose=-1)
    return tw.ThriftyClassifier(estimator=booster, **options)


def by_gain(task: Task, split: Split, **options: Any) -> tw.ThriftyClassifier:
    return _ByGain(task, split, **options)


class _ByGain(tw.ThriftyClassifier):
    """Sets along the order of a booster's gains per price, in place of what is missed most."""

    def __init__(self, task: Task, split: Split, **options: Any) -> None:
        super().__init__(**options)
        self._order = np.argsort(-gains_of(task, split) / task.alone, kind="stable").tolist()

    def _sets(self, _data: Any, units: Any, effort: Any, _limit: float, _seed: int) -> Any:
        own = [units.with_free(self._order[:size]) for size in range(len(self._order) + 1)]
        prices = np.array([units.price(one) for one in own])
        return [own[number] for number in spread_sets(own, prices, effort.n_stages)]


def held_out_quarter(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """A thrifty model that chooses on a quarter of the samples in place of cross-fitting."""
    with folds({0: cross_fitting.LAST_PARTS}):
        return thrifty(lambda *_given, **options: tw.ThriftyClassifier(**options))(
            task, split, seed, quick
        )


@contextmanager
def folds(numbers: dict[int, int]) -> Iterator[None]:
    """Change for a while up to how many samples there are how many folds."""
    before, cross_fitting.FOLDS = cross_fitting.FOLDS, numbers
    try:
        yield
    finally:
        cross_fitting.FOLDS = before


def one_stage(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """The stages of a thrifty model, each for all samples: within a budget the dearest."""
    effort = "quick" if quick else "full"
    model = tw.ThriftyClassifier(costs=task.prices, effort=effort, random_state=seed)
    stages = model.fit(*joined(split)).stages_
    prices = [price_of(task, own) for own in stages.sets]

    @cache
    def within(budget: float) -> Predict:
        number = max((k for k, price in enumerate(prices) if price <= budget), default=0)

        def predict(X: np.ndarray) -> Prediction:
            used = np.zeros(X.shape, dtype=np.bool_)
            used[:, sorted(stages.sets[number])] = True
            return Prediction(stages.outputs(number, X.astype(np.float64)), used)

        return predict

    return lambda budget, _metric: within(budget)


def price_of(task: Task, features: frozenset[int]) -> float:
    return PricedUnits(task.price_list).price(features)


def cascade(
    path_of: Callable[[Rows, Task, int, bool], tw.PruningPath], refit: bool = True
) -> frontiers.Method:
    """A cascade of points of one forest's path."""

    def fit(task: Task, split: Split, seed: int, quick: bool) -> Choice:
        path = path_of(split.train, task, seed, quick)
        tuned = path.cascade(*split.validation, refit=split.train if refit else None)
        return ours.choice_of_cascades([tuned], task, split)

    return fit


def path_by_size(rows: Rows, task: Task, seed: int, quick: bool) -> tw.PruningPath:
    model = ours.forest(rows, seed, quick)
    problem = tw.pruning_problem(model, *rows, costs=task.prices, loss="log_loss")
    return tw.cost_complexity_path(problem)


METHODS = {
    "thrifty": Entry("ThriftyClassifier", ours.thrifty("full")),
    "thrifty_one_stage": Entry("without stopping: one set for all", one_stage),
    "thrifty_by_gain": Entry("without its order: by gain per price", thrifty(by_gain)),
    "thrifty_held_out": Entry("without cross-fitting: a quarter held out", held_out_quarter),
    "thrifty_boosters": Entry("without forests: boosters alone", thrifty(boosters_alone)),
    "cascade": Entry("cascade of one forest's prunings", cascade(ours.log_loss_path)),
    "cascade_no_refit": Entry("without refits", cascade(ours.log_loss_path, refit=False)),
    "cascade_by_size": Entry("without prices in the pruning: by size", cascade(path_by_size)),
    "cascade_one_stage": Entry(
        "without stopping: one point for all", ours.pruned("log_loss", refit=True)
    ),
}


def work(*unit: Any, folder: Path | None = None, quick: bool = False) -> list[Row]:
    return frontiers.work(*unit, folder=folder, quick=quick, methods=METHODS)
