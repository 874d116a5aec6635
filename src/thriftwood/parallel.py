"""Run independent pieces of work, on threads where the user asks for it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed

from thriftwood.errors import InputError

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
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise InputError(f"`n_jobs` is {n_jobs!r}: pass None, a number of threads, or -1 for all.")
    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(work)(item) for item in items)
