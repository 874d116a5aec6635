"""Memory: what `problem.memory_estimate` says beforehand against the measured peak of the path.

Every shape is measured in a process of its own, which reads model and samples from files, computes
a small path first so that compiled code is there, and then sees how far the resident memory rises.
"""

import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import lightgbm
import numpy as np
from measure import arguments, peak_bytes, seconds_of
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import thriftwood as tw


class Shape(NamedTuple):
    """A model, its samples, and how to prune it."""

    n_samples: int
    n_features: int
    n_classes: int
    model: Any
    dtype: str = "float32"
    costs: Callable[[int, int], tw.Costs] | None = None
    n_jobs: int | None = None
    n_fitted: int | None = None  # the model is trained on the first of the samples


def forest(n_trees: int, **options: Any) -> RandomForestClassifier:
    return RandomForestClassifier(n_trees, random_state=0, n_jobs=-1, **options)


def fees(_: int, n_features: int) -> tw.Costs:
    groups = {"blood": list(range(10)), "urine": list(range(10, 20))}
    prices = np.arange(1.0, n_features + 1)
    return tw.Costs(per_feature=prices, groups=groups, group_fee={"blood": 5.0, "urine": 7.0})


def tests_and_nodes(_: int, n_features: int) -> tw.Costs:
    return tw.Costs(per_feature=np.ones(n_features), per_split=0.1, per_node=1.0, predictions=1000)


def queries(n_samples: int, n_features: int) -> tw.Costs:
    return tw.Costs(per_feature=np.ones(n_features), shared_by=np.arange(n_samples) // 7)


def known(n_samples: int, n_features: int) -> tw.Costs:
    half = np.random.default_rng(1).random((n_samples, n_features)) < 0.5
    return tw.Costs(per_feature=np.ones(n_features), known=half)


REGRESSOR = RandomForestRegressor(50, max_features=0.3, random_state=0, n_jobs=-1)
BOOSTER = lightgbm.LGBMClassifier(n_estimators=200, num_leaves=63, verbose=-1, n_jobs=1)
SHAPES = {
    "deep": Shape(60_000, 30, 2, forest(50)),
    "deep, float64, two threads": Shape(60_000, 30, 2, forest(50), "float64", n_jobs=2),
    "depth 6": Shape(200_000, 30, 2, forest(100, max_depth=6)),
    "depth 3": Shape(400_000, 20, 2, forest(50, max_depth=3)),
    "stumps": Shape(400_000, 50, 2, forest(200, max_depth=1)),
    "one tree": Shape(500_000, 50, 2, forest(1)),
    "500 trees": Shape(20_000, 20, 2, forest(500, min_samples_leaf=20)),
    "500 features": Shape(30_000, 500, 2, forest(50, min_samples_leaf=3)),
    "60 classes": Shape(30_000, 20, 60, forest(50)),
    "regressor": Shape(60_000, 30, 1, REGRESSOR),
    "booster": Shape(60_000, 30, 2, BOOSTER),
    "fees of groups": Shape(60_000, 30, 2, forest(50, min_samples_leaf=5), costs=fees),
    "tests cost": Shape(60_000, 30, 2, forest(50, min_samples_leaf=5), costs=tests_and_nodes),
    "queries pay": Shape(60_000, 30, 2, forest(50, min_samples_leaf=5), costs=queries),
    "half is known": Shape(60_000, 30, 2, forest(50, min_samples_leaf=5), costs=known),
    "few samples": Shape(100_000, 30, 2, forest(50), n_fitted=97_000),
    "unseen samples": Shape(60_000, 30, 2, forest(50), n_fitted=10_000),
}


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    names = list(SHAPES)[:2] if options.quick else list(SHAPES)
    smaller = 30 if options.quick else 1
    ratios = []
    print(f"{'':28s} {'estimate':>9s} {'peak':>9s} {'ratio':>6s} {'estimating':>11s} {'path':>7s}")
    for name in names:
        estimate, peak, before, seconds = measured(SHAPES[name], smaller)
        ratios.append(estimate / peak)
        print(
            f"{name:28s} {estimate / 1e6:6.0f} MB {peak / 1e6:6.0f} MB {ratios[-1]:6.2f} "
            f"{before:9.2f} s {seconds:5.1f} s",
            flush=True,
        )
    print(f"Worst ratios: {min(ratios):.2f} and {max(ratios):.2f}")


def measured(shape: Shape, smaller: int) -> tuple[int, int, float, float]:
    """Fit the model here, and measure its path in a fresh process."""
    n_samples = shape.n_samples // smaller
    X, y = samples(n_samples, shape)
    n_fitted = shape.n_fitted and shape.n_fitted // smaller
    shape.model.fit(X[:n_fitted], y[:n_fitted])
    first = (n_fitted or 0) if n_fitted and n_fitted > n_samples // 2 else 0
    costs = shape.costs and shape.costs(n_samples - first, shape.n_features)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        joblib.dump((shape.model, X[first:], y[first:], costs, shape.n_jobs), file)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            return other.submit(estimate_and_peak, file).result()


def samples(n_samples: int, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Draw samples whose target depends on eight of the features, and on chance."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n_samples, shape.n_features))
    some = X[:, :8]
    scores = some @ draw.normal(size=(8, shape.n_classes))
    scores += 0.7 * np.sin(3 * some) @ draw.normal(size=(8, shape.n_classes))
    scores += draw.normal(size=scores.shape)
    y = scores[:, 0] if shape.n_classes == 1 else scores.argmax(axis=1)
    return X.astype(shape.dtype), y


def estimate_and_peak(file: Path) -> tuple[int, int, float, float]:
    """Return estimate and peak in bytes, and the seconds that either took."""
    model, X, y, costs, n_jobs = joblib.load(file)
    few = slice(0, 400)
    some = costs.take(np.arange(400)) if costs and costs.is_tied_to_samples else costs
    tw.prune_path(model, X[few], y[few], costs=some, n_jobs=n_jobs)
    problem = tw.pruning_problem(model, X, y, costs=costs, n_jobs=n_jobs)
    seconds = []
    peak = peak_bytes(lambda: seconds.append(seconds_of(lambda: tw.prune_path(problem))))
    again = tw.pruning_problem(model, X, y, costs=costs, n_jobs=n_jobs)
    before = seconds_of(lambda: again.memory_estimate)
    return again.memory_estimate, peak, before, seconds[0]


if __name__ == "__main__":
    main()
