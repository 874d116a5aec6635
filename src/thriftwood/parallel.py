"""Run independent pieces of work, on threads where the user asks for it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from joblib import Parallel, delayed

Item = TypeVar("Item")


def for_each(
    work: Callable[[Item], None], items: Iterable[Item], n_jobs: int | None = None
) -> None:
    """Call `work` on every item; kernels release the GIL, so threads of one process share arrays.

    Parameters
    ----------
    work : callable
        Writes its result into arrays of its own item; two calls never touch the same entries.
    items : iterable
    n_jobs : int, optional
        As in joblib: None means 1 unless a `joblib.parallel_config` says otherwise, -1 all cores.
    """
    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(work)(item) for item in items)
