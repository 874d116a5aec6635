"""Predicting one sample, and many: our ForestModel against the model's own library and treelite.

Ratios within one run, alternating, medians, two threads on every side; each side gets samples in
the type it likes best. Before its times count, every side must predict the same; but a cascade and
a thrifty model stand beside the model of all features that they take the place of.
"""

import os
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import treelite
from measure import alternate, arguments, covertype, seconds_of
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest

N_TREES = 40
N_THREADS = 2
# It refuses to have more than OpenMP was told to use.
N_TREELITE = min(N_THREADS, int(os.environ.get("OMP_NUM_THREADS", N_THREADS)))
BATCHES = (1_000_000, 10_000, 100, 1)  # samples to predict
QUICK_BATCHES = BATCHES[1:]
ROWS_TIMED = 20_000  # so that a small batch is predicted often enough to be timed,
MOST_OFTEN = 200  # but not more often than this

Predict = Callable[[], np.ndarray]


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    repeats = 2 if options.quick else options.repeats
    n_samples = 1_000 if options.quick else 10_000
    X, y, title = covertype(n_samples, options.data)
    batches = QUICK_BATCHES if options.quick else BATCHES
    others, _, _ = covertype(max(batches), options.data)
    print(f"trained on {title}; seconds for ours, other columns are ours divided by theirs")
    print(f"{'':33s} splits  samples       ours  its library   treelite")
    own = models(X, y)
    staged = stages_in_their_place(own, X, y, options.quick)
    for name, (model, in_stages) in {**{n: (m, None) for n, m in own.items()}, **staged}.items():
        for n_samples in batches:
            rows = np.ascontiguousarray(
                np.resize(others, (n_samples, X.shape[1])), dtype=np.float64
            )
            ours, *theirs = times(sides(model, rows, in_stages), n_samples, repeats)
            ratios = "".join(f"{ours / their:11.2f}" for their in theirs)
            n_splits = read_forest(model).n_splits
            print(f"{name:33s} {n_splits:6d} {n_samples:8d} {ours:10.6f} {ratios}")


def models(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return models of all features."""
    forest = RandomForestClassifier(N_TREES, max_features=None, n_jobs=N_THREADS, random_state=0)
    path = tw.prune_path(forest.fit(X, y), X, y)
    booster = lightgbm.LGBMClassifier(
        n_estimators=100, num_leaves=31, n_jobs=N_THREADS, verbose=-1, random_state=0
    )
    return {
        "forest": forest,
        "forest, best within half its cost": path.at(budget=path.original.cost / 2).model,
        "LightGBM, two classes": booster.fit(X, y == y[0]),
    }


def stages_in_their_place(
    own: dict[str, Any], X: np.ndarray, y: np.ndarray, is_quick: bool
) -> dict[str, tuple[Any, Any]]:
    """Return models of all features with what buys in stages in their place."""
    forest, booster = own["forest"], own["LightGBM, two classes"]
    n_train = len(X) * 3 // 4
    fewer = clone(forest).fit(X[:n_train], y[:n_train])
    cascade = tw.prune_path(fewer, X[:n_train], y[:n_train]).cascade(X[n_train:], y[n_train:])
    effort = "quick" if is_quick else "full"
    thrifty = tw.ThriftyClassifier(effort=effort, n_jobs=N_THREADS, random_state=0)
    thrifty.fit(X, y == y[0])
    return {
        "cascade, beside the forest": (fewer, cascade.at(budget=6)),
        "thrifty model, beside LightGBM": (booster, thrifty.at(budget=6)),
    }


def sides(model: Any, rows: np.ndarray, in_stages: Any = None) -> list[Predict]:
    """Return ours, the library's and treelite's way to predict."""
    forest = read_forest(model)
    ours = tw.ForestModel(forest, n_jobs=N_THREADS)
    cast = rows.astype(forest.input_dtype)
    theirs = tw.export.to_treelite(model)
    booster = getattr(model, "booster_", None)  # quicker without LightGBM's own wrapper
    made = [
        lambda: ours.predict_proba(cast),
        lambda: (
            model.predict_proba(cast)
            if booster is None
            else booster.predict(rows).reshape(len(rows), -1)
        ),
        lambda: treelite.gtil.predict(theirs, rows, nthread=N_TREELITE).reshape(len(rows), -1),
    ]
    for predict in made:
        found = predict()  # of two classes, treelite says only the second
        np.testing.assert_allclose(found, made[0]()[:, -found.shape[1] :], atol=1e-6)
    if in_stages is not None:
        made[0] = lambda: in_stages.predict_proba(rows)
    return made


def times(made: list[Predict], n_samples: int, repeats: int) -> list[float]:
    """Return the median seconds of each way to predict."""
    often = range(min(max(1, ROWS_TIMED // n_samples), MOST_OFTEN))

    def timed(predict: Predict) -> Callable[[], float]:
        return lambda: seconds_of(lambda: [predict() for _ in often]) / len(often)

    return alternate(repeats, *map(timed, made))


if __name__ == "__main__":
    main()
