"""What commands say about proofs and figures, and what they leave behind when they fail."""

import json

import pytest
from cli_files import (
    PRICES,
    answer,
    asked_about,
    heart_folder,
    heart_forest,
    heart_path,
    names_in,
    refused,
    run,
    train_rows,
)

import thriftwood as tw
from thriftwood.cli import prune as prune_command
from thriftwood.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The usual files, and a pruned forest, refitted."""
    folder = heart_folder(tmp_path_factory.mktemp("answers"))
    rows = train_rows()
    refitted = tw.prune(heart_forest(), *rows, costs=PRICES, budget=120).refit(*rows)
    refitted.model.save(folder / "refitted.tw")
    return folder


@pytest.fixture
def checked(folder):
    model, *others = asked_about(folder)
    return ("verify", model, folder / "refitted.tw", *others)


def test_changed_leaves_are_no_pruning_unless_somebody_says_refitted(checked):
    result = run(*checked)
    assert result.exit_code == 1
    assert "If it was refitted, pass --refitted." in " ".join(result.stdout.split())
    accepted = run(*checked, "--refitted")
    assert accepted.exit_code == 0
    assert "say something else than the model" in accepted.stdout
    facts = json.loads(run(*checked, "--json").stdout)
    assert (facts["is_optimal"], facts["same_values"]) == (True, False)


def test_verify_says_on_what_it_judged(checked, folder):
    words = " ".join(run(*checked, "--refitted").stdout.split())
    assert f"judged on 200 rows of {folder / 'train.csv'}, with the prices of" in words
    assert answer(*checked, "--refitted")["n_rows"] == 200
    assert "every feature at 1" in run(*checked[:6], "--refitted").stdout


def test_prune_says_at_which_tradeoff_it_is_proven(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    words = ("prune", "forest.skops", "train.csv", "--target", "ill", "--costs", "prices.csv")
    options = ("--validation", "valid.csv", "--budget", "120", "-o", tmp_path / "p.skops")
    lines = run(*words, *options).stdout.splitlines()
    path = heart_path()
    point = path.at(budget=120).index
    tradeoff = tw.pruning.tradeoff_inside(path.tradeoffs, point)
    low, high = (f"{path.tradeoffs[one]:.6g}" for one in (point, point + 1))
    words = " ".join(" ".join(lines).split())
    assert f"Proven at tradeoff {tradeoff:g}: no pruning has a smaller loss" in words
    assert f"the path has it from {low} to {high}." in words
    assert lines[1].startswith("On the validation rows: ")
    assert max(map(len, lines[:-1])) <= 100


def test_nothing_is_written_where_measuring_fails(folder, tmp_path, monkeypatch):
    def fail(*_args):
        raise InputError("These rows cannot be measured.")

    monkeypatch.setattr(prune_command, "measured_on", fail)
    options = ("--validation", folder / "valid.csv", "--budget", "120")
    sentence = refused("prune", *asked_about(folder), *options, "-o", tmp_path / "p.skops")
    assert "cannot be measured" in sentence
    assert not names_in(tmp_path)
