"""How a subproblem grows with samples, trees and features: size, time to make and to solve it."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from copy import copy
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from measure import peak_bytes, seconds_of
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.distributed.dual import Subproblem
from thriftwood.distributed.dual.ascent import dual_ascent
from thriftwood.problem import PruningProblem

N_WORKERS = 100
MANY_SAMPLES = 10**9


class Measured(NamedTuple):
    """One subproblem, made of so many samples.

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


def problem_in_partitions(model: Any, X: Any, y: Any = None) -> PruningProblem:
    """Make subproblems of the partitions of X, with unit prices, as `prune` does."""
    return tw.pruning_problem(model, X, y, n_jobs=1, progress=False)


def measure_subproblem(model: Any, X: np.ndarray, y: np.ndarray) -> Measured:
    """Make one subproblem of all samples in this process, and time a round of ascent with it."""
    with ExitStack() as stack:
        problem, extra, making = make_measured(stack, model, X, y)
        closure = problem.partitions.closure
        rounds = dual_ascent(closure)
        next(rounds)  # it asks for what later rounds know
        one_round = median(seconds_of(lambda: next(rounds)) for _ in range(3))
        (n_bytes,) = closure.map(bytes_of)
        forest = problem.forest
        n_features = len(np.unique(forest.feature[forest.is_split]))
        sizes = (len(X), forest.n_trees, n_features, forest.n_splits, closure.n_arcs, n_bytes)
        return Measured(*sizes, extra, making, one_round)


def make_measured(
    stack: ExitStack, model: Any, X: np.ndarray, y: np.ndarray
) -> tuple[PruningProblem, int, float]:
    """Return a problem that the stack closes, and the memory and the seconds that it took."""
    made: list[tuple[PruningProblem, float]] = []

    def make() -> None:
        begin = perf_counter()
        problem = stack.enter_context(problem_in_partitions(model, iter([(X, y)])))
        made.append((problem, perf_counter() - begin))

    extra = peak_bytes(make)
    problem, seconds = made[0]
    return problem, extra, seconds


def bytes_of(subproblem: Subproblem, _: None) -> int:
    """Return the memory that the arrays of a subproblem take."""
    return sum(array.nbytes for array in vars(subproblem).values())


def with_samples(model: Any, X: np.ndarray, y: np.ndarray, halvings: int) -> list[Measured]:
    """Measure subproblems of all samples, of half of them, and so on, in random order."""
    sizes = [len(X) >> times for times in reversed(range(halvings + 1))]
    return [measure_subproblem(model, X[:n_samples], y[:n_samples]) for n_samples in sizes]


def with_trees(model: Any, X: np.ndarray, y: np.ndarray, numbers: Sequence[int]) -> list[Measured]:
    """Measure the same samples with the first trees of a forest."""
    return [measure_subproblem(first_trees(model, n_trees), X, y) for n_trees in numbers]


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
    """Measure the same samples with forests that were grown on the most important columns."""
    columns = np.argsort(-importance, kind="stable")
    grown = []
    for n_features in numbers:
        fewer = np.ascontiguousarray(X[:, columns[:n_features]])
        grown.append(measure_subproblem(fit(fewer, y), fewer, y))
    return grown


def show_measured(title: str, measured: Sequence[Measured]) -> None:
    print(f"\n{title}")
    print(
        " samples  trees  features  splits      arcs  MB  extra to make, MB      s  per s  "
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
    """Do the arithmetic for very many samples, from what was measured with fewer.

    Parameters
    ----------
    measured : subproblems of more and more samples
    bytes_per_split : float
        What travels in a round of ascent for each split and partition.
    """
    largest = measured[-1]
    n_samples = [one.n_samples for one in measured]
    memory = growth(n_samples, [one.n_bytes for one in measured])
    seconds = growth(n_samples, [one.one_round for one in measured])
    speed = largest.n_samples / largest.making
    making = MANY_SAMPLES / speed / N_WORKERS
    print(
        f"\nExtrapolation, not measured: {MANY_SAMPLES:.0e} samples like these, the same "
        f"{largest.n_trees} trees, {N_WORKERS} workers of one core\n"
        f"  To make the subproblems: {MANY_SAMPLES:.0e} samples / {speed:.0f} per second / "
        f"{N_WORKERS} workers = {making:.0f} s, reading aside"
    )
    for per_worker in (1, 10):
        n_partitions = N_WORKERS * per_worker
        size = MANY_SAMPLES / n_partitions
        bytes_a_round = n_partitions * largest.n_splits * bytes_per_split
        print(
            f"  {n_partitions} partitions of {size:.0e} samples, {per_worker} per worker\n"
            f"    memory of subproblems: {per_worker} x {memory.first / 1e6:.1f} MB x "
            f"({size:.0e} / {largest.n_samples})^{memory.power:.2f} = "
            f"{per_worker * memory.at(size) / 1e6:.0f} MB per worker\n"
            f"    a round of ascent: {per_worker} x {seconds.first:.2f} s x ({size:.0e} / "
            f"{largest.n_samples})^{seconds.power:.2f} = {per_worker * seconds.at(size):.1f} s\n"
            f"    bytes per round: {n_partitions} partitions x {largest.n_splits} splits x "
            f"{bytes_per_split:.1f} = {bytes_a_round / 1e6:.0f} MB"
        )
