"""Partitions in this process: an iterator of chunks or slices of an array, work on threads."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any

from thriftwood.distributed.partition import (
    Answer,
    Message,
    Partition,
    build_state,
    check_length,
    count_samples,
    naming,
    slicer,
)
from thriftwood.errors import InputError
from thriftwood.support.parallel import for_each

# Called with 0, 1, 2, ...: returns that partition, or None after the last one. A function and not a
# generator, which would hold on to the partition that it has given last.
Read = Callable[[int], Partition | None]
# Of a partition that is sliced out of an array.
SLICE_SAMPLES = 65_536


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

    with ThreadPoolExecutor(n_threads) as pool:
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
            building.append(pool.submit(build_and_free, box))
        states.extend(future.result() for future in building)
    return states


def read_chunks(chunks: Iterator[Any], y: Any, sample_weight: Any) -> Read:
    """Return what reads the next pair (X, y) or triple (X, y, weight) of an iterator."""
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
    """Return what takes the next `SLICE_SAMPLES` samples of an array, without reading them."""
    n_samples = count_samples(X)
    if not n_samples:
        raise InputError("X has no samples: at least one sample is needed.")
    if y is None:
        raise InputError("`y` is None: pass the labels of the samples.")
    check_length("y", y, n_samples)
    if sample_weight is not None:
        check_length("sample_weight", sample_weight, n_samples)
    slicers = [slicer(values) for values in (X, y, sample_weight)]

    def read(number: int) -> Partition | None:
        start, stop = number * SLICE_SAMPLES, (number + 1) * SLICE_SAMPLES
        if start >= n_samples:
            return None
        return Partition(number, *(take(start, stop) for take in slicers))

    return read
