"""Solvers, growth, memory and prediction, as ratios within one run; best on a quiet machine.

Each row is one measurement: seconds (medians of alternating runs) of ours and of what it is
compared with, and their ratio. The scripts of the other benchmarks make the cases.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import lightgbm
import numpy as np
from measure import alternate, covertype, seconds_of
from memory import SHAPES, measured
from one_tradeoff import closure_of, grown_forest, or_tools_seconds
from predict import models as models_to_predict
from predict import sides, times
from shapes import shapes
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.solvers import DantzigWolfe, linear_program, min_cut, parametric_cut

from .results import Row, Unit

KEY = ("topic",)
REPEATS = 5
LAMBDAS = (0.03, 0.1, 0.3, 0.5, 1.5)  # how many errors one unit of cost on one sample is worth
Rows = Iterator[Row]


def row(case: str, ours: float, against: str, theirs: float) -> Row:
    return {
        "case": case,
        "against": against,
        "seconds": ours,
        "their_seconds": theirs,
        "ratio": ours / theirs,
    }


def one_cut(folder: Path | None, quick: bool) -> Rows:
    """One minimum cut against OR-tools' max flow, of the same closure problem."""
    forest, X, y, title = grown_forest(500 if quick else 10_000, 40, folder)
    problem = closure_of(forest, X, y)
    for lambda_ in LAMBDAS[1:3] if quick else LAMBDAS:
        priced, _ = problem.at(Fraction(lambda_))
        ours, theirs = alternate(
            1 if quick else REPEATS,
            lambda priced=priced: seconds_of(lambda: min_cut(priced)),
            partial(or_tools_seconds, priced),
        )
        yield row(f"{title}, 40 trees, lambda {lambda_}", ours, "OR-tools", theirs)


def solvers(folder: Path | None, quick: bool) -> Rows:
    """One minimum cut against Dantzig-Wolfe and HiGHS, of the same closure problem."""
    forest, X, y, title = grown_forest(200 if quick else 2_000, 20, folder)
    problem = closure_of(forest, X, y)
    for lambda_ in LAMBDAS[1:2] if quick else LAMBDAS:
        priced, _ = problem.at(Fraction(lambda_))
        ours, decomposed, program = alternate(
            1 if quick else 3,
            lambda priced=priced: seconds_of(lambda: min_cut(priced)),
            lambda priced=priced: seconds_of(lambda: DantzigWolfe()(priced)),
            lambda priced=priced: seconds_of(lambda: linear_program(priced)),
        )
        case = f"{title}, 20 trees, lambda {lambda_}"
        yield row(case, ours, "Dantzig-Wolfe", decomposed)
        yield row(case, ours, "HiGHS", program)


def whole_path(folder: Path | None, quick: bool) -> Rows:
    """The whole path against growing the forest, and against one solve of OR-tools; threads."""
    for n_samples in (500,) if quick else (10_000, 36_603):
        yield from against_growing(n_samples, 1 if quick else REPEATS, folder)
    model, X, y, title = forest_of(500 if quick else 10_000, folder)
    problem = closure_of(read_forest(model.fit(X, y)), X, y)
    priced, _ = problem.at(Fraction(3, 10))
    cut, theirs = alternate(
        1 if quick else REPEATS,
        lambda: seconds_of(lambda: parametric_cut(problem, n_jobs=1)),
        partial(or_tools_seconds, priced),
    )
    yield row(f"{title}, from the closure on", cut, "one solve of OR-tools", theirs)


def against_growing(n_samples: int, repeats: int, folder: Path | None) -> Rows:
    model, X, y, title = forest_of(n_samples, folder)
    fit, one, two = alternate(
        repeats,
        lambda: seconds_of(lambda: model.fit(X, y)),
        lambda: seconds_of(lambda: tw.prune_path(model, X, y, n_jobs=1)),
        lambda: seconds_of(lambda: tw.prune_path(model, X, y, n_jobs=2)),
    )
    yield row(f"{title}, one thread", one, "growing on two cores", fit)
    yield row(f"{title}, two threads", two, "growing on two cores", fit)
    yield row(f"{title}, two threads", two, "one thread", one)


def many_shapes(folder: Path | None, quick: bool) -> Rows:
    """The whole path on forests of many shapes, against training them."""
    for title, make in shapes(quick, folder):
        model, X, y, costs = make()
        model.fit(X, y)
        tw.prune_path(model, X, y, costs=costs)  # compiled before it is timed
        fit, ours = alternate(
            1 if quick else 3,
            lambda model=model, X=X, y=y: seconds_of(lambda: model.fit(X, y)),
            lambda model=model, X=X, y=y, costs=costs: seconds_of(
                lambda: tw.prune_path(model, X, y, costs=costs, n_jobs=1)
            ),
        )
        yield row(title, ours, "training", fit)


def growth(folder: Path | None, quick: bool) -> Rows:
    """How the whole path grows with samples, trees, depth, features and distinct prices."""
    n, few = (400, 5) if quick else (10_000, 40)
    cases: dict[str, list[dict[str, Any]]] = {
        "samples": [{"n_samples": n * k} for k in (1, 2, 4)],
        "trees": [{"n_trees": few * k} for k in (1, 2, 4)],
        "depth": [{"depth": depth} for depth in (4, 8, 16)],
        "features": [{"n_features": k} for k in (10, 20, 54)],
        "prices": [{"n_prices": k} for k in (1, 4, 54)],
    }
    for what, settings in cases.items():
        usual = {"n_samples": n, "n_trees": few}
        seconds = [path_seconds(folder, **{**usual, **setting}) for setting in settings]
        for setting, own in zip(settings, seconds, strict=True):
            (value,) = setting.values()
            (first,) = settings[0].values()
            yield row(f"{what}: {value}", own, f"{what}: {first}", seconds[0])


def path_seconds(
    folder: Path | None,
    n_samples: int,
    n_trees: int,
    depth: int | None = None,
    n_features: int = 54,
    n_prices: int = 1,
) -> float:
    X, y, _ = covertype(n_samples, folder)
    X = X[:, :n_features]
    model = RandomForestClassifier(
        n_trees, max_features=None, max_depth=depth, n_jobs=2, random_state=0
    ).fit(X, y)
    prices = 1.0 + np.arange(X.shape[1]) % n_prices
    work = partial(tw.prune_path, model, X, y, costs=prices, n_jobs=1)
    (seconds,) = alternate(3, lambda: seconds_of(work))
    return seconds


def memory(_folder: Path | None, quick: bool) -> Rows:
    """Peak memory of the path, against what is estimated before: bytes in place of seconds."""
    for name in list(SHAPES)[:1] if quick else list(SHAPES):
        estimate, peak, _, _ = measured(SHAPES[name], 30 if quick else 3)
        yield row(name, float(estimate), "measured peak, in bytes", float(peak))


def partitions(folder: Path | None, quick: bool) -> Rows:
    """The path of samples in partitions, in threads and on Dask, against one in memory."""
    from dask import array
    from distributed import Client

    n_samples = 1_000 if quick else 60_000
    X, y, title = covertype(n_samples, folder)
    model = RandomForestClassifier(
        10, max_features=None, max_leaf_nodes=2_000, n_jobs=2, random_state=0
    ).fit(X, y)
    chunk = len(y) // 4 + 1
    parts = array.from_array(X, (chunk, X.shape[1])), array.from_array(y, chunk)
    compiled = slice(0, 300)
    tw.prune_path(model, X[compiled], y[compiled])
    whole = seconds_of(lambda: tw.prune_path(model, X, y))
    in_threads = seconds_of(lambda: tw.prune_path(model, *parts))
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        on_dask = seconds_of(lambda: tw.prune_path(model, *parts))
    yield row(f"{title}, 4 partitions in threads", in_threads, "in memory", whole)
    yield row(f"{title}, 4 partitions, Dask, 2 workers", on_dask, "in memory", whole)


def prediction(folder: Path | None, quick: bool) -> Rows:
    """`ForestModel` against the model's own library and treelite, from one sample to a million."""
    X, y, _ = covertype(1_000 if quick else 10_000, folder)
    batches = (100,) if quick else (1, 100, 10_000, 1_000_000)
    others, _, _ = covertype(max(batches), folder)
    for name, model in models_to_predict(X, y).items():
        for batch in batches:
            rows = np.ascontiguousarray(np.resize(others, (batch, X.shape[1])), dtype=np.float64)
            ours, library, treelite = times(sides(model, rows), batch, 1 if quick else 3)
            yield row(f"{name}, {batch} samples", ours, "its library", library)
            yield row(f"{name}, {batch} samples", ours, "treelite", treelite)


def cascades(_folder: Path | None, quick: bool) -> Rows:
    """Predicting by a cascade and by a thrifty model, and lazily, against the whole model."""
    people = tw.datasets.load_nhanes()
    half = 300 if quick else len(people.y) // 2
    X, y = people.X[:half], (people.y > 0)[:half]
    X_new, y_new = people.X[half : 2 * half], (people.y > 0)[half : 2 * half]
    forest = RandomForestClassifier(40, max_features=None, random_state=0).fit(X, y)
    path = tw.prune_path(forest, X, y, costs=people.costs)
    cascade = path.cascade(X_new, y_new, budget=20)
    options = {"costs": people.costs, "budget": 20, "effort": "quick", "random_state": 0}
    thrifty = tw.ThriftyClassifier(**options).fit(X, y)
    cheap = path.at(budget=20).model
    table = X_new.tolist()
    lazy = tw.LazyPredictor(
        cheap,
        acquire_many=lambda asked: [table[row][feature] for row, feature in asked],
        costs=people.costs,
    )
    for name, model in (("cascade", cascade), ("thrifty, quick", thrifty), ("pruned", cheap)):
        ours, theirs = timed(
            lambda model=model: model.predict(X_new), lambda: forest.predict(X_new), quick
        )
        yield row(f"NHANES, {name} within 20, {half} samples", ours, "the whole forest", theirs)
    ours, theirs = timed(lambda: lazy.predict(range(half)), lambda: cheap.predict(X_new), quick)
    yield row(f"NHANES, pruned within 20, {half} samples, lazily", ours, "in one batch", theirs)


def fitting(folder: Path | None, quick: bool) -> Rows:
    """Fitting a thrifty model against one plain booster, in CPU seconds of one thread."""
    X, y, title = covertype(500 if quick else 10_000, folder)
    y = y == np.bincount(y).argmax()
    plain = lightgbm.LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1)
    for effort in ("quick",) if quick else ("quick", "full"):
        model = tw.ThriftyClassifier(effort=effort, random_state=0, n_jobs=1)
        ours, theirs = alternate(
            1 if quick else 3,
            lambda model=model: cpu_seconds_of(lambda: model.fit(X, y)),
            lambda: cpu_seconds_of(lambda: plain.fit(X, y)),
        )
        yield row(f"{title}, thrifty, {effort}", ours, "one LightGBM model", theirs)


def timed(ours: Callable[[], Any], theirs: Callable[[], Any], quick: bool) -> tuple[float, ...]:
    ours(), theirs()  # compiled
    return tuple(
        alternate(1 if quick else REPEATS, lambda: seconds_of(ours), lambda: seconds_of(theirs))
    )


def cpu_seconds_of(work: Callable[[], object]) -> float:
    begin = process_time()
    work()
    return process_time() - begin


def forest_of(n_samples: int, folder: Path | None) -> tuple[Any, np.ndarray, np.ndarray, str]:
    X, y, title = covertype(n_samples, folder)
    model = RandomForestClassifier(40, max_features=None, n_jobs=2, random_state=0).fit(X, y)
    tw.prune_path(model, X[:300], y[:300], n_jobs=2)  # compiled before it is timed
    return model, X, y, f"{title}, 40 trees"


TOPICS: dict[str, Callable[[Path | None, bool], Rows]] = {
    "one_cut": one_cut,
    "solvers": solvers,
    "whole_path": whole_path,
    "shapes": many_shapes,
    "growth": growth,
    "memory": memory,
    "partitions": partitions,
    "prediction": prediction,
    "cascades": cascades,
    "fitting": fitting,
}


def units(topics: list[str]) -> list[Unit]:
    return [(topic,) for topic in topics]


def work(topic: str, folder: Path | None = None, quick: bool = False) -> list[Row]:
    return [{"topic": topic} | one for one in TOPICS[topic](folder, quick)]
