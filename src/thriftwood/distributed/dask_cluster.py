"""Partitions on a Dask cluster: states on its workers, built again by Dask when they are lost."""

from __future__ import annotations  # tasks of older releases of Dask have no type of result

import logging
from asyncio import run_coroutine_threadsafe
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager, suppress
from time import monotonic
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, KilledWorker, LocalCluster
from distributed import Future as Task
from distributed.protocol.pickle import dumps, loads

from thriftwood.distributed.dask_collections import partitions_of
from thriftwood.distributed.partitions import Answer, Message, Partition, build_state, naming
from thriftwood.errors import InputError, LostWorkersError, ThriftwoodError

# How often Dask tries a task again that has failed: a file or a connection may be back.
RETRIES = 2
# How often to look whether a worker is there, and how long a cluster may be without.
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_WITHOUT_WORKERS = 30.0
# Dask warns of large graphs, but labels and messages travel with them on purpose.
LARGE_GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TB"}


@contextmanager
def open_dask_partitions(
    build: Callable[[Partition], Any], X: Any, y: Any, sample_weight: Any, n_threads: int
) -> Iterator[DaskPartitions]:
    """Build a state for each partition of a Dask collection; parameters as in `open_partitions`.

    `n_threads` are those of the cluster that is started here if there is no current client.
    """
    parts = partitions_of(X, y, sample_weight)
    with _client(n_threads) as client, closing(DaskPartitions(client)) as partitions:
        partitions.build(build, parts)
        yield partitions


class DaskPartitions:
    """States on the workers of a Dask cluster; see `Partitions`.

    A state is a task of a graph that begins with the user's collection and holds nothing that was
    sent to one worker only, so Dask can always build it again. What we send is pickled here, and
    Dask sees bytes: nothing in it can look like a task to it.
    """

    def __init__(self, client: Client) -> None:
        self.bytes_moved = 0
        self._client = client
        self._states: list[Task[Any]] = []

    @property
    def n_partitions(self) -> int:
        return len(self._states)

    def build(
        self, build: Callable[[Partition], Any], parts: Sequence[tuple[Any, Any, Any]]
    ) -> None:
        """Build the states, and wait until they are there."""
        payload = dask.delayed(_unchanged)(dumps(build), dask_key_name=_key("build"))
        build_there = dask.delayed(_build_there)
        states = [
            build_there(payload, number, *part, dask_key_name=_key("state"))
            for number, part in enumerate(parts)
        ]
        try:
            with dask.config.set(LARGE_GRAPHS):
                self._states = self._client.compute(states, retries=RETRIES)
        except Exception as error:
            _check_connection(self._client)
            raise InputError(
                "Dask cannot compute X, y or `sample_weight` by its current client: "
                f"{type(error).__name__}: {error}"
            ) from error
        self._answers([dumps((_nothing, None))] * self.n_partitions)

    def map(
        self, work: Callable[[Any, Message], Answer], messages: Sequence[Message]
    ) -> list[Answer]:
        if len(messages) != self.n_partitions:
            raise ValueError(f"{len(messages)} messages for {self.n_partitions} partitions")
        distinct = {id(message): message for message in messages}
        payloads = {key: dumps((work, message)) for key, message in distinct.items()}
        answers = self._answers([payloads[id(message)] for message in messages])
        self.bytes_moved += sum(map(len, [*payloads.values(), *answers]))
        return [loads(answer) for answer in answers]

    def update(self, work: Callable[[Any, Message], Any], message: Message) -> None:
        payloads = [dumps((work, message))] * self.n_partitions
        before = self._states
        self._states = self._submitted("thriftwood-state", _update_there, payloads)
        _release(before)

    def close(self) -> None:
        """Let the cluster forget the states."""
        _release(self._states)
        self._states = []

    def _answers(self, payloads: list[bytes]) -> list[bytes]:
        """Return the pickled answers of all partitions, or raise what one of them refused."""
        shared: list[Task[bytes]] = []
        tasks: list[Task[Any]] = []
        try:
            sent = self._sent_once(payloads, shared)
            tasks += self._submitted("thriftwood-map", _work_there, sent)
            answers = _gathered(self._client, tasks)
        finally:
            _release([*tasks, *shared])
        for number, answer in enumerate(answers):
            if isinstance(answer, ThriftwoodError):
                with naming(number):
                    raise answer
        return answers

    def _sent_once(self, payloads: list[bytes], shared: list[Task[bytes]]) -> list[Any]:
        """Make payloads that several partitions get results of tasks: Dask sends these once."""
        n_receivers = Counter(map(id, payloads))
        once = {id(payload): payload for payload in payloads if n_receivers[id(payload)] > 1}
        keys = [_key("message") for _ in once]
        with self._reported():
            shared += self._client.map(_unchanged, list(once.values()), key=keys, retries=RETRIES)
        task_of = dict(zip(once, shared, strict=True))
        return [task_of.get(id(payload), payload) for payload in payloads]

    def _submitted(
        self, key: str, work: Callable[[Any, Any], Any], payloads: Sequence[Any]
    ) -> list[Task[Any]]:
        with self._reported():
            tasks: list[Task[Any]] = self._client.map(
                work, self._states, payloads, key=key, pure=False, retries=RETRIES
            )
        return tasks

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Turn errors of the scheduler into ours."""
        try:
            with dask.config.set(LARGE_GRAPHS):
                yield
        except Exception as error:
            _check_connection(self._client)
            raise LostWorkersError(
                "The Dask cluster takes no more tasks; the last that was heard: "
                f"{type(error).__name__}: {error}"
            ) from error


# --- on the workers


def _unchanged(payload: bytes) -> bytes:
    return payload


def _nothing(_state: Any, _message: None) -> None:
    """Do no work: whoever is asked to has built the state."""


def _build_there(payload: bytes, number: int, X: Any, y: Any, weight: Any) -> Any:
    return _attempt(lambda: build_state(loads(payload), Partition(number, X, y, weight)))


def _work_there(state: Any, payload: bytes) -> Any:
    answer = _update_there(state, payload)
    return answer if isinstance(answer, ThriftwoodError) else dumps(answer)


def _update_there(state: Any, payload: bytes) -> Any:
    if isinstance(state, ThriftwoodError):
        return state
    work, message = loads(payload)
    return _attempt(lambda: work(state, message))


def _attempt(work: Callable[[], Any]) -> Any:
    """Do work; return an error of ours, which Dask would otherwise log and try again."""
    try:
        return work()
    except ThriftwoodError as error:
        return error
    except Exception as error:
        words = f"the work on it failed: {type(error).__name__}: {error}"
        raise LostWorkersError(words) from error


# --- wait for tasks, but never for ever


def _gathered(client: Client, tasks: Sequence[Task[Any]]) -> list[Any]:
    """Gather results of tasks, one for each partition; raise their errors."""
    _check_connection(client)
    gathering = _start(client, client.gather(list(tasks), asynchronous=True))
    begin = monotonic()
    try:
        while not _is_done(gathering):
            _check_connection(client)
            if _has_workers(client):
                begin = monotonic()
            elif monotonic() - begin > SECONDS_WITHOUT_WORKERS and not gathering.done():
                raise LostWorkersError(
                    "The Dask cluster has had no worker that works for "
                    f"{SECONDS_WITHOUT_WORKERS:g} seconds: look at what ended or paused them "
                    "(memory is a frequent cause), or start some."
                )
        try:
            gathered: list[Any] = gathering.result()
        except Exception as error:
            raise _in_our_words(client, tasks, error) from error
    finally:
        gathering.cancel()
    return gathered


def _check_connection(client: Client) -> None:
    if client.status != "running":
        raise LostWorkersError(
            f"The Dask client has no connection to a scheduler (it is {client.status}): what its "
            "workers held is lost. Start a cluster and a client, and call again."
        )


def _has_workers(client: Client) -> bool:
    """Ask the scheduler for a worker that runs, or has paused but not before its last task ends."""
    asking = _start(client, client.scheduler.identity())
    try:
        if not _is_done(asking) or asking.exception() is not None:
            return False
        workers = asking.result()["workers"].values()
    finally:
        asking.cancel()
    return any(
        worker["status"] == "running" or worker["metrics"].get("task_counts", {}).get("executing")
        for worker in workers
    )


def _start(client: Client, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    return run_coroutine_threadsafe(coroutine, client.loop.asyncio_loop)


def _is_done(future: Future[Any]) -> bool:
    return bool(wait([future], timeout=SECONDS_BETWEEN_LOOKS).done)


def _in_our_words(client: Client, tasks: Sequence[Task[Any]], error: Exception) -> ThriftwoodError:
    """Name the partition that failed, and whose fault it was."""
    _check_connection(client)
    number = next((place for place, task in enumerate(tasks) if task.status == "error"), None)
    if number is None:
        return LostWorkersError(
            "The Dask cluster does not have what the work needs: it was restarted, or the samples "
            "were persisted on another one. Call again with samples that it can read. The last "
            f"that was heard: {type(error).__name__}: {error}"
        )
    cause = tasks[number].exception() or error
    if isinstance(cause, LostWorkersError):
        return LostWorkersError(f"Partition {number}: {cause}")
    if isinstance(cause, KilledWorker):
        return LostWorkersError(
            f"Workers died again and again while partition {number} was theirs; memory is a "
            f"frequent cause, so make partitions smaller. The last that was heard: {cause}"
        )
    return InputError(f"Partition {number} could not be read: {type(cause).__name__}: {cause}")


# --- clients and graphs


@contextmanager
def _client(n_threads: int) -> Iterator[Client]:
    """Yield the current Dask client, or one of a cluster in this process if there is none."""
    client = None
    with suppress(ValueError):
        client = Client.current()
    if client is None:
        with _own_cluster(n_threads) as cluster, Client(cluster, set_as_default=False) as client:
            yield client
        return
    if client.asynchronous:
        raise InputError(
            "The current Dask client is asynchronous: make one with Client(..., asynchronous=False)"
            " and call from outside of its event loop."
        )
    _check_connection(client)
    yield client


def _own_cluster(n_threads: int) -> LocalCluster:
    """Start a cluster of threads; processes would run the user's main script again.

    It shows no dashboard, and nobody outside of this machine can look for one. It has no limit of
    memory: a worker that pauses because this process as a whole has too much would never go on.
    """
    return LocalCluster(
        n_workers=1,
        threads_per_worker=n_threads,
        processes=False,
        memory_limit=0,
        silence_logs=logging.CRITICAL,  # errors are raised
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
    )


def _key(name: str) -> str:
    return f"thriftwood-{name}-{uuid4().hex}"


def _release(tasks: Sequence[Task[Any]]) -> None:
    for task in tasks:
        task.release()
