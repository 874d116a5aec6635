"""Workers that are asked again and again, each time with a little news about the same data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pickle import dumps, loads
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from thriftwood.errors import LostWorkersError
from thriftwood.support.parallel import check_n_jobs

# Called with one piece of news for each piece of data; returns one answer for each.
Ask = Callable[[Sequence[Any]], list[Any]]
# Larger arrays, in bytes, are not sent to processes but written once to memory that they share.
SMALL_ARRAY = 1000


@contextmanager
def workers(
    work: Callable[[Any, Any], Any], data: Sequence[Any], n_jobs: int | None
) -> Iterator[Ask]:
    """Yield a function that returns `work(data, news)` for each piece of data.

    Workers are what joblib has: this very process, other processes, or a Dask cluster that the user
    has named in a `joblib.parallel_config`. Data travel once, to memory that all processes share or
    to every worker of the cluster; news travel every time.

    Parameters
    ----------
    work : callable
        A function of a module, so that processes find it.
    data : sequence
    n_jobs : int, optional
        As in joblib: None means 1 unless a `joblib.parallel_config` says otherwise. There are never
        more workers than pieces of data.
    """
    most = min(n_workers(n_jobs), len(data))
    with _failures_translated():
        at_the_cluster = _data_at_the_cluster(data)
    with at_the_cluster, Parallel(n_jobs=most, batch_size=1, max_nbytes=SMALL_ARRAY) as pool:

        def ask(news: Sequence[Any]) -> list[Any]:
            jobs = zip(data, news, strict=True)
            with _failures_translated():
                return list(pool(delayed(_work_on)(work, own, dumps(new)) for own, new in jobs))

        yield ask


def n_workers(n_jobs: int | None) -> int:
    """Return how many workers there are for `n_jobs`, here and now."""
    check_n_jobs(n_jobs)
    with _failures_translated():
        n_effective: int = effective_n_jobs(n_jobs)
    return n_effective


def _work_on(work: Callable[[Any, Any], Any], own: Any, new: bytes) -> Any:
    """Do the work where the worker is.

    News come as bytes: joblib would keep arrays in shared memory to the end, or send them to a
    cluster by itself, and wait for ever if that fails.
    """
    return work(own, loads(new))


@contextmanager
def _failures_translated() -> Iterator[None]:
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
