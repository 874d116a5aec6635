"""Thrifty models of numbers beside a fixed set and a full booster, and how fitting grows.

A fixed set is chosen by forward selection, with a booster whose size is tuned, by cross-validation
on the training samples, for each budget. Scores are R2 on test samples, bills are what these pay.
Growth is in CPU seconds of one thread, each against the first of its kind in the same run.
"""

from collections.abc import Iterator
from time import process_time

import lightgbm
import numpy as np
from measure import arguments, local_dataset
from sklearn.datasets import load_diabetes, make_classification, make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_predict

import thriftwood as tw

SHARES = (0.1, 0.2, 0.4, 1.0)  # of the price of all features: budgets
STEPS, CANDIDATES = 10, 12  # of forward selection
ROUNDS = (30, 100, 300)
TARGET = "BloodCadmiumUgl"
Task = tuple[str, np.ndarray, np.ndarray, np.ndarray, int]


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    for task in tasks(options):
        compare(*task, n_splits=1 if options.quick else 2, quick=options.quick)
    growth(options.quick)


def tasks(options) -> Iterator[Task]:
    """Yield name, samples, numbers to predict, prices, and how many samples to train on."""
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", X, y, np.ones(10), 300
    X, y = make_friedman1(4_000, 15, noise=1.0, random_state=0)
    yield "friedman1", X, y, np.ones(15), 1_000
    if options.quick:
        return
    people = tw.datasets.load_nhanes()
    is_target = np.array([name == TARGET for name in people.feature_names])
    known = ~np.isnan(people.X[:, is_target][:, 0])
    yield (
        "NHANES, log of cadmium in blood",
        people.X[np.ix_(known, ~is_target)],
        np.log(people.X[known][:, is_target][:, 0]),
        people.costs[~is_target],
        1_500,
    )
    cover = local_dataset("covertype", options.data)
    if cover is not None:
        rows = np.random.default_rng(0).permutation(len(cover.y))[:8_000]
        yield "Covertype, elevation", cover.X[rows, 1:], cover.X[rows, 0], np.ones(53), 1_500


def compare(
    name: str,
    X: np.ndarray,
    y: np.ndarray,
    prices: np.ndarray,
    n_train: int,
    n_splits: int,
    quick: bool,
) -> None:
    """Print R2 and bill of each within shares of the price of all features, means of splits."""
    budgets = [share * prices.sum() for share in SHARES]
    found = []
    for split in range(n_splits):
        order = np.random.default_rng(split).permutation(len(y))
        train, test = order[:n_train], order[n_train:]
        effort = "quick" if quick else "full"
        model = tw.ThriftyRegressor(costs=prices, effort=effort, random_state=split, n_jobs=1)
        model.fit(X[train], y[train])
        ours = [model.at(budget=budget) for budget in budgets]
        whole = booster(300).fit(X[train], y[train])
        found.append(
            [
                [(r2_score(y[test], one.predict(X[test])), one.bill(X[test]).mean) for one in ours],
                fixed_sets(X, y, prices, budgets, train, test),
                [(r2_score(y[test], whole.predict(X[test])), prices.sum())] * len(budgets),
            ]
        )
    shown = ", ".join(f"{budget:g}" for budget in budgets)
    print(f"\n{name}, {n_train} samples, {n_splits} splits: R2 (bill) within {shown}", flush=True)
    for line, values in zip(
        ("ThriftyRegressor", "fixed set", "full booster"), np.mean(found, axis=0), strict=True
    ):
        print(f"  {line:18s}" + "".join(f"  {score:.3f} ({bill:.4g})" for score, bill in values))


def fixed_sets(
    X: np.ndarray,
    y: np.ndarray,
    prices: np.ndarray,
    budgets: list[float],
    train: np.ndarray,
    test: np.ndarray,
) -> list[tuple[float, float]]:
    """Return R2 and bill of the best set within each budget, of those forward selection makes."""

    def score(columns: list[int], rounds: int) -> float:
        guessed = cross_val_predict(booster(rounds), X[np.ix_(train, columns)], y[train], cv=3)
        return r2_score(y[train], guessed)

    gains = booster(100).fit(X[train], y[train]).booster_.feature_importance("gain")
    left = np.argsort(-gains / prices, kind="stable")[:CANDIDATES].tolist()
    chosen: list[int] = []
    now, known = 0.0, []
    while left and len(chosen) < STEPS:
        tried = {k: score([*chosen, k], 30) for k in left}
        best = max(left, key=lambda k: (tried[k] - now) / prices[k])
        now = tried[best]
        chosen.append(best)
        left.remove(best)
        known += [(score(chosen, rounds), chosen.copy(), rounds) for rounds in ROUNDS]
    every = list(range(len(prices)))
    known += [(score(every, rounds), every, rounds) for rounds in ROUNDS]
    told = []
    for budget in budgets:
        within = [one for one in known if prices[one[1]].sum() <= budget * (1 + 1e-9)]
        if not within:
            told.append((0.0, 0.0))
            continue
        _, columns, rounds = max(within, key=lambda one: one[0])
        model = booster(rounds).fit(X[np.ix_(train, columns)], y[train])
        guessed = model.predict(X[np.ix_(test, columns)])
        told.append((r2_score(y[test], guessed), prices[columns].sum()))
    return told


def booster(rounds: int) -> lightgbm.LGBMRegressor:
    return lightgbm.LGBMRegressor(
        n_estimators=rounds, learning_rate=0.07, num_leaves=15, n_jobs=1, verbose=-1
    )


def growth(quick: bool) -> None:
    """Print CPU seconds of fitting, and of predicting 10,000 samples, of samples and features."""
    n = 400 if quick else 2_500
    cases = {
        "samples": [(n * k, 20, "quick") for k in (1, 2, 4, 8)],
        "features": [(n, 20 * k, "quick") for k in (1, 2, 4, 8)],
        "stages": [(n, 20, "quick"), (n, 20, "full")],
    }
    seconds(300, 20, "quick")  # compiled before it is timed
    for what, settings in cases.items():
        print(f"\nGrowth with {what}: fitting, predicting")
        first = None
        for n_samples, n_features, effort in settings:
            own = seconds(n_samples, n_features, effort)
            first = first or own
            ratios = ", ".join(f"{a / b:.2f}" for a, b in zip(own[:2], first[:2], strict=True))
            print(f"  {n_samples} x {n_features}, {effort}, {own[2]} stages: {ratios}")


def seconds(n_samples: int, n_features: int, effort: str) -> tuple[float, float, int]:
    X, y = make_classification(
        n_samples + 10_000, n_features, n_informative=10, flip_y=0.05, random_state=0
    )
    model = tw.ThriftyClassifier(effort=effort, random_state=0, n_jobs=1)
    begin = process_time()
    model.fit(X[:n_samples], y[:n_samples])
    middle = process_time()
    model.predict(X[n_samples:])
    return middle - begin, process_time() - middle, len(model.stages_)


if __name__ == "__main__":
    main()
