"""Where commands write: whole or not at all, and never over what they may not replace."""

import os

import pytest
from cli_files import asked_about, heart_folder, names_in, refused, run

from thriftwood.cli import export as export_command
from thriftwood.cli.outputs import HIDDEN, FolderKind, new_folder
from thriftwood.errors import InputError

KIND = FolderKind(("report.html", "table.csv", "inside/table.csv"), mark="report.html")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return heart_folder(tmp_path_factory.mktemp("outputs"))


def fill(place, words, force=False):
    """Write a folder of the kind; `words` are what its files say."""
    with new_folder(place, KIND, force) as unfinished:
        (unfinished / "report.html").write_text(words)
        (unfinished / "inside").mkdir()
        (unfinished / "inside/table.csv").write_text(words)


def said(place):
    return [(place / name).read_text() for name in ("report.html", "inside/table.csv")]


def test_a_folder_comes_whole_or_not_at_all(tmp_path):
    def fail():
        with new_folder(tmp_path / "out", KIND, False) as unfinished:
            (unfinished / "report.html").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not names_in(tmp_path)
    fill(tmp_path / "out", "whole")
    assert said(tmp_path / "out") == ["whole", "whole"]


def test_a_folder_that_is_there_stays_the_same_one(tmp_path, monkeypatch):
    """It may be a mount, or where a shell stands."""
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    for words in ("first", "second"):
        fill(tmp_path.relative_to(tmp_path), words, force=True)
        assert tmp_path.stat().st_ino == before
        assert said(tmp_path) == [words, words]
        assert names_in(tmp_path) == {"report.html", "inside", "inside/table.csv"}


def test_what_was_there_comes_back_where_the_last_step_fails(tmp_path, monkeypatch):
    fill(tmp_path, "old")
    rename, renamed = os.rename, []

    def fail_at_the_third(source, target):
        renamed.append(source)
        if len(renamed) == 3:
            raise OSError("the disk is gone")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_at_the_third)
    with pytest.raises(OSError, match="the disk is gone"):
        fill(tmp_path, "new", force=True)
    assert said(tmp_path) == ["old", "old"]
    assert names_in(tmp_path) == {"report.html", "inside", "inside/table.csv"}


def test_what_a_killed_run_left_is_in_nobodys_way(tmp_path):
    (tmp_path / f"{HIDDEN}0123").mkdir()
    (tmp_path / f"{HIDDEN}0123/report.html").write_text("half")
    fill(tmp_path, "whole")
    assert said(tmp_path) == ["whole", "whole"]


def test_a_place_that_cannot_be_written_is_told_by_its_own_name(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_args: False)
    with pytest.raises(InputError, match="out cannot be written: you may not"):
        fill(tmp_path / "out", "whole")
    monkeypatch.undo()
    with pytest.raises(InputError, match="/proc/out cannot be written"):
        fill(tmp_path.__class__("/proc/out"), "whole")


def test_only_ordinary_files_are_replaced(folder, tmp_path):
    words = ("export", folder / "forest.skops", "--to", "c", "-o")
    os.mkfifo(tmp_path / "pipe.c")
    assert "no ordinary file" in refused(*words, tmp_path / "pipe.c", "--force")
    (tmp_path / "link.c").symlink_to(tmp_path / "nowhere.c")
    assert "--force" in refused(*words, tmp_path / "link.c")
    assert names_in(tmp_path) == {"pipe.c", "link.c"}


def test_a_name_that_is_taken_meanwhile_is_not_replaced(folder, tmp_path, monkeypatch):
    place = tmp_path / "forest.c"
    read = export_command.read_one_forest

    def read_slowly(*args):
        place.write_text("mine")
        return read(*args)

    monkeypatch.setattr(export_command, "read_one_forest", read_slowly)
    words = ("export", folder / "forest.skops", "--to", "c", "-o", place)
    assert "is there already" in refused(*words)
    assert place.read_text() == "mine"


def test_a_name_of_another_format_is_refused(folder, tmp_path):
    words = ("export", folder / "forest.skops", "--to", "onnx", "-o", tmp_path / "forest.skops")
    assert "let it end in .onnx" in refused(*words)


def test_a_frontier_goes_into_the_folder_where_one_is(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("frontier", *asked_about(folder), "-o", ".")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").is_file()
