"""Where commands write, whole or not at all, and how they end when they are not let finish."""

import os
import signal
import subprocess
import sys

import pytest
from cli_files import HEART, asked_about, heart_folder, names_in, refused, run

import thriftwood as tw
from thriftwood import cli
from thriftwood.cli import app as commands
from thriftwood.cli import export as export_command
from thriftwood.cli.outputs import new_folder
from thriftwood.errors import InputError
from thriftwood.support import writing

FILES = ("report.html", "table.csv", "inside/table.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return heart_folder(tmp_path_factory.mktemp("outputs"))


def fill(place, words, force=False):
    """Write a folder of the kind; `words` are what its files say."""
    with new_folder(place, FILES, force) as unfinished:
        (unfinished / "report.html").write_text(words)
        (unfinished / "inside").mkdir()
        (unfinished / "inside/table.csv").write_text(words)


def said(place):
    return [(place / name).read_text() for name in ("report.html", "inside/table.csv")]


def test_a_folder_comes_whole_or_not_at_all(tmp_path):
    def fail():
        with new_folder(tmp_path / "out", FILES, False) as unfinished:
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

    monkeypatch.setattr(writing, "_exchange", lambda *_folders: False)  # as on other systems
    monkeypatch.setattr(os, "rename", fail_at_the_third)
    with pytest.raises(InputError, match="the disk is gone"):
        fill(tmp_path, "new", force=True)
    assert said(tmp_path) == ["old", "old"]
    assert names_in(tmp_path) == {"report.html", "inside", "inside/table.csv"}


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


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is full")
def test_an_answer_that_cannot_be_printed_is_none(folder):
    """Above all not 1, which verify says where a pruning is not optimal."""
    forest = folder / "forest.skops"
    words = ["verify", forest, *asked_about(folder), "--json"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "thriftwood", *map(str, words)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 74
    assert ended.stderr.count("\n") == 1
    assert "cannot be printed: No space left" in ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of Unix")
@pytest.mark.parametrize(("closed", "code"), [(">&-", 74), (">&- 2>&-", 74), ("2>&-", 0)])
def test_a_closed_stream_gets_no_answer_and_no_file(folder, tmp_path, closed, code):
    """Stdout must hear it; a file that is written must not get what is meant for a stream."""
    output = tmp_path / "forest.json"
    command = f"{sys.executable} -m thriftwood export {folder / 'forest.skops'} --to json"
    ended = subprocess.run(
        f"{command} -o {output} {closed}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == code
    assert ("cannot be printed: Bad file descriptor" in ended.stderr) == (closed == ">&-")
    assert tw.export.from_json(output).feature_names is not None


def test_a_pipe_that_nobody_reads_is_no_answer(folder):
    """Above all not 1, which verify says where a pruning is not optimal."""
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "thriftwood", "info", str(folder / "forest.skops")]
    ended = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_who_is_asked_to_stop_leaves_nothing_behind(tmp_path, monkeypatch):
    def work(**_options):
        with new_folder(tmp_path / "out", ("a",), force=False) as unfinished:
            (unfinished / "a").write_text("half")
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("It went on.")

    monkeypatch.setattr(commands, "app", work)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 143
    assert not names_in(tmp_path)


def test_letters_that_a_font_lacks_are_no_noise(tmp_path, recwarn):
    frame = HEART.frame().rename(columns={"ca": "\u5e74\u9f62"})
    frame.assign(ill=HEART.y).to_csv(tmp_path / "rows.csv", index=False)
    words = ["train", str(tmp_path / "rows.csv"), "--target", "ill", "--model", "forest"]
    commands.app([*words, "-o", str(tmp_path / "out"), "--quiet"], standalone_mode=False)
    assert (tmp_path / "out/bill.png").is_file()
    assert not [one for one in recwarn if "Glyph" in str(one.message)]
