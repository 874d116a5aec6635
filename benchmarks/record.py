"""Speed over time: how long calls take, as parts of training the forest, for each commit.

Appends to history.csv, and says what became slower than at the last record of this machine, or at
the fastest of the last few, beyond the scatter of both. CPU time of one thread, each call in turn
with training, on the bundled NHANES, of rankings with twenty people as a query; thrifty models on
the heart patients. `--picture FILE` only draws what there is.
"""

import argparse
import csv
import gc
import os
import platform
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import sklearn
from lightgbm import LGBMRanker
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import ForestModel, read_forest

HISTORY = Path(__file__).with_name("history.csv")
COLUMNS = ("date", "commit", "machine", "call", "ratio", "low", "high")
N_SAMPLES, N_TREES = 2_000, 20
PER_QUERY = 20  # people, the higher classes first
LEAST_CHANGE = 0.05  # below it nobody cares
N_BACK = 6  # records that a call is compared with, since small slowdowns add up

Record = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9, help="timings of each call")
    parser.add_argument("--quick", action="store_true", help="few timings, not written")
    parser.add_argument("--picture", type=Path, help="draw the history into this file")
    options = parser.parse_args()
    if options.picture:
        draw(read_history(), options.picture)
        return
    measured = measure(2 if options.quick else options.repeats)
    before = read_history()
    records = [about_now() | one for one in measured]
    for record in records:
        print(compared(record, before))
    if not options.quick:
        write_history([*before, *records])


def measure(repeats: int) -> list[Record]:
    """Return the median of each call, in trainings of the forest, and the quartiles around it."""
    X, y, costs, forest = samples_and_forest()
    trained = clone_of(forest).fit(X, y)
    works = calls(trained, X, y, costs)
    for work in works.values():
        work()  # compiles what is not compiled yet
    ratios: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            ratios[name].append(cpu_seconds(work) / cpu_seconds(lambda: clone_of(forest).fit(X, y)))
    shares = {"low": 0.25, "ratio": 0.5, "high": 0.75}
    return [
        {"call": name} | {one: f"{np.quantile(own, share):.4g}" for one, share in shares.items()}
        for name, own in ratios.items()
    ]


def samples_and_forest():
    people = tw.datasets.load_nhanes()
    rows = np.random.default_rng(0).permutation(len(people.y))[:N_SAMPLES]
    forest = RandomForestClassifier(N_TREES, max_features=None, n_jobs=1, random_state=0)
    return people.X[rows], people.y[rows], people.costs, forest


def clone_of(forest: RandomForestClassifier) -> RandomForestClassifier:
    return RandomForestClassifier(**forest.get_params())


def calls(forest, X, y, costs) -> dict[str, Callable[[], object]]:
    path = tw.prune_path(forest, X, y, costs=costs, n_jobs=1)
    middle = float(path.tradeoffs[len(path) // 2])
    pruned = path.at(budget=path.original.cost / 4)
    model = ForestModel(read_forest(forest), n_jobs=1)
    heart = tw.datasets.load_heart()
    qid = np.arange(len(y)) // PER_QUERY
    ranker = ranker_of(X, y)
    thrifty = {"costs": heart.prices, "effort": "quick", "random_state": 0, "n_jobs": 1}
    return {
        "prune_path": lambda: tw.prune_path(forest, X, y, costs=costs, n_jobs=1),
        "prune_path, log loss": lambda: tw.prune_path(
            forest, X, y, costs=costs, loss="log_loss", n_jobs=1
        ),
        "prune": lambda: tw.prune(forest, X, y, costs=costs, tradeoff=middle, n_jobs=1),
        "prune, lambdarank": lambda: tw.prune(
            ranker, X, y, costs=costs, tradeoff=0.01, loss="lambdarank", qid=qid, n_jobs=1
        ),
        "evaluate": lambda: path.evaluate(X, y, n_jobs=1),
        "cascade": lambda: path.cascade(X, y, stages=6, n_jobs=1),
        "refit": lambda: pruned.refit(X, y, strength=1.0, n_jobs=1),
        "feature_bill": lambda: tw.feature_bill(forest, X, costs, n_jobs=1),
        "predict": lambda: model.predict_proba(X),
        "lazy predict": lambda: tw.LazyPredictor(pruned, costs=costs).predict(X[:200]),
        "ThriftyClassifier": lambda: tw.ThriftyClassifier(**thrifty).fit(heart.X, heart.y),
    }


def ranker_of(X: np.ndarray, y: np.ndarray) -> LGBMRanker:
    model = LGBMRanker(n_estimators=N_TREES, random_state=0, n_jobs=1, verbose=-1)
    return model.fit(X, y, group=[PER_QUERY] * (len(y) // PER_QUERY))


def cpu_seconds(work: Callable[[], object]) -> float:
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def about_now() -> Record:
    def git(*command: str) -> str:
        return subprocess.check_output(["git", *command], cwd=HISTORY.parent, text=True).strip()

    changed = "+" if git("status", "--porcelain", "src") else ""
    return {
        "date": git("log", "-1", "--format=%cs"),
        "commit": git("log", "-1", "--format=%h") + changed,
        "machine": f"{processor()}, Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__}",
    }


def processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else platform.machine()}"


# --- what there is


def read_history() -> list[Record]:
    if not HISTORY.exists():
        return []
    with HISTORY.open(newline="") as file:
        return list(csv.DictReader(file))


def write_history(records: list[Record]) -> None:
    with HISTORY.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def compared(now: Record, history: list[Record]) -> str:
    """Return a line on a call: what it takes now and what it took, and whether that differs."""
    same = [one for one in history if all(one[name] == now[name] for name in ("machine", "call"))]
    line = f"{now['call']:22s} {float(now['ratio']):8.4f}"
    if not same:
        return f"{line}   first record of this machine"
    then = same[-1]
    fastest = min(same[-N_BACK:], key=lambda one: float(one["ratio"]))
    if not verdict(now, then) and verdict(now, fastest) == "SLOWER":
        then = fastest
    change = float(now["ratio"]) / float(then["ratio"]) - 1
    return f"{line}   {change:+7.1%} since {then['commit']}   {verdict(now, then)}".rstrip()


def verdict(now: Record, then: Record) -> str:
    """Return SLOWER or faster where the quartiles of two records do not meet."""
    if float(now["low"]) > float(then["high"]) * (1 + LEAST_CHANGE):
        return "SLOWER"
    return "faster" if float(now["high"]) < float(then["low"]) * (1 - LEAST_CHANGE) else ""


def draw(history: list[Record], file: Path) -> None:
    """Draw each call over the commits, machines apart, with quartiles; slowdowns are red."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(one["call"] for one in history))
    commits = list(dict.fromkeys(one["commit"] for one in history))
    figure, axes = plt.subplots(
        (len(names) + 1) // 2, 2, figsize=(9, 1.5 * len(names) / 2 + 1), sharex=True
    )
    for name, ax in zip(names, axes.flat, strict=False):
        for machine in dict.fromkeys(one["machine"] for one in history):
            own = [one for one in history if (one["call"], one["machine"]) == (name, machine)]
            draw_line(ax, own, [commits.index(one["commit"]) for one in own])
        ax.set_title(name, fontsize=9, loc="left")
        highest = max(float(one["high"]) for one in history if one["call"] == name)
        ax.set_ylim(0, 1.3 * highest)
        ax.margins(x=0.2)
        ax.set_xticks(range(len(commits)), commits, rotation=45, fontsize=7)
    figure.supylabel("trainings of the forest", fontsize=9)
    figure.tight_layout()
    figure.savefig(file, dpi=90)


def draw_line(ax, records: list[Record], places: list[int]) -> None:
    ratio, low, high = (
        np.array([float(one[what]) for one in records]) for what in ("ratio", "low", "high")
    )
    ax.errorbar(places, ratio, [ratio - low, high - ratio], marker="o", ms=3, lw=1, capsize=2)
    slower = [verdict(now, then) == "SLOWER" for then, now in pairwise(records)]
    worse = [number for number, is_worse in enumerate(slower, start=1) if is_worse]
    ax.plot([places[one] for one in worse], ratio[worse], "o", color="red", ms=6)


if __name__ == "__main__":
    main()
