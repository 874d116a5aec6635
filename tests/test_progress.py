"""The progress bar: there when asked for, silent otherwise."""

import pytest

from thriftwood.support import progress
from thriftwood.support.progress import progress_bar


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)


def use_bar(shown) -> None:
    with progress_bar("Working", shown) as bar:
        for share in (0.0, 0.5, 1.0):
            bar(share)


def test_a_bar_shows_the_share_and_goes_away(capsys):
    use_bar(True)
    drawn = capsys.readouterr().err
    assert "Working" in drawn
    assert " 50%" in drawn
    assert drawn.endswith(" \r")


@pytest.mark.parametrize("shown", [False, None])
def test_nothing_is_drawn_where_nobody_looks(shown, capsys):
    use_bar(shown)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_it_shows_by_itself(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    use_bar(None)
    assert "100%" in capsys.readouterr().err


def test_without_a_stderr_it_stays_silent(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    use_bar(None)


def test_it_goes_away_when_work_fails(capsys):
    def fail():
        with progress_bar("Working", True) as bar:
            bar(0.5)
            raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        fail()
    assert capsys.readouterr().err.endswith(" \r")
