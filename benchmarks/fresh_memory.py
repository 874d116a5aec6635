"""The peak memory of pruning, taken in processes that have done nothing else before.

It is the largest resident size since a process began (VmHWM). The `ru_maxrss` of the same process
would also count what its parent had in memory when it was started.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import joblib
from distributed import Client, LocalCluster
from measure import memory_kilobytes
from row_files import RowFiles, in_memory, in_partitions

import thriftwood as tw


class Peak(NamedTuple):
    """Peaks in MB of the process that was called, and of workers; and what the call took."""

    here: float
    workers: tuple[float, ...]
    seconds: float

    @property
    def largest(self) -> float:
        return max(self.here, *self.workers, 0.0)


@contextmanager
def two_workers():
    """Start two processes of one thread each, and make them the current Dask cluster."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def in_fresh_process(work: Callable[..., Peak], *arguments: Any) -> Peak:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        return other.submit(work, *arguments).result()


def nothing_done(model: Path) -> Peak:
    """Return what a process takes that has only loaded the libraries and the model."""
    joblib.load(model)
    return Peak(peak_megabytes(), (), 0.0)


def path_in_memory(model: Path, files: RowFiles) -> Peak:
    X, y = in_memory(files)
    return _timed(lambda: tw.prune_path(joblib.load(model), X, y))


def path_on_cluster(model: Path, files: RowFiles, n_partitions: int) -> Peak:
    X, y = in_partitions(files, n_partitions)
    with two_workers() as client:
        return _timed(lambda: tw.prune_path(joblib.load(model), X, y), client)


def prune_on_cluster(model: Path, files: RowFiles, n_partitions: int, tradeoff: float) -> Peak:
    X, y = in_partitions(files, n_partitions)
    with two_workers() as client:
        return _timed(lambda: tw.prune(joblib.load(model), X, y, tradeoff=tradeoff), client)


def _timed(call: Callable[[], object], client: Client | None = None) -> Peak:
    begin = perf_counter()
    call()
    seconds = perf_counter() - begin
    workers = () if client is None else tuple(client.run(peak_megabytes).values())
    return Peak(peak_megabytes(), workers, seconds)


def peak_megabytes() -> float:
    return memory_kilobytes("VmHWM") * 1024 / 1e6
