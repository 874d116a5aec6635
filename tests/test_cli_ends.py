"""How commands end when they are not let finish."""

import os
import signal
import subprocess
import sys

import pytest
from cli_files import HEART, heart_folder, names_in

from thriftwood import cli
from thriftwood.cli import app as commands
from thriftwood.cli.outputs import FolderKind, new_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return heart_folder(tmp_path_factory.mktemp("ends"))


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
        with new_folder(tmp_path / "out", FolderKind(("a",), "a"), force=False) as unfinished:
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
