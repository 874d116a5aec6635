"""The peak memory of pruning, taken in processes that have done nothing else before.

It is the largest resident size since a process began (VmHWM). The `ru_maxrss` of the same process
would also count what its parent had in memory when it was started.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import joblib
from distributed import Client, LocalCluster
from measure import memory_kilobytes, seconds_of
from row_files import RowFiles, in_memory, in_partitions

import thriftwood as tw


class Peak(NamedTuple):
    """Peaks in MB of the process that was called, and of workers; and what the call took.

    `before` is what the process had taken for libraries and model, before it saw samples.
    """

    before: float
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
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def in_fresh_process(work: Callable[..., Peak], *arguments: Any) -> Peak:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        return other.submit(work, *arguments).result()


def path_in_memory(path: Path, files: RowFiles) -> Peak:
    model, before = joblib.load(path), peak_megabytes()
    X, y = in_memory(files)
    seconds = seconds_of(lambda: tw.prune_path(model, X, y))
    return Peak(before, peak_megabytes(), (), seconds)


def path_on_cluster(path: Path, files: RowFiles, n_partitions: int) -> Peak:
    return _on_cluster(path, files, n_partitions, tw.prune_path)


def prune_on_cluster(path: Path, files: RowFiles, n_partitions: int, tradeoff: float) -> Peak:
    return _on_cluster(path, files, n_partitions, partial(tw.prune, tradeoff=tradeoff))


def _on_cluster(
    path: Path, files: RowFiles, n_partitions: int, prune: Callable[..., object]
) -> Peak:
    model, before = joblib.load(path), peak_megabytes()
    X, y = in_partitions(files, n_partitions)
    with two_workers() as client:
        seconds = seconds_of(lambda: prune(model, X, y))
        workers = tuple(client.run(peak_megabytes).values())
    return Peak(before, peak_megabytes(), workers, seconds)


def peak_megabytes() -> float:
    return memory_kilobytes("VmHWM") * 1024 / 1e6
