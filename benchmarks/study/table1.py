"""Table 1 of the paper, repeated, and beside it what the package recommends today.

BudgetRF forests, every feature at a price of 1. Each way of pruning has a curve: mean cost and mean
error on test samples at each setting of a dial, which is the tradeoff, or the budget. Errors of
forests are those of the majority vote.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from held_out import Rows

import thriftwood as tw

from .data import read_dataset
from .ours import of_stages
from .published import LINES, Line, Parts
from .results import Row, Unit

KEY = ("line", "group", "block")
TRADEOFFS = np.array([0.0, *np.geomspace(2e-5, 0.3, 50)])
SHARES = np.geomspace(0.03, 1, 14)  # of the cost of the first point, to refit
N_BUDGETS = 24
COUNTED = ("all", "in_bag")  # on which training samples the error of each node is counted
QUICK_LINES = ("heart",)
QUICK_PARTS = 2  # test parts
# Where Statlog's patients are not at hand, Cleveland's are, of which they are a part.
IN_PLACE_OF = {"heart_statlog": "heart"}


class Samples(NamedTuple):
    """Samples to train, to choose (none in cross-validation) and to test."""

    train: Rows
    validation: Rows
    test: Rows


class Point(NamedTuple):
    """What a model at one setting of the dial costs on test samples, and how often it errs."""

    dial: float
    cost: float
    error: float


# By method.
Curves = dict[str, list[Point]]


def paper(line: Line, samples: Samples, seed: int) -> Curves:
    """The whole forest, pruned together, and each tree pruned alone; errors counted in two ways."""
    forest = grown(line, samples, seed)
    labels = np.array([tree.predict(samples.test.X) for tree in forest.estimators_]).astype(int)
    votes = (labels[:, :, None] == np.arange(len(forest.classes_))).sum(axis=0)
    error = np.mean(forest.classes_[votes.argmax(axis=1)] != samples.test.y)
    whole = Point(0.0, tw.feature_bill(forest, samples.test.X).mean, float(error))
    found = {"whole": [whole]}
    for counted in COUNTED:
        problem = tw.pruning_problem(forest, *samples.train, samples=counted)
        found[f"ensemble, {counted}"] = along(tw.prune_path(problem), samples.test)
        found[f"each_tree, {counted}"] = along(tw.each_tree_path(problem), samples.test)
    return found


def losses(line: Line, samples: Samples, seed: int) -> Curves:
    """The forest pruned by other losses than its trees' errors."""
    forest = grown(line, samples, seed)
    names = ("expected_error", "brier", "log_loss")
    paths = {name: tw.prune_path(forest, *samples.train, loss=name) for name in names}
    return {name: along(path, samples.test) for name, path in paths.items()}


def refit(line: Line, samples: Samples, seed: int) -> Curves:
    """Points of the path by expected error, refitted."""
    forest = grown(line, samples, seed)
    path = tw.prune_path(forest, *samples.train, loss="expected_error", samples="in_bag")
    points = []
    for share in SHARES.tolist():
        model = path.at(budget=share * path.costs[0]).refit(*samples.train).model
        error = np.mean(model.predict(samples.test.X) != samples.test.y)
        cost = tw.feature_bill(model, samples.test.X).mean
        points.append(Point(share, cost, float(error)))
    return {"refit": points}


def cascade(line: Line, samples: Samples, seed: int) -> Curves:
    """A cascade of prunings, tuned out of bag, or on the samples to choose where there are any."""
    forest = grown(line, samples, seed)
    path = tw.prune_path(forest, *samples.train, loss="expected_error", samples="in_bag")
    if len(samples.validation.y):
        tuned = path.cascade(*samples.validation, refit=samples.train)
    else:
        tuned = path.cascade(*samples.train, samples="out_of_bag")
    return {"cascade": [at_budget(tuned, budget, samples) for budget in budgets(samples)]}


def thrifty(effort: str) -> Callable[[Line, Samples, int], Curves]:
    """A thrifty model, trained on the samples to train and to choose."""

    def fit(_line: Line, samples: Samples, seed: int) -> Curves:
        pairs = zip(samples.train, samples.validation, strict=True)
        both = Rows(*(np.concatenate(pair) for pair in pairs))
        model = tw.ThriftyClassifier(effort=effort, random_state=seed).fit(*both)
        name = "thrifty" if effort == "full" else f"thrifty_{effort}"
        return {name: [at_budget(model, budget, samples) for budget in budgets(samples)]}

    return fit


GROUPS = {
    "paper": paper,
    "losses": losses,
    "refit": refit,
    "cascade": cascade,
    "thrifty": thrifty("full"),
    "thrifty_quick": thrifty("quick"),
}


def grown(line: Line, samples: Samples, seed: int) -> tw.BudgetForestClassifier:
    return tw.BudgetForestClassifier(line.n_trees, random_state=seed).fit(*samples.train)


def along(path: tw.PruningPath, test: Rows) -> list[Point]:
    """Return cost and error by the majority vote at all tradeoffs."""
    measured = path.evaluate(*test, quantiles=(), scoring="accuracy")
    points = np.searchsorted(path.tradeoffs, TRADEOFFS, side="right") - 1
    assert measured.vote_error is not None
    found = zip(TRADEOFFS, measured.cost[points], measured.vote_error[points], strict=True)
    return [Point(*map(float, one)) for one in found]


def budgets(samples: Samples) -> list[float]:
    n_features = samples.train.X.shape[1]
    return np.geomspace(1, n_features, N_BUDGETS).tolist()


def at_budget(
    tuned: tw.CascadeClassifier | tw.ThriftyClassifier, budget: float, samples: Samples
) -> Point:
    rules = tuned.rules if isinstance(tuned, tw.CascadeClassifier) else tuned.rules_
    model = tuned.at(budget=max(budget, float(rules.costs[0])))
    error = np.mean(model.predict(samples.test.X) != samples.test.y)
    if isinstance(model, tw.ThriftyClassifier):
        _, used = of_stages(model)(samples.test.X)
        return Point(budget, float(used.sum(axis=1).mean()), float(error))
    return Point(budget, tw.feature_bill(model, samples.test.X).mean, float(error))


def units(lines: list[str], groups: list[str]) -> list[Unit]:
    return [
        (name, group, block)
        for name in lines
        for group in groups
        for block in range(LINES[name].n_blocks)
    ]


def work(
    name: str, group: str, block: int, folder: Path | None = None, quick: bool = False
) -> list[Row]:
    """Return means and deviations over the test parts of a block, a row for each point."""
    line = LINES[name]
    if quick:
        line = line._replace(n_trees=5)
    size = 1 if quick else line.block
    parts = (
        (samples, seed)
        for seed in range(block * size, (block + 1) * size)
        for samples in samples_of(line, seed, folder)
    )
    found = [
        GROUPS[group](line, samples, seed)
        for samples, seed in islice(parts, QUICK_PARTS if quick else None)
    ]
    return [
        {"line": name, "group": group, "block": block, "method": method} | summed(points)
        for method in found[0]
        for points in zip(*(curves[method] for curves in found), strict=True)
    ]


def summed(points: tuple[Point, ...]) -> Row:
    """Return mean and deviation of cost and error over test parts."""
    cost, error = np.array([point.cost for point in points]), np.array([p.error for p in points])
    return {
        "dial": points[0].dial,
        "n_parts": len(points),
        "cost": float(cost.mean()),
        "cost_sd": float(cost.std()),
        "error": float(error.mean()),
        "error_sd": float(error.std()),
    }


def samples_of(line: Line, seed: int, folder: Path | None) -> Iterator[Samples]:
    data = dataset_of(line, folder)
    X, y = data.X.astype(np.float32), line.target(data.y)
    parts: Parts
    for parts in line.parts(data, seed):
        yield Samples(*(Rows(X[part], y[part]) for part in parts))


def dataset_of(line: Line, folder: Path | None) -> tw.datasets.Dataset:
    try:
        return read_dataset(line.dataset, folder)
    except tw.errors.DatasetError:
        if line.dataset not in IN_PLACE_OF:
            raise
        return read_dataset(IN_PLACE_OF[line.dataset], folder)


def lines_at_hand(folder: Path | None, quick: bool) -> list[str]:
    """Return the lines whose data is there; say which are left out."""
    found = []
    for name in QUICK_LINES if quick else LINES:
        try:
            dataset_of(LINES[name], folder)
        except tw.errors.DatasetError as error:
            print(f"Leaving out {LINES[name].title}. {error}")
        else:
            found.append(name)
    return found
