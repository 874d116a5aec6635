"""The crew of a Dask cluster: states on its workers, which Dask builds again when they are lost."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pickle import loads
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, LocalCluster

from thriftwood.distributed.crew import Answer, News
from thriftwood.distributed.parcels import (
    Parcel,
    Refusal,
    build_there,
    nothing,
    pack,
    unchanged,
    work_there,
)
from thriftwood.distributed.partitions import Partition, partitions
from thriftwood.distributed.pieces import Piece, in_place
from thriftwood.distributed.waiting import check_connection, results
from thriftwood.errors import InputError, LostWorkersError

# News from this size on, in bytes, are sent only once if several states get the same.
LARGE_NEWS = 50_000
# How often a task that has failed is tried again, because a file or a connection may be back.
RETRIES = 2


@contextmanager
def hire_cluster(
    build: Callable[[Piece], Any], X: Any, y: Any, sample_weight: Any, n_threads: int
) -> Iterator["ClusterCrew"]:
    """Build a state for each partition of a Dask collection, and yield the crew that holds them.

    Parameters
    ----------
    build, X, y, sample_weight
        As in `hire`.
    n_threads : int
        Of the cluster that is started in this process if there is no current client.
    """
    pieces = partitions(X, y, sample_weight)
    with _client(n_threads) as client, closing(ClusterCrew(client)) as crew:
        crew.build(build, pieces)
        yield crew


class ClusterCrew:
    """States on the workers of a Dask cluster; see `Crew`.

    A state is a task of a graph that begins with the user's collection and holds nothing that was
    sent to one worker only, so Dask can always build it again.
    """

    def __init__(self, client: Client) -> None:
        self.bytes_sent = 0
        self.bytes_received = 0
        self._client = client
        self._states: list[Future[Any]] = []

    @property
    def n_shards(self) -> int:
        return len(self._states)

    def build(self, build: Callable[[Piece], Any], pieces: Sequence[Partition]) -> None:
        """Build the states, and wait until they are there."""
        parcel = _delayed("thriftwood-build", unchanged, pack(build))
        states = [
            _delayed("thriftwood-state", build_there, parcel, number, *piece)
            for number, piece in enumerate(pieces)
        ]
        with _large_graphs():
            try:
                self._states = self._client.compute(states, retries=RETRIES)
            except Exception as error:
                check_connection(self._client)
                raise InputError(
                    "Dask cannot compute X, y or `sample_weight` by its current client: "
                    f"{type(error).__name__}: {error}"
                ) from error
        _unpacked(self._results([pack((nothing, None))] * self.n_shards, retries=0))

    def ask(self, work: Callable[[Any, News], Answer], news: Sequence[News]) -> list[Answer]:
        if len(news) != self.n_shards:
            raise ValueError(f"{len(news)} news for {self.n_shards} states")
        packed = {id(new): pack((work, new)) for new in {id(new): new for new in news}.values()}
        answers = self._results([packed[id(new)] for new in news], RETRIES)
        self.bytes_sent += sum(len(parcel.packed) for parcel in packed.values())
        self.bytes_received += sum(map(len, answers))
        return _unpacked(answers)

    def close(self) -> None:
        """Let the cluster forget the states."""
        _release(self._states)
        self._states = []

    def _results(self, parcels: list[Parcel], retries: int) -> list[bytes]:
        """Return what `work_there` returns for each state and its parcel."""
        tasks: list[Future[Any]] = []
        try:
            with _large_graphs(), _losses_reported(self._client):
                shared = self._sent_once(parcels)
                tasks += shared.values()
                luggage = [shared.get(id(parcel), parcel) for parcel in parcels]
                asked = self._client.map(
                    work_there,
                    self._states,
                    luggage,
                    key="thriftwood-ask",
                    pure=False,
                    retries=retries,
                )
                tasks += asked
            return results(self._client, asked)
        finally:
            _release(tasks)

    def _sent_once(self, parcels: list[Parcel]) -> dict[int, Future[Parcel]]:
        """Make large parcels that several states get results of tasks, and return these."""
        n_receivers = Counter(map(id, parcels))
        large = {id(parcel): parcel for parcel in parcels if len(parcel.packed) >= LARGE_NEWS}
        return {
            number: self._client.submit(
                unchanged,
                parcel,
                key=f"thriftwood-news-{uuid4().hex}",
                pure=False,
                retries=RETRIES,
            )
            for number, parcel in large.items()
            if n_receivers[number] > 1
        }


@contextmanager
def _client(n_threads: int) -> Iterator[Client]:
    """Yield the current Dask client, or one of a cluster in this process if there is none."""
    try:
        client = Client.current()
    except ValueError:
        client = None
    if client is None:
        with _own_cluster(n_threads) as client:
            yield client
        return
    if client.asynchronous:
        raise InputError(
            "The current Dask client is asynchronous: make one with Client(..., asynchronous=False)"
            " and call from outside of its event loop."
        )
    check_connection(client)
    yield client


@contextmanager
def _own_cluster(n_threads: int) -> Iterator[Client]:
    """Start a cluster of threads; processes would run the user's main script again.

    It shows no dashboard, and nobody outside of this machine can look for one. It has no limit of
    memory: a worker that pauses because this process as a whole has too much would never go on.
    """
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=n_threads,
            processes=False,
            memory_limit=0,
            silence_logs=logging.CRITICAL,  # errors are raised
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _large_graphs() -> Iterator[None]:
    """Keep Dask from warning of large graphs: labels and news travel with them on purpose."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        yield


@contextmanager
def _losses_reported(client: Client) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        check_connection(client)
        raise LostWorkersError(
            "The Dask cluster takes no more tasks; the last that was heard: "
            f"{type(error).__name__}: {error}"
        ) from error


def _delayed(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    return dask.delayed(function)(*arguments, dask_key_name=f"{name}-{uuid4().hex}")


def _unpacked(answers: list[bytes]) -> list[Any]:
    """Return the answers, or raise what a worker refused."""
    contents = [loads(answer) for answer in answers]
    for number, content in enumerate(contents):
        if isinstance(content, Refusal):
            raise in_place(content.error, f"Partition {number}")
    return contents


def _release(tasks: list[Future[Any]]) -> None:
    for task in tasks:
        task.release()
