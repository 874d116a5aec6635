"""How the paper's Table 1 may be read where it does not say: samples that count, votes, steps.

Sonar and Heart again, with node errors counted on all training samples, in each tree's bag or out
of it, and costs on training samples or on the test fold (without its labels); by the majority vote
and by the mean of probabilities; exactly and by 50 steps of dual ascent; with folds of every tenth
row. And as a limit of what any way of counting can reach: pruned by the labels of the test fold.
Then which task Forest may have been.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

import thriftwood as tw
from thriftwood.adapters import write_model
from thriftwood.problem import PruningProblem

from .data import is_class
from .dual_ascent import dual_ascent
from .published import LINES, NO_SAMPLES, Line, Parts
from .results import Row, Unit
from .table1 import QUICK_PARTS, Samples, grown, samples_of

KEY = ("line", "reading", "block")
BLOCK = 5  # repeats
N_BLOCKS = 2
TRADEOFFS = np.array([0.0, *np.geomspace(2e-4, 0.2, 32)])
SCOPES = {"ensemble": tw.prune_path, "each_tree": tw.each_tree_path}
PARTITION_BLOCKS = {"sonar": 6, "heart": 1}  # of 5 different ten folds each


class Reading(NamedTuple):
    """Where node errors and costs are counted, in how many steps, on which folds."""

    counted: str
    cost_on: str = "train"
    by_steps: bool = False
    every_tenth: bool = False


READINGS = {
    "all, train": Reading("all"),
    "in_bag, train": Reading("in_bag"),
    "out_of_bag, train": Reading("out_of_bag"),
    "all, held out": Reading("all", "held out"),
    "in_bag, held out": Reading("in_bag", "held out"),
    "out_of_bag, held out": Reading("out_of_bag", "held out"),
    "in_bag, train, 50 steps": Reading("in_bag", by_steps=True),
    "in_bag, held out, 50 steps": Reading("in_bag", "held out", by_steps=True),
    "in_bag, held out, every tenth row": Reading("in_bag", "held out", every_tenth=True),
    "labels of the test fold": Reading("test", "held out"),
}
STEPS = "in_bag, held out, 50 steps"
LINES_READ = {
    "sonar": list(READINGS),
    "heart": ["all, train", "in_bag, train", "in_bag, held out"],
    "miniboone_5k": [STEPS],
}

# Which task Forest may have been: the target, the classes that are left in, samples to train.
FOREST_TASKS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[int, ...], int]] = {
    "seven classes": (lambda y: y, (), 36_603),
    "class 1 or not": (is_class(0), (), 36_603),
    "class 2 or not": (is_class(1), (), 36_603),
    "class 1 or 2": (is_class(0), (0, 1), 36_603),
    "class 1 or not, 52,291 samples": (is_class(0), (), 52_291),
    "class 2 or not, 52,291 samples": (is_class(1), (), 52_291),
}
PARTITIONS = "partitions"


def units(lines: list[str]) -> list[Unit]:
    found: list[Unit] = []
    for name in lines:
        found += [(name, one, b) for one in LINES_READ.get(name, ()) for b in range(N_BLOCKS)]
        found += [(name, PARTITIONS, b) for b in range(PARTITION_BLOCKS.get(name, 0))]
        if name == "forest":
            found += [(name, one, b) for one in FOREST_TASKS for b in range(N_BLOCKS + 1)]
    return found


def work(
    name: str, reading: str, block: int, folder: Path | None = None, quick: bool = False
) -> list[Row]:
    line = LINES[name]
    if quick:
        line = line._replace(n_trees=5)
    about = {"line": name, "reading": reading, "block": block}
    if name == "forest":
        return [about | forest_task(line, reading, block, folder)]
    if reading == PARTITIONS:
        return [about | row for row in partitions(line, block, folder, quick)]
    one = READINGS[reading]
    if one.every_tenth:
        line = line._replace(parts=every_tenth)
    parts = (
        (samples, seed)
        for seed in range(block * BLOCK, (block + 1) * BLOCK)
        for samples in samples_of(line, seed, folder)
    )
    some = islice(parts, QUICK_PARTS if quick else None)
    return [about | row for row in mean_rows([curves(line, *part, one) for part in some])]


def every_tenth(data: tw.datasets.Dataset, _seed: int):
    """Yield folds of every tenth row, in the order of the file."""
    rows = np.arange(len(data.y))
    for fold in range(10):
        test: Parts = (rows[rows % 10 != fold], NO_SAMPLES, rows[rows % 10 == fold])
        yield test


def curves(line: Line, samples: Samples, seed: int, reading: Reading) -> dict[str, np.ndarray]:
    """Return, for each method, cost, vote's error, mean's error and share of the profit by dial."""
    forest = grown(line, samples, seed)
    problem = problem_as_read(forest, samples, reading)
    whole = measured(forest, samples)
    found = {"whole": np.array([[*whole, 1.0]])}
    if reading.by_steps:
        found["ensemble"] = by_steps(forest, problem, samples)
        return found
    for scope, make in SCOPES.items():
        path = make(problem)
        told = path.evaluate(*samples.test, quantiles=(), scoring="accuracy")
        points = np.searchsorted(path.tradeoffs, TRADEOFFS, side="right") - 1
        columns = told.cost, told.vote_error, told.error, np.ones(len(path))
        found[scope] = np.column_stack([column[points] for column in columns])
    return found


def problem_as_read(
    forest: tw.BudgetForestClassifier, samples: Samples, reading: Reading
) -> PruningProblem:
    """Return the problem with node errors of some samples, and bills of the same or of others."""
    held_out = samples.validation if len(samples.validation.y) else samples.test
    if reading.counted == "test":
        return tw.pruning_problem(forest, *samples.test)
    own = tw.pruning_problem(forest, *samples.train, samples=reading.counted)
    if reading.cost_on == "train":
        return own
    return replace(tw.pruning_problem(forest, *held_out), all_losses=own.node_losses)


def by_steps(
    forest: tw.BudgetForestClassifier, problem: PruningProblem, samples: Samples
) -> np.ndarray:
    """Return the curve of 50 steps, and which share of the best profit they reach."""
    closure, index = problem.closure
    path = tw.prune_path(problem)
    rows = []
    for tradeoff in TRADEOFFS[1:].tolist():
        lambda_ = float(index.in_units(tradeoff))
        ascent = dual_ascent(closure, lambda_)
        best = path.kept_nodes(int(np.searchsorted(path.tradeoffs, tradeoff, side="right")) - 1)
        kept = best[problem.forest.is_split]
        bought = closure.costs[closure.needed_items(kept)].sum()
        most = float(closure.gains[kept].sum() - lambda_ * bought)
        model = write_model(forest, index.kept_nodes(ascent.kept))
        rows.append([*measured(model, samples), ascent.profit / most if most > 0 else 1.0])
    return np.array([rows[0], *rows])


def measured(forest, samples: Samples) -> tuple[float, float, float]:
    """Return mean cost, error of the majority vote and error of the mean on test samples."""
    X, y = samples.test
    votes = np.mean([tree.predict(X) for tree in forest.estimators_], axis=0)  # classes are 0 and 1
    by_vote, by_mean = np.mean((votes > 0.5) != y), np.mean(forest.predict(X) != y)
    return tw.feature_bill(forest, X).mean, float(by_vote), float(by_mean)


def mean_rows(found: list[dict[str, np.ndarray]]) -> list[Row]:
    rows = []
    for method in found[0]:
        stack = np.array([one[method] for one in found])
        mean, spread = stack.mean(axis=0), stack.std(axis=0)
        for place in range(len(mean)):
            cost, vote, by_mean, share = map(float, mean[place])
            rows.append(
                {
                    "method": method,
                    "dial": float(TRADEOFFS[place]) if method != "whole" else 0.0,
                    "n_parts": len(found),
                    "cost": cost,
                    "cost_sd": float(spread[place, 0]),
                    "vote_error": vote,
                    "vote_error_sd": float(spread[place, 1]),
                    "mean_error": by_mean,
                    "profit_share": share,
                }
            )
    return rows


def partitions(line: Line, block: int, folder: Path | None, quick: bool) -> list[Row]:
    """Return for each of some partitions into folds what it has at the costs of the paper."""
    wanted = {"low": line.ensemble["low"].cost, "high": line.ensemble["high"].cost}
    rows: list[Row] = []
    for seed in range(block * BLOCK, block * BLOCK + (1 if quick else BLOCK)):
        found = [
            curves(line, samples, seed, READINGS["in_bag, held out"])
            for samples in samples_of(line, seed, folder)
        ]
        mean = {method: np.mean([one[method] for one in found], axis=0) for method in found[0]}
        points = {"whole": mean["whole"][0]}
        for level, cost in wanted.items():
            near = int(np.abs(mean["ensemble"][:, 0] - cost).argmin())
            points[f"ensemble, {level}"] = mean["ensemble"][near]
        for method, (cost, vote, by_mean, _) in points.items():
            rows.append(
                {
                    "method": method,
                    "dial": float(seed),
                    "n_parts": len(found),
                    "cost": float(cost),
                    "vote_error": float(vote),
                    "mean_error": float(by_mean),
                }
            )
    return rows


def forest_task(line: Line, reading: str, seed: int, folder: Path | None) -> Row:
    """Return cost and error of a whole forest on one of the tasks that Forest may have been."""
    target, classes, n_train = FOREST_TASKS[reading]

    def parts(data: tw.datasets.Dataset, _seed: int):
        rows = np.flatnonzero(np.isin(data.y, classes)) if classes else np.arange(len(data.y))
        order = np.random.default_rng(seed).permutation(rows)
        yield order[:n_train], NO_SAMPLES, order[-58_101:]

    (samples,) = samples_of(line._replace(parts=parts, target=target), seed, folder)
    forest = grown(line, samples, seed)
    error = np.mean(forest.predict(samples.test.X) != samples.test.y)
    return {
        "method": "whole",
        "dial": 0.0,
        "n_parts": 1,
        "cost": tw.feature_bill(forest, samples.test.X).mean,
        "mean_error": float(error),
    }
