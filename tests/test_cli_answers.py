"""What commands say about proofs and figures, and what they leave behind when they fail."""

import json
from dataclasses import replace

import numpy as np
import pytest
from catboost import CatBoostClassifier
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
    spoken,
    train_rows,
    valid_rows,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import thriftwood as tw
from thriftwood.cli import prune as prune_command
from thriftwood.cli.console import Console
from thriftwood.cli.frontier import _saved
from thriftwood.cli.inputs import read_class_weight
from thriftwood.cli.text import aligned
from thriftwood.errors import InputError
from thriftwood.problem import interval_in_words, tradeoff_inside
from thriftwood.support.validation import six_digits


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
    assert "If it was refitted, pass --refitted." in spoken(result)
    accepted = run(*checked, "--refitted")
    assert accepted.exit_code == 0
    assert "say something else than the model" in spoken(accepted)
    facts = json.loads(run(*checked, "--json").stdout)
    assert (facts["is_optimal"], facts["same_values"]) == (True, False)


def test_verify_says_on_what_it_judged(checked, folder):
    words = spoken(run(*checked, "--refitted"))
    assert f"judged on 200 samples of {folder / 'train.csv'}, with the prices of" in words
    assert answer(*checked, "--refitted")["n_samples"] == 200
    assert "every feature at 1" in spoken(run(*checked[:6], "--refitted"))


def test_prune_says_at_which_tradeoff_it_is_proven(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    words = ("prune", "forest.skops", "train.csv", "--target", "ill", "--costs", "prices.csv")
    options = ("--validation", "valid.csv", "--budget", "120", "-o", tmp_path / "p.skops")
    lines = run(*words, *options).stdout.splitlines()
    path = heart_path()
    point = path.at(budget=120).index
    tradeoff = tradeoff_inside(path.tradeoffs, point)
    interval = interval_in_words(*path.tradeoffs[point : point + 2].tolist())
    words = " ".join(" ".join(lines).split())
    assert f"Proven at tradeoff {tradeoff:g}: no pruning of this model has a smaller loss" in words
    assert f"the path has it {interval}." in words
    assert lines[1].startswith("On the validation set: ")
    assert max(map(len, lines[:-1])) <= 100


def test_small_numbers_keep_digits_in_columns():
    assert aligned([0.00004, 0.00001]) == ["0.00004000", "0.00001000"]
    assert aligned([0.5, 0.25]) == ["0.5000", "0.2500"]
    assert aligned([1.0, 0.0]) == ["1.0000", "0.0000"]
    assert aligned([1234.5, 0.1]) == ["1,234.50", "0.10"]


def test_answers_hold_nothing_that_json_does_not_know(capsys):
    Console(as_json=True).answer({"a": np.inf, "b": np.float64(1), "c": [np.int64(2)]})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": 1.0, "c": [2]}


def test_what_libraries_print_is_no_part_of_an_answer(capsys):
    console = Console(as_json=True)
    with console.failures_in_words(debug=False):
        print("[LightGBM] [Warning] as it reads a model")
        console.answer({"n_trees": 3})
    said = capsys.readouterr()
    assert json.loads(said.out) == {"n_trees": 3}
    assert said.err == "[LightGBM] [Warning] as it reads a model\n"


def test_classes_that_are_whole_numbers_go_by_either_name():
    assert read_class_weight(["1=5", "0.0=2"], [0.0, 1.0]) == {1.0: 5.0, 0.0: 2.0}
    with pytest.raises(InputError, match=r"'2=5': name one of the classes 0\.0, 1\.0\."):
        read_class_weight(["2=5"], [0.0, 1.0])


def test_nothing_is_written_where_measuring_fails(folder, tmp_path, monkeypatch):
    def fail(*_args):
        raise InputError("These rows cannot be measured.")

    monkeypatch.setattr(prune_command, "measured_on", fail)
    options = ("--validation", folder / "valid.csv", "--budget", "120")
    sentence = refused("prune", *asked_about(folder), *options, "-o", tmp_path / "p.skops")
    assert "cannot be measured" in sentence
    assert not names_in(tmp_path)


@pytest.fixture(scope="module")
def unnamed(tmp_path_factory):
    """A model and arrays that know no names, prices by number, and the same rows with names."""
    folder = tmp_path_factory.mktemp("unnamed")
    X, y = train_rows()
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X.to_numpy(), y)
    tw.export.to_skops(tree, folder / "tree.skops")
    X_valid, y_valid = valid_rows()
    np.savez(folder / "train.npz", X=X, y=y.astype(str))
    np.savez(folder / "valid.npz", X=X_valid, y=y_valid.astype(str))
    X.assign(y=y).to_csv(folder / "train.csv", index=False)
    X_valid.assign(y=y_valid).to_csv(folder / "valid.csv", index=False)
    prices = PRICES.per_feature.values()
    lines = [f"{column},{price}\n" for column, price in enumerate(prices)]
    (folder / "numbers.csv").write_text("".join(["name,price\n", *lines]))
    lines = [f"{name},{price}\n" for name, price in PRICES.per_feature.items()]
    (folder / "names.csv").write_text("".join(["name,price\n", *lines]))
    return folder


def test_columns_without_names_go_by_their_numbers_in_price_lists(unnamed, tmp_path):
    """Whichever of the files has names, the answer is the same."""
    answers = []
    for prices, train, valid in (
        ("names", "train.csv", "valid.csv"),
        ("names", "train.csv", "valid.npz"),
        ("numbers", "train.npz", "valid.npz"),
        ("numbers", "train.npz", "valid.csv"),
    ):
        words = (unnamed / train, "--target", "y", "--validation", unnamed / valid)
        options = ("--costs", unnamed / f"{prices}.csv", "--budget", "9")
        file = tmp_path / "pruned.skops"
        found = answer("prune", unnamed / "tree.skops", *words, *options, "-o", file, "--force")
        answers.append((found["cost"], found["loss"], found["validation"]))
    assert answers == answers[:1] * 4


def test_a_model_with_names_pays_by_them_also_for_arrays(unnamed, folder):
    words = (unnamed / "train.npz", "--costs", folder / "prices.csv")
    facts = answer("bill", folder / "forest.skops", *words)
    assert facts["mean"] == tw.feature_bill(heart_forest(), train_rows()[0], PRICES).mean


def test_numbers_are_named_where_there_are_no_names(unnamed, tmp_path):
    assert "0, 1, ..., also in price lists" in run("info", unnamed / "tree.skops").stdout
    bill = run("bill", unnamed / "tree.skops", unnamed / "train.npz").stdout.splitlines()
    assert {line.split()[0] for line in bill[3:5]} <= set(map(str, range(13)))
    options = ("--costs", unnamed / "numbers.csv", "-o", tmp_path / "trained")
    assert answer("train", unnamed / "train.npz", *options)["n_points"] > 1


def test_a_cascade_of_numbers_is_refused_with_what_to_do(folder, tmp_path):
    X, _ = train_rows()
    tree = DecisionTreeRegressor(max_depth=2).fit(X.drop(columns="age"), X["age"])
    tw.export.to_skops(tree, tmp_path / "tree.skops")
    words = (folder / "train.csv", "--target", "age", "--validation", folder / "valid.csv")
    sentence = refused("prune", tmp_path / "tree.skops", *words, "--cascade", "-o", "x.tw")
    assert "use --budget without --cascade" in sentence


def test_a_place_where_nothing_can_be_written_is_named_as_it_was_typed(folder):
    words = ("export", folder / "forest.skops", "--to", "c", "-o", "/proc/x.c")
    assert refused(*words).startswith("Error: /proc/x.c cannot be written: ")
    assert "/proc/.x" not in refused(*words)


def test_a_model_that_is_cut_off_is_told_without_internals(tmp_path):
    X, y = train_rows()
    model = CatBoostClassifier(
        iterations=3, depth=2, verbose=False, allow_writing_files=False, thread_count=1
    )
    model.fit(X, y).save_model(str(tmp_path / "whole.cbm"))
    content = (tmp_path / "whole.cbm").read_bytes()
    (tmp_path / "cut.cbm").write_bytes(content[: len(content) // 2])
    sentence = refused("info", tmp_path / "cut.cbm")
    assert sentence.endswith("is no whole CatBoost file: it seems cut off: copy it again.\n")


@pytest.mark.parametrize(("cost", "shown"), [(10.0 + 2e-15, "0.0 %"), (5.0, "50.0 %")])
def test_what_is_saved_is_never_a_negative_nothing(cost, shown):
    assert _saved(cost, 10.0) == shown


def test_a_mean_looks_the_same_whoever_added_it_up():
    means = (8.313874999999998, 8.313875, 8.313875000000001)
    assert len({six_digits(mean) for mean in means}) == 1
    figures = [replace(heart_path()[0], cost=mean) for mean in means]
    assert len({str(one) for one in figures}) == 1
