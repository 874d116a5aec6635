"""Find out how samples are given, and open their partitions."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from thriftwood.distributed.local import LocalPartitions, build_states, read_chunks, read_slices
from thriftwood.distributed.partition import Partition, Partitions
from thriftwood.errors import MissingLibraryError
from thriftwood.support.parallel import n_threads
from thriftwood.support.progress import progress_line


@contextmanager
def open_partitions(
    build: Callable[[Partition], Any],
    X: Any,
    y: Any,
    sample_weight: Any,
    n_jobs: int | None,
    progress: bool | None = False,
) -> Iterator[Partitions]:
    """Build the state of every partition, and yield all of them; free them at the end.

    Parameters
    ----------
    build : callable
        Turns a `Partition` into its state: a function of a module, or a partial of one. The same
        partition must give the same state, because one that is lost with its worker is built again.
    X : Dask array or data frame, iterator, memory-mapped or other array
        The partitions of a Dask collection are read by the workers of the current Dask client, or
        without one by threads of this process. An iterator yields pairs (X, y) or triples (X, y,
        weight); no more than `n_jobs` of them are in memory at a time. Arrays are sliced.
    y : Dask array or series, array-like, or None
        None with an iterator, one label for each sample otherwise.
    sample_weight : like y, or None
    n_jobs : int, optional
        Threads of this process, as in joblib; a cluster that the user has started has its own.
    progress : bool, optional
        Whether to count on a line what was read in this process; a cluster has its own dashboard.
    """
    most = n_threads(n_jobs)
    if is_dask(X):
        if find_spec("distributed") is None:
            raise MissingLibraryError(
                'Samples in a Dask collection need distributed: pip install "thriftwood[dask]"'
            )
        from thriftwood.distributed.dask_cluster import open_dask_partitions

        with open_dask_partitions(build, X, y, sample_weight, most) as dask_partitions:
            yield dask_partitions
        return
    read = (read_chunks if is_iterator(X) else read_slices)(X, y, sample_weight)
    with progress_line("Reading samples:", progress) as line:
        states = build_states(build, read, most, line)
    with closing(LocalPartitions(states, most)) as partitions:
        del states
        yield partitions


def is_partitioned(X: Any) -> bool:
    """Recognise samples in partitions: a Dask array or data frame, an iterator, a memory map."""
    return is_dask(X) or is_iterator(X) or isinstance(X, np.memmap)


def is_dask(X: Any) -> bool:
    """Recognise a Dask array or data frame, without importing Dask."""
    kinds = (("dask.array", "Array"), ("dask.dataframe", "DataFrame"))
    return any(
        module in sys.modules and isinstance(X, getattr(sys.modules[module], kind))
        for module, kind in kinds
    )


def is_iterator(X: Any) -> bool:
    """Recognise an iterator of chunks."""
    return hasattr(X, "__next__")
