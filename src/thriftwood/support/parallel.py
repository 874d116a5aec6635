"""Run independent pieces of work, on threads where the user asks for it."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from heapq import heappop, heappush
from itertools import count
from typing import TypeVar

import numpy as np
from joblib import effective_n_jobs

from thriftwood.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
# Told now and then which share of a long piece of work is done, from 0 to 1.
Progress = Callable[[float], None]


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


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` means here and now."""
    check_n_jobs(n_jobs)
    n_effective: int = effective_n_jobs(n_jobs)
    return n_effective


def check_n_jobs(n_jobs: int | None) -> None:
    """Refuse what joblib would not understand."""
    is_number = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not is_number or n_jobs == 0):
        raise InputError(f"`n_jobs` is {n_jobs!r}: pass None, a number of workers, or -1 for all.")
