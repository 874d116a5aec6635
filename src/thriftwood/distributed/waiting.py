"""Wait for the tasks of a cluster, but never for ever."""

from asyncio import run_coroutine_threadsafe
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future, wait
from typing import Any

from distributed import Client, KilledWorker
from distributed import Future as Task

from thriftwood.distributed.parcels import WorkError
from thriftwood.errors import InputError, LostWorkersError, ThriftwoodError

# How often to look whether anybody is still there, and for how long a cluster may be without.
SECONDS_BETWEEN_LOOKS = 1.0
LOOKS_WITHOUT_WORKERS = 30


def results(client: Client, tasks: Sequence[Task[Any]]) -> list[Any]:
    """Return what tasks return, one for each partition; raise what keeps them from it."""
    check_connection(client)
    gathering = _start(client, client.gather(list(tasks), asynchronous=True))
    try:
        _wait(client, gathering)
        gathered: list[Any] = gathering.result()
    except ThriftwoodError:
        raise
    except Exception as error:
        raise _in_our_words(client, tasks, error) from error
    finally:
        gathering.cancel()
    return gathered


def check_connection(client: Client) -> None:
    """Refuse a client that has no scheduler any more."""
    if client.status != "running":
        raise LostWorkersError(
            f"The Dask client has no connection to a scheduler (it is {client.status}): what its "
            "workers held is lost. Start a cluster and a client, and call again."
        )


def _wait(client: Client, gathering: Future[Any]) -> None:
    n_looks = 0  # in a row that no worker was there
    while not _is_done(gathering):
        check_connection(client)
        n_looks = 0 if _has_workers(client) else n_looks + 1
        if n_looks >= LOOKS_WITHOUT_WORKERS and not gathering.done():
            seconds = LOOKS_WITHOUT_WORKERS * SECONDS_BETWEEN_LOOKS
            raise LostWorkersError(
                f"The Dask cluster has had no worker that works for {seconds:g} seconds: look at "
                "what ended or paused them (memory is a frequent cause), or start some."
            )


def _has_workers(client: Client) -> bool:
    """Ask the scheduler whether a worker runs, or has paused but not before its last task ends."""
    asking = _start(client, client.scheduler.identity())
    try:
        if not _is_done(asking) or asking.exception() is not None:
            return False
        workers = asking.result()["workers"].values()
    finally:
        asking.cancel()
    return any(worker["status"] == "running" or _is_executing(worker) for worker in workers)


def _is_executing(worker: dict[str, Any]) -> bool:
    return bool(worker["metrics"].get("task_counts", {}).get("executing"))


def _start(client: Client, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    return run_coroutine_threadsafe(coroutine, client.loop.asyncio_loop)


def _is_done(future: Future[Any]) -> bool:
    wait([future], timeout=SECONDS_BETWEEN_LOOKS)
    return future.done()


def _in_our_words(
    client: Client, tasks: Sequence[Task[Any]], error: BaseException
) -> ThriftwoodError:
    """Say which partition failed, and whose fault it was."""
    check_connection(client)
    failed = [number for number, task in enumerate(tasks) if task.status == "error"]
    if not failed:
        return LostWorkersError(
            "The Dask cluster does not have what the work needs: it was restarted, or the rows "
            "were persisted on another one. Call again with rows that it can read. The last that "
            f"was heard: {type(error).__name__}: {error}"
        )
    number = failed[0]
    error = tasks[number].exception() or error
    if isinstance(error, WorkError):
        return LostWorkersError(f"Partition {number}: the work on it failed: {error}")
    if isinstance(error, KilledWorker):
        return LostWorkersError(
            f"Workers died again and again while partition {number} was theirs; memory is a "
            f"frequent cause, so make partitions smaller. The last that was heard: {error}"
        )
    return InputError(f"Partition {number} could not be read: {type(error).__name__}: {error}")
