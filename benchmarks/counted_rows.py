"""On which samples errors are counted while pruning, and what that does to errors on others.

The same forests are pruned with the losses of each tree counted in its bag, on all training
samples, out of its bag, and on validation samples. From each path the validation samples choose the
point of lowest error within a budget, and test samples judge it. Differences are from counting on
all training samples, with the same forests, with their standard errors over repeats.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from held_out import Split, draw_split
from measure import arguments, local_dataset
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

N_TREES = 40
LOSSES = ("error", "expected_error")
WAYS = {"training samples": "all", "in the bag": "in_bag", "out of bag": "out_of_bag"}
VALIDATION = "validation samples"
SMALLEST_LEAVES = (1, 5)


class Task(NamedTuple):
    """Data of two classes: samples to train, choose and test, and budgets on the mean bill."""

    name: str
    X: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    sizes: tuple[int, int, int]
    budgets: tuple[float, ...]


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_repeats = 2 if options.quick else 2 * options.repeats
    for task in tasks(options.quick, options.data):
        for smallest_leaf in SMALLEST_LEAVES[-1:] if options.quick else SMALLEST_LEAVES:
            compare(task, smallest_leaf, n_repeats)


def tasks(quick: bool, folder: Path | None) -> Iterator[Task]:
    sizes = (500, 250, 500) if quick else (2_000, 1_000, 2_000)
    people = tw.datasets.load_nhanes()
    yield Task("nhanes", people.X, people.y > 0, people.costs, sizes, (150, 60, 20))
    particles = local_dataset("miniboone_tiny", folder)
    if particles is not None:
        costs = np.ones(particles.X.shape[1])
        yield Task("miniboone_tiny", particles.X, particles.y == 1, costs, sizes, (18, 10, 6))


def compare(task: Task, smallest_leaf: int, n_repeats: int) -> None:
    n_train, n_validation, n_test = task.sizes
    print(
        f"\n{task.name}: {n_train} samples to train, {n_validation} to choose, {n_test} to test, "
        f"{n_repeats} draws;\n  {N_TREES} trees, max_features=None, "
        f"min_samples_leaf={smallest_leaf}. Mean test errors"
    )
    budgets = "".join(f"{f'within {budget:g}':>28s}" for budget in task.budgets)
    print(f"  {'loss':16s}{'counted on':17s}{budgets}")
    found = [errors(task, smallest_leaf, seed) for seed in range(n_repeats)]
    for loss in LOSSES:
        usual = np.array([one[loss, "training samples"] for one in found])
        for way in (*WAYS, VALIDATION):
            show(loss, way, np.array([one[loss, way] for one in found]), usual)


def errors(task: Task, smallest_leaf: int, seed: int) -> dict[tuple[str, str], list[float]]:
    """Return the test errors at all budgets, for every loss and way to count it."""
    split = draw_split(task.X, task.y, task.sizes, seed)
    forest = RandomForestClassifier(
        N_TREES, max_features=None, min_samples_leaf=smallest_leaf, n_jobs=2, random_state=seed
    ).fit(*split.train)
    found = {}
    for loss in LOSSES:
        settings = {"costs": task.costs, "loss": loss, "n_jobs": 2}
        for way, rows in WAYS.items():
            path = tw.prune_path(forest, *split.train, samples=rows, **settings)
            found[loss, way] = test_errors(path, split, task.budgets)
        path = tw.prune_path(forest, *split.validation, **settings)
        found[loss, VALIDATION] = test_errors(path, split, task.budgets)
    return found


def test_errors(path: tw.PruningPath, split: Split, budgets: tuple[float, ...]) -> list[float]:
    """Return the test errors of the points that validation samples choose."""
    chosen = [path.choose(*split.validation, rule="budget", limit=limit) for limit in budgets]
    return [float(np.mean(one.model.predict(split.test.X) != split.test.y)) for one in chosen]


def show(loss: str, way: str, own: np.ndarray, usual: np.ndarray) -> None:
    difference = own - usual
    spread = difference.std(axis=0, ddof=1) / np.sqrt(len(own))
    entries = [
        f"{error:.4f}" + (f" ({more:+.4f} +- {about:.4f})" if about else "")
        for error, more, about in zip(
            own.mean(axis=0), difference.mean(axis=0), spread, strict=True
        )
    ]
    print(f"  {loss:16s}{way:17s}" + "".join(f"{entry:>28s}" for entry in entries))


if __name__ == "__main__":
    main()
