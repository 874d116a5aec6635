"""Run independent pieces of work: on threads of this process, or by joblib's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from heapq import heappop, heappush
from itertools import count
from pickle import dumps, loads
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from thriftwood.errors import InputError, LostWorkersError

Item = TypeVar("Item")
Result = TypeVar("Result")
# Told now and then which share of a long piece of work is done, from 0 to 1.
Progress = Callable[[float], None]
# Larger arrays, in bytes, are not sent to processes but written once to memory that they share.
SMALL_ARRAY = 1000


def for_each(
    work: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None
) -> list[Result]:
    """Return `work(item)` of every item, in order, on threads: kernels release the GIL.

    Parameters
    ----------
    work : callable
        Two calls never write to the same entries of an array.
    items : iterable
    n_jobs : int, optional
        As in joblib: None means 1 unless a `joblib.parallel_config` says otherwise, -1 all cores.
    """
    items = list(items)
    most = min(n_threads(n_jobs), len(items))
    if most <= 1:
        return [work(item) for item in items]
    # Not joblib's threads: it looks only every hundredth of a second whether they are done.
    with ThreadPoolExecutor(most) as pool:
        return list(pool.map(work, items))


def work_off(
    items: Iterable[Item],
    work: Callable[[Item], Iterable[Item]],
    n_jobs: int | None,
    size: Callable[[Item], int],
    progress: Progress | None = None,
) -> None:
    """Work on items, largest first, and on the smaller ones that the work returns, to the end.

    Parameters
    ----------
    items, work
        As in `for_each`; `work` returns what remains to be done of its item.
    n_jobs : int, optional
        As in `for_each`.
    size : callable
        How much work is in an item.
    progress : callable, optional
        Told the share of the first items that is done.
    """
    most = n_threads(n_jobs)
    waiting: list[tuple[int, int, Item]] = []
    running: set[Future[Iterable[Item]]] = set()
    number = count()  # so that items of equal size need not be compared

    def add(items: Iterable[Item]) -> None:
        for item in items:
            heappush(waiting, (-size(item), next(number), item))

    add(items)
    everything = -sum(entry[0] for entry in waiting)
    in_work: dict[Future[Iterable[Item]], int] = {}
    with ThreadPoolExecutor(most) as pool:
        while waiting or running:
            while waiting and len(running) < most:
                negative_size, _, item = heappop(waiting)
                future = pool.submit(work, item)
                in_work[future] = -negative_size
                running.add(future)
                del item  # the work may free it
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                del in_work[future]
                add(future.result())
            if progress is not None:
                left = sum(in_work.values()) - sum(entry[0] for entry in waiting)
                progress(1 - left / max(everything, 1))


@contextmanager
def joblib_workers(
    work: Callable[[Any, Any], Any], data: Sequence[Any], n_jobs: int | None
) -> Iterator[Callable[[Sequence[Any]], list[Any]]]:
    """Yield a function that returns `work(datum, message)` for one message each.

    Workers are what joblib has: this very process, other processes, or a Dask cluster that the user
    has named in a `joblib.parallel_config`. Data travel once, to memory that all processes share or
    to every worker of the cluster; messages travel every time.

    Parameters
    ----------
    work : callable
        A function of a module, so that processes find it.
    data : sequence
    n_jobs : int, optional
        As in `for_each`. There are never more workers than data.
    """
    most = min(n_threads(n_jobs), len(data))
    with _failures_reported():
        at_the_cluster = _data_at_the_cluster(data)
    with at_the_cluster, Parallel(n_jobs=most, batch_size=1, max_nbytes=SMALL_ARRAY) as pool:

        def map_messages(messages: Sequence[Any]) -> list[Any]:
            jobs = zip(data, messages, strict=True)
            with _failures_reported():
                return list(pool(delayed(_work_on)(work, own, dumps(one)) for own, one in jobs))

        yield map_messages


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads, or workers of joblib, `n_jobs` means here and now."""
    check_n_jobs(n_jobs)
    with _failures_reported():
        n_effective: int = effective_n_jobs(n_jobs)
    return n_effective


def check_n_jobs(n_jobs: int | None) -> None:
    """Refuse what joblib would not understand."""
    is_number = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not is_number or n_jobs == 0):
        raise InputError(f"`n_jobs` is {n_jobs!r}: pass None, a number of workers, or -1 for all.")


def _work_on(work: Callable[[Any, Any], Any], own: Any, message: bytes) -> Any:
    """Do the work where the worker is.

    Messages come as bytes: joblib would keep arrays in shared memory to the end, or send them to a
    cluster by itself, and wait for ever if that fails.
    """
    return work(own, loads(message))


@contextmanager
def _failures_reported() -> Iterator[None]:
    """Say in our words that workers failed: every kind of them has its own ways to do so."""
    try:
        yield
    except Exception as error:
        raise LostWorkersError(
            "The workers went away or failed; look at what ended them (memory is a frequent cause) "
            "or use fewer, with `n_jobs`. The last that was heard: "
            f"{type(error).__name__}: {error}"
        ) from error


def _data_at_the_cluster(data: Sequence[Any]) -> AbstractContextManager[Any]:
    """Return a context in which a Dask cluster, if one is to do the work, holds the data."""
    backend, _ = get_active_backend()
    if type(backend).__name__ != "DaskDistributedBackend":
        return nullcontext()
    context: AbstractContextManager[Any] = parallel_config(
        "dask",
        client=backend.client,
        scatter=list(data),
        wait_for_workers_timeout=backend.wait_for_workers_timeout,
        **backend.submit_kwargs,
    )
    return context
