"""`thriftwood frontier`: a folder with all that the path holds, whole or not there."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from cli_files import (
    answer,
    asked_about,
    heart_folder,
    heart_path,
    names_in,
    refused,
    run,
    spoken,
    train_rows,
    valid_rows,
)
from report_pages import data_in
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, f1_score, make_scorer, recall_score

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.cli import frontier as frontier_command
from thriftwood.cli.frontier import FILES
from thriftwood.formats.models import read_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return heart_folder(tmp_path_factory.mktemp("my frontier"))


@pytest.fixture(scope="module")
def asked(folder):
    return (*asked_about(folder), "--validation", folder / "valid.csv")


@pytest.fixture(scope="module")
def facts(folder, asked):
    """What `frontier --json` says; its folder is `folder / "out"`."""
    return answer("frontier", *asked, "-o", folder / "out")


@pytest.fixture(scope="module")
def path():
    return heart_path()


def test_the_folder_has_tables_pictures_and_the_report(folder, facts):
    assert names_in(folder / "out") == set(FILES)
    assert facts["output"] == str(folder / "out")
    for name in ("frontier.png", "bill.png", "tree.png"):
        assert (folder / "out" / name).read_bytes().startswith(b"\x89PNG")
    assert (folder / "out/report.html").read_text().startswith("<!DOCTYPE html>")


def test_where_every_point_is_clearly_worse_none_is_suggested(tmp_path):
    X, y = make_classification(1500, 6, weights=[0.9], class_sep=0.6, random_state=0)
    forest = RandomForestClassifier(20, min_samples_leaf=80, random_state=0).fit(X[:700], y[:700])
    tw.export.to_skops(forest, tmp_path / "forest.skops")
    for name, some in (("rows.csv", slice(700)), ("valid.csv", slice(700, None))):
        pd.DataFrame(X[some]).assign(ill=y[some]).to_csv(tmp_path / name, index=False)
    words = ("frontier", tmp_path / "forest.skops", tmp_path / "rows.csv", "--target", "ill")
    words += ("--validation", tmp_path / "valid.csv")
    said = answer(*words, "-o", tmp_path / "out")
    assert said["suggested"]["point"] is None
    assert said["suggested"]["cost"] == said["original"]["cost"]
    printed = run(*words, "-o", tmp_path / "again").stdout
    (marked,) = [line for line in printed.splitlines() if line.endswith("<- suggested")]
    assert marked.startswith("before")
    assert "Suggested is no pruning, since none is as good" in printed
    page = data_in((tmp_path / "out/report.html").read_text("utf-8"))
    assert page["start"]["point"] == 0
    assert not page["start"]["is_suggested"]


def test_a_point_is_suggested_by_any_metric(asked, path, tmp_path):
    said = answer("frontier", *asked, "-o", tmp_path / "out", "--metric", "accuracy")
    assert said["suggested"]["point"] == path.choose(*valid_rows(), scoring="accuracy").index
    words = refused("frontier", *asked, "-o", tmp_path / "no", "--metric", "accurate")
    assert "--metric is 'accurate'" in words


@pytest.mark.parametrize("metric", ["f1", "average_precision", "recall"])
@pytest.mark.parametrize("positive", ["yes", "no"])
def test_a_metric_about_a_class_is_about_the_one_to_be_found(
    asked, path, tmp_path, metric, positive
):
    words = (*asked, "--metric", metric)
    said = answer("frontier", *words, "--positive", positive, "-o", tmp_path / "out")
    scorer = {
        "f1": make_scorer(f1_score, pos_label=positive),
        "recall": make_scorer(recall_score, pos_label=positive),
        "average_precision": make_scorer(
            average_precision_score, pos_label=positive, response_method="predict_proba"
        ),
    }[metric]
    X, y = valid_rows()
    point = path[said["suggested"]["point"]]
    told = re.search(rf"{metric} is ([\d.]+),", said["reason"])
    assert float(told[1]) == pytest.approx(scorer(point.model, X, y), abs=6e-4)
    result = run("frontier", *words, "-o", tmp_path / "rarer")
    assert f"--metric {metric} is about the rarer class, yes; --positive names" in result.stderr
    assert "--positive is 'maybe': name one of the classes no and yes" in refused(
        "frontier", *words, "--positive", "maybe", "-o", tmp_path / "no"
    )


@pytest.mark.parametrize(("metric", "shown"), [("neg_log_loss", True), ("accuracy", False)])
def test_people_read_the_score_that_chooses(asked, path, tmp_path, metric, shown):
    result = run("frontier", *asked, "-o", tmp_path / "out", "--metric", metric)
    head, before = [re.split("  +", line) for line in result.stdout.splitlines()[2:4]]
    assert ("log loss" in head) == shown
    measured = path.evaluate(*valid_rows(), scoring=metric)
    if shown:
        place = head.index("log loss")
        spread = np.linalg.norm(measured.deviations[0])
        assert before[place] == f"{-measured.original.score:.4f}"
        assert float(before[place + 1]) == pytest.approx(spread, rel=1e-3)


def test_people_read_which_errors_are_made(asked, facts, path, tmp_path):
    said = spoken(run("frontier", *asked, "-o", tmp_path / "out"))
    measured = path.evaluate(*valid_rows())
    matrices = measured.original.confusion, measured.confusion[facts["suggested"]["point"]]
    (missed_before, alarms_before), (missed, alarms) = (
        (1000 * one[1, 0] / one.sum(), 1000 * one[0, 1] / one.sum()) for one in matrices
    )
    assert (
        f"Of 1,000 samples it misses {missed:.0f} of class yes instead of {missed_before:.0f}, "
        f"with {alarms:.0f} false alarms instead of {alarms_before:.0f}."
    ) in said


@pytest.mark.usefixtures("facts")
def test_both_tables_hold_the_path_and_the_evaluation(folder, path):
    measured = path.evaluate(*valid_rows())
    for frame in (
        pd.read_csv(folder / "out/path.csv"),
        pd.read_parquet(folder / "out/path.parquet"),
    ):
        assert frame["point"].tolist() == list(range(len(path)))
        for name, column in path.to_frame().items():
            assert frame[name].to_numpy() == pytest.approx(column.to_numpy(), rel=1e-12)
        assert frame["validation_error"].to_numpy() == pytest.approx(measured.error)
        assert frame["validation_cost"].to_numpy() == pytest.approx(measured.cost)


def test_the_page_has_the_words_that_were_asked_for(folder, asked):
    words = ("--title", "Which <tests>?", "--noun", "patient", "--positive", "no")
    answer("frontier", *asked, *words, "-o", folder / "words")
    page = (folder / "words/report.html").read_text("utf-8")
    assert "<h1>Which &lt;tests&gt;?</h1>" in page
    data = data_in(page)
    assert data["nouns"] == "patients"
    assert data["classes"][data["positive"]] == "no"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--positive", "maybe"), "--positive is 'maybe': name one of the classes no and yes"),
        (("--noun", " "), "--noun is blank"),
        (("--title", ""), "--title is blank"),
        (("--drop", "idd"), "has no column 'idd' to drop"),
        (("--drop", "chol"), "has no column 'chol', which the model asks for"),
    ],
)
def test_words_that_cannot_be_are_refused_before_the_work(
    folder, asked, monkeypatch, tmp_path, words, part
):
    monkeypatch.setattr(tw, "prune_path", lambda *_args, **_options: pytest.fail("It was pruned."))
    assert part in refused("frontier", *asked, *words, "-o", tmp_path / "out")
    assert folder.exists()


def test_columns_that_are_no_features_are_dropped_for_models_without_names(tmp_path):
    X, y = train_rows()
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X.to_numpy(), y)
    tw.export.to_skops(model, tmp_path / "bare.skops")
    X.assign(id=range(len(X)), ill=y).to_csv(tmp_path / "rows.csv", index=False)
    X.assign(ill=y).to_csv(tmp_path / "valid.csv", index=False)  # which need not have it
    words = (tmp_path / "bare.skops", tmp_path / "rows.csv", "--target", "ill")
    assert "--drop" in refused("frontier", *words, "-o", tmp_path / "out")
    words += ("--drop", "id")
    more = ("--validation", tmp_path / "valid.csv", "-o", tmp_path / "out")
    found = answer("frontier", *words, *more)
    losses = tw.prune_path(model, X, y).losses
    assert [point["loss"] for point in found["points"]] == losses.tolist()
    point = data_in((tmp_path / "out/report.html").read_text("utf-8"))["points"][0]
    assert "--drop id" in point["command"]
    assert answer("bill", *words)["mean"] == tw.feature_bill(model, X).mean


@pytest.mark.usefixtures("facts")
def test_the_path_can_be_loaded_in_python(folder, path):
    loaded = tw.PruningPath.load(folder / "out/path.npz", path.model)
    assert loaded.losses.tolist() == path.losses.tolist()


def test_json_has_every_point_and_the_one_that_choose_would_take(facts, path):
    assert facts["n_points"] == len(facts["points"]) == len(path)
    assert [point["cost"] for point in facts["points"]] == path.costs.tolist()
    assert facts["suggested"]["point"] == path.choose(*valid_rows()).index
    assert facts["original"]["cost"] == path.original.cost
    X, y = valid_rows()
    assert facts["original"]["validation_error"] == (path.model.predict(X) != y).mean()
    assert facts["unit"] == "CAD"


@pytest.mark.usefixtures("facts")
def test_the_commands_of_the_report_make_the_models_of_its_points(folder, asked, path):
    """Taken from the page as a person would, and run."""
    page = (folder / "out/report.html").read_text()
    begin = page.index("thriftwood prune", page.index("application/json"))
    line = page[begin : page.index('"', begin)].replace("\\u0027", "'")
    words = shlex.split(line)[1:]
    assert words[1 : 1 + len(asked)] == [str(word) for word in asked]
    file = folder / words[words.index("-o") + 1]
    words[words.index("-o") + 1] = str(file)
    assert run(*words).exit_code == 0
    point = int(file.stem.removeprefix("point-"))
    made = read_forest(read_model(file))
    assert made.has_same_trees(read_forest(path[point].model))


def test_people_get_a_table_with_the_suggestion_marked(folder, asked, facts):
    result = run("frontier", *asked, "-o", folder / "out", "--force")
    assert result.exit_code == 0
    (marked,) = [line for line in result.stdout.splitlines() if line.endswith("<- suggested")]
    assert marked.split()[0] == str(facts["suggested"]["point"])
    assert f"open {folder / 'out' / 'report.html'}" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr
    assert result.stderr == ""


def test_what_is_there_is_kept_unless_force_says_otherwise(asked, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "path.csv").write_text("mine")
    assert "no report.html" in refused("frontier", *asked, "-o", mine, "--force")
    (mine / "report.html").write_text("old")
    assert "--force" in refused("frontier", *asked, "-o", mine)
    (mine / "notes.txt").write_text("mine")
    sentence = refused("frontier", *asked, "-o", mine, "--force")
    assert "notes.txt" in sentence
    assert names_in(mine) == {"path.csv", "report.html", "notes.txt"}
    assert "not a folder" in refused("frontier", *asked, "-o", mine / "notes.txt")
    assert "make it first" in refused("frontier", *asked, "-o", tmp_path / "no" / "out")


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "Stopped"),
        (OSError(28, "No space left on device", "x.png"), 2, "Error: x.png: No space left"),
        (ZeroDivisionError("oh"), 70, "in Thriftwood itself: ZeroDivisionError: oh"),
    ],
)
def test_an_end_in_the_middle_leaves_nothing(asked, tmp_path, monkeypatch, raised, code, words):
    def fail(*_args):
        raise raised

    monkeypatch.setattr(frontier_command, "_draw", fail)
    result = run("frontier", *asked, "-o", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not names_in(tmp_path)


def test_force_that_fails_leaves_the_old_folder(asked, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("old")

    def fail(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(frontier_command, "_draw", fail)
    assert run("frontier", *asked, "-o", out, "--force").exit_code == 130
    assert (out / "report.html").read_text() == "old"
    assert names_in(tmp_path) == {"out", "out/report.html"}


def test_what_others_write_meanwhile_stays(asked, tmp_path, monkeypatch):
    out = tmp_path / "out"

    def use(*_args):
        out.mkdir()
        (out / "notes.txt").write_text("mine")

    monkeypatch.setattr(frontier_command, "_draw", use)
    assert "notes.txt" in refused("frontier", *asked, "-o", out, "--force")
    assert names_in(tmp_path) == {"out", "out/notes.txt"}


def test_a_quantile_is_not_judged_by_squared_errors(folder, tmp_path):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X = train_rows()[0]
    model = HistGradientBoostingRegressor(loss="quantile", quantile=0.9, max_iter=5)
    tw.export.to_skops(model.fit(X.drop(columns="chol"), X["chol"]), tmp_path / "model.skops")
    words = (folder / "train.csv", "--target", "chol", "--validation", folder / "valid.csv")
    facts = answer("frontier", tmp_path / "model.skops", *words, "-o", tmp_path / "out")
    assert "validation_error" not in facts["points"][0]
    assert "what there is to lose" in facts["reason"]


def test_the_report_counts_validation_rows_as_the_tables_do(folder, tmp_path):
    for name in ("train.csv", "valid.csv"):
        rows = pd.read_csv(folder / name)
        rows["counts"] = 1 + 8 * (rows["ill"] == rows["ill"].iloc[0])
        rows.to_csv(tmp_path / name, index=False)
    data = (folder / "forest.skops", tmp_path / "train.csv", "--target", "ill")
    options = ("--costs", folder / "prices.csv", "--validation", tmp_path / "valid.csv")
    facts = answer("frontier", *data, *options, "--weight", "counts", "-o", tmp_path / "out")
    report = data_in((tmp_path / "out/report.html").read_text("utf-8"))
    table = pd.read_csv(tmp_path / "out/path.csv")
    errors = report["curve"]["validation"]["error"][1:]
    assert errors == pytest.approx(table["validation_error"], rel=1e-6)
    assert report["start"]["point"] == (facts["suggested"]["point"] or 0)
