"""Partitions: the same answers however samples are cut and whoever holds them, in their order."""

import gc
import sys
import threading
import weakref

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from distributed import Client
from partition_work import length_of_message, remember, tell, weigh
from scipy import sparse

from thriftwood.distributed import partitions
from thriftwood.distributed.partitions import Partition, is_partitioned, open_partitions
from thriftwood.errors import MissingLibraryError

X = np.arange(120.0).reshape(30, 4) % 7
Y = np.arange(30) % 3
WEIGHT = np.arange(30) % 5 + 1.0
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(y=Y, weight=WEIGHT)
CUTS = [(30,), (1, 20, 9), (7, 3, 11, 9)]


def parts(cut):
    """Return the partitions that samples are cut into."""
    stops = np.cumsum(cut)
    slices = [slice(stop - length, stop) for stop, length in zip(stops, cut, strict=True)]
    return [Partition(number, X[rows], Y[rows], WEIGHT[rows]) for number, rows in enumerate(slices)]


def frame_of(cut):
    parts = np.split(np.arange(30), np.cumsum(cut)[:-1])
    return dd.from_delayed([dask.delayed(FRAME.iloc[part]) for part in parts], meta=FRAME.iloc[:0])


def as_iterator(cut):
    return (tuple(part[1:]) for part in parts(cut)), None, None


def as_dask_array(cut):
    rows = da.from_array(X, chunks=(cut, 2))
    return rows, da.from_array(Y, chunks=13), da.from_array(WEIGHT, chunks=(cut,))


def as_dask_rows_only(cut):
    return da.from_array(X, chunks=(cut, 4)), Y.tolist(), pd.Series(WEIGHT, index=range(5, 35))


def as_dask_array_of_unknown_lengths(cut):
    frame = frame_of(cut)
    halves = [frame[["a", "b"]].to_dask_array(), frame[["c", "d"]].to_dask_array()]
    rows = da.concatenate(halves, axis=1, allow_unknown_chunksizes=True)
    return rows, frame.y, frame.weight.to_dask_array()


def as_dask_frame(cut):
    frame = frame_of(cut)
    return frame[list("abcd")], frame.y, da.from_array(WEIGHT, chunks=(cut,))


FORMS = [
    as_iterator,
    as_dask_array,
    as_dask_rows_only,
    as_dask_array_of_unknown_lengths,
    as_dask_frame,
]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("form", FORMS)
def test_answers_are_those_of_the_partitions_in_their_order(form, n_jobs):
    for cut in CUTS:
        states = [remember(part) for part in parts(cut)]
        with open_partitions(remember, *form(cut), n_jobs) as opened:
            assert opened.n_partitions == len(cut)
            for turn in range(2):
                messages = [turn * number for number in range(len(cut))]
                expected = [
                    tell(state, message) for state, message in zip(states, messages, strict=True)
                ]
                assert opened.map(tell, messages) == expected
            total = sum(opened.map(weigh, [2] * len(cut))) - sum(range(len(cut)))
            assert total == weigh((0, X, Y, None), 2)  # the same for all cuts


KINDS = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "sparse": sparse.csr_array,
    "pandas": lambda rows: pd.DataFrame(rows, index=np.arange(len(rows))[::-1]),
    "polars": lambda rows: pl.DataFrame(rows, schema=["a", "b"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_table_are_tables_of_its_kind(kind):
    rows = np.arange(20.0).reshape(10, 2)
    table = KINDS[kind](rows)
    part = partitions.slicer(table)(2, 5)
    assert isinstance(part, np.ndarray if kind == "list" else type(table))
    np.testing.assert_array_equal(part.toarray() if kind == "sparse" else part, rows[2:5])


@pytest.mark.parametrize("rows_per_part", [1, 7, 30, 100])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_memory_map_is_cut_by_rows(tmp_path, monkeypatch, rows_per_part, n_jobs):
    monkeypatch.setattr(partitions, "SLICE_SAMPLES", rows_per_part)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    cut = [len(part) for part in np.split(X, range(rows_per_part, 30, rows_per_part))]
    expected = [tell(remember(part), None) for part in parts(cut)]
    with open_partitions(remember, mapped, pd.Series(Y), WEIGHT.tolist(), n_jobs) as opened:
        assert opened.map(tell, [None] * len(cut)) == expected
        assert opened.bytes_moved == 0


def is_view_of_a_file(part):
    return isinstance(part.X, np.memmap)


def test_a_memory_map_is_not_read_before_it_is_needed(tmp_path):
    mapped = np.memmap(tmp_path / "X", mode="w+", shape=(70_000, 2))
    with open_partitions(is_view_of_a_file, mapped, np.zeros(70_000), None, 1) as opened:
        assert opened.map(lambda state, _: state, "ab") == [True, True]


def as_iterator_of_pairs(cut):
    return (tuple(part[1:3]) for part in parts(cut)), None, None


@pytest.mark.parametrize("form", [as_iterator_of_pairs, *FORMS[1:]])
def test_without_weights_there_are_none(form):
    rows, labels, _ = form((10, 20))
    with open_partitions(remember, rows, labels, None, 1) as opened:
        assert [answer[3] for answer in opened.map(tell, "ab")] == [None, None]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_no_more_chunks_are_in_memory_than_there_are_jobs(n_jobs):
    alive, most = weakref.WeakSet(), []

    class Watched:
        def __init__(self, number):
            self.rows = np.full((2, 1), number)
            alive.add(self)

        def __len__(self):
            most.append(len(alive))
            return 2

    read = ((Watched(number), np.ones(2)) for number in range(20))
    with open_partitions(lambda part: int(part.X.rows.sum()), read, None, None, n_jobs) as opened:
        assert opened.map(lambda state, _: state, range(20)) == [2 * number for number in range(20)]
    assert max(most) <= n_jobs
    assert len(most) >= 20


def test_chunks_are_read_by_the_thread_that_calls():
    def read():
        for _ in range(5):
            yield np.full((1, 1), threading.get_ident()), np.ones(1)

    with open_partitions(remember, read(), None, None, 3) as opened:
        assert {answer[1][0][0] for answer in opened.map(tell, range(5))} == {threading.get_ident()}


def random_rows(_):
    return pd.DataFrame(np.random.default_rng().random((5, 3)), columns=list("abc"))


def from_frames():
    frame = dd.from_map(random_rows, range(4), meta=random_rows(0))
    frame["total"] = frame.a + frame.b + frame.c
    return frame[["a", "b", "c"]], frame.total


def from_arrays():
    blocks = [
        da.from_delayed(dask.delayed(random_rows)(number).to_numpy(), (5, 3), float)
        for number in range(4)
    ]
    rows = da.concatenate(blocks)
    return rows, rows.sum(axis=1)


@pytest.mark.parametrize("source", [from_frames, from_arrays])
def test_rows_and_labels_of_one_source_belong_together(source):
    """A source that both come from is read once: it might give other rows the next time."""
    with open_partitions(remember, *source(), None, 1) as opened:
        for _, rows, labels, *_ in opened.map(tell, range(4)):
            np.testing.assert_allclose(np.sum(rows, axis=1), labels, rtol=1e-12)


def test_partitions_are_those_that_the_user_sees(tmp_path):
    """Dask would join small ones of a file, of X and of y in different ways."""
    wide = pd.DataFrame({f"c{number}": np.arange(24.0) for number in range(20)})
    for number, rows in enumerate(np.split(np.arange(24), 6)):
        wide.iloc[rows].to_parquet(tmp_path / f"part.{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    assert frame.c3.optimize().npartitions < frame.npartitions
    with open_partitions(remember, frame[["c1", "c2"]], frame.c3, None, 1) as opened:
        answers = opened.map(tell, range(frame.npartitions))
        assert len(answers) == frame.npartitions == 6
    assert [row for answer in answers for row in answer[1]] == wide[["c1", "c2"]].values.tolist()
    assert [label for answer in answers for label in answer[2]] == wide.c3.tolist()


def test_names_of_columns_mean_nothing():
    rows = pd.DataFrame(X, columns=["chunks", "ndim", "npartitions", "rechunk"])
    with open_partitions(
        remember, dd.from_pandas(rows, npartitions=2), da.ones(30, chunks=15), None, 1
    ) as opened:
        assert [answer[1] for answer in opened.map(tell, "ab")] == [
            X[:15].tolist(),
            X[15:].tolist(),
        ]


def test_what_travels_is_counted():
    rows, labels, _ = as_dask_array((10, 10, 10))
    with open_partitions(remember, rows, labels, None, 1) as opened:
        assert opened.bytes_moved == 0
        opened.map(length_of_message, [b"a" * 1000, b"b" * 2000, b"c" * 3000])
        assert 6000 < opened.bytes_moved < 7000
        before = opened.bytes_moved
        message = b"x" * 1_000_000
        assert opened.map(length_of_message, [message] * 3) == [1_000_000] * 3
        assert 1_000_000 < opened.bytes_moved - before < 1_001_000


def test_messages_may_be_large(recwarn):
    """Dask would warn of a large graph, but messages are meant to be sent."""
    rows, labels, _ = as_dask_array((10, 20))
    with open_partitions(remember, rows, labels, None, 1) as opened:
        assert (
            opened.map(length_of_message, [bytes(12_000_000), bytes(12_000_001)])[1] == 12_000_001
        )
    assert not recwarn.list


def test_messages_are_nothing_to_dask():
    """What looks like a task, a key or a collection of them arrives as it was sent."""
    rows, labels, _ = as_dask_array((10, 20))
    for message in (("a", 0), [sum, [1, 2]], (sum, [1, 2]), {"a": (len, "b")}, None, da.ones(2)):
        with open_partitions(remember, rows, labels, None, 1) as opened:
            answer = opened.map(tell, [message, 0])[0][4]
        assert answer is message or type(answer) is type(message)
        assert repr(answer) == repr(message)


class State:
    """A state that can be watched."""

    def __init__(self, _):
        ALIVE.add(self)


ALIVE: weakref.WeakSet[State] = weakref.WeakSet()


@pytest.mark.parametrize("form", [as_iterator, as_dask_array])
@pytest.mark.parametrize("fails", [False, True])
def test_states_are_freed_at_the_end(form, fails):
    def leave():
        with open_partitions(State, *form((10, 20)), 1) as opened:
            assert opened.n_partitions == len(ALIVE) == 2
            if fails:
                raise KeyError("something else")

    if fails:
        with pytest.raises(KeyError, match="something else"):
            leave()
    else:
        leave()
    gc.collect()
    assert not ALIVE


def test_the_cluster_of_our_own_leaves_nothing():
    before = {thread.ident for thread in threading.enumerate() if not thread.daemon}
    rows, labels, _ = as_dask_array((10, 20))
    with open_partitions(remember, rows, labels, None, 2) as opened:
        assert opened.n_partitions == 2
        with pytest.raises(ValueError, match="No clients found"):  # it is not the user's
            Client.current()
    assert {thread.ident for thread in threading.enumerate() if not thread.daemon} <= before


@pytest.mark.parametrize("form", FORMS)
def test_partitioned_samples_are_known(form):
    assert is_partitioned(form((10, 20))[0])


@pytest.mark.parametrize("rows", [X, X.tolist(), FRAME, None, 3, "rows", dask.delayed(X)])
def test_other_samples_are_not_in_partitions(rows):
    assert not is_partitioned(rows)


def test_without_distributed_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingLibraryError, match=r'pip install "thriftwood\[dask\]"'),
        open_partitions(remember, da.ones((2, 2)), [1, 2], None, 1),
    ):
        pass
