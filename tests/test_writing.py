"""Files and folders take their place whole, whoever else writes there, wherever one is killed."""

import os
import shutil
import threading
from contextlib import ExitStack
from functools import partial

import pytest
from cli_files import names_in

from thriftwood.cli.outputs import new_file, new_folder
from thriftwood.errors import InputError
from thriftwood.support import writing
from thriftwood.support.files import write_whole
from thriftwood.support.writing import HIDDEN, _prefix, clear_leftovers

pytest.importorskip("fcntl")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

FILES = ("report.html", "table.csv", "inside/table.csv")
STEPS = ("rename", "replace", "link", "mkdir", "rmdir", "unlink", "chmod")


def fill(place, words, force=True):
    with new_folder(place, FILES, force) as unfinished:
        (unfinished / "inside").mkdir()
        for name in ("report.html", "inside/table.csv"):
            (unfinished / name).write_text(words)


def whole(place):
    """What a folder says, which all of its files must say."""
    (words,) = {(place / name).read_text() for name in ("report.html", "inside/table.csv")}
    assert names_in(place) == {"report.html", "inside", "inside/table.csv"}
    return words


def in_a_child(work, *killed_at):
    """Run something in a process of its own, which dies before a certain step."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    steps = iter(range(10**9))

    def counted(do, *args, **options):
        if next(steps) in killed_at:
            os._exit(9)
        return do(*args, **options)

    try:
        for name in STEPS:
            setattr(os, name, partial(counted, getattr(os, name)))
        work()
        os._exit(0)
    finally:
        os._exit(1)


def test_all_of_many_writers_succeed_and_one_whole_file_stays(tmp_path):
    place, failures = tmp_path / "model.tw", []

    def write(number):
        for _ in range(10):
            try:
                write_whole(place, bytes([number]) * 100_000)
            except InputError as error:
                failures.append(error)

    def work():
        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures

    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            try:
                work()
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    work()
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    content = place.read_bytes()
    assert content == content[:1] * 100_000
    assert names_in(tmp_path) == {"model.tw"}


@pytest.mark.parametrize("of_folders", [False, True])
def test_of_two_who_may_not_replace_anything_one_gets_the_sentence(tmp_path, of_folders):
    def begin(words, force=False):
        stack = ExitStack()
        if of_folders:
            fresh = stack.enter_context(new_folder(tmp_path / "out", FILES, force)) / FILES[0]
        else:
            fresh = stack.enter_context(new_file(tmp_path / "out", force))
        fresh.write_text(words)
        return stack

    def said():
        return (tmp_path / "out" / FILES[0] if of_folders else tmp_path / "out").read_text()

    first, second, third = begin("first"), begin("second"), begin("third", force=True)
    second.close()
    with pytest.raises(InputError, match="out is there already"):
        first.close()
    assert said() == "second"
    third.close()
    assert said() == "third"
    assert not [name for name in names_in(tmp_path) if HIDDEN in name]


def test_links_that_wait_for_a_writer_lead_nowhere(tmp_path):
    place, victim = tmp_path / "model.tw", tmp_path / "victim"
    victim.mkdir()
    (victim / "old").write_text("mine")
    for name in (f"{_prefix(place)}00", f".model.tw.{os.getpid()}"):
        (tmp_path / name).symlink_to(victim)
    write_whole(place, b"whole")
    assert place.read_bytes() == b"whole"
    assert names_in(victim) == {"old"}
    assert (victim / "old").read_text() == "mine"


def test_permissions_and_links_stay(tmp_path):
    place, link = tmp_path / "model.tw", tmp_path / "link.tw"
    mask = os.umask(0o027)
    try:
        write_whole(place, b"first")
        assert place.stat().st_mode & 0o777 == 0o640
        place.chmod(0o604)
        link.symlink_to("model.tw")
        write_whole(link, b"second")
    finally:
        os.umask(mask)
    assert link.is_symlink()
    assert place.read_bytes() == b"second"
    assert place.stat().st_mode & 0o777 == 0o604
    (tmp_path / "out").mkdir(0o750)
    (tmp_path / "out").chmod(0o750)
    for words in ("first", "second"):
        fill(tmp_path / "out", words)
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750


def test_names_may_be_as_long_as_the_disk_allows(tmp_path):
    write_whole(tmp_path / ("n" * 255), b"whole")
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        write_whole(tmp_path / ("n" * 256), b"whole")
    assert names_in(tmp_path) == {"n" * 255}


def test_devices_are_not_replaced():
    with pytest.raises(InputError, match="no ordinary file"):
        write_whole("/dev/null", b"whole")


@pytest.mark.parametrize("force", [False, True])
def test_a_file_survives_a_kill_at_every_step(tmp_path, force):
    place, code, step = tmp_path / "model.tw", 9, 0
    while code == 9:
        place.unlink(missing_ok=True)
        if force:
            write_whole(place, "old")

        def write():
            with new_file(place, force) as unfinished:
                unfinished.write_text("new")

        code = in_a_child(write, step)
        step += 1
        assert place.read_text() in ("old", "new") if force else True
        write_whole(place, "next")
        assert place.read_text() == "next"
        assert names_in(tmp_path) == {"model.tw"}
    assert code == 0
    assert step > 4


@pytest.mark.parametrize(
    ("before", "stays"),
    [("missing", False), ("empty", False), ("empty", True), ("full", False), ("full", True)],
)
def test_a_folder_survives_a_kill_at_every_step(tmp_path, monkeypatch, before, stays):
    """`stays` is one that cannot be swapped: the process stands in it."""
    place, code, step = tmp_path / "out", 9, 0
    while code == 9:
        place.mkdir(exist_ok=True)
        if before == "full":
            fill(place, "old")
        if stays:
            monkeypatch.chdir(place)
        if before == "missing":
            place.rmdir()
        force = before == "full"
        code = in_a_child(lambda force=force: fill(place, "new", force), step)
        step += 1
        if force and not stays:
            assert whole(place) in ("old", "new")
        fill(place, "next", force=True)
        assert whole(place) == "next"
        monkeypatch.chdir(tmp_path)
        assert names_in(tmp_path) == {"out"} | {f"out/{name}" for name in names_in(place)}
        for name in ("report.html", "inside/table.csv"):
            (place / name).unlink()
        (place / "inside").rmdir()
        place.rmdir()
    assert code == 0
    assert step > 4


def test_a_folder_that_was_swapped_out_comes_back(tmp_path, monkeypatch):
    """Where a system cannot exchange folders, a run killed between two renames replaced nothing."""
    monkeypatch.setattr(writing, "_exchange", lambda *_folders: False)
    place = tmp_path / "out"
    for step in range(3, 20):
        fill(place, "old")
        in_a_child(partial(fill, place, "new"), step)
        if not place.exists():
            break
    with pytest.raises(InputError, match="there already"):
        fill(place, "third", force=False)
    assert whole(place) == "old"


def test_what_a_stranger_left_is_not_taken_for_ours(tmp_path):
    place = tmp_path / "out"
    fill(place, "old")
    planted = tmp_path / f"{_prefix(place)}planted"
    (planted / "whole").mkdir(parents=True)
    (planted / "whole" / "report.html").write_text("not yours")
    (planted / "names").write_text('["report.html"]')
    planted.chmod(0o777)  # ours are closed to others
    with pytest.raises(InputError, match="there already"):
        fill(place, "new", force=False)
    assert whole(place) == "old"
    assert planted.exists()


def test_a_folder_that_stays_loses_nothing_before_all_is_new(tmp_path, monkeypatch):
    """Killed at any step, what is left is all old, or once leftovers are cleared all new."""
    place, code, step = tmp_path / "out", 9, 0
    filled = {"report.html", "inside", "inside/table.csv"}
    while code == 9:
        fill(place, "old")
        (place / "table.csv").write_text("old")
        monkeypatch.chdir(place)
        code = in_a_child(lambda: fill(place, "new", True), step)
        step += 1
        clear_leftovers(place)
        is_old = (place / "table.csv").exists()
        assert names_in(place) == filled | ({"table.csv"} if is_old else set())
        said = {(place / name).read_text() for name in ("report.html", "inside/table.csv")}
        assert said == {"old" if is_old else "new"}
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(place)
    assert code == 0
    assert step > 4
