"""Samples that cannot be worked with: a sentence says which partition, and what to do."""

from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.bag import from_sequence
from partition_work import fail_at, remember, remember_unless, tell, unreadable

from thriftwood.distributed.partitions import open_partitions
from thriftwood.errors import InputError, LostWorkersError, RangeError

X = np.arange(60.0).reshape(20, 3)
Y = np.arange(20) % 2
ROWS = da.from_array(X, chunks=(5, 3))
FRAME = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=4)


def chunks_of(*lengths):
    for length in lengths:
        yield np.ones((length, 3)), np.ones(length)


def chunks_that_end_badly():
    yield from chunks_of(3, 3, 3)
    raise ValueError("the file is broken")


def part_of(number, length):
    return pd.DataFrame({"a": np.ones(length), "y": number})


def frame_of(*lengths):
    parts = [dask.delayed(part_of)(number, length) for number, length in enumerate(lengths)]
    return dd.from_delayed(parts, meta=part_of(0, 1), verify_meta=False)


REFUSED = {
    "iterator_and_y": ((chunks_of(3), Y, None), "X is an iterator and `y` is given too"),
    "no_chunks": ((chunks_of(), None, None), "X has yielded no chunk: pass a fresh iterator"),
    "no_tuple": (
        (iter([X]), None, None),
        r"Partition 0 is a ndarray: let the iterator yield pairs \(X, y\)",
    ),
    "long_tuple": ((iter([(X, Y, Y, Y)]), None, None), "Partition 0 is a tuple of 4"),
    "broken_iterator": (
        (chunks_that_end_badly(), None, None),
        "^Partition 3 could not be read: ValueError: the file is broken$",
    ),
    "empty_chunk": (
        (chunks_of(3, 0, 3), None, None),
        "^Partition 1: X has no samples: leave it out, or repartition a Dask collection.$",
    ),
    "short_labels_in_chunk": (
        (iter([(X, Y), (X, Y[:3])]), None, None),
        "^Partition 1: `y` has 3 values, but X has 20 samples: pass one each.$",
    ),
    "one_weight_in_chunk": (
        (iter([(X, Y, 3)]), None, None),
        "^Partition 0: `sample_weight` is one value, but X has",
    ),
    "array_without_samples": ((X[:0], Y[:0], None), "X has no samples"),
    "array_without_dimensions": ((np.array(3.0), Y, None), "X has no samples"),
    "array_without_labels": ((X, None, None), "`y` is None"),
    "array_with_short_weight": ((X, Y, [1, 2]), "`sample_weight` has 2 values, but X has 20"),
    "dask_flat": ((ROWS[:, 0], Y, None), r"X has 1 dimension\(s\)"),
    "dask_without_labels": ((ROWS, None, None), "`y` is None: pass a Dask array or series"),
    "dask_with_short_labels": ((ROWS, Y[:7], None), "`y` has 7 values, but X has 20 samples"),
    "dask_with_short_dask_labels": (
        (ROWS, da.ones(19, chunks=5), None),
        "`y` has 19 values, but X has 20 samples",
    ),
    "dask_with_a_bag_of_labels": ((ROWS, from_sequence(Y), None), "`y` is a Dask Bag"),
    "frame_with_labels_in_memory": (
        (FRAME, Y, None),
        "`y` is in memory, but Dask does not know how long the partitions of X are: pass a Dask",
    ),
    "frame_with_other_partitions": (
        (FRAME, da.from_array(Y, chunks=10), None),
        "X has 4 partitions, but `y` has 2",
    ),
    "partitions_that_do_not_fit": (
        (frame_of(2, 3, 2)[["a"]], frame_of(2, 4, 2).y, None),
        "^Partition 1: `y` has 4 values, but X has 3 samples: pass one each.$",
    ),
    "empty_partition": (
        (frame_of(2, 3, 0, 2)[["a"]], frame_of(2, 3, 0, 2).y, None),
        "^Partition 2: X has no samples: leave it out, or repartition a Dask collection.$",
    ),
    "unreadable_labels": (
        (ROWS, ROWS.map_blocks(unreadable, dtype=float)[:, 0], None),
        "^Partition 2 could not be read: OSError: the disk is gone$",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_samples_are_refused_with_a_sentence(case):
    arguments, message = REFUSED[case]
    with pytest.raises(InputError, match=message), open_partitions(remember, *arguments, 1):
        pytest.fail("nothing should be opened")


def test_what_an_iterator_raised_is_the_cause():
    with (
        pytest.raises(InputError) as info,
        open_partitions(remember, chunks_that_end_badly(), None, None, 2),
    ):
        pass
    assert isinstance(info.value.__cause__, ValueError)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_jobs_are_checked_before_anything_is_read(n_jobs):
    chunks = chunks_of(3)
    with (
        pytest.raises(InputError, match="`n_jobs` is"),
        open_partitions(remember, chunks, None, None, n_jobs),
    ):
        pass
    assert next(chunks)


FORMS = {
    "iterator": lambda: (chunks_of(5, 5, 5, 5), None, None),
    "dask": lambda: (ROWS, Y, None),
}


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [InputError, RangeError])
def test_our_errors_keep_their_class_and_say_where(kind, n_jobs, error):
    build = partial(remember_unless, number=2, error=error("The columns are wrong."))
    with (
        pytest.raises(error, match=r"^Partition 2: The columns are wrong.$") as info,
        open_partitions(build, *FORMS[kind](), n_jobs),
    ):
        pass
    assert type(info.value) is error


@pytest.mark.parametrize("kind", FORMS)
def test_partitions_go_on_after_work_that_was_refused(kind):
    with open_partitions(remember, *FORMS[kind](), 1) as opened:
        before = opened.map(tell, range(4))
        with pytest.raises(RangeError, match=r"^Partition 3: It is too large.$"):
            opened.map(fail_at, [None, None, None, RangeError("It is too large.")])
        assert opened.map(tell, range(4)) == before


@pytest.mark.parametrize("n_messages", [3, 5])
@pytest.mark.parametrize("kind", FORMS)
def test_there_is_one_message_for_each_partition(kind, n_messages):
    with (
        open_partitions(remember, *FORMS[kind](), 1) as opened,
        pytest.raises(ValueError, match=r"messages|zip"),
    ):
        opened.map(tell, [None] * n_messages)


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_the_first_chunk_that_is_wrong_is_named(n_jobs):
    """Also where threads build several at a time, and where the next could not be read."""
    for lengths in [(3, 0, 0, 3), (3, 0)]:

        def chunks(lengths=lengths):
            yield from chunks_of(*lengths)
            raise ValueError("the file is broken")

        with (
            pytest.raises(InputError, match=r"^Partition 1: X has no samples"),
            open_partitions(remember, chunks(), None, None, n_jobs),
        ):
            pass


def test_reading_ends_with_the_first_error():
    chunks = chunks_of(3, 0, *[3] * 50)
    with (
        pytest.raises(InputError, match="no samples"),
        open_partitions(remember, chunks, None, None, 2),
    ):
        pass
    assert len(list(chunks)) > 40


def test_other_errors_in_this_process_stay_what_they_are():
    build = partial(remember_unless, number=1, error=KeyError("a mistake of ours"))
    with (
        pytest.raises(KeyError, match="a mistake of ours"),
        open_partitions(build, *FORMS["iterator"](), 1),
    ):
        pass


def test_other_errors_on_workers_become_a_sentence():
    build = partial(remember_unless, number=1, error=KeyError("a mistake of ours"))
    message = "^Partition 1: the work on it failed: KeyError: 'a mistake of ours'$"
    with (
        pytest.raises(LostWorkersError, match=message),
        open_partitions(build, *FORMS["dask"](), 1),
    ):
        pass
    with open_partitions(remember, *FORMS["dask"](), 1) as opened:
        messages = [None, KeyError("a mistake of ours"), None, None]
        with pytest.raises(LostWorkersError, match=message):
            opened.map(fail_at, messages)
