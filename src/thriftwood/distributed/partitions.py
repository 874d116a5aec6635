"""Samples in partitions: states stay where the partitions lie, and only messages travel.

Two back ends do the same: threads of this process for iterators of chunks, memory maps and arrays;
a Dask cluster for Dask collections (`dask_cluster`).
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from importlib.util import find_spec
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeVar

from thriftwood.errors import InputError, MissingLibraryError, ThriftwoodError
from thriftwood.support.arrays import by_place
from thriftwood.support.parallel import for_each, n_threads, thread_pool
from thriftwood.support.progress import progress_bar

Message = TypeVar("Message")
Answer = TypeVar("Answer")
# Of a partition that is sliced out of an array.
SLICE_SAMPLES = 65_536


class Partition(NamedTuple):
    """Some of the samples, in memory, as the user's library gives them; numbered from 0."""

    number: int
    X: Any
    y: Any
    weight: Any | None


class Partitions(Protocol):
    """States built from partitions, held where the partitions lie.

    Work is a function of a module, or a partial of one, so that other processes find it. It changes
    neither the state, which may be built again when its worker is lost, nor the message, which
    other partitions may get, too.

    Attributes
    ----------
    n_partitions : int
    bytes_moved : int
        Sizes, when pickled, of the messages sent and the answers received so far. A message that
        several partitions share (the same object) counts once. 0 where all lie in this process.
    """

    @property
    def n_partitions(self) -> int: ...

    @property
    def bytes_moved(self) -> int: ...

    def map(
        self, work: Callable[[Any, Message], Answer], messages: Sequence[Message]
    ) -> list[Answer]:
        """Return `work(state, message)` of every partition; one message each, in their order."""
        ...

    def update(self, work: Callable[[Any, Message], Any], message: Message) -> None:
        """Replace every state by `work(state, message)`."""
        ...


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

    `build` is a function of a module, or a partial of one. The same partition must give the same
    state, because one that is lost with its worker is built again. Dask collections are read by
    the workers of the current Dask client, or without one by threads of this process. Iterators
    yield (X, y) or (X, y, weight); no more than `n_jobs` of them are in memory at a time. Arrays
    are sliced.
    """
    most = n_threads(n_jobs)
    is_iterator = hasattr(X, "__next__")
    if is_partitioned(X) and not is_iterator:
        if find_spec("distributed") is None:
            raise MissingLibraryError(
                'Samples in a Dask collection need distributed: pip install "thriftwood[dask]"'
            )
        from thriftwood.distributed.dask_cluster import open_dask_partitions

        with open_dask_partitions(build, X, y, sample_weight, most) as dask_partitions:
            yield dask_partitions
        return
    read = (read_chunks if is_iterator else read_slices)(X, y, sample_weight)
    with progress_bar("Reading samples:", progress) as line:
        states = build_states(build, read, most, line)
    with closing(LocalPartitions(states, most)) as partitions:
        del states
        yield partitions


def is_partitioned(X: Any) -> bool:
    """Recognise samples in partitions: an iterator of chunks, or a Dask array or data frame."""
    kinds = (("dask.array", "Array"), ("dask.dataframe", "DataFrame"))
    return hasattr(X, "__next__") or any(
        module in sys.modules and isinstance(X, getattr(sys.modules[module], kind))
        for module, kind in kinds
    )


# --- what both back ends share


def build_state(build: Callable[[Partition], Any], partition: Partition) -> Any:
    """Return `build(partition)`; refuse one without samples, or without one label for each."""
    n_samples = count_samples(partition.X)
    if n_samples == 0:
        raise InputError("X has no samples: leave it out, or repartition a Dask collection.")
    for name, values in (("y", partition.y), ("sample_weight", partition.weight)):
        if values is not None and getattr(partition.X, "ndim", 2) == 2:
            check_length(name, values, n_samples)
    return build(partition)


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Begin the message of our errors with the partition that they are about."""
    try:
        yield
    except ThriftwoodError as error:
        error.args = (f"Partition {number}: {error}",)
        raise


def count_samples(values: Any) -> int | None:
    """Return the number of samples; None if they cannot be counted."""
    try:
        return len(values)
    except TypeError:
        return None


def check_length(name: str, values: Any, n_samples: int | None) -> None:
    """Refuse labels or weights, the user's argument `name`, that are not one for each sample."""
    n_values = count_samples(values)
    if n_samples is not None and n_values != n_samples:
        has = "is one value" if n_values is None else f"has {n_values} values"
        raise InputError(f"`{name}` {has}, but X has {n_samples} samples: pass one each.")


def slicer(values: Any) -> Callable[[int, int], Any]:
    """Return a function that takes samples `start` to `stop` of what the user has in memory."""
    if values is None:
        return lambda _start, _stop: None
    table = by_place(values)
    return lambda start, stop: table[start:stop]


# --- partitions in this process

# Called with 0, 1, 2, ...: returns that partition, or None after the last one. A function and not a
# generator, which would hold on to the partition that it has given last.
Read = Callable[[int], Partition | None]


class LocalPartitions:
    """States in this process; see `Partitions`."""

    bytes_moved = 0

    def __init__(self, states: list[Any], n_threads: int) -> None:
        self._states = states
        self._n_threads = n_threads

    @property
    def n_partitions(self) -> int:
        return len(self._states)

    def map(
        self, work: Callable[[Any, Message], Answer], messages: Sequence[Message]
    ) -> list[Answer]:
        def answer(job: tuple[int, Any, Message]) -> Answer:
            number, state, message = job
            with naming(number):
                return work(state, message)

        jobs = zip(range(self.n_partitions), self._states, messages, strict=True)
        return for_each(answer, jobs, self._n_threads)

    def update(self, work: Callable[[Any, Message], Any], message: Message) -> None:
        self._states = self.map(work, [message] * self.n_partitions)

    def close(self) -> None:
        """Free the states."""
        self._states = []


def build_states(
    build: Callable[[Partition], Any], read: Read, n_threads: int, line: Callable[[str], None]
) -> list[Any]:
    """Return the states of all partitions, of which `n_threads` are in memory at a time.

    They are read here: files and connections may know only the thread that opened them.
    """
    states: list[Any] = []
    building: deque[Future[Any]] = deque()

    def build_and_free(box: list[Partition]) -> Any:
        with naming(box[0].number):
            return build_state(build, box.pop())

    with thread_pool(n_threads) as pool:
        for number in count():
            if len(building) == n_threads:
                states.append(building.popleft().result())
                line(f"{len(states)} partitions")
            try:
                partition = read(number)
            except InputError:
                for future in building:  # one before it may be wrong, too
                    future.result()
                raise
            if partition is None:
                break
            box = [partition]
            del partition  # only the box holds it
            if n_threads == 1:  # a thread would keep memory that it has freed
                states.append(build_and_free(box))
                line(f"{len(states)} partitions")
            else:
                building.append(pool.submit(build_and_free, box))
        states.extend(future.result() for future in building)
    return states


def read_chunks(chunks: Iterator[Any], y: Any, sample_weight: Any) -> Read:
    """Return a reader of the pairs (X, y) or triples (X, y, weight) of an iterator."""
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None:
            raise InputError(
                f"X is an iterator and `{name}` is given too: let the iterator yield (X, y) or "
                f"(X, y, weight) for each chunk, and pass no `{name}`."
            )

    def read(number: int) -> Partition | None:
        try:
            chunk = next(chunks)
        except StopIteration:
            if number == 0:
                raise InputError("X has yielded no chunk: pass a fresh iterator.") from None
            return None
        except Exception as error:
            raise InputError(
                f"Partition {number} could not be read: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            size = f" of {len(chunk)}" if isinstance(chunk, tuple) else ""
            raise InputError(
                f"Partition {number} is a {type(chunk).__name__}{size}: let the iterator yield "
                "pairs (X, y) or triples (X, y, weight)."
            )
        return Partition(number, chunk[0], chunk[1], chunk[2] if len(chunk) == 3 else None)

    return read


def read_slices(X: Any, y: Any, sample_weight: Any) -> Read:
    """Return a reader of slices of `SLICE_SAMPLES` samples of an array."""
    n_samples = count_samples(X)
    if not n_samples:
        raise InputError("X has no samples: at least one sample is needed.")
    if y is None:
        raise InputError("`y` is None: pass the labels of the samples.")
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None:
            check_length(name, values, n_samples)
    slicers = [slicer(values) for values in (X, y, sample_weight)]

    def read(number: int) -> Partition | None:
        start, stop = number * SLICE_SAMPLES, (number + 1) * SLICE_SAMPLES
        if start >= n_samples:
            return None
        return Partition(number, *(take(start, stop) for take in slicers))

    return read
