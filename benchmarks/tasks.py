"""The data sets that ways to save features are compared on, two classes each."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from held_out import line
from measure import local_dataset

import thriftwood as tw


class Task(NamedTuple):
    """A data set to compare on; the prices of a feature are CEGB's, 0 is a plain booster."""

    name: str
    X: np.ndarray
    y: np.ndarray
    sizes: tuple[int, int, int]
    n_splits: int
    budgets: tuple[float, ...]
    prices: tuple[float, ...]
    light: float


def tasks(quick: bool, folder: Path | None) -> Iterator[Task]:
    """Yield the data sets at hand; where there is none, one that comes with the package."""
    found = False
    for name, make in (("covertype", covertype_task), ("miniboone_tiny", small_task)):
        data = local_dataset(name, folder)
        if data is not None:
            found = True
            yield make(data, quick)
    if not found:
        print("Taking the bundled NHANES instead.")
        yield small_task(tw.datasets.load_nhanes(), quick)


def covertype_task(data: tw.datasets.Dataset, quick: bool) -> Task:
    """Class 2, Lodgepole pine, against the rest."""
    return Task(
        "covertype",
        data.X,
        data.y == 1,
        (1_000, 500, 5_000) if quick else (10_000, 5_000, 40_000),
        1,
        (12, 6, 4) if quick else (18, 15, 12, 10, 8, 6, 5, 4, 3),
        (0, 0.01, 0.045)
        if quick
        else (0, 0.0005, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.045, 0.06, 0.08, 0.13),
        0.01 if quick else 0.002,
    )


def small_task(data: tw.datasets.Dataset, quick: bool) -> Task:
    return Task(
        data.name,
        data.X,
        data.y == 1,
        (1_000, 500, 1_000) if quick else (2_000, 1_000, 2_000),
        2 if quick else 6,
        (18, 10, 5) if quick else (36, 26, 18, 15, 12, 10, 8, 6, 5, 4, 3),
        (0, 0.01, 0.06)
        if quick
        else (0, 0.003, 0.006, 0.01, 0.02, 0.03, 0.045, 0.06, 0.1, 0.14, 0.18, 0.25),
        0.01 if quick else 0.003,
    )


def heading(task: Task) -> None:
    n_train, n_validation, n_test = task.sizes
    print(
        f"\n{task.name}: {n_train} samples to train, {n_validation} to choose, {n_test} to test, "
        f"{task.n_splits} split(s)\n  Errors on test samples, within a budget of so many features"
    )
    line("budget", [f"{budget:g}" for budget in task.budgets])
