"""The attacks of `make fuzz`, a few fixed cases of each; and that they would find something."""

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from fuzz import run
from fuzz.draws import draw_case
from fuzz.files import Files
from fuzz.forests import Forests
from fuzz.interrupts import Interrupts
from fuzz.kills import Kills
from fuzz.oracle import Oracle

import thriftwood as tw

pytestmark = pytest.mark.filterwarnings("ignore")  # of whatever is damaged
PLAIN = [seed for seed in range(120) if draw_case(seed).is_plain]


def attack(attacker, seeds):
    """Return how much was tried; fail with what was found."""
    counts = Counter()
    for seed in seeds:
        wrong, case = attacker.check(seed, counts)
        assert wrong is None, f"{seed}: {wrong}\n{case if isinstance(case, str) else ''}"
    return counts


@contextmanager
def closing(attacker):
    try:
        yield attacker
    finally:
        attacker.close()


def test_forests_are_pruned_as_every_pruning_there_is_says():
    counts = attack(Forests(), PLAIN)
    assert counts["forests"] == len(PLAIN)
    assert counts["optima"] > 5 * len(PLAIN)


def dearer(path):
    return replace(path, costs=path.costs * 1.001)


def without_a_point(path):
    """Leave out a point in the middle, and let the one before it stand for its tradeoffs."""
    step = path.drop_step - (path.drop_step >= 1)
    names = ("costs", "losses", "n_splits", "n_features", "tradeoffs")
    fewer = {name: np.delete(getattr(path, name), 1) for name in names}
    return replace(path, drop_step=step.astype(np.int32), **fewer)


def at_other_tradeoffs(path):
    return replace(path, tradeoffs=path.tradeoffs * 1.5)


@pytest.mark.parametrize("lie", [dearer, without_a_point, at_other_tradeoffs])
def test_a_path_that_lies_is_found_out(monkeypatch, lie):
    def lying(problem, **options):
        path = honest(problem, **options)
        return lie(path) if len(path) > 2 else path

    seeds = [seed for seed in PLAIN if len(Oracle(draw_case(seed)).hull) > 2][:5]
    attack(Forests(), seeds)
    honest = tw.prune_path
    monkeypatch.setattr(tw, "prune_path", lying)
    found = [Forests().check(seed, Counter())[0] for seed in seeds]
    assert all(wrong is not None and "Traceback" not in wrong for wrong in found), found


@pytest.mark.slow
def test_a_run_goes_on_where_it_was_stopped_and_sums_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "STATE", tmp_path / "state.json")
    for words in ("--seed 7 --most 5", "--resume --most 9"):
        monkeypatch.setattr("sys.argv", ["fuzz", "--only", "forests", *words.split()])
        with pytest.raises(SystemExit) as ended:
            run.main()
        assert not ended.value.code
    state = json.loads(run.STATE.read_text())
    assert (state["seed"], state["attacks"]["forests"]["tried"]) == (7, 9)
    whole = attack(Forests(), range(7, 16))
    assert {**whole} == state["attacks"]["forests"]["counts"]
    assert f"| forests | {whole['forests']}: " in capsys.readouterr().out


def test_damaged_files_are_refused_or_make_sense():
    with closing(Files()) as files:
        counts = attack(files, range(2000, 2060))
    assert counts["files accepted"] > 5
    assert counts["files refused"] > 40


def test_interrupts_arrive_and_the_process_lives_on():
    with closing(Interrupts()) as interrupts:
        attack(interrupts, range(8))


def test_what_a_killed_run_leaves_is_old_or_new():
    with closing(Kills()) as kills:
        assert attack(kills, [0, 1, 5, 8, 16]).total() > 2
