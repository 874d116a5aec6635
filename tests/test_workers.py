"""Workers: the same answers wherever they are, data sent once, and a sentence when they go away."""

import os
import signal
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from test_solvers import random_forest_like

import thriftwood as tw
from thriftwood.errors import LostWorkersError
from thriftwood.solvers import DantzigWolfe, min_cut
from thriftwood.support.parallel import joblib_workers

pytestmark = pytest.mark.slow

PROBLEM = random_forest_like(np.random.default_rng(0), n_projects=400, n_items=150, degree=20)


@pytest.fixture(scope="module")
def cluster():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        yield cluster


@pytest.fixture(params=["serial", "processes", "threads", "dask"])
def executor(request):
    """Return a context in which joblib's workers are of one kind, and how many to ask for."""
    if request.param == "dask":
        request.getfixturevalue("cluster")
        return partial(joblib.parallel_config, "dask"), None
    backend = {"serial": "sequential", "processes": "loky", "threads": "threading"}
    return partial(joblib.parallel_config, backend[request.param]), 2


class Packed:
    """Data that note whenever they are packed."""

    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        PACKED.append(self.number)
        return Packed, (self.number,)


PACKED: list[int] = []


def unpack(packed, message):
    time.sleep(0.01)
    return os.getpid(), packed.number, message


def file_behind(array, _):
    return os.getpid(), str(array.filename)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:  # one that nobody has asked about yet is a zombie
        return file.read().rpartition(")")[2].split()[0] != "Z"


def test_the_answer_is_the_same_by_all_workers(executor):
    config, n_jobs = executor
    with config():
        solution = DantzigWolfe(n_jobs=n_jobs)(PROBLEM)
    alone = DantzigWolfe(n_jobs=1)(PROBLEM)
    assert len(solution.rounds) > 2
    np.testing.assert_array_equal(solution.kept, min_cut(PROBLEM).kept)
    for here, there in zip(alone.rounds, solution.rounds, strict=True):
        assert (here.n_pieces, here.n_columns) == (there.n_pieces, there.n_columns)
        assert (here.profit, here.bound) == (there.profit, there.bound)


def test_users_reach_them_through_prune(executor):
    config, n_jobs = executor
    heart = tw.datasets.load_heart()
    forest = tw.BudgetForestClassifier(5, random_state=0).fit(heart.X, heart.y)
    prune = partial(tw.prune, forest, heart.X, heart.y, costs=heart.costs, tradeoff=0.0005)
    with config():
        pruned = prune(solver=tw.DantzigWolfe(n_jobs=n_jobs))
    usual = prune()
    assert pruned.proof.certificate.gap == 0
    assert (pruned.cost, pruned.loss, pruned.n_splits) == (usual.cost, usual.loss, usual.n_splits)


def test_workers_answer_in_order(executor):
    config, n_jobs = executor
    with config(), joblib_workers(unpack, [Packed(0), Packed(1), Packed(2)], n_jobs) as ask:
        for turn in range(3):
            answers = [answer[1:] for answer in ask([10 * turn, 20 * turn, 30 * turn])]
            assert answers == [(0, 10 * turn), (1, 20 * turn), (2, 30 * turn)]


@pytest.mark.usefixtures("cluster")
def test_data_travel_to_a_cluster_once():
    PACKED.clear()
    with (
        joblib.parallel_config("dask"),
        joblib_workers(unpack, [Packed(0), Packed(1), Packed(2)], None) as ask,
    ):
        assert os.getpid() not in {pid for pid, _, _ in ask("abc")}
        n_packed = len(PACKED)
        for _ in range(9):
            ask("abc")
    assert len(PACKED) == n_packed > 0


def test_data_are_written_for_processes_once():
    arrays = [np.arange(500), np.arange(600)]
    with joblib_workers(file_behind, arrays, 2) as ask:
        answers = [answer for _ in range(10) for answer in ask("ab")]
    assert os.getpid() not in {pid for pid, _ in answers}
    assert len({file for _, file in answers}) == 2


def test_news_do_not_pile_up(executor):
    config, n_jobs = executor
    data, news = [np.arange(500), np.arange(600)], [np.ones(100_000), np.ones(90_000)]
    with config(), joblib_workers(size_of, data, n_jobs) as ask:
        ask(news)
        before = n_shared_files()
        for _ in range(5):
            assert ask([array.copy() for array in news]) == [100_500, 90_600]
        assert n_shared_files() == before


def size_of(array, news):
    return len(array) + len(news)


def n_shared_files():
    """Count what joblib keeps in files for this process."""
    folders = (Path("/dev/shm"), Path(tempfile.gettempdir()))
    pattern = f"joblib_memmapping_folder_{os.getpid()}_*/*"
    return sum(len(list(folder.glob(pattern))) for folder in folders)


def fail(data, news):
    raise ValueError(f"no luck with {data} and {news}")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_worker_says_last_is_passed_on(n_jobs):
    with (
        joblib_workers(fail, ["this"], n_jobs) as ask,
        pytest.raises(LostWorkersError, match="ValueError: no luck with this and that"),
    ):
        ask(["that"])


def answer_after(turns, then):
    """Return a master that does something else at one of its turns."""
    turn = iter(range(turns + 1))

    def master(problem):
        if next(turn, None) == turns:
            then()
        return min_cut(problem)

    return master


def test_processes_that_are_killed_are_reported_and_all_ended():
    with joblib_workers(unpack, [Packed(number) for number in range(20)], 2) as ask:
        pids = {pid for pid, _, _ in ask(range(20))}

    def kill_all():
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    solver = DantzigWolfe(n_jobs=2, master=answer_after(1, kill_all))
    with pytest.raises(LostWorkersError, match="The workers went away or failed") as info:
        solver(PROBLEM)
    assert info.value.__cause__ is not None
    wait_until(lambda: not any(map(is_running, pids)))
    assert not any(map(is_running, pids))
    solution = DantzigWolfe(n_jobs=2)(PROBLEM)  # new ones are started
    np.testing.assert_array_equal(solution.kept, min_cut(PROBLEM).kept)


@pytest.mark.filterwarnings("ignore")  # what the cluster itself has to say about its end
def test_nobody_waits_for_ever_for_workers_of_a_cluster_that_are_killed():
    """The cluster starts new ones, without data: that is reported, or they get the data again."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):

        def kill_all():
            pids = {worker.process.pid for worker in cluster.workers.values()}
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not any(map(is_running, pids)))

        def solve():
            with joblib.parallel_config("dask", client=client):
                return DantzigWolfe(master=answer_after(1, kill_all))(PROBLEM)

        waiting = ThreadPoolExecutor(1).submit(solve)
        try:
            kept = waiting.result(timeout=120).kept
        except LostWorkersError:
            return
        np.testing.assert_array_equal(kept, min_cut(PROBLEM).kept)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_is_gone_before_is_reported():
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    context = joblib.parallel_config("dask", client=client)
    client.close()
    cluster.close()
    with context, pytest.raises(LostWorkersError, match="The workers went away or failed"):
        DantzigWolfe()(PROBLEM)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_goes_away_is_reported():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    pids = {worker.process.pid for worker in cluster.workers.values()}
    client = Client(cluster)
    solver = DantzigWolfe(master=answer_after(1, cluster.close))
    try:
        with (
            joblib.parallel_config("dask", client=client),
            pytest.raises(LostWorkersError, match="The workers went away or failed"),
        ):
            solver(PROBLEM)
    finally:
        client.close()
        cluster.close()
    wait_until(lambda: not any(map(is_running, pids)))
    assert not any(map(is_running, pids))


def wait_until(condition, seconds=10):
    for _ in range(seconds * 10):
        if condition():
            return
        time.sleep(0.1)
