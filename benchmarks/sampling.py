"""When a sample of the rows is enough: what its path misses, what it says of that, what it saves.

The optimal path of all rows against paths whose bills come from a sample, at three tradeoffs, over
several draws. F is loss + tradeoff * cost of all rows, F* its least, by the exact path. x is what
`prune_path(sample=...)` finds. F_s is the least objective that the sample promises. The second
table counts losses on the sample alone, too, which is what drawing rows beforehand would do. Then
seconds and memory of `prune_path`, one thread, each in a process of its own.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from measure import arguments, covertype, peak_bytes, seconds_of
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.distributed.measuring import RowsInBlocks
from thriftwood.distributed.sampling import drawn_rows, optima_of, path_on_all_rows
from thriftwood.problem.given import GivenRows, read_given
from thriftwood.problem.node_losses import NodeLosses

TRADEOFFS = {"light": 0.004, "middle": 0.01, "heavy": 0.02}
SIZES = (5_000, 20_000, 50_000, 100_000, 200_000, 500_000)
QUICK_SIZES = (500, 2_000, 5_000)
MANY_DRAWS, FEW_DRAWS = 5, 2
LARGE = 200_000  # from here on few draws


class Draw(NamedTuple):
    """What one sample found at one tradeoff."""

    optimism: float  # F* - F_s
    missed: float  # F(x) - F*
    estimate: float
    standard_error: float


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
    given = read_given(
        model,
        X,
        y,
        costs=None,
        loss=None,
        class_weight=None,
        samples="all",
        sample_weight=None,
    )
    every = RowsInBlocks(given)
    exact = tw.prune_path(model, X, y, progress=False)
    for name, tradeoff in TRADEOFFS.items():
        point = exact.at(tradeoff=tradeoff)
        print(
            f"  {name:6s} tradeoff {tradeoff:5.3f}: F* {point.objective:.5f}, cost "
            f"{point.cost:.2f} of {exact.original.cost:.2f}, loss {point.loss:.4f} of "
            f"{exact.original.loss:.4f}"
        )
    print("\nLosses of all rows, bills of the sample")
    study(exact, every, sizes, every.losses)
    print("\nLosses and bills of the sample")
    study(exact, every, sizes, None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "task"
        joblib.dump((model, X, y), file)
        time_and_memory(file, sizes)


def study(exact: tw.PruningPath, every: RowsInBlocks, sizes, losses: NodeLosses | None) -> None:
    print("     rows  tradeoff   F* - F_s   F(x) - F*   estimate  covered  standard error")
    for size in sizes:
        n_draws = FEW_DRAWS if size >= LARGE else MANY_DRAWS
        draws = [one_draw(exact, every, size, seed, losses) for seed in range(n_draws)]
        for number, name in enumerate(TRADEOFFS):
            found = [draw[number] for draw in draws]
            mean = Draw(*np.mean(found, axis=0))
            covered = sum(one.missed <= one.estimate for one in found)
            print(
                f"  {size:7d}  {name:8s} {mean.optimism:10.6f}  {mean.missed:10.6f} "
                f"{mean.estimate:10.6f}   {covered} of {n_draws}      {mean.standard_error:.6f}"
            )


def one_draw(
    exact: tw.PruningPath, every: RowsInBlocks, size: int, seed: int, losses: NodeLosses | None
) -> list[Draw]:
    """Return what a sample finds at each tradeoff."""
    given: GivenRows = every.given
    sample = given.take(drawn_rows(given.n_samples, size, seed))
    optima = optima_of(exact.model, sample, given.n_samples, losses, None, False)
    path = path_on_all_rows(optima, every.measure)
    found = []
    for tradeoff in TRADEOFFS.values():
        least, own = objective(exact, tradeoff), objective(path, tradeoff)
        found.append(
            Draw(
                least - optima.least_objective(tradeoff),
                own - least,
                optima.estimate(own, tradeoff),
                optima.standard_error(tradeoff),
            )
        )
    return found


def objective(path: tw.PruningPath, tradeoff: float) -> float:
    """Return the least objective on a path, without writing the model."""
    return float((path.losses + tradeoff * path.costs).min())


def time_and_memory(file: Path, sizes) -> None:
    print("\n  prune_path            seconds   MiB above the model and the rows")
    for size in (*sizes, None):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            seconds, peak = other.submit(seconds_and_peak, file, size).result()
        name = "all rows" if size is None else f"sample={size}"
        print(f"  {name:20s} {seconds:8.1f}   {peak / 2**20:8.0f}")


def seconds_and_peak(file: Path, size: int | None) -> tuple[float, int]:
    model, X, y = joblib.load(file)
    few = slice(0, 1_000)
    for sample in (None, 100):  # load the compiled code, so that it is not timed
        tw.prune_path(model, X[few], y[few], sample=sample, progress=False)
    seconds = 0.0

    def work() -> None:
        nonlocal seconds
        seconds = seconds_of(lambda: tw.prune_path(model, X, y, sample=size, progress=False))

    peak = peak_bytes(work)
    return seconds, peak


if __name__ == "__main__":
    main()
