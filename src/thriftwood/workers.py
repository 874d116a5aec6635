"""Workers that are asked again and again, each time with a little news about the same data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend

from thriftwood.errors import LostWorkersError
from thriftwood.parallel import check_n_jobs

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
    has named in a `joblib.parallel_config`. Data travel to them once, news every time.

    Parameters
    ----------
    work : callable
        A function of a module, so that processes find it.
    data : sequence
    n_jobs : int, optional
        As in joblib: None means 1 unless a `joblib.parallel_config` says otherwise.
    """
    check_n_jobs(n_jobs)
    with (
        _data_at_the_cluster(data),
        Parallel(n_jobs=n_jobs, batch_size=1, max_nbytes=SMALL_ARRAY) as pool,
    ):

        def ask(news: Sequence[Any]) -> list[Any]:
            try:
                jobs = zip(data, news, strict=True)
                return list(pool(delayed(work)(own, new) for own, new in jobs))
            except Exception as error:  # every kind of worker has its own ways to fail
                raise LostWorkersError(
                    "The workers went away or failed; look at what ended them (memory is a "
                    "frequent cause), or use fewer, with `n_jobs`. The last that was heard: "
                    f"{type(error).__name__}: {error}"
                ) from error

        yield ask


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
