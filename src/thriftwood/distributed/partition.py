"""Partitions of the samples: what one holds, and what all back ends can do with them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from thriftwood.errors import InputError, ThriftwoodError

Message = TypeVar("Message")
Answer = TypeVar("Answer")


class Partition(NamedTuple):
    """Some of the samples, in memory, as the user's library gives them (NumPy, pandas).

    Attributes
    ----------
    number : int
        Its place among all partitions, from 0.
    X, y : array-like or data frame
    weight : array-like, optional
        The `sample_weight` of these samples.
    """

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
    """Return how many samples there are; None if they cannot be counted."""
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
    if hasattr(values, "iloc"):  # pandas
        return lambda start, stop: values.iloc[start:stop]
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    return lambda start, stop: array[start:stop]
