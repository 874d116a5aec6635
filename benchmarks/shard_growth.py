"""How a shard grows with rows, trees and features: its size, the time to make and to ask it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from measure import peak_bytes, seconds_of
from sklearn.ensemble import RandomForestClassifier

from thriftwood.distributed.dual.rounds import price_rounds
from thriftwood.distributed.dual.shard import Shard
from thriftwood.distributed.sharded_task import ShardedTask, sharded_task

N_WORKERS = 100
MANY_ROWS = 10**9


class Measured(NamedTuple):
    """One shard, made of so many rows.

    `extra` is the memory in bytes that this process had to get to make it, above what it had
    already used and freed.
    """

    n_samples: int
    n_trees: int
    n_features: int
    n_splits: int
    n_arcs: int
    n_bytes: int
    extra: int
    making: float
    one_round: float


class Growth(NamedTuple):
    """A power law, fitted to logarithms: value = first * (n / n_first) ** power."""

    n_first: float
    first: float
    power: float

    def at(self, n: float) -> float:
        return self.first * (n / self.n_first) ** self.power


@contextmanager
def shards_of(model: Any, X: Any, y: Any = None) -> Iterator[ShardedTask]:
    """Make shards of the pieces of X, with unit prices, as `prune` does."""
    with sharded_task(
        model,
        X,
        y,
        costs=None,
        loss=None,
        class_weight=None,
        samples="all",
        sample_weight=None,
        n_jobs=1,
        progress=False,
    ) as task:
        yield task


def measure_shard(model: Any, X: np.ndarray, y: np.ndarray) -> Measured:
    """Make one shard of all rows in this process, and time a round of prices with it."""
    with ExitStack() as stack:
        task, extra, making = make_measured(stack, model, X, y)
        rounds = price_rounds(task.crew, task.projects)
        next(rounds)  # it asks for what later rounds know
        one_round = median(seconds_of(lambda: next(rounds)) for _ in range(3))
        (n_bytes,) = task.crew.ask(bytes_of, [None])
        forest = task.forest
        n_features = len(np.unique(forest.feature[forest.is_split]))
        sizes = (len(X), forest.n_trees, n_features, forest.n_splits, task.n_arcs, n_bytes)
        return Measured(*sizes, extra, making, one_round)


def make_measured(
    stack: ExitStack, model: Any, X: np.ndarray, y: np.ndarray
) -> tuple[ShardedTask, int, float]:
    """Return one shard that the stack frees, and the memory and the seconds that it took."""
    made: list[tuple[ShardedTask, float]] = []

    def make() -> None:
        begin = perf_counter()
        task = stack.enter_context(shards_of(model, iter([(X, y)])))
        made.append((task, perf_counter() - begin))

    extra = peak_bytes(make)
    task, seconds = made[0]
    return task, extra, seconds


def bytes_of(shard: Shard, _: None) -> int:
    """Return the memory that the arrays of a shard take."""
    return sum(array.nbytes for array in vars(shard).values())


def with_rows(model: Any, X: np.ndarray, y: np.ndarray, halvings: int) -> list[Measured]:
    """Measure shards of all rows, of half of them, and so on; rows are in random order."""
    sizes = [len(X) >> times for times in reversed(range(halvings + 1))]
    return [measure_shard(model, X[:n_samples], y[:n_samples]) for n_samples in sizes]


def with_trees(model: Any, X: np.ndarray, y: np.ndarray, numbers: Sequence[int]) -> list[Measured]:
    """Measure the same rows with the first trees of a forest."""
    return [measure_shard(first_trees(model, n_trees), X, y) for n_trees in numbers]


def first_trees(model: RandomForestClassifier, n_trees: int) -> RandomForestClassifier:
    smaller = copy(model)
    smaller.estimators_ = model.estimators_[:n_trees]
    smaller.n_estimators = n_trees
    return smaller


def with_features(
    fit: Callable[[np.ndarray, np.ndarray], Any],
    importance: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    numbers: Iterable[int],
) -> list[Measured]:
    """Measure the same rows with forests that were grown on the most important columns."""
    columns = np.argsort(-importance, kind="stable")
    grown = []
    for n_features in numbers:
        fewer = np.ascontiguousarray(X[:, columns[:n_features]])
        grown.append(measure_shard(fit(fewer, y), fewer, y))
    return grown


def show_measured(title: str, measured: Sequence[Measured]) -> None:
    print(f"\n{title}")
    print(
        "    rows  trees  features  splits      arcs  shard, MB  extra to make, MB      s  rows/s  "
        "a round, s"
    )
    for one in measured:
        print(
            f"{one.n_samples:8d} {one.n_trees:6d} {one.n_features:9d} {one.n_splits:7d} "
            f"{one.n_arcs:9d} {one.n_bytes / 1e6:10.2f} {one.extra / 1e6:17.0f} {one.making:6.2f} "
            f"{one.n_samples / one.making:7.0f} {one.one_round:11.3f}",
            flush=True,
        )


def growth(x: Sequence[float], values: Sequence[float]) -> Growth:
    """Fit a power law."""
    power, height = np.polyfit(np.log(x), np.log(values), 1)
    return Growth(x[-1], float(np.exp(height) * x[-1] ** power), float(power))


def show_powers(name: str, x: Sequence[float], measured: Sequence[Measured]) -> None:
    """Print power laws, and the power between the two largest only: growth may slow down."""
    for what, values in (
        ("Arcs", [one.n_arcs for one in measured]),
        ("Seconds of a round", [one.one_round for one in measured]),
    ):
        power, last = growth(x, values).power, growth(x[-2:], values[-2:]).power
        print(f"  {what} grow like {name}^{power:.2f}, at the end like {name}^{last:.2f}")


def show_extrapolation(measured: Sequence[Measured], bytes_per_split: float) -> None:
    """Do the arithmetic for very many rows, from what was measured with fewer.

    Parameters
    ----------
    measured : shards of more and more rows
    bytes_per_split : float
        What travels in a round of prices for each split and shard.
    """
    largest = measured[-1]
    rows = [one.n_samples for one in measured]
    memory = growth(rows, [one.n_bytes for one in measured])
    seconds = growth(rows, [one.one_round for one in measured])
    speed = largest.n_samples / largest.making
    making = MANY_ROWS / speed / N_WORKERS
    print(
        f"\nExtrapolation, not measured: {MANY_ROWS:.0e} rows like these, the same "
        f"{largest.n_trees} trees, {N_WORKERS} workers of one core\n"
        f"  To make the shards: {MANY_ROWS:.0e} rows / {speed:.0f} rows per second / {N_WORKERS} "
        f"workers = {making:.0f} s, reading aside"
    )
    for per_worker in (1, 10):
        n_shards = N_WORKERS * per_worker
        size = MANY_ROWS / n_shards
        bytes_a_round = n_shards * largest.n_splits * bytes_per_split
        print(
            f"  {n_shards} shards of {size:.0e} rows, {per_worker} per worker\n"
            f"    memory of shards: {per_worker} x {memory.first / 1e6:.1f} MB x ({size:.0e} / "
            f"{largest.n_samples})^{memory.power:.2f} = {per_worker * memory.at(size) / 1e6:.0f} "
            f"MB per worker\n"
            f"    a round of prices: {per_worker} x {seconds.first:.2f} s x ({size:.0e} / "
            f"{largest.n_samples})^{seconds.power:.2f} = {per_worker * seconds.at(size):.1f} s\n"
            f"    bytes per round: {n_shards} shards x {largest.n_splits} splits x "
            f"{bytes_per_split:.1f} = {bytes_a_round / 1e6:.0f} MB"
        )
