"""The record of speed: what is slower beyond scatter is told."""

import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import record


def measured(ratio, scatter=0.1, **about):
    low, high = ratio * (1 - scatter), ratio * (1 + scatter)
    numbers = {"ratio": str(ratio), "low": str(low), "high": str(high)}
    return {"date": "", "commit": "a", "machine": "m", "call": "prune"} | numbers | about


@pytest.mark.parametrize(
    ("ratio", "words"), [(1.5, "SLOWER"), (1.2, ""), (1.0, ""), (0.85, ""), (0.5, "faster")]
)
def test_a_change_counts_beyond_the_scatter_of_both(ratio, words):
    before = [measured(9.0), measured(1.0), measured(9.0, machine="another")]
    line = record.compared(measured(ratio), before)
    assert line.endswith(words or "since a")
    assert "since a" in line


def test_small_slowdowns_add_up():
    ratios = [1.04**number for number in range(8)]
    line = record.compared(
        measured(ratios[4], 0.01),
        [measured(ratio, 0.01, commit=str(at)) for at, ratio in enumerate(ratios[:4])],
    )
    assert line.endswith("since 0   SLOWER")
    assert "+17.0%" in line
    long_ago = [measured(0.5, 0.01), *[measured(1.0, 0.01, commit="b")] * record.N_BACK]
    assert record.compared(measured(1.04, 0.01), long_ago).endswith("since b")


def test_a_machine_is_compared_with_itself():
    line = record.compared(measured(1.0), [measured(0.1, machine="another")])
    assert "first record of this machine" in line


def test_the_history_is_what_was_written_and_can_be_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "HISTORY", tmp_path / "history.csv")
    assert record.read_history() == []
    records = [measured(1.0), measured(1.5, commit="b"), measured(1.0, machine="other")]
    record.write_history(records)
    assert record.read_history() == records
    record.draw(records, tmp_path / "picture.png")
    assert plt.imread(tmp_path / "picture.png").std() > 0.05


@pytest.mark.slow
@pytest.mark.benchmark
def test_it_measures_what_people_call():
    command = [sys.executable, record.__file__, "--quick"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == 11
    assert "ThriftyClassifier" in result.stdout
