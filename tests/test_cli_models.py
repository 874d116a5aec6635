"""Commands that look at one model: bill, info, export; and verify, which looks at two."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
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
    spoken,
    train_rows,
    valid_rows,
)
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The usual files, and a pruned forest."""
    folder = heart_folder(tmp_path_factory.mktemp("models"))
    pruned = tw.prune(heart_forest(), *train_rows(), costs=PRICES, tradeoff=0.001)
    tw.export.to_skops(pruned.model, folder / "pruned.skops")
    return folder


@pytest.fixture(scope="module")
def forest():
    return heart_forest()


@pytest.fixture
def billed(folder):
    model = folder / "forest.skops"
    return ("bill", model, folder / "valid.csv", "--costs", folder / "prices.csv")


@pytest.fixture
def checked(folder):
    model, *others = asked_about(folder)
    return ("verify", model, folder / "pruned.skops", *others)


def test_a_bill_is_that_of_feature_bill(billed, forest):
    facts = answer(*billed)
    bill = tw.feature_bill(forest, valid_rows()[0], PRICES)
    assert (facts["mean"], facts["unit"]) == (bill.mean, "CAD")
    assert facts["quantiles"] == {
        str(share): value
        for share, value in zip((0.1, 0.5, 0.9), bill.quantiles().tolist(), strict=True)
    }
    assert [one["spent"] for one in facts["features"]] == bill.by_feature.tolist()
    assert [one["bought"] for one in facts["features"]] == bill.bought.tolist()
    assert facts["fees"] == bill.fees


def test_the_lines_of_a_bill_add_up_to_its_mean(billed):
    lines = run(*billed).stdout.splitlines()
    mean = float(lines[0].split()[3])
    begin = next(place for place, line in enumerate(lines) if line.startswith("feature"))
    end = next(place for place, line in enumerate(lines) if place > begin and "never" in line)
    spent = sum(float(line.split()[-1]) for line in lines[begin + 1 : end])
    assert spent == pytest.approx(mean, abs=1e-3)


def test_a_receipt_is_that_of_the_row(billed, forest):
    receipt = tw.feature_bill(forest, valid_rows()[0], PRICES).receipt(7)
    assert run(*billed, "--sample", "7").stdout == f"{receipt}\n"
    facts = answer(*billed, "--sample", "7")
    assert facts["total"] == receipt.total
    assert [one["feature"] for one in facts["purchases"]] == [one.name for one in receipt.purchases]
    assert sum(one["price"] for one in facts["purchases"]) == pytest.approx(facts["total"])
    assert "there is no sample 1000" in refused(*billed, "--sample", "1000")


def test_a_bill_needs_no_labels(folder, billed, tmp_path):
    rows = pd.read_csv(folder / "valid.csv")
    rows.assign(ill=None).to_csv(tmp_path / "new.csv", index=False)
    new = (*billed[:2], tmp_path / "new.csv", *billed[3:])
    assert answer(*new, "--target", "ill") == answer(*billed)


def test_a_bill_leaves_out_two_columns_where_a_model_knows_no_names(folder, tmp_path):
    rows = pd.read_csv(folder / "valid.csv").drop(columns="ill")
    model = DecisionTreeClassifier(max_depth=3).fit(rows.to_numpy(), np.arange(len(rows)) % 2)
    tw.export.to_skops(model, tmp_path / "tree.skops")
    rows.assign(w=1.0, ill="?").to_csv(tmp_path / "rows.csv", index=False)
    words = ("bill", tmp_path / "tree.skops", tmp_path / "rows.csv")
    assert "15 columns" in refused(*words)
    assert answer(*words, "--target", "ill", "--weight", "w")["n_samples"] == len(rows)


def test_without_prices_a_bill_counts_features(folder, forest):
    facts = answer("bill", folder / "forest.skops", folder / "valid.csv")
    used = tw.feature_bill(forest, valid_rows()[0]).used
    assert facts["mean"] == used.sum(axis=1).mean()


def test_info_says_what_the_model_is(folder, forest):
    facts = answer("info", folder / "forest.skops")
    assert facts["type"] == "RandomForestClassifier"
    assert facts["classes"] == ["no", "yes"]
    assert (facts["n_trees"], facts["n_features"]) == (8, 13)
    assert facts["depth"] == max(tree.get_depth() for tree in forest.estimators_)
    assert facts["n_splits"] == sum(
        int((tree.tree_.feature >= 0).sum()) for tree in forest.estimators_
    )
    assert facts["used_features"] == [
        name
        for name, place in zip(forest.feature_names_in_, range(13), strict=True)
        if any((tree.tree_.feature == place).any() for tree in forest.estimators_)
    ]
    assert facts["can_be_pruned"] is True
    assert "RandomForestClassifier" in run("info", folder / "forest.skops").stdout


def test_info_says_what_cannot_be_pruned(tmp_path):
    path = heart_path()
    tw.export.to_skops(path[-1].model, tmp_path / "leaves.skops")
    path.cascade(*valid_rows()).save(tmp_path / "cascade.tw")
    assert "single leaves" in run("info", tmp_path / "leaves.skops").stdout
    assert "cascade" in run("info", tmp_path / "cascade.tw").stdout


@pytest.mark.parametrize("name", ["onnx", "c", "json", "lightgbm", "treelite"])
def test_exports_are_those_of_python(folder, forest, tmp_path, name):
    file = tmp_path / f"model.{name}"
    facts = answer("export", folder / "forest.skops", "--to", name, "-o", file)
    assert facts == {"type": type(forest).__name__, "format": name, "output": str(file)}
    if name == "treelite":
        expected = tw.export.to_treelite(forest).serialize_bytes()
    elif name == "onnx":
        expected = tw.export.to_onnx(forest).SerializeToString()
    else:
        expected = getattr(tw.export, f"to_{name}")(forest).encode()
    assert file.read_bytes() == expected
    assert "--force" in refused("export", folder / "forest.skops", "--to", name, "-o", file)


def test_an_export_goes_beside_the_model_unless_told_otherwise(folder, tmp_path):
    model = tmp_path / "forest.v2.skops"
    model.write_bytes((folder / "forest.skops").read_bytes())
    assert answer("export", model, "--to", "lightgbm")["output"] == str(tmp_path / "forest.v2.txt")
    assert names_in(tmp_path) == {"forest.v2.skops", "forest.v2.txt"}
    assert "--force" in refused("export", model, "--to", "lightgbm")
    assert "cannot be the output" in refused(
        "export", tmp_path / "forest.v2.txt", "--to", "lightgbm"
    )


def test_an_unknown_format_is_refused(folder, tmp_path):
    result = run("export", folder / "forest.skops", "--to", "pmml", "-o", tmp_path / "x")
    assert result.exit_code == 2
    assert "pmml" in result.stderr
    assert not names_in(tmp_path)


def test_verify_accepts_what_prune_made(checked, forest):
    facts = answer(*checked)
    X, y = train_rows()
    pruned = tw.prune(forest, X, y, costs=PRICES, tradeoff=0.001)
    assert facts["is_optimal"] is True
    assert facts["certificate"]["gap"] == 0
    assert (facts["cost"], facts["loss"]) == (pruned.cost, pruned.loss)
    low, high = facts["tradeoffs"]
    assert low <= 0.001 <= high
    assert "an optimal pruning" in spoken(run(*checked))


def test_verify_ends_with_1_where_another_is_better(checked):
    result = run(*checked, "--tradeoff", "1", "--json")
    facts = json.loads(result.stdout)
    assert result.exit_code == 1
    assert facts["is_optimal"] is False
    assert facts["gap"] > 0
    words = run(*checked, "--tradeoff", "1")
    assert words.exit_code == 1
    assert "not proven optimal" in spoken(words)
    assert words.stderr == ""


def test_verify_refuses_what_is_no_pruning(folder, tmp_path):
    from sklearn.ensemble import RandomForestClassifier

    X, y = train_rows()
    other = RandomForestClassifier(8, max_depth=2, random_state=5).fit(X, y)
    tw.export.to_skops(other, tmp_path / "other.skops")
    files = (folder / "forest.skops", tmp_path / "other.skops", folder / "train.csv")
    assert "no pruning of the model" in refused("verify", *files, "--target", "ill")


def test_a_cascade_is_refused_in_words_of_the_command_line(checked, tmp_path):
    file = tmp_path / "cascade.tw"
    heart_path().cascade(*valid_rows()).save(file)
    _, model, _, *others = checked
    for words in (
        ("verify", model, file, *others),
        ("frontier", file, *others, "-o", tmp_path / "out"),
        ("export", file, "--to", "c", "-o", tmp_path / "x.c"),
    ):
        sentence = refused(*words)
        assert "cascade.tw is a cascade" in sentence
        assert "`" not in sentence
    assert names_in(tmp_path) == {"cascade.tw"}


def test_json_has_numbers_and_nothing_that_is_none(folder):
    """The last point is optimal for ever: infinity is no number of JSON."""
    tw.export.to_skops(heart_path()[-1].model, folder / "last.skops")
    model, *others = asked_about(folder)
    facts = answer("verify", model, folder / "last.skops", *others)
    assert facts["tradeoffs"][1] is None
    assert np.isfinite(facts["tradeoffs"][0])


def documented_keys(command):
    """Return the keys that the document names for a command, without those of inner objects."""
    text = (Path(__file__).parents[1] / "docs" / "command_line.md").read_text()
    (line,) = re.findall(rf"^\| `{command}`(?:, `train --model`)? \| (.*) \|$", text, re.M)
    return set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", line.partition(";")[0])))


def test_the_document_names_the_keys_of_every_object(billed, checked, folder, tmp_path):
    model, train = folder / "forest.skops", folder / "train.csv"
    pruned = ("prune", model, train, "--target", "ill", "--validation", folder / "valid.csv")
    calls = {
        "info": ("info", model),
        "bill": billed,
        "bill --sample": (*billed, "--sample", "0"),
        "verify": checked,
        "prune": (*pruned, "--budget", "5", "-o", tmp_path / "pruned.skops"),
        "prune --cascade": (*pruned, "--cascade", "-o", tmp_path / "cascade.tw"),
        "frontier": ("frontier", *pruned[1:], "-o", tmp_path / "frontier"),
        "export": ("export", model, "--to", "c", "-o", tmp_path / "forest.c"),
    }
    for command, words in calls.items():
        assert set(answer(*words)) == documented_keys(command), command
