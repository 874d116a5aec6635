"""Things that hold for the package as a whole."""

import numpy as np
import public_api
import pytest

from thriftwood.errors import InputError, MissingLibraryError, RangeError
from thriftwood.support.arrays import read_only_copy
from thriftwood.support.libraries import library
from thriftwood.support.validation import numbers


def test_frozen_arrays_are_nobody_elses():
    mine = np.arange(3)
    view = mine.view()
    view.flags.writeable = False
    for values in (mine, view, mine[:2]):
        array = read_only_copy(values, np.int64)
        mine[0] += 1
        assert array[0] == mine[0] - 1
        assert not array.flags.writeable
    owned = read_only_copy(mine, np.int64)
    assert read_only_copy(owned, np.int64) is owned  # what is frozen already is not copied


@pytest.mark.parametrize("values", [[2**40], [0.5], [np.nan]])
def test_frozen_never_wraps_or_rounds(values):
    with np.errstate(invalid="ignore"), pytest.raises(RangeError, match="int32"):
        read_only_copy(np.array(values), np.int32)


@pytest.mark.parametrize("values", [["1"], [1j], np.array(["2020-01-01"], "M8[D]"), [None, "a"]])
def test_numbers_are_numbers(values):
    with pytest.raises(InputError, match="`prices` holds something that is not a number"):
        numbers(values, "prices")


def test_a_library_that_is_missing_is_named_with_its_extra():
    with pytest.raises(MissingLibraryError, match=r'page needs nowhere: pip install "thrift.*all'):
        library("nowhere.at_all", "all", "A page")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("raise ImportError('undefined symbol')", "undefined symbol"),
        ("import nowhere", "No module named 'nowhere'"),
    ],
)
def test_a_library_that_is_broken_is_not_called_missing(content, words, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingLibraryError, match="installed but cannot be imported") as caught:
        library("broken", "all", "A page")
    assert words in str(caught.value)


def test_no_public_name_changes_unnoticed():
    listed, found = public_api.FILE.read_text(), public_api.public_api()
    changed = set(listed.splitlines()) ^ set(found.splitlines())
    assert listed == found, (
        f"{sorted(changed)}: where this is meant, run `python tests/public_api.py`, and tell of it "
        "in CHANGELOG.md."
    )
