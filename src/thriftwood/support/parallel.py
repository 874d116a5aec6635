"""Run independent pieces of work: on threads of this process, or by joblib's workers.

Python calls the handlers of signals in the main thread alone. So long work is done by other
threads, and the main thread waits, where it can be interrupted at any time.
"""

from __future__ import annotations

import math
import os
import threading
import time
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import partial
from pickle import dumps, loads
from queue import SimpleQueue
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from thriftwood.errors import InputError, LostWorkersError
from thriftwood.support.arrays import BoolArray
from thriftwood.support.validation import is_whole

Item = TypeVar("Item")
Result = TypeVar("Result")
# Told now and then which share of a long piece of work is done, from 0 to 1.
Progress = Callable[[float], None]
# Larger arrays, in bytes, are not sent to processes but written once to memory that they share.
SMALL_ARRAY = 1000
PREFERRED = ("threads", "processes")  # what joblib takes where it may choose


# Set once the call that a thread works for is given up.
_never = threading.Event()
_given_up: ContextVar[threading.Event] = ContextVar("given_up", default=_never)


class DaemonThreads(Executor):
    """Threads that a process does not wait for at its end, unlike a `ThreadPoolExecutor`'s.

    So an interrupted program ends at once, whatever library code its threads are still in.
    """

    def __init__(self, n_threads: int, given_up: threading.Event = _never) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=_serve, args=(self._tasks, given_up), daemon=True)
            for _ in range(n_threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[..., Result], /, *args: Any, **options: Any) -> Future[Result]:
        """Return the future of a result."""
        future: Future[Result] = Future()
        self._tasks.put((future, partial(work, *args, **options)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads when all is done, or as soon as they are out of what they are in."""
        while cancel_futures and not self._tasks.empty():
            task = self._tasks.get()
            if task is not None:
                task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads if wait else ():
            thread.join()


_idle: list[DaemonThreads] = []
if hasattr(os, "register_at_fork"):  # threads stay behind
    os.register_at_fork(after_in_child=_idle.clear)


def aside(work: Callable[..., Result], *args: Any) -> Result:
    """Return `work(*args)`, done in another thread if this is the main one."""
    if threading.current_thread() is not threading.main_thread():
        check_wanted()
        return work(*args)
    # Taken out of the list: whoever comes after an interrupt does not wait for what is abandoned.
    pool = _idle.pop() if _idle else DaemonThreads(1)
    given_up, context = threading.Event(), copy_context()
    context.run(_given_up.set, given_up)
    try:
        result: Result = pool.submit(context.run, work, *args).result()
    except BaseException:
        given_up.set()
        pool.shutdown(wait=False)
        raise
    _idle.append(pool)
    return result


def joblib_settings() -> Callable[[], AbstractContextManager[Any]]:
    """Return a context that sets joblib up in another thread as the user did in this one."""
    (threads, _), (processes, n_jobs) = (get_active_backend(prefer=p) for p in PREFERRED)
    if type(threads) is not type(processes):  # nobody has chosen
        return partial(parallel_config, n_jobs=n_jobs)
    return partial(parallel_config, processes, n_jobs=n_jobs)


def check_wanted() -> None:
    """End the work of a thread whose call was given up, before it calls what may take long."""
    if _given_up.get().is_set():
        raise CancelledError


@contextmanager
def thread_pool(n_threads: int) -> Iterator[DaemonThreads]:
    """Yield threads, which end with the kernel they are in if the main thread is interrupted."""
    is_main = threading.current_thread() is threading.main_thread()
    given_up = threading.Event() if is_main else _given_up.get()
    pool = DaemonThreads(n_threads, given_up)
    try:
        yield pool
    except BaseException:
        if is_main:
            given_up.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def stopping(flag: BoolArray, deadline: float = math.inf) -> Iterator[None]:
    """Set a flag that a kernel looks at once the work is interrupted, or the deadline passes.

    The deadline is a second of `time.monotonic`.
    """
    limit = deadline - time.monotonic()
    flag[0] = limit <= 0
    timer = threading.Timer(limit, flag.fill, [True])
    timer.daemon = True
    if 0 < limit < threading.TIMEOUT_MAX:
        timer.start()
    try:
        yield
    except BaseException:
        flag[0] = True
        raise
    finally:
        timer.cancel()


def for_each(
    work: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None
) -> list[Result]:
    """Return `work(item)` of every item, in order, on threads: kernels release the GIL.

    Two calls never write to the same entries of an array. `n_jobs` is as in joblib: None means 1
    unless a `joblib.parallel_config` says otherwise, -1 all cores.
    """
    items = list(items)
    most = min(n_threads(n_jobs), len(items))
    if most <= 1:
        return aside(lambda: [work(item) for item in items])
    # Not joblib's threads: it looks only every hundredth of a second whether they are done.
    with thread_pool(most) as pool:
        return list(pool.map(work, items))


def work_off(
    items: Iterable[Item],
    work: Callable[[Item], Iterable[Item]],
    n_jobs: int | None,
    size: Callable[[Item], int],
    progress: Progress | None = None,
) -> None:
    """Work on items, largest by `size` first, and on the smaller ones that the work returns.

    That is what remains to be done of an item. `progress` is told the share of the first items that
    is done; the others are as in `for_each`.
    """
    waiting = sorted(items, key=size)
    everything = max(sum(map(size, waiting)), 1)
    in_work: dict[Future[Iterable[Item]], int] = {}
    most = n_threads(n_jobs)
    if most == 1:
        while waiting:
            waiting += aside(work, waiting.pop())
            if progress is not None:
                progress(1 - sum(map(size, waiting)) / everything)
        return
    with thread_pool(most) as pool:
        while waiting or in_work:
            while waiting and len(in_work) < most:
                n_units = size(waiting[-1])
                in_work[pool.submit(work, waiting.pop())] = n_units
            for future in wait(in_work, return_when=FIRST_COMPLETED).done:
                del in_work[future]
                for item in future.result():
                    insort(waiting, item, key=size)
            if progress is not None:
                progress(1 - (sum(in_work.values()) + sum(map(size, waiting))) / everything)


@contextmanager
def joblib_workers(
    work: Callable[[Any, Any], Any], data: Sequence[Any], n_jobs: int | None
) -> Iterator[Callable[[Sequence[Any]], list[Any]]]:
    """Yield a function that returns `work(datum, message)` for one message each.

    Workers are what joblib has: this very process, other processes, or a Dask cluster that the user
    has named in a `joblib.parallel_config`. Data travel once, to memory that all processes share or
    to every worker of the cluster; messages travel every time. `work` is a function of a module, so
    that processes find it; there are never more workers than data.
    """
    most = min(n_threads(n_jobs), len(data))
    try:
        at_the_cluster = _data_at_the_cluster(data)
    except Exception as error:
        raise _lost_workers(error) from error
    with at_the_cluster, Parallel(n_jobs=most, batch_size=1, max_nbytes=SMALL_ARRAY) as pool:

        def map_messages(messages: Sequence[Any]) -> list[Any]:
            jobs = zip(data, messages, strict=True)
            try:
                return list(pool(delayed(_work_on)(work, own, dumps(one)) for own, one in jobs))
            except Exception as error:
                raise _lost_workers(error) from error

        yield map_messages


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads, or workers of joblib, that `n_jobs` means here and now."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(f"`n_jobs` is {n_jobs!r}: pass None, a number of workers, or -1 for all.")
    try:
        n_effective: int = effective_n_jobs(n_jobs)
    except Exception as error:
        raise _lost_workers(error) from error
    return n_effective


def _serve(tasks: SimpleQueue[Any], given_up: threading.Event) -> None:
    """Work off a queue, until there is nothing more to come."""
    _given_up.set(given_up)
    while (task := tasks.get()) is not None:
        future, work = task
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
        del task, future, work  # results are the caller's


def _work_on(work: Callable[[Any, Any], Any], own: Any, message: bytes) -> Any:
    """Do the work where the worker is.

    Messages come as bytes: joblib would keep arrays in shared memory to the end, or send them to a
    cluster by itself, and wait for ever if that fails.
    """
    return work(own, loads(message))


def _lost_workers(error: Exception) -> LostWorkersError:
    """Return in our words that workers failed: every kind of them has its own ways to do so."""
    return LostWorkersError(
        "The workers went away or failed; look at what ended them (memory is a frequent cause) or "
        f"use fewer, with `n_jobs`. The last that was heard: {type(error).__name__}: {error}"
    )


def _data_at_the_cluster(data: Sequence[Any]) -> AbstractContextManager[Any]:
    """Return a context in which a Dask cluster, if one is to do the work, holds the data."""
    backend, _ = get_active_backend()
    if type(backend).__name__ != "DaskDistributedBackend":
        return nullcontext()
    return parallel_config(
        "dask",
        client=backend.client,
        scatter=list(data),
        wait_for_workers_timeout=backend.wait_for_workers_timeout,
        **backend.submit_kwargs,
    )
