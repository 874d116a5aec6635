"""Crews: the same answers however rows are cut and whoever holds them, in the order of the rows."""

import gc
import sys
import threading
import weakref

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from crew_work import length_of_news, remember, tell, weigh
from distributed import Client

from thriftwood.distributed import chunks
from thriftwood.distributed.hiring import hire, is_chunked
from thriftwood.distributed.pieces import Piece
from thriftwood.errors import MissingLibraryError

X = np.arange(120.0).reshape(30, 4) % 7
Y = np.arange(30) % 3
WEIGHT = np.arange(30) % 5 + 1.0
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(y=Y, weight=WEIGHT)
CUTS = [(30,), (1, 20, 9), (7, 3, 11, 9)]


def pieces(cut):
    """Return the pieces that rows are cut into."""
    stops = np.cumsum(cut)
    stretches = [slice(stop - length, stop) for stop, length in zip(stops, cut, strict=True)]
    return [Piece(number, X[rows], Y[rows], WEIGHT[rows]) for number, rows in enumerate(stretches)]


def frame_of(cut):
    parts = np.split(np.arange(30), np.cumsum(cut)[:-1])
    return dd.from_delayed([dask.delayed(FRAME.iloc[part]) for part in parts], meta=FRAME.iloc[:0])


def as_iterator(cut):
    return (tuple(piece[1:]) for piece in pieces(cut)), None, None


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
def test_answers_are_those_of_the_pieces_in_their_order(form, n_jobs):
    for cut in CUTS:
        states = [remember(piece) for piece in pieces(cut)]
        with hire(remember, *form(cut), n_jobs) as crew:
            assert crew.n_shards == len(cut)
            for turn in range(2):
                news = [turn * number for number in range(len(cut))]
                expected = [tell(state, new) for state, new in zip(states, news, strict=True)]
                assert crew.ask(tell, news) == expected
            total = sum(crew.ask(weigh, [2] * len(cut))) - sum(range(len(cut)))
            assert total == weigh((0, X, Y, None), 2)  # the same for all cuts


@pytest.mark.parametrize("rows_per_piece", [1, 7, 30, 100])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_memory_map_is_cut_by_rows(tmp_path, monkeypatch, rows_per_piece, n_jobs):
    monkeypatch.setattr(chunks, "ROWS_PER_PIECE", rows_per_piece)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    cut = [len(part) for part in np.split(X, range(rows_per_piece, 30, rows_per_piece))]
    expected = [tell(remember(piece), None) for piece in pieces(cut)]
    with hire(remember, mapped, pd.Series(Y), WEIGHT.tolist(), n_jobs) as crew:
        assert crew.ask(tell, [None] * len(cut)) == expected
        assert (crew.bytes_sent, crew.bytes_received) == (0, 0)


def is_view_of_a_file(piece):
    return isinstance(piece.X, np.memmap)


def test_a_memory_map_is_not_read_before_it_is_needed(tmp_path):
    mapped = np.memmap(tmp_path / "X", mode="w+", shape=(70_000, 2))
    with hire(is_view_of_a_file, mapped, np.zeros(70_000), None, 1) as crew:
        assert crew.ask(lambda state, _: state, "ab") == [True, True]


def as_iterator_of_pairs(cut):
    return (tuple(piece[1:3]) for piece in pieces(cut)), None, None


@pytest.mark.parametrize("form", [as_iterator_of_pairs, *FORMS[1:]])
def test_without_weights_there_are_none(form):
    rows, labels, _ = form((10, 20))
    with hire(remember, rows, labels, None, 1) as crew:
        assert [answer[3] for answer in crew.ask(tell, "ab")] == [None, None]


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
    with hire(lambda piece: int(piece.X.rows.sum()), read, None, None, n_jobs) as crew:
        assert crew.ask(lambda state, _: state, range(20)) == [2 * number for number in range(20)]
    assert max(most) <= n_jobs
    assert len(most) >= 20


def test_chunks_are_read_by_the_thread_that_calls():
    def read():
        for _ in range(5):
            yield np.full((1, 1), threading.get_ident()), np.ones(1)

    with hire(remember, read(), None, None, 3) as crew:
        assert {answer[1][0][0] for answer in crew.ask(tell, range(5))} == {threading.get_ident()}


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
    with hire(remember, *source(), None, 1) as crew:
        for _, rows, labels, *_ in crew.ask(tell, range(4)):
            np.testing.assert_allclose(np.sum(rows, axis=1), labels, rtol=1e-12)


def test_partitions_are_those_that_the_user_sees(tmp_path):
    """Dask would join small ones of a file, of X and of y in different ways."""
    wide = pd.DataFrame({f"c{number}": np.arange(24.0) for number in range(20)})
    for number, rows in enumerate(np.split(np.arange(24), 6)):
        wide.iloc[rows].to_parquet(tmp_path / f"part.{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    assert frame.c3.optimize().npartitions < frame.npartitions
    with hire(remember, frame[["c1", "c2"]], frame.c3, None, 1) as crew:
        answers = crew.ask(tell, range(frame.npartitions))
        assert len(answers) == frame.npartitions == 6
    assert [row for answer in answers for row in answer[1]] == wide[["c1", "c2"]].values.tolist()
    assert [label for answer in answers for label in answer[2]] == wide.c3.tolist()


def test_names_of_columns_mean_nothing():
    rows = pd.DataFrame(X, columns=["chunks", "ndim", "npartitions", "rechunk"])
    with hire(
        remember, dd.from_pandas(rows, npartitions=2), da.ones(30, chunks=15), None, 1
    ) as crew:
        assert [answer[1] for answer in crew.ask(tell, "ab")] == [X[:15].tolist(), X[15:].tolist()]


def test_what_travels_is_counted():
    rows, labels, _ = as_dask_array((10, 10, 10))
    with hire(remember, rows, labels, None, 1) as crew:
        assert (crew.bytes_sent, crew.bytes_received) == (0, 0)
        crew.ask(length_of_news, [b"a" * 1000, b"b" * 2000, b"c" * 3000])
        assert 6000 <= crew.bytes_sent < 7000
        assert 0 < crew.bytes_received < 100
        before = crew.bytes_sent
        news = b"x" * 1_000_000
        assert crew.ask(length_of_news, [news] * 3) == [1_000_000] * 3
        assert 1_000_000 <= crew.bytes_sent - before < 1_001_000


def test_news_may_be_large(recwarn):
    """Dask would warn of a large graph, but news are meant to be sent."""
    rows, labels, _ = as_dask_array((10, 20))
    with hire(remember, rows, labels, None, 1) as crew:
        assert crew.ask(length_of_news, [bytes(12_000_000), bytes(12_000_001)])[1] == 12_000_001
    assert not recwarn.list


def test_news_are_nothing_to_dask():
    """What looks like a task, a key or a collection of them arrives as it was sent."""
    rows, labels, _ = as_dask_array((10, 20))
    for news in (("a", 0), [sum, [1, 2]], (sum, [1, 2]), {"a": (len, "b")}, None, da.ones(2)):
        with hire(remember, rows, labels, None, 1) as crew:
            answer = crew.ask(tell, [news, 0])[0][4]
        assert answer is news or type(answer) is type(news)
        assert repr(answer) == repr(news)


class State:
    """A state that can be watched."""

    def __init__(self, _):
        ALIVE.add(self)


ALIVE: weakref.WeakSet[State] = weakref.WeakSet()


@pytest.mark.parametrize("form", [as_iterator, as_dask_array])
@pytest.mark.parametrize("fails", [False, True])
def test_states_are_freed_at_the_end(form, fails):
    def leave():
        with hire(State, *form((10, 20)), 1) as crew:
            assert crew.n_shards == len(ALIVE) == 2
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
    with hire(remember, rows, labels, None, 2) as crew:
        assert crew.n_shards == 2
        with pytest.raises(ValueError, match="No clients found"):  # it is not the user's
            Client.current()
    assert {thread.ident for thread in threading.enumerate() if not thread.daemon} <= before


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_pieces_are_known(form, tmp_path):
    assert is_chunked(form((10, 20))[0])
    assert is_chunked(np.memmap(tmp_path / "X", mode="w+", shape=(2, 2)))


@pytest.mark.parametrize("rows", [X, X.tolist(), FRAME, None, 3, "rows", dask.delayed(X)])
def test_other_rows_are_not_in_pieces(rows):
    assert not is_chunked(rows)


def test_without_distributed_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingLibraryError, match=r'pip install "thriftwood\[dask\]"'),
        hire(remember, da.ones((2, 2)), [1, 2], None, 1),
    ):
        pass
