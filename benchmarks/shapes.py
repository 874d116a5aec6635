"""The whole path on forests of many shapes, so that nothing is tuned to one of them.

Ratios within one run, alternating, medians: all of `prune_path`, on one thread and on two, by the
time that training the same model took on the same cores. The worst ratio is printed at the end.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from measure import alternate, arguments, covertype, seconds_of
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    repeats = 1 if options.quick else options.repeats
    print(f"{'shape':44s} {'splits':>8s} {'points':>7s} {'fit':>8s} {'1 thread':>9s} {'2':>6s}")
    worst = max(ratios(title, make, repeats) for title, make in shapes(options.quick, options.data))
    print(f"Worst: the path takes {worst:.2f} of the time of training, on one thread.")


def ratios(title: str, make: Callable[[], tuple[Any, np.ndarray, np.ndarray, Any]], repeats: int):
    """Print what a path takes by what training takes; return it for one thread."""
    model, X, y, costs = make()
    path = tw.prune_path(model.fit(X, y), X, y, costs=costs)  # compiled before it is timed
    fit, one, two = alternate(
        repeats,
        lambda: seconds_of(lambda: model.fit(X, y)),
        lambda: seconds_of(lambda: tw.prune_path(model, X, y, costs=costs, n_jobs=1)),
        lambda: seconds_of(lambda: tw.prune_path(model, X, y, costs=costs, n_jobs=2)),
    )
    print(
        f"{title:44s} {path.original.n_splits:8d} {len(path):7d} {fit:6.2f} s {one / fit:9.2f} "
        f"{two / fit:6.2f}"
    )
    return one / fit


def shapes(quick: bool, folder) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield forests that have little in common."""
    n = 300 if quick else 10_000
    many = 10 if quick else 500
    X, y, title = covertype(n, folder)
    wide, label = make_classification(n // 4, 300, n_informative=40, random_state=0)
    nhanes = tw.datasets.load_nhanes()
    ill, n_nhanes = nhanes.y == 1, min(n // 2, len(nhanes.y))

    def forest(n_trees: int, **options: Any) -> Any:
        return RandomForestClassifier(n_trees, n_jobs=2, random_state=0, **options)

    booster = GradientBoostingClassifier(
        n_estimators=many, max_leaf_nodes=32, max_depth=None, random_state=0
    )
    yield f"{title}, 40 trees on all features", lambda: (forest(40, max_features=None), X, y, None)
    yield "40 trees on 7 features each", lambda: (forest(40), X, y, None)
    yield f"a booster of {many} trees of 32 leaves", lambda: (booster, X, y == y[0], None)
    yield (
        f"{2 * many} trees of depth 3",
        lambda: (forest(2 * many, max_depth=3, max_features=None), X, y, None),
    )
    yield (
        f"300 features, {len(label)} samples",
        lambda: (forest(40, max_features=None), wide, label, None),
    )
    yield "one deep tree", lambda: (DecisionTreeClassifier(random_state=0), X, y, None)
    yield (
        "heavy ties: values rounded to 4 levels",
        lambda: (forest(40, max_features=None), np.floor(4 * ranks(X)), y, None),
    )
    yield (
        "thresholds at random, 40 trees",
        lambda: (ExtraTreesClassifier(40, n_jobs=2, random_state=0), X, y, None),
    )
    yield (
        f"NHANES, {n_nhanes} samples, real prices with fees",
        lambda: (
            forest(40, max_features=None),
            nhanes.X[:n_nhanes],
            ill[:n_nhanes],
            nhanes.prices,
        ),
    )


def ranks(X: np.ndarray) -> np.ndarray:
    """Return values as shares of the samples that have smaller ones."""
    return X.argsort(axis=0).argsort(axis=0) / len(X)


if __name__ == "__main__":
    main()
