"""Samples in partitions on a cluster of two processes: gaps, rounds, bytes, memory, growth.

Unit prices. Samples are in a Dask array whose partitions the workers read from a file: in their
stored order, which is by area in Covertype, so that each partition sees other forests; and in
random order. Subproblems are made once for all tradeoffs here, and what that takes is told apart
from rounds.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np
from fresh_memory import (
    Peak,
    in_fresh_process,
    path_in_memory,
    path_on_cluster,
    prune_on_cluster,
    two_workers,
)
from measure import arguments, local_dataset
from row_files import RowFiles, in_partitions, write_rows
from sklearn.ensemble import RandomForestClassifier
from subproblem_growth import (
    problem_in_partitions,
    show_extrapolation,
    show_measured,
    show_powers,
    with_features,
    with_samples,
    with_trees,
)

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.distributed import DualRound
from thriftwood.distributed.dual.ascent import dual_ascent
from thriftwood.problem import PruningProblem

TRADEOFFS = (0.004, 0.01, 0.02)  # light, middle, heavy pruning of this forest
MIDDLE = 0.01
ORDERS = ("stored", "random")
SMALL_GAP = 1e-3
FEWEST_ROUNDS = 3  # the first round says more than the others
ROUNDING = 1e-12  # of sums of doubles


class Sizes(NamedTuple):
    """How much of everything there is."""

    n_samples: int
    n_compared: int
    n_trees: int
    max_leaf_nodes: int
    numbers_of_partitions: tuple[int, ...]
    most_rounds: int
    numbers_of_trees: tuple[int, ...]
    numbers_of_features: tuple[int, ...]
    halvings: int
    memory_of: tuple[tuple[str, str], ...]


FULL = Sizes(
    n_samples=581_012,
    n_compared=60_000,
    n_trees=10,
    max_leaf_nodes=2_000,
    numbers_of_partitions=(1, 2, 4, 8),
    most_rounds=40,
    numbers_of_trees=(5, 10, 20, 40),
    numbers_of_features=(5, 10, 20, 54),
    halvings=6,
    memory_of=tuple(product(("prune", "prune_path"), ORDERS)),
)
QUICK = Sizes(
    n_samples=12_000,
    n_compared=3_000,
    n_trees=3,
    max_leaf_nodes=200,
    numbers_of_partitions=(1, 4),
    most_rounds=3,
    numbers_of_trees=(2, 4),
    numbers_of_features=(5, 54),
    halvings=2,
    memory_of=(("prune_path", "random"),),
)


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    sizes = QUICK if options.quick else FULL
    X, y = read_rows(sizes, options.data)
    model, seconds = fit(X, y, sizes.n_trees, sizes)
    forest = read_forest(model)
    print(
        f"{len(y)} samples, {X.shape[1]} features, {len(model.classes_)} classes; {sizes.n_trees} "
        f"trees of {forest.n_splits} splits, fitted in {seconds:.1f} s"
    )
    shuffled = np.random.default_rng(0).permutation(len(y))
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = {
            "stored": write_rows(folder, "stored", X, y),
            "random": write_rows(folder, "random", X[shuffled], y[shuffled]),
        }
        joblib.dump(model, folder / "model.joblib")
        show_memory(folder / "model.joblib", files, sizes)
        with two_workers():
            equal_to_memory(model, X, y, folder, sizes)
            trials = list(all_trials(model, files, sizes))
    show_gaps(trials, sizes)
    bytes_per_split = show_rounds(trials, forest.n_splits)
    show_growth(model, X[shuffled], y[shuffled], bytes_per_split, sizes)


def read_rows(sizes: Sizes, folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return Covertype in its stored order, or NHANES where it is not at hand."""
    data = local_dataset("covertype", folder)
    if data is None:
        print("Taking the bundled NHANES instead.")
        data = tw.datasets.load_nhanes()
    rows = np.linspace(0, len(data.y) - 1, min(sizes.n_samples, len(data.y))).astype(int)
    return data.X[rows].astype(np.float32), data.y[rows]


def fit(X: np.ndarray, y: np.ndarray, n_trees: int, sizes: Sizes) -> tuple[Any, float]:
    model = RandomForestClassifier(
        n_trees,
        max_leaf_nodes=sizes.max_leaf_nodes,
        max_features=None,
        n_jobs=2,
        random_state=0,
    )
    begin = perf_counter()
    model.fit(X, y)
    return model, perf_counter() - begin


def show_memory(model: Path, files: dict[str, RowFiles], sizes: Sizes) -> None:
    """Print the peaks of one process alone, and of each process of a cluster."""
    n_partitions = sizes.numbers_of_partitions[-1]
    alone = in_fresh_process(path_in_memory, model, files["stored"])
    print(f"\nPeak memory of single processes, MB; {n_partitions} partitions, two workers")
    print(f"  libraries and model alone                {alone.before:6.0f}")
    print(f"  prune_path, all samples in one process   {alone.here:6.0f}, {alone.seconds:.1f} s")
    for name, order in sizes.memory_of:
        work = {"prune": prune_on_cluster, "prune_path": path_on_cluster}[name]
        tradeoff = (MIDDLE,) if name == "prune" else ()
        peak = in_fresh_process(work, model, files[order], n_partitions, *tradeoff)
        show_peak(f"{name}, cluster, {order} order", peak, alone)


def show_peak(title: str, peak: Peak, alone: Peak) -> None:
    workers = " ".join(f"{worker:.0f}" for worker in peak.workers)
    print(
        f"  {title:40s} {peak.here:6.0f}, {peak.seconds:.1f} s; workers {workers}; the largest is "
        f"{peak.largest / alone.here:.2f} of one process",
        flush=True,
    )


def equal_to_memory(model: Any, X: np.ndarray, y: np.ndarray, folder: Path, sizes: Sizes) -> None:
    """Compare with the optimum in memory, for as many samples as are easily solved there."""
    rows = np.random.default_rng(1).permutation(len(y))[: sizes.n_compared]
    X, y = X[rows], y[rows]
    there = in_partitions(write_rows(folder, "compared", X, y), sizes.numbers_of_partitions[-1])
    print(f"\nThe same as in memory, {len(y)} random samples")
    for tradeoff in TRADEOFFS:
        one = tw.prune(model, X, y, tradeoff=tradeoff)
        other = tw.prune(model, *there, tradeoff=tradeoff)
        same = np.array_equal(splits_of(one.model), splits_of(other.model))
        print(
            f"  tradeoff {tradeoff:g}: same splits {same} ({other.n_splits}), objectives differ "
            f"by {abs(one.objective - other.objective):.0e}, gap {other.proof.certificate.gap}"
        )
        assert same
    path, other_path = tw.prune_path(model, X, y), tw.prune_path(model, *there)
    same = np.array_equal(path.drop_step, other_path.drop_step)
    print(f"  whole path: same drop steps {same}, {len(other_path)} points", flush=True)
    assert same


def splits_of(model: Any) -> np.ndarray:
    forest = read_forest(model)
    return np.column_stack([forest.feature, forest.left, forest.right])


class AscentRound(NamedTuple):
    """One round of dual ascent: gaps at all tradeoffs, relative to their bounds."""

    gaps: tuple[float, ...]
    n_bytes: int
    seconds: float


class Trial(NamedTuple):
    """Partitions of one number and order: default options at tradeoffs, and dual ascent alone."""

    order: str
    n_partitions: int
    n_arcs: int
    making: float
    solved: dict[float, tuple[DualRound, ...]]
    ascent: list[AscentRound]

    @property
    def title(self) -> str:
        return f"{self.order:6s} {self.n_partitions:6d}"


def all_trials(model: Any, files: dict[str, RowFiles], sizes: Sizes) -> Iterator[Trial]:
    """Try all numbers of partitions in both orders; the largest number at all tradeoffs."""
    for order in ORDERS:
        for n_partitions in sizes.numbers_of_partitions:
            is_last = n_partitions == sizes.numbers_of_partitions[-1]
            tradeoffs = TRADEOFFS if is_last else (MIDDLE,)
            most_rounds = sizes.most_rounds if is_last else min(sizes.most_rounds, 10)
            X, y = in_partitions(files[order], n_partitions)
            begin = perf_counter()
            with problem_in_partitions(model, X, y) as problem:
                making = perf_counter() - begin
                solved = {tradeoff: rounds_to_solve(problem, tradeoff) for tradeoff in tradeoffs}
                ascent = list(rounds_of_ascent(problem, tradeoffs, most_rounds))
                n_arcs = problem.partitions.closure.n_arcs
                yield Trial(order, n_partitions, n_arcs, making, solved, ascent)


def rounds_to_solve(problem: PruningProblem, tradeoff: float) -> tuple[DualRound, ...]:
    """Return the rounds of `prune` with its default options."""
    proof = tw.prune(problem, tradeoff=tradeoff).proof
    assert proof.rounds[-1].gap == proof.certificate.gap == 0
    return proof.rounds


def rounds_of_ascent(
    problem: PruningProblem, tradeoffs: tuple[float, ...], most_rounds: int
) -> Iterator[AscentRound]:
    """Yield rounds of dual ascent, nothing gathered, until the gaps are small at all tradeoffs.

    These rounds are the same for all tradeoffs, so that one run tells their gaps.
    """
    index = problem.partitions.index
    prices = np.array([float(index.in_units(tradeoff)) for tradeoff in tradeoffs])
    profit, bound = np.full(len(prices), -np.inf), np.full(len(prices), np.inf)
    closure = problem.partitions.closure
    rounding = ROUNDING * np.abs(closure.gains).sum()
    begin, n_bytes = perf_counter(), closure.partitions.bytes_moved
    for number, point in enumerate(dual_ascent(closure), 1):
        profits = point.gain_from - prices[:, None] * point.cost_from
        profit = np.maximum(profit, profits.max(axis=1))
        bound = np.minimum(bound, point.bounds(prices))
        gaps = np.where(bound - profit <= rounding, 0, (bound - profit) / np.maximum(bound, 1))
        moved = closure.partitions.bytes_moved - n_bytes
        n_bytes += moved
        yield AscentRound(tuple(gaps.tolist()), moved, perf_counter() - begin)
        if number == most_rounds or (number >= FEWEST_ROUNDS and gaps.max() <= SMALL_GAP):
            return


def show_gaps(trials: list[Trial], sizes: Sizes) -> None:
    """Print what is proven with the largest number of partitions, at all tradeoffs."""
    last = [trial for trial in trials if trial.n_partitions == sizes.numbers_of_partitions[-1]]
    print(
        f"\nProven gaps, {last[0].n_partitions} partitions: default options, and dual ascent alone"
    )
    print(
        "order   tradeoff  to make  rounds  seconds  arcs gathered  gap   "
        f"ascent: rounds to {SMALL_GAP:g}  last gap  seconds"
    )
    for trial in last:
        for place, (tradeoff, rounds) in enumerate(trial.solved.items()):
            gaps = [one.gaps[place] for one in trial.ascent]
            end = next((n for n, gap in enumerate(gaps) if gap <= SMALL_GAP), len(gaps) - 1)
            number = f"{end + 1}" if gaps[end] <= SMALL_GAP else f"over {end + 1}"
            print(
                f"{trial.order:6s} {tradeoff:9g} {trial.making:6.1f} s {len(rounds):7d} "
                f"{rounds[-1].seconds:8.1f} {rounds[-1].n_gathered:14d} "
                f"{rounds[-1].relative_gap:4.0e} {number:>24s}  {gaps[end]:8.1e} "
                f"{trial.ascent[end].seconds:8.1f}"
            )


def show_rounds(trials: list[Trial], n_splits: int) -> float:
    """Print rounds and bytes of all trials; return bytes per round, split and partition."""
    print(f"\nRounds and bytes at tradeoff {MIDDLE:g}; kB per round, both ways")
    print("order  parts     arcs  default: rounds, kB of each; seconds")
    for trial in trials:
        rounds = trial.solved[MIDDLE]
        print(
            f"{trial.title} {trial.n_arcs:8d} {len(rounds)}: "
            f"{' '.join(f'{one.n_bytes / 1e3:.0f}' for one in rounds)}; {rounds[-1].seconds:.1f}"
        )
    print("order  parts   ascent alone: kB of a round, s of a round; gaps of rounds 1, 2, ...")
    for trial in trials:
        place = list(trial.solved).index(MIDDLE)
        gaps = " ".join(f"{one.gaps[place]:.0e}" for one in trial.ascent[:10])
        each = trial.ascent[-1].seconds / len(trial.ascent)
        print(f"{trial.title} {trial.ascent[-1].n_bytes / 1e3:8.0f} {each:8.2f}; {gaps}")
    largest = trials[-1]
    assert len(largest.ascent) > 1, "The first round moves more than the others"
    per_split = largest.ascent[-1].n_bytes / largest.n_partitions / n_splits
    print(
        f"  A round of ascent moves {per_split:.1f} bytes for each split and partition", flush=True
    )
    return per_split


def show_growth(
    model: Any, X: np.ndarray, y: np.ndarray, bytes_per_split: float, sizes: Sizes
) -> None:
    """Print how one subproblem grows, and what that would come to for very many samples."""
    measured = with_samples(model, X, y, sizes.halvings)
    show_measured("One subproblem, more and more samples", measured)
    show_powers("N", [one.n_samples for one in measured], measured)
    fewer = (X[: sizes.n_compared], y[: sizes.n_compared])
    many_trees, _ = fit(*fewer, sizes.numbers_of_trees[-1], sizes)
    trees = with_trees(many_trees, *fewer, sizes.numbers_of_trees)
    show_measured("More and more trees", trees)
    show_powers("T", [one.n_trees for one in trees], trees)
    numbers = [number for number in sizes.numbers_of_features if number <= X.shape[1]]
    features = with_features(
        lambda X, y: fit(X, y, sizes.n_trees, sizes)[0], model.feature_importances_, *fewer, numbers
    )
    show_measured("More and more features, the most important first", features)
    show_extrapolation(measured, bytes_per_split)


if __name__ == "__main__":
    main()
