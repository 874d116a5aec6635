"""A child that does long work and is interrupted in it, again and again, and must live on."""

import os
import signal
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import thriftwood as tw

N_SAMPLES, N_FEATURES = 30_000, 12
PRICES = np.arange(1, N_FEATURES + 1) * 0.37


class StopError(BaseException):
    """Raised by our own handler of SIGTERM; no failure of a source, so not an `Exception`."""


def draw_samples(n_samples):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, N_FEATURES)).round(2)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_samples) > 0).astype(int)


def works():
    """Return what can be interrupted, by name."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    from thriftwood.report.page import write_page

    X, y = draw_samples(N_SAMPLES)
    model = RandomForestClassifier(20, max_leaf_nodes=300, random_state=0).fit(X[:6000], y[:6000])
    path = tw.prune_path(model, X[:3000], y[:3000], costs=PRICES)
    point = path[len(path) // 2]
    problem = tw.pruning_problem(model, X, y, costs=PRICES)
    few = X[:4000], y[:4000]
    unseen, cascade = (X[4000:8000], y[4000:8000]), path.cascade(*few, stages=3)
    ranker = tw.ThriftyRanker(costs=PRICES, budget=5.0, effort="quick", random_state=0)
    few_problem = tw.pruning_problem(model, X[:3000], y[:3000], costs=PRICES)
    large_tree = DecisionTreeClassifier(random_state=0)
    wide = np.tile(X, (5, 1)), np.tile(y, 5)

    def chunks():
        for first in range(0, N_SAMPLES, 5000):
            yield X[first : first + 5000], y[first : first + 5000]

    def estimator():
        forest = RandomForestClassifier(10, max_leaf_nodes=100, random_state=0)
        return tw.PrunedEnsembleClassifier(forest, costs=PRICES).fit(*few)

    def save():
        with TemporaryDirectory() as folder:
            for _ in range(30):
                path.save(Path(folder) / "path.npz")

    def page():
        with TemporaryDirectory() as folder:
            write_page(path, Path(folder) / "page.html", few_problem, path.evaluate(*few))

    def own_score(model, X, y, **_weights):
        scores = model.predict_proba(X)[:, 1].tolist()
        return sum(score > 0.5 for score in scores) / len(y)

    def lazily():
        buyer = tw.LazyPredictor(point.model, acquire=lambda rows, f: X[rows, f], costs=PRICES)
        return buyer.predict(np.arange(2000))

    return {
        "prune_path": lambda: tw.prune_path(model, X, y, costs=PRICES),
        "prune_path, two threads": lambda: tw.prune_path(model, X, y, costs=PRICES, n_jobs=2),
        "prune_path in partitions": lambda: tw.prune_path(model, chunks(), costs=PRICES),
        "prune in partitions": lambda: tw.prune(model, chunks(), costs=PRICES, tradeoff=0.001),
        "prune": lambda: tw.prune(model, X, y, costs=PRICES, tradeoff=0.001),
        "dantzig_wolfe": lambda: tw.prune(
            model, X, y, costs=PRICES, tradeoff=0.001, solver="dantzig_wolfe"
        ),
        "evaluate": lambda: path.evaluate(X, y),
        "own score": lambda: path.evaluate(*few, scoring=own_score),
        "refit": lambda: point.refit(X, y, strength=1.0),
        "verify": lambda: tw.verify_pruning(problem, point),
        "bill": lambda: tw.feature_bill(model, X, PRICES),
        "cascade": lambda: path.cascade(*few),
        "cost_complexity": lambda: tw.cost_complexity_path(problem),
        "dynamic_programming": lambda: tw.dynamic_programming_path(few_problem),
        "certify": lambda: path.certify(few_problem),
        "guaranteed": lambda: cascade.guaranteed(*unseen, max_error_increase=0.1),
        "thrifty ranker": lambda: ranker.fit(*few, qid=np.arange(len(few[1])) // 10),
        "budget forest": lambda: tw.BudgetForestClassifier(5, costs=PRICES).fit(X, y),
        "estimator": estimator,
        "estimator, one tree": lambda: tw.PrunedEnsembleClassifier(
            large_tree, costs=PRICES, budget=20.0
        ).fit(*wide),
        "linear_program": lambda: tw.prune(
            model, *few, costs=PRICES, tradeoff=0.001, solver="linear_program"
        ),
        "thrifty": lambda: tw.ThriftyClassifier(
            costs=PRICES, budget=5.0, effort="quick", random_state=0
        ).fit(*few),
        "page": page,
        "save": save,
        "each_tree": lambda: tw.each_tree_path(problem),
        "lazy": lazily,
    }


def small():
    """Return what a small pruning comes to, which nothing before it may change."""
    from sklearn.tree import DecisionTreeClassifier

    X, y = draw_samples(200)
    tree = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y)
    path = tw.prune_path(tree, X, y, costs=PRICES)
    return f"{len(path)} {path.costs.sum()!r} {path.losses.sum()!r}"


def stop(*_):
    raise StopError


def serve(answers, ready):
    """Do what stdin says, line by line, and say how it ended."""
    print("ready", file=answers, flush=True)
    while True:
        try:
            name = sys.stdin.readline().strip()
            if not name:
                return
            if name == "small":
                print(small(), file=answers, flush=True)
                continue
            print("started", file=answers, flush=True)
            try:
                ready[name]()
                outcome = "finished"
            except (KeyboardInterrupt, StopError):
                outcome = "interrupted"
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                outcome = f"{type(error).__name__}: {error} ({last.filename}, {last.lineno})"
                outcome = outcome.replace("\n", " ")
            print(outcome, file=answers, flush=True)
        except (KeyboardInterrupt, StopError):
            print("interrupted", file=answers, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    with os.fdopen(int(sys.argv[1]), "w") as pipe:
        serve(pipe, works())
