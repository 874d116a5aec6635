"""Find out how rows are given, and hire the crew that they need."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from thriftwood.distributed.chunks import read_chunks, read_stretches
from thriftwood.distributed.crew import Crew
from thriftwood.distributed.local import LocalCrew, build_states
from thriftwood.distributed.pieces import Piece
from thriftwood.errors import MissingLibraryError
from thriftwood.support.parallel import n_threads


@contextmanager
def hire(
    build: Callable[[Piece], Any], X: Any, y: Any, sample_weight: Any, n_jobs: int | None
) -> Iterator[Crew]:
    """Build the state of every piece of the rows, and yield the crew that holds them.

    At the end, and whenever an error is raised, everything that the crew holds is freed.

    Parameters
    ----------
    build : callable
        Turns a `Piece` into its state: a function of a module, or a partial of one. The same piece
        must give the same state, because a state that is lost with its worker is built again.
    X : Dask array or data frame, iterator, memory-mapped or other array
        The partitions of a Dask collection are read by the workers of the current Dask client, or
        without one by threads of this process. An iterator yields pairs (X, y) or triples (X, y,
        weight); no more than `n_jobs` of them are in memory at a time. Arrays are cut into
        stretches of rows, which are read one by one.
    y : Dask array or series, array-like, or None
        None with an iterator, one label for each row otherwise.
    sample_weight : like y, or None
    n_jobs : int, optional
        Threads of this process, as in joblib; a cluster that the user has started has its own.
    """
    most = n_threads(n_jobs)
    if is_dask(X):
        with _hire_cluster(build, X, y, sample_weight, most) as cluster_crew:
            yield cluster_crew
        return
    read = (read_chunks if _is_iterator(X) else read_stretches)(X, y, sample_weight)
    crew = LocalCrew(build_states(build, read, most), most)
    try:
        yield crew
    finally:
        crew.dismiss()


def _hire_cluster(*arguments: Any) -> AbstractContextManager[Crew]:
    if find_spec("distributed") is None:
        raise MissingLibraryError(
            'Rows in a Dask collection need distributed: pip install "thriftwood[dask]"'
        )
    from thriftwood.distributed.cluster import hire_cluster

    return hire_cluster(*arguments)


def is_chunked(X: Any) -> bool:
    """Say whether rows come in pieces: a Dask array or data frame, an iterator, a memory map."""
    return is_dask(X) or _is_iterator(X) or isinstance(X, np.memmap)


def is_dask(X: Any) -> bool:
    """Say whether rows are a Dask array or data frame, without importing Dask."""
    kinds = (("dask.array", "Array"), ("dask.dataframe", "DataFrame"))
    return any(
        module in sys.modules and isinstance(X, getattr(sys.modules[module], kind))
        for module, kind in kinds
    )


def _is_iterator(X: Any) -> bool:
    return hasattr(X, "__next__")
