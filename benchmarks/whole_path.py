"""The whole path: every optimal pruning, against training the forest and against one max flow.

Ratios within one run, alternating, medians. The path is all of `prune_path`, from the user's model
and samples to the frontier: reading, routing, the closure, and every cut. It is divided by the time
that scikit-learn takes to grow the same forest on two cores; and, from the closure on, by one
OR-tools solve of the same closure at a middle tradeoff.
"""

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from multiprocessing import get_context

import numpy as np
from measure import alternate, arguments, covertype, memory_kilobytes, peak_bytes, seconds_of
from one_tradeoff import closure_of, or_tools_seconds
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.closure import check_certificate
from thriftwood.solvers import min_cut, parametric_cut

N_TREES = 40
# How many samples' errors one unit of cost on one sample is worth, in the middle of the path.
MIDDLE = Fraction(3, 10)


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    sizes = (500, 1_000, 2_000) if options.quick else (10_000, 36_603, 40_000)
    repeats = 1 if options.quick else options.repeats
    warm_up(options.data)
    first_calls(1 if options.quick else 3)
    small, paper, large = sizes
    against_or_tools(small, repeats, options.data)
    small_seconds = against_training(small, repeats, options.data)
    against_training(paper, repeats, options.data)
    large_seconds = path_alone(large, repeats, options.data)
    times = large_seconds / small_seconds
    print(f"\nFrom {small} to {large} samples the path takes {times:.1f} times")
    if not options.quick:
        many_rows_and_trees(100_000, 100, options.data)


def grow(n_samples: int, folder, n_trees: int = N_TREES):
    X, y, title = covertype(n_samples, folder)
    model = RandomForestClassifier(n_trees, max_features=None, n_jobs=2, random_state=0)
    return model, X, y, title


def warm_up(folder) -> None:
    """Load the compiled code, so that it is not timed."""
    model, X, y, _ = grow(500, folder, 5)
    tw.prune_path(model.fit(X, y), X, y, n_jobs=2)


def first_calls(repeats: int) -> None:
    """Time a fresh process: importing, and the first path on the heart data."""
    for title, code in (
        ("import sklearn.ensemble", "import sklearn.ensemble"),
        ("import thriftwood too", "import sklearn.ensemble, thriftwood"),
        ("first path on the heart data", FIRST_PATH),
    ):
        seconds = [
            seconds_of(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True))
            for _ in range(repeats)
        ]
        print(f"{title:30s} {min(seconds):.2f} s, the whole process")


FIRST_PATH = """
import sys, time
import thriftwood as tw
from sklearn.ensemble import RandomForestClassifier
heart = tw.datasets.load_heart()
forest = RandomForestClassifier(40, max_features=None, random_state=0).fit(heart.X, heart.y)
begin = time.perf_counter()
tw.prune_path(forest, heart.X, heart.y, costs=heart.costs)
print(f"first prune_path call           {time.perf_counter() - begin:.2f} s", flush=True)
"""


def against_or_tools(n_samples: int, repeats: int, folder) -> None:
    model, X, y, title = grow(n_samples, folder)
    problem = closure_of(read_forest(model.fit(X, y)), X, y)
    print(f"\n{title}, {N_TREES} trees: {problem}")
    priced, _ = problem.at(MIDDLE)
    check_optimal(problem)
    one, two, theirs = alternate(
        repeats,
        lambda: seconds_of(lambda: parametric_cut(problem, n_jobs=1)),
        lambda: seconds_of(lambda: parametric_cut(problem, n_jobs=2)),
        partial(or_tools_seconds, priced),
    )
    print(f"  one OR-tools solve {theirs:.2f} s; whole path from the closure on, one thread")
    print(f"  {one:.2f} s = {one / theirs:.2f} of it, two threads {two:.2f} s = {two / theirs:.2f}")


def check_optimal(problem) -> None:
    """Compare the path with certified single cuts at a few tradeoffs."""
    path = parametric_cut(problem, n_jobs=2)
    for step in np.linspace(0, path.n_breakpoints - 2, 5).astype(int):
        priced, _ = problem.at(sum(path.breakpoints[step : step + 2]) / 2)
        solution = min_cut(priced)
        check_certificate(priced, solution)
        assert (solution.kept == path.kept(step + 1)).all(), "The path misses an optimum"


def against_training(n_samples: int, repeats: int, folder) -> float:
    model, X, y, title = grow(n_samples, folder)
    fit, one, two = alternate(
        repeats,
        lambda: seconds_of(lambda: model.fit(X, y)),
        lambda: seconds_of(lambda: tw.prune_path(model, X, y, n_jobs=1)),
        lambda: seconds_of(lambda: tw.prune_path(model, X, y, n_jobs=2)),
    )
    path = tw.prune_path(model, X, y, n_jobs=2)
    print(f"\n{title}, {N_TREES} trees: {len(path)} points, gap {path.proof.gap:g}")
    print(f"  fit on two cores {fit:.2f} s")
    print(f"  whole path, one thread {one:.2f} s = {one / fit:.2f} of the fit")
    print(f"  whole path, two threads {two:.2f} s = {two / fit:.2f} of the fit")
    # In a process of its own, whose memory has not been used and freed before.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        above, peak = other.submit(peak_memory, n_samples, folder).result()
    print(f"  peak memory of the process {peak:.0f} MiB, {above:.0f} MiB of them the path")
    return two


def path_alone(n_samples: int, repeats: int, folder) -> float:
    model, X, y, _ = grow(n_samples, folder)
    model.fit(X, y)
    (seconds,) = alternate(
        repeats, lambda: seconds_of(lambda: tw.prune_path(model, X, y, n_jobs=2))
    )
    return seconds


def peak_memory(n_samples: int, folder) -> tuple[float, float]:
    """Return MiB above what was there before, and in all."""
    warm_up(folder)
    model, X, y, _ = grow(n_samples, folder)
    model.fit(X, y)
    above = peak_bytes(lambda: tw.prune_path(model, X, y, n_jobs=2))
    return above / 2**20, memory_kilobytes("VmHWM") / 1024


def many_rows_and_trees(n_samples: int, n_trees: int, folder) -> None:
    model, X, y, title = grow(n_samples, folder, n_trees)
    fit = seconds_of(lambda: model.fit(X, y))
    path = None

    def compute() -> None:
        nonlocal path
        path = tw.prune_path(model, X, y, n_jobs=2)

    seconds = seconds_of(compute)
    print(f"\n{title}, {n_trees} trees: fit {fit:.1f} s, path {seconds:.1f} s, {len(path)} points")
    print(f"  gap {path.proof.gap:g} (0: every point is proven exact)")


if __name__ == "__main__":
    main()
