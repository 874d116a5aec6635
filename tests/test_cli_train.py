"""`thriftwood train` and `thriftwood demo`: from rows alone to a cheap model."""

import numpy as np
import pandas as pd
import pytest
from cli_files import (
    HEART,
    PRICES,
    answer,
    heart_folder,
    heart_frame,
    names_in,
    refused,
    run,
    spoken,
)
from sklearn.metrics import f1_score, precision_score

import thriftwood as tw
from thriftwood.cli import train as train_command
from thriftwood.cli.frontier import FILES
from thriftwood.cli.thrifty import THRIFTY_FILES
from thriftwood.cli.train import usual_task
from thriftwood.formats.models import read_model

TRAINED = {*FILES, "model.skops", "train.parquet", "validation.parquet"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Few features and rows, so that training is quick."""
    folder = heart_folder(tmp_path_factory.mktemp("train"))
    frame = heart_frame()[["age", "sex", "cp", "chol", "ill"]]
    frame.to_csv(folder / "rows.csv", index=False)
    frame.drop(columns="ill")[:80].to_csv(folder / "numbers.csv", index=False)
    frame.assign(sex=frame["sex"].map({0: "f", 1: "m"})).to_csv(folder / "text.csv", index=False)
    odd = frame[:40].assign(sex=0, cp=np.arange(40) % 20, ill=np.arange(40) % 2)
    odd["age"] = [np.inf, *odd["age"][1:]]
    odd.to_csv(folder / "odd.csv", index=False)
    odd.assign(day=pd.Timestamp("2024-05-17")).to_parquet(folder / "dates.parquet")
    tw.Costs(per_feature={"age": 1, "sex": 1, "cp": 2, "chol": 7}, unit="CAD").to_file(
        folder / "few.csv"
    )
    return folder


@pytest.fixture(scope="module")
def trained(folder):
    words = ("--target", "ill", "--costs", folder / "few.csv", "--budget", "3", "--model", "forest")
    return answer("train", folder / "rows.csv", *words, "-o", folder / "out")


def test_a_quarter_is_held_out_with_the_same_classes(folder, trained):
    train, valid = (
        pd.read_parquet(folder / "out" / name) for name in ("train.parquet", "validation.parquet")
    )
    assert len(valid) == pytest.approx(len(HEART.y) / 4, abs=1)
    assert (train["ill"] == "yes").mean() == pytest.approx((valid["ill"] == "yes").mean(), abs=0.02)
    both = pd.concat([train, valid]).sort_values(list(train.columns))
    rows = pd.read_csv(folder / "rows.csv").sort_values(list(train.columns))
    assert (both.to_numpy() == rows.to_numpy()).all()
    assert names_in(folder / "out") == TRAINED | {"pruned.skops"}
    assert trained["type"] == "RandomForestClassifier"


def test_the_frontier_is_that_of_the_model_on_the_rows_it_was_trained_on(folder, trained):
    model = read_model(folder / "out/model.skops")
    rows = pd.read_parquet(folder / "out/train.parquet")
    prices = tw.Costs.from_file(folder / "few.csv")
    path = tw.prune_path(model, rows.drop(columns="ill"), rows["ill"], costs=prices)
    assert [point["loss"] for point in trained["points"]] == path.losses.tolist()
    pruned = read_model(folder / "out/pruned.skops")
    assert tw.feature_bill(pruned, rows.drop(columns="ill"), prices).mean <= 3
    assert trained["pruned"]["cost"] == path.at(budget=3).cost


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (np.array(["a", "b"]), "classification"),
        (np.array([True, False]), "classification"),
        (np.array([0, 1, 2, 1]), "classification"),
        (np.array([0.0, 1.0]), "classification"),
        (np.array([0.5, 1.0]), "regression"),
        (np.arange(21), "regression"),
    ],
)
def test_what_is_predicted_is_seen_from_the_target(target, expected):
    assert usual_task(target) == expected


@pytest.mark.parametrize(
    ("kind", "target", "expected"),
    [
        ("forest", "chol", "RandomForestRegressor"),
        ("boosting", "chol", "HistGradientBoostingRegressor"),
        ("boosting", "sex", "HistGradientBoostingClassifier"),
        ("budget-forest", "sex", "BudgetForestClassifier"),
    ],
)
def test_models_of_every_kind_are_trained_and_pruned(folder, tmp_path, kind, target, expected):
    words = (folder / "numbers.csv", "--target", target, "--model", kind, "-o", tmp_path / "out")
    result = run("train", *words)
    assert result.exit_code == 0, result.output
    taken = "numbers" if target == "chol" else "2 classes"
    assert f"Took {target} for {taken}" in result.stdout
    assert f"Trained a {expected} on 60 samples; 20 samples held out" in result.stdout
    assert type(read_model(tmp_path / "out/model.skops")).__name__ == expected


@pytest.fixture(scope="module")
def thrifty(folder):
    """A thrifty model of few features, within a budget."""
    words = ("--target", "ill", "--costs", folder / "few.csv", "--budget", "2", "--noun", "patient")
    place = folder / "thrifty"
    result = run("train", folder / "rows.csv", *words, "--effort", "quick", "-o", place)
    assert result.exit_code == 0, result.output
    return place, result.stdout


def test_a_thrifty_model_is_trained_by_default(thrifty):
    place, text = thrifty
    assert names_in(place) == {
        *(THRIFTY_FILES),
        "model.tw",
        "train.parquet",
        "validation.parquet",
    }
    assert "Trained a ThriftyClassifier on 227 samples; 76 samples held out" in text
    model = tw.ThriftyClassifier.load(place / "model.tw")
    assert f"It has {len(model.stages_)} stages." in text
    held_out = pd.read_parquet(place / "validation.parquet")
    X, y = held_out.drop(columns="ill"), held_out["ill"]
    frame = pd.read_csv(place / "frontier.csv")
    assert len(frame) == len(model.rules_)
    for point in (0, len(frame) // 2, len(frame) - 1):
        own = model.at(budget=frame["budget"][point])
        assert own.bill(X).mean == pytest.approx(frame["cost"][point])
        assert 1 - own.score(X, y) == pytest.approx(frame["error"][point])
    (line,) = [line for line in text.splitlines() if line.endswith("<- set")]
    cost, error = map(float, line.split()[1:3])
    assert cost == pytest.approx(model.bill(X).mean, abs=0.006)
    assert error == pytest.approx(1 - model.score(X, y), abs=6e-5)
    assert "The model is set to a budget of 2 CAD." in text
    assert "What patients pay" in (place / "report.html").read_text("utf-8")


@pytest.mark.parametrize("metric", ["f1", "precision"])
def test_a_thrifty_model_is_tuned_for_the_class_to_be_found(folder, tmp_path, metric):
    words = (folder / "rows.csv", "--target", "ill", "--effort", "quick", "--metric", metric)
    result = run("train", *words, "-o", tmp_path / "rarer")
    assert f"--metric {metric} is about the rarer class, yes; --positive names" in result.stderr
    (head,) = [line for line in result.stdout.splitlines() if line.startswith("budget ")]
    assert head.split()[4:6] == [metric, "+-"]
    said = answer("train", *words, "--positive", "yes", "-o", tmp_path / "out")
    assert said["scoring"] == metric
    model = tw.ThriftyClassifier.load(tmp_path / "out/model.tw")
    held_out = pd.read_parquet(tmp_path / "out/validation.parquet")
    X, y = held_out.drop(columns="ill"), held_out["ill"]
    score_of = {"f1": f1_score, "precision": precision_score}[metric]
    expected = [score_of(y, model.at(budget=one).predict(X), pos_label="yes") for one in (9, 3)]
    rules = [len(model.rules_) - 1 - model.at(budget=one).rule_ for one in (9, 3)]
    np.testing.assert_allclose(model.evaluate(X, y).score[rules], expected)


def test_other_commands_take_a_thrifty_model(folder, thrifty, tmp_path):
    file, rows = thrifty[0] / "model.tw", folder / "rows.csv"
    model = tw.ThriftyClassifier.load(file)
    table = pd.read_csv(rows)
    X = table.drop(columns="ill")
    facts = answer("info", file)
    assert (facts["type"], facts["budget"], facts["can_be_pruned"]) == (
        "ThriftyClassifier",
        2,
        False,
    )
    assert facts["sets"][-1] == ["age", "sex", "cp", "chol"]
    assert "stage 0 buys" in run("info", file).stdout or facts["stages_in_use"][0] > 0
    assert answer("bill", file, rows)["mean"] == pytest.approx(model.bill(X).mean)
    assert "stage" in run("bill", file, rows, "--sample", "1").stdout
    assert answer("export", file, "--to", "c", "-o", tmp_path / "it.c")["format"] == "c"
    made = answer("frontier", file, rows, "--target", "ill", "-o", tmp_path / "page")
    assert names_in(tmp_path / "page") == set(THRIFTY_FILES)
    assert made["n_samples"] == 303
    words = ("prune", file, rows, "--target", "ill", "--budget", "1", "-o", tmp_path / "one.tw")
    assert answer(*words)["validation"]["cost"] == pytest.approx(model.at(budget=1).bill(X).mean)
    assert tw.ThriftyClassifier.load(tmp_path / "one.tw").budget == 1


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("export", "--to", "treelite"), "ThriftyClassifier"),
        (("export", "--to", "lightgbm"), "ThriftyClassifier"),
        (("prune", "DATA", "--target", "ill", "--budget", "1", "-o", "x.skops"), "end in .tw"),
        (("prune", "DATA", "--target", "ill", "--error-costs", "3", "-o", "x.tw"), "train again"),
        (("frontier", "DATA", "--target", "ill", "--loss", "brier", "-o", "x"), "train again"),
        (("verify", "MODEL", "DATA", "--target", "ill"), "ThriftyClassifier"),
        (("bill", "OTHER"), "no column 'sex'"),
    ],
)
def test_what_a_thrifty_model_cannot_do_is_said(folder, thrifty, tmp_path, words, part):
    names = {"DATA": folder / "rows.csv", "MODEL": thrifty[0] / "model.tw"}
    names["OTHER"] = tmp_path / "other.csv"
    pd.read_csv(folder / "rows.csv").drop(columns="sex").to_csv(names["OTHER"], index=False)
    command, *others = (names.get(word, word) for word in words)
    others = [tmp_path / one if str(one).startswith("x") else one for one in others]
    assert part in refused(command, names["MODEL"], *others)
    assert names_in(tmp_path) == {"other.csv"}


def test_costs_of_errors_and_limits_are_options_of_training(folder, tmp_path):
    words = ("--target", "ill", "--costs", folder / "few.csv", "--effort", "quick")
    words += ("--error-costs", "yes=20", "--error-costs", "no=2", "--max-cost", "4")
    result = run("train", folder / "rows.csv", *words, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "tests + errors" in result.stdout
    model = tw.ThriftyClassifier.load(tmp_path / "out/model.tw")
    assert model.error_costs_.tolist() == [[0, 2], [20, 0]]
    X = pd.read_csv(folder / "rows.csv").drop(columns="ill")
    assert model.bill(X).per_sample.max() <= 4


def test_costs_of_errors_are_options_of_pruned_models_too(folder, tmp_path):
    words = ("--target", "ill", "--costs", folder / "few.csv", "--error-costs", "100")
    given = (*words, "--model", "forest", "-o", tmp_path / "out")
    said = answer("train", folder / "rows.csv", *given)
    assert said["original"]["scoring"] == "neg_error_costs"


def test_numbers_are_learnt_thriftily_too(folder, tmp_path):
    words = (folder / "numbers.csv", "--target", "chol", "--effort", "quick")
    facts = answer("train", *words, "-o", tmp_path / "out")
    assert (facts["type"], facts["scoring"]) == ("ThriftyRegressor", "neg_mean_squared_error")


def test_columns_to_drop_are_no_features(folder, tmp_path):
    pd.read_csv(folder / "rows.csv").assign(id=range(303)).to_csv(tmp_path / "ids.csv", index=False)
    words = ("--target", "ill", "--model", "forest", "--drop", "id", "--drop", "sex")
    result = run("train", tmp_path / "ids.csv", *words, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    model = read_model(tmp_path / "out/model.skops")
    assert model.feature_names_in_.tolist() == ["age", "cp", "chol"]


def test_a_validation_file_leaves_all_rows_to_training(folder, tmp_path):
    words = ("--target", "ill", "--model", "forest", "--validation", folder / "valid.csv")
    result = run("train", folder / "rows.csv", *words, "-o", tmp_path / "out", "--quiet")
    assert result.exit_code == 0, result.output
    assert names_in(tmp_path / "out") == {*FILES, "model.skops"}
    assert len(read_model(tmp_path / "out/model.skops").estimators_samples_[0]) == len(HEART.y)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("text.csv", "--target", "ill"), "'sex'"),
        (("rows.csv", "--target", "il"), "Did you mean 'ill'?"),
        (("rows.csv", "--target", "ill", "--task", "regression"), "only be classification"),
        (("numbers.csv", "--target", "chol", "--model", "budget-forest"), "predicts classes"),
        (
            ("numbers.csv", "--target", "age", "--task", "classification"),
            "held out: The least populated",
        ),
        (("rows.csv", "--target", "ill", "--drop", "agee"), "'agee' to drop. Did you mean 'age'?"),
        (("rows.csv", "--target", "ill", "--drop", "ill"), "--drop and --target name the same"),
        (("rows.csv",), "Name the --target, the column of rows.csv"),
        (("rows.csv", "--target", "ill", "--seed", "-1"), "--seed is -1"),
        (("rows.csv", "--target", "ill", "--max-cost", "-1"), "--max-cost is -1"),
        (("rows.csv", "--target", "ill", "--loss", "brier"), "--loss is for pruning"),
        (("rows.csv", "--target", "ill", "--metric", "area"), "--metric is 'area'"),
        (
            ("rows.csv", "--target", "ill", "--model", "forest", "--effort", "quick"),
            "--effort are for thrifty",
        ),
        (("odd.csv", "--target", "ill", "--model", "forest"), "'age' holds inf"),
        (("odd.csv", "--target", "age"), "odd.csv, line 2: the column 'age' holds inf"),
        (("odd.csv", "--target", "ill", "--weight", "sex"), "'sex' holds zeros only"),
        (
            ("odd.csv", "--target", "cp", "--model", "boosting"),
            "held out: The test_size = 10",
        ),
        (("dates.parquet", "--target", "day"), "classes or numbers"),
    ],
)
def test_what_cannot_be_learnt_is_refused(folder, tmp_path, monkeypatch, words, part):
    monkeypatch.chdir(folder)
    assert part in refused("train", *words, "-o", tmp_path / "out")
    assert not names_in(tmp_path)


def test_a_wrong_budget_is_refused_before_training(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(train_command, "_fit", lambda *_args: pytest.fail("It was trained."))
    words = ("--target", "ill", "--budget", "-1", "-o", tmp_path / "out")
    assert "--budget is -1" in refused("train", folder / "rows.csv", *words)


def test_a_budget_does_not_compute_the_path_again(folder, tmp_path, monkeypatch):
    computed = []

    def counted(*args, **options):
        computed.append(tw.pruning.prune_path(*args, **options))
        return computed[-1]

    monkeypatch.setattr(tw, "prune_path", counted)
    words = ("--target", "ill", "--budget", "3", "--model", "forest", "-o", tmp_path / "out")
    facts = answer("train", folder / "rows.csv", *words)
    (path,) = computed
    assert facts["pruned"]["cost"] == path.at(budget=3).cost


def test_rows_in_the_folder_are_not_replaced(folder, trained):
    rows = folder / "out/train.parquet"
    sentence = refused("train", rows, "--target", "ill", "-o", folder / "out", "--force")
    assert "the command reads" in sentence
    assert rows.exists(), trained


@pytest.mark.slow
def test_the_demo_prints_commands_and_what_they_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0, result.output
    commands = [line for line in result.stdout.splitlines() if line.startswith("$ thriftwood ")]
    assert [line.split()[2] for line in commands] == [
        "train",
        "bill",
        "frontier",
        "prune",
        "bill",
        "verify",
    ]
    assert "an optimal pruning" in result.stdout
    page = (tmp_path / "thriftwood-demo/frontier/report.html").read_text("utf-8")
    assert "<h1>Pain in the chest: which tests?</h1>" in page
    assert "What patients pay" in page
    rows = pd.read_csv(tmp_path / "thriftwood-demo/train.csv")
    assert rows.columns.tolist() == [*HEART.feature_names, "diagnosis"]
    prices = tw.Costs.from_file(tmp_path / "thriftwood-demo/prices.csv")
    assert prices.per_feature == PRICES.per_feature
    assert "--force" in refused("demo")


def test_what_scikit_learn_refuses_is_a_sentence_too(folder, tmp_path, monkeypatch):
    class Picky:
        def fit(self, *_rows, **_options):
            raise ValueError("These rows are odd.\nSee the manual.")

    monkeypatch.setattr(train_command, "_untrained", lambda *_args: Picky())
    words = ("train", folder / "rows.csv", "--target", "ill", "-o", tmp_path / "out")
    words += ("--model", "forest")
    assert "no model can be trained: These rows are odd." in refused(*words)


def test_the_demo_passes_debug_on(tmp_path, monkeypatch):
    def fail(*_args, **_options):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(tw, "prune_path", fail)
    result = run("demo", "-o", tmp_path / "demo", "--debug")
    assert result.exit_code == 70
    assert "Traceback" in result.stderr


def test_the_demo_replaces_no_folder_of_somebody_else(tmp_path):
    for name in ("train.csv", "prices.csv"):
        (tmp_path / name).write_text("mine")
    assert "choose another folder" in refused("demo", "-o", tmp_path, "--force")
    assert names_in(tmp_path) == {"train.csv", "prices.csv"}
    assert (tmp_path / "train.csv").read_text() == "mine"


def test_train_says_where_the_model_knows_nothing(tmp_path):
    """A free feature of noise is all that a budget-forest ever buys."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": rng.normal(size=160), "good": rng.normal(size=160)})
    frame["ill"] = np.where(frame["good"] > 0.5, "yes", "no")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "prices.csv").write_text("name,price\nnoise,0\ngood,9\n")
    words = ("train", tmp_path / "rows.csv", "--target", "ill", "--costs", tmp_path / "prices.csv")
    warning = "no better than always saying the class no"
    words = (*words, "--metric", "accuracy")
    useless = run(*words, "--model", "budget-forest", "-o", tmp_path / "one").stderr
    assert f"{warning}, the commonest: accuracy 0." in useless
    assert "without --model a thrifty model is trained" in useless
    assert warning not in run(*words, "--effort", "quick", "-o", tmp_path / "two").stderr


def test_train_says_it_by_the_metric_in_force(tmp_path):
    """Of a rare class most errors are made by whoever knows something of it."""
    rng = np.random.default_rng(0)
    good = rng.normal(size=1200)
    ill = np.where(rng.random(1200) < 0.4 / (1 + np.exp(-6 * good)), "yes", "no")
    frame = pd.DataFrame({"good": good, "ill": ill, "noise": rng.normal(size=1200)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    words = ("train", tmp_path / "rows.csv", "--target", "ill", "--model", "forest")
    warning = "no better than always saying"
    by_area = run(*words, "-o", tmp_path / "area")
    assert warning not in by_area.stderr
    assert "Of 1,000 samples it misses" in spoken(by_area)
    by_errors = run(*words, "--metric", "accuracy", "-o", tmp_path / "errors").stderr
    assert warning in by_errors
    by_brier = run(*words, "--metric", "neg_brier_score", "-o", tmp_path / "brier")
    assert "Brier score" in by_brier.stdout
    assert "neg_brier_score  " not in by_brier.stdout
