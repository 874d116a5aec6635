"""When a subsample is enough: what its path misses, what it says of that, what it saves.

The optimal path of all samples against paths whose bills come from a subsample, at three tradeoffs,
over several draws. F is loss + tradeoff * cost of all samples, F* its least, by the exact path. x
is what `prune_path` finds with `subsample=`. F_s is the least objective that the subsample
promises. The second table counts losses on the subsample alone, too, which is what drawing samples
beforehand would do. Then seconds and memory of `prune_path`, one thread, each in a process of its
own.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from measure import arguments, covertype, peak_bytes, seconds_of
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.distributed.subsampling import draw_samples, subsampled_problem
from thriftwood.problem import PruningProblem

TRADEOFFS = {"light": 0.004, "middle": 0.01, "heavy": 0.02}
SIZES = (5_000, 20_000, 50_000, 100_000, 200_000, 500_000)
QUICK_SIZES = (500, 2_000, 5_000)
MANY_DRAWS, FEW_DRAWS = 5, 2
LARGE = 200_000  # from here on few draws


class Draw(NamedTuple):
    """What one draw found at one tradeoff."""

    optimism: float  # F* - F_s
    missed: float  # F(x) - F*
    estimate: float


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    X, y, title = covertype(20_000 if options.quick else 10**9, options.data)
    X = X.astype(np.float32)  # as scikit-learn compares it, so that nobody needs a copy
    n_leaves = 200 if options.quick else 2_000
    sizes = [size for size in (QUICK_SIZES if options.quick else SIZES) if size < len(y)]
    model = RandomForestClassifier(
        10, max_leaf_nodes=n_leaves, max_features=None, n_jobs=2, random_state=0
    )
    print(
        f"{title}, 10 trees of {n_leaves} leaves: fit {seconds_of(lambda: model.fit(X, y)):.0f} s"
    )
    problem = tw.pruning_problem(model, X, y, progress=False)
    exact = tw.prune_path(model, X, y, progress=False)
    for name, tradeoff in TRADEOFFS.items():
        point = exact.at(tradeoff=tradeoff)
        print(
            f"  {name:6s} tradeoff {tradeoff:5.3f}: F* {point.objective:.5f}, cost "
            f"{point.cost:.2f} of {exact.original.cost:.2f}, loss {point.loss:.4f} of "
            f"{exact.original.loss:.4f}"
        )
    print("\nLosses of all samples, bills of the subsample")
    study(exact, problem, sizes, by_subsample)
    print("\nLosses and bills of the subsample")
    study(exact, problem, sizes, by_drawn_alone)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "task"
        joblib.dump((model, X, y), file)
        time_and_memory(file, sizes)


def study(exact: tw.PruningPath, problem: PruningProblem, sizes, draw) -> None:
    print("  samples  tradeoff   F* - F_s   F(x) - F*   estimate  covered")
    for size in sizes:
        n_draws = FEW_DRAWS if size >= LARGE else MANY_DRAWS
        draws = [draw(exact, problem, size, seed) for seed in range(n_draws)]
        for number, name in enumerate(TRADEOFFS):
            found = [one[number] for one in draws]
            mean = Draw(*np.mean(found, axis=0))
            covered = sum(one.missed <= one.estimate for one in found)
            print(
                f"  {size:7d}  {name:8s} {mean.optimism:10.6f}  {mean.missed:10.6f} "
                f"{mean.estimate:10.6f}   {covered} of {n_draws}"
            )


def by_subsample(
    exact: tw.PruningPath, problem: PruningProblem, size: int, seed: int
) -> list[Draw]:
    """Return what a subsample finds at each tradeoff."""
    drawn = subsampled_problem(problem, size, seed)
    path, promised = tw.prune_path(drawn), tw.prune_path(replace(drawn, subsample=None))
    found = []
    for tradeoff in TRADEOFFS.values():
        least = objective(exact, tradeoff)
        point = int(np.searchsorted(path.tradeoffs, tradeoff, side="right")) - 1
        found.append(
            Draw(
                least - objective(promised, tradeoff),
                objective(path, tradeoff) - least,
                float(path.proof.gaps[point]),
            )
        )
    return found


def by_drawn_alone(
    exact: tw.PruningPath, problem: PruningProblem, size: int, seed: int
) -> list[Draw]:
    """Return what pruning on the drawn samples alone finds; it has no estimate."""
    data = problem.in_memory
    drawn = data.take(draw_samples(data.table.n_samples, size, seed))
    promised = tw.prune_path(replace(problem, data=drawn))
    found = []
    for tradeoff in TRADEOFFS.values():
        least = objective(exact, tradeoff)
        point = int(np.searchsorted(promised.tradeoffs, tradeoff, side="right")) - 1
        figures = problem.figures(promised.kept_nodes(point))
        missed = figures.loss + tradeoff * figures.cost - least
        found.append(Draw(least - objective(promised, tradeoff), missed, 0.0))
    return found


def objective(path: tw.PruningPath, tradeoff: float) -> float:
    """Return the least objective on a path, without writing the model."""
    return float((path.losses + tradeoff * path.costs).min())


def time_and_memory(file: Path, sizes) -> None:
    print("\n  prune_path            seconds   MiB above the model and the samples")
    for size in (*sizes, None):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            seconds, peak = other.submit(seconds_and_peak, file, size).result()
        name = "all samples" if size is None else f"subsample={size}"
        print(f"  {name:20s} {seconds:8.1f}   {peak / 2**20:8.0f}")


def path_of(model, X, y, subsample: int | None) -> tw.PruningPath:
    return tw.prune_path(tw.pruning_problem(model, X, y, subsample=subsample, progress=False))


def seconds_and_peak(file: Path, size: int | None) -> tuple[float, int]:
    model, X, y = joblib.load(file)
    few = slice(0, 1_000)
    for subsample in (None, 100):  # load the compiled code, so that it is not timed
        path_of(model, X[few], y[few], subsample)
    seconds = 0.0

    def work() -> None:
        nonlocal seconds
        seconds = seconds_of(lambda: path_of(model, X, y, size))

    peak = peak_bytes(work)
    return seconds, peak


if __name__ == "__main__":
    main()
