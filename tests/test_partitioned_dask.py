"""Samples on a real Dask cluster are pruned as in memory, whatever happens to a worker."""

import os
import signal
from contextlib import contextmanager

import joblib
import numpy as np
import pandas as pd
import pytest
from paths import FOREST, HEART, assert_same_path
from test_partitioned import assert_same_pruning

import thriftwood as tw
from thriftwood.distributed import partitioned as under_test
from thriftwood.errors import InputError, LostWorkersError

da = pytest.importorskip("dask.array", reason="rows on a cluster need the extra `dask`")
dd = pytest.importorskip("dask.dataframe", reason="rows on a cluster need the extra `dask`")
distributed = pytest.importorskip("distributed", reason="a cluster needs the extra `dask`")

X, Y = np.asarray(HEART.X), np.asarray(HEART.y)
NAMES = [f"f{number}" for number in range(X.shape[1])]
OPTIONS = {"costs": HEART.costs, "tradeoff": 0.001}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=90)
        yield client


@pytest.fixture(scope="module")
def whole():
    return tw.prune(FOREST, X, Y, **OPTIONS)


def rows_in_dask():
    return da.from_array(X, chunks=(70, 5)), da.from_array(Y, chunks=70)


@pytest.mark.usefixtures("client")
def test_a_dask_array_is_pruned_as_an_array(whole):
    pruned = tw.prune(FOREST, *rows_in_dask(), **OPTIONS)
    assert_same_pruning(pruned, whole)
    assert all(one.n_bytes > 0 for one in pruned.proof.rounds)


@pytest.mark.usefixtures("client")
def test_a_dask_frame_gives_the_path_of_the_frame():
    frame = pd.DataFrame(X, columns=NAMES).assign(y=Y)
    parts = dd.from_pandas(frame, npartitions=3)
    prices = dict(zip(NAMES, HEART.costs, strict=True))
    path = tw.prune_path(FOREST, parts[NAMES], parts["y"], costs=prices)
    assert_same_path(path, tw.prune_path(FOREST, frame[NAMES], frame["y"], costs=prices))


def test_without_a_client_threads_of_this_process_do_it(whole):
    assert_same_pruning(tw.prune(FOREST, *rows_in_dask(), **OPTIONS), whole)


@pytest.mark.slow
def test_a_worker_killed_while_it_makes_shards_costs_no_result(client, whole, tmp_path):
    marker = tmp_path / "killed"

    def deadly_error(values):
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        wrong = np.ones_like(values)
        np.put_along_axis(wrong, values.argmax(axis=1)[:, None], 0.0, axis=1)
        return wrong

    before = set(client.run(os.getpid).values())
    pruned = tw.prune(FOREST, *rows_in_dask(), loss=deadly_error, **OPTIONS)
    assert marker.exists()
    client.wait_for_workers(2, timeout=90)
    assert before != set(client.run(os.getpid).values())
    assert_same_pruning(pruned, whole)


@pytest.mark.slow
def test_a_worker_killed_between_rounds_costs_no_result(client, whole, monkeypatch):
    killed = []

    class Saboteur:
        """Kills a worker before the fourth question."""

        def __init__(self, partitions):
            self.partitions = partitions
            self.n_asked = 0

        def __getattr__(self, name):
            return getattr(self.partitions, name)

        def map(self, work, messages):
            self.n_asked += 1
            if self.n_asked == 4:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)
            return self.partitions.map(work, messages)

    @contextmanager
    def open_with_saboteur(*arguments):
        with open_partitions(*arguments) as partitions:
            yield Saboteur(partitions)

    open_partitions = under_test.open_partitions
    monkeypatch.setattr(under_test, "open_partitions", open_with_saboteur)
    pruned = tw.prune(FOREST, *rows_in_dask(), **OPTIONS)
    assert killed
    assert_same_pruning(pruned, whole)


@pytest.mark.usefixtures("client")
def test_wrong_partitions_are_named():
    rows, labels = rows_in_dask()
    with pytest.raises(InputError, match=r"Partition \d: X has 12 columns"):
        tw.prune(FOREST, rows[:, 1:], labels, **OPTIONS)
    gone = Y.astype(float)
    gone[200] = np.nan
    with pytest.raises(InputError, match=r"Partition 2: `y` is missing in row 60"):
        tw.prune(FOREST, rows, da.from_array(gone, chunks=70), **OPTIONS)


def test_a_client_that_is_closed_is_not_waited_for(cluster):
    client = distributed.Client(cluster)
    client.close()
    with client.as_current(), pytest.raises((InputError, LostWorkersError), match="client"):
        tw.prune(FOREST, *rows_in_dask(), **OPTIONS)


@pytest.mark.usefixtures("client")
def test_many_models_are_pruned_on_the_cluster_through_joblib():
    with joblib.parallel_config("dask"):
        costs = joblib.Parallel()(
            joblib.delayed(cost_at)(FOREST, X, Y, tradeoff) for tradeoff in (0.001, 0.01)
        )
    assert costs == [cost_at(FOREST, X, Y, tradeoff) for tradeoff in (0.001, 0.01)]


def cost_at(model, X, y, tradeoff):
    return tw.prune(model, X, y, costs=HEART.costs, tradeoff=tradeoff).cost


@pytest.mark.usefixtures("client")
def test_a_subsample_is_drawn_from_all_partitions_and_measured_on_all_samples():
    def problem_of(subsample):
        return tw.pruning_problem(FOREST, *rows_in_dask(), costs=HEART.costs, subsample=subsample)

    path = tw.prune_path(problem_of(150))
    assert (path.proof.n_drawn, path.proof.n_samples) == (150, len(X))
    for index in (0, len(path) // 2):
        bill = tw.feature_bill(path[index].model, X, costs=HEART.costs)
        assert bill.mean == pytest.approx(path.costs[index], rel=1e-9)
    whole = tw.prune_path(FOREST, X, Y, costs=HEART.costs)
    for point in (path[1], path[len(path) // 2]):
        best = whole.at(tradeoff=point.tradeoff).objective
        assert best <= point.objective + 1e-12
    again = tw.prune(problem_of(150), tradeoff=0.001)
    assert again.cost == path.at(tradeoff=0.001).cost
    with problem_of(10_000) as every:
        assert_same_path(tw.prune_path(every), whole)
