"""Partitions on a real cluster: a worker that is killed costs time, never the result."""

import asyncio
import gc
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster, Status
from partition_work import (
    end_the_process,
    fail_at,
    length_of_message,
    measure_slowly,
    readable_later,
    remember,
    remember_slowly,
    remember_unless,
    tell,
    unreadable,
    weigh,
    where,
)

from thriftwood.distributed import dask_cluster
from thriftwood.distributed.partitions import open_partitions
from thriftwood.errors import InputError, LostWorkersError, RangeError

pytestmark = pytest.mark.slow

X = np.arange(120.0).reshape(40, 3) % 7
Y = np.arange(40) % 3
N = 8
ROWS = da.from_array(X, chunks=(5, 2))
QUIET = [
    weigh((number, rows, Y[5 * number :][:5], None), 3)
    for number, rows in enumerate(np.split(X, N))
]


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=90)
        yield client
        gc.collect()  # errors hold what they have seen
        assert wait_until(lambda: not tasks_of(client)), tasks_of(client)


def tasks_of(client):
    return client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))


def kept_by(client):
    """Return the names of all results that workers keep."""
    return {str(key) for key, workers in client.who_has().items() if workers}


def wait_until(condition, seconds=15):
    for _ in range(seconds * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.usefixtures("client")
def test_the_answers_are_those_of_one_process():
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(y=Y), npartitions=4)
    for rows, labels in [(ROWS, Y), (ROWS, da.from_array(Y)), (frame[list("abc")], frame.y)]:
        with open_partitions(remember, rows, labels, None, 1) as there:
            answers = there.map(tell, range(there.n_partitions))
            assert os.getpid() not in there.map(where, [None] * there.n_partitions)
        assert [row for answer in answers for row in answer[1]] == X.tolist()
        assert [label for answer in answers for label in answer[2]] == Y.tolist()
        assert [answer[4] for answer in answers] == list(range(len(answers)))


def test_only_states_stay_on_the_workers(client):
    with open_partitions(remember, ROWS, Y, None, 1) as opened:
        opened.map(length_of_message, [b"x" * 100_000] * N)
        assert wait_until(lambda: len(kept_by(client)) == N)
        assert all(name.startswith("thriftwood-state") for name in kept_by(client))


def test_what_the_user_persists_stays_his(client):
    rows = ROWS.persist()
    with open_partitions(remember, rows, Y, None, 1) as opened:
        assert opened.map(weigh, [3] * N) == QUIET
    assert wait_until(lambda: not any("thriftwood" in name for name in kept_by(client)))
    np.testing.assert_array_equal(rows.compute(), X)


@pytest.mark.usefixtures("client")
def test_our_errors_come_back_from_workers():
    build = partial(remember_unless, number=5, error=InputError("The columns are wrong."))
    with (
        pytest.raises(InputError, match=r"^Partition 5: The columns are wrong.$"),
        open_partitions(build, ROWS, Y, None, 1),
    ):
        pass
    with open_partitions(remember, ROWS, Y, None, 1) as opened:
        with pytest.raises(RangeError, match=r"^Partition 2: It is too large.$"):
            opened.map(fail_at, [None, None, RangeError("It is too large."), *[None] * (N - 3)])
        assert opened.map(weigh, [3] * N) == QUIET


@pytest.mark.usefixtures("client")
def test_a_partition_that_the_users_graph_cannot_read_is_named():
    rows = ROWS.map_blocks(unreadable, dtype=float) + 1
    with (
        pytest.raises(
            InputError, match=r"^Partition 2 could not be read: OSError: the disk is gone"
        ),
        open_partitions(remember, rows, Y, None, 1),
    ):
        pass


@pytest.mark.usefixtures("client")
def test_a_partition_that_can_be_read_the_next_time_is(tmp_path):
    rows = ROWS.map_blocks(partial(readable_later, path=tmp_path / "tried"), dtype=float)
    with open_partitions(remember, rows, Y, None, 1) as opened:
        assert opened.map(weigh, [3] * N) == QUIET


def kill_a_worker(cluster, pid):
    assert pid in {worker.process.pid for worker in cluster.workers.values()}
    os.kill(pid, signal.SIGKILL)


@pytest.mark.usefixtures("client")
def test_a_worker_that_is_killed_between_two_maps_costs_no_answer(cluster):
    with open_partitions(remember, ROWS, Y, None, 1) as opened:
        assert opened.map(weigh, [3] * N) == QUIET
        pids = opened.map(where, [None] * N)
        kill_a_worker(cluster, pids[0])
        assert opened.map(weigh, [3] * N) == QUIET
        assert pids[0] not in opened.map(where, [None] * N)


@pytest.mark.usefixtures("client")
def test_all_workers_killed_between_two_maps_cost_no_answer(cluster):
    with open_partitions(remember, ROWS, Y, None, 1) as opened:
        pids = set(opened.map(where, [None] * N))
        for pid in pids:
            kill_a_worker(cluster, pid)
        assert opened.map(weigh, [3] * N) == QUIET
        assert not pids & set(opened.map(where, [None] * N))


@pytest.mark.usefixtures("client")
def test_a_worker_that_is_killed_during_a_map_costs_no_answer(cluster):
    message = b"x" * 200_000  # large and the same for all: they are on a worker themselves
    with open_partitions(remember, ROWS, Y, None, 1) as opened, ThreadPoolExecutor(1) as pool:
        pids = opened.map(where, [None] * N)
        asking = pool.submit(opened.map, measure_slowly, [message] * N)
        time.sleep(0.5)
        assert not asking.done()
        kill_a_worker(cluster, pids[0])
        assert asking.result(timeout=60) == [200_000] * N
        assert opened.map(weigh, [3] * N) == QUIET


def test_a_worker_that_is_killed_while_states_are_built_costs_no_answer(client, cluster):
    def open_and_map():
        with client.as_current(), open_partitions(remember_slowly, ROWS, Y, None, 1) as opened:
            return opened.map(weigh, [3] * N)

    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open_and_map)
        time.sleep(1)
        assert not opening.done()
        kill_a_worker(cluster, next(iter(cluster.workers.values())).process.pid)
        assert opening.result(timeout=60) == QUIET


@pytest.mark.usefixtures("client")
def test_a_partition_that_kills_workers_is_named(cluster, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)  # by default 3
    with (
        pytest.raises(LostWorkersError, match=r"^Workers died .* while partition \d was theirs"),
        open_partitions(end_the_process, ROWS, Y, None, 1),
    ):
        pass


@contextmanager
def small_cluster():
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            memory_limit=0,  # or a worker that is paused would go on by itself
            dashboard_address=":0",
        ) as cluster,
        Client(cluster, timeout=5) as client,
    ):
        yield cluster, client


@pytest.mark.parametrize("workers", ["gone", "paused"])
def test_nobody_waits_for_ever_for_workers(monkeypatch, workers):
    message = r"has had no worker that works for 0\.5 seconds"
    with (
        small_cluster() as (cluster, client),
        open_partitions(remember, ROWS, Y, None, 1) as opened,
    ):
        # Not before: a busy machine may take longer than that to start workers.
        monkeypatch.setattr(dask_cluster, "SECONDS_BETWEEN_LOOKS", 0.1)
        monkeypatch.setattr(dask_cluster, "SECONDS_WITHOUT_WORKERS", 0.5)
        if workers == "gone":
            cluster.scale(0)
            assert wait_until(lambda: not cluster.scheduler.workers)
        else:
            client.run(pause)
            assert wait_until(lambda: not cluster.scheduler.running)
        with pytest.raises(LostWorkersError, match=message):
            opened.map(weigh, [3] * N)
        with (
            pytest.raises(LostWorkersError, match=message),
            open_partitions(remember, ROWS, Y, None, 1),
        ):
            pass


def pause(dask_worker):
    dask_worker.status = Status.paused


def test_long_work_is_waited_for(monkeypatch):
    with small_cluster(), open_partitions(remember, ROWS, Y, None, 1) as opened:
        monkeypatch.setattr(dask_cluster, "SECONDS_BETWEEN_LOOKS", 0.5)
        monkeypatch.setattr(dask_cluster, "SECONDS_WITHOUT_WORKERS", 1.0)
        assert opened.map(measure_slowly, ["abc"] * N) == [3] * N


def test_a_client_that_is_closed_is_reported():
    with small_cluster() as (_, client), open_partitions(remember, ROWS, Y, None, 1) as opened:
        client.close()
        with pytest.raises(LostWorkersError, match="no connection to a scheduler"):
            opened.map(weigh, [3] * N)
        with (
            client.as_current(),
            pytest.raises(LostWorkersError, match="no connection to a scheduler"),
            open_partitions(remember, ROWS, Y, None, 1),
        ):
            pass


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_scheduler_that_goes_away_is_reported(when):
    with (
        small_cluster() as (cluster, _),
        open_partitions(remember, ROWS, Y, None, 1) as opened,
        ThreadPoolExecutor(1) as pool,
    ):
        if when == "before":
            cluster.close()
        asking = pool.submit(opened.map, measure_slowly, [b""] * N)
        if when == "during":
            time.sleep(0.7)
            cluster.close()
        with pytest.raises(LostWorkersError, match=r"no connection|does not have"):
            asking.result(timeout=60)


@pytest.mark.usefixtures("client")
def test_samples_of_another_cluster_are_refused():
    persisted = ROWS.persist()
    with (
        small_cluster(),
        pytest.raises(LostWorkersError, match="or the samples were persisted on another one"),
        open_partitions(remember, persisted, Y, None, 1),
    ):
        pass


def test_a_client_without_a_thread_of_its_own_is_refused(cluster):
    async def open_where_only_coroutines_run():
        async with Client(cluster.scheduler_address, asynchronous=True):
            with open_partitions(remember, ROWS, Y, None, 1):
                pass

    with pytest.raises(InputError, match="The current Dask client is asynchronous"):
        asyncio.run(open_where_only_coroutines_run())
