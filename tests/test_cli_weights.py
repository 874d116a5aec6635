"""`--weight`: rows count as much as their column says, everywhere."""

import shlex
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cli_files import (
    PRICES,
    answer,
    asked_about,
    heart_folder,
    heart_forest,
    run,
    train_rows,
    valid_rows,
)
from matplotlib.figure import Figure

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.formats.models import read_model

# Few rows count much, so that to forget a weight changes every figure.
WEIGHTS = {
    "train.csv": np.where(np.arange(200) % 5 == 0, 40.0, 0.5),
    "valid.csv": np.where(np.arange(103) % 6 == 3, 30.0, 0.25),
}
TRAIN, VALID = WEIGHTS.values()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The usual files, with a column of weights."""
    folder = heart_folder(tmp_path_factory.mktemp("weights"))
    for name, weights in WEIGHTS.items():
        pd.read_csv(folder / name).assign(times=weights).to_csv(folder / name, index=False)
    return folder


@pytest.fixture(scope="module")
def asked(folder):
    return (*asked_about(folder), "--validation", folder / "valid.csv", "--weight", "times")


@pytest.fixture(scope="module")
def path():
    return tw.prune_path(heart_forest(), *train_rows(), costs=PRICES, sample_weight=TRAIN)


@pytest.fixture(scope="module")
def measured(path):
    return path.evaluate(*valid_rows(), sample_weight=VALID)


def test_a_rise_of_the_error_is_judged_with_weights(asked, path, tmp_path):
    words = ("--max-error-increase", "0.1", "-o", tmp_path / "p.skops")
    facts = answer("prune", *asked, *words)
    X, y = valid_rows()

    def cheapest_allowed(weights):
        before = np.average(path.model.predict(X) != y, weights=weights)
        found = path.evaluate(X, y, sample_weight=weights)
        (allowed,) = np.nonzero(found.error <= before + 0.1 + 1e-9)
        return allowed[found.cost[allowed].argmin()]

    assert facts["point"] == cheapest_allowed(VALID) != cheapest_allowed(None)
    chosen = path[facts["point"]]
    bill = tw.feature_bill(chosen.model, X, PRICES)
    wrong = chosen.model.predict(X) != y
    assert facts["validation"]["error"] == pytest.approx(np.average(wrong, weights=VALID))
    assert facts["validation"]["cost"] == pytest.approx(bill.mean)


def test_a_refit_counts_and_is_judged_with_weights(asked, path, tmp_path):
    answer("prune", *asked, "--budget", "120", "--refit", "-o", tmp_path / "p.skops")
    point, (X, y), judges = path.at(budget=120), train_rows(), valid_rows()

    def refitted(weights, judging):
        made = point.refit(X, y, sample_weight=weights, validation=(*judges, judging))
        return made.model.predict_proba(X)

    found = read_model(tmp_path / "p.skops").predict_proba(X)
    np.testing.assert_array_equal(found, refitted(TRAIN, VALID))
    for other in (refitted(None, VALID), refitted(TRAIN, None)):
        assert np.abs(found - other).max() > 1e-3


def test_a_refitted_cascade_counts_with_weights(asked, path, tmp_path):
    answer("prune", *asked, "--cascade", "--refit", "-o", tmp_path / "c.tw")
    X, y = train_rows()

    def cascade(weights, judging):
        made = path.cascade(*valid_rows(), refit=(X, y, weights), sample_weight=judging)
        return made.predict_proba(X)

    found = read_model(tmp_path / "c.tw").predict_proba(X)
    np.testing.assert_array_equal(found, cascade(TRAIN, VALID))
    for other in (cascade(None, VALID), cascade(TRAIN, None)):
        assert np.abs(found - other).max() > 1e-3


def test_a_frontier_is_computed_and_measured_with_weights(
    asked, path, measured, tmp_path, monkeypatch
):
    titles = {}
    save = Figure.savefig

    def saved(figure, file, **options):
        titles[file.name] = figure.get_suptitle()
        save(figure, file, **options)

    monkeypatch.setattr(Figure, "savefig", saved)
    facts = answer("frontier", *asked, "-o", tmp_path / "out")
    points = pd.DataFrame(facts["points"])
    assert points["cost"].tolist() == path.costs.tolist()
    assert points["validation_error"].to_numpy() == pytest.approx(measured.error)
    X, y = valid_rows()
    before = np.average(heart_forest().predict(X) != y, weights=VALID)
    assert facts["original"]["validation_error"] == pytest.approx(before)
    assert set(titles.values()) == {""}
    answer("frontier", *asked, "--weigh-bills", "-o", tmp_path / "weighed")
    assert "whatever their weights" in titles["bill.png"]


def test_bills_are_weighed_if_asked(asked, path, tmp_path):
    words = ("--weigh-bills", "--tradeoff", "0.001", "-o", tmp_path / "p.skops")
    facts = answer("prune", *asked, *words)
    (X, y), (X_valid, _) = train_rows(), valid_rows()
    costs = replace(PRICES, weigh_bills=True)
    pruned = tw.prune(path.model, X, y, costs=costs, sample_weight=TRAIN, tradeoff=0.001)
    assert facts["cost"] == pruned.cost != path.at(tradeoff=0.001).cost
    bill = tw.feature_bill(pruned.model, X_valid, PRICES).per_sample
    assert facts["validation"]["cost"] == pytest.approx(np.average(bill, weights=VALID))


def test_the_commands_of_a_report_count_in_the_same_way(asked, folder, tmp_path, monkeypatch):
    """Also where the name of the model's file does not say its format."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(folder / "forest.skops", tmp_path / "forest.bin")
    counting = ("--loss", "brier", "--class-weight", "yes=5", "--class-weight", "no=2")
    facts = answer("frontier", "forest.bin", *asked[1:], *counting, "-o", "out")
    weights = {"yes": 5, "no": 2}
    path = tw.prune_path(
        heart_forest(),
        *train_rows(),
        costs=PRICES,
        sample_weight=TRAIN,
        loss="brier",
        class_weight=weights,
    )
    assert [point["loss"] for point in facts["points"]] == path.losses.tolist()
    page = (tmp_path / "out/report.html").read_text()
    begin = page.index("thriftwood prune", page.index("application/json"))
    words = shlex.split(page[begin : page.index('"', begin)].replace("\\u0027", "'"))
    point = len(path) // 2
    name = words[words.index("-o") + 1]
    assert name == f"point-{name.removeprefix('point-').removesuffix('.skops')}.skops"
    tradeoff = float(np.mean(path.tradeoffs[point : point + 2]))
    words[words.index("--tradeoff") + 1] = str(tradeoff)
    assert run(*words[1:]).exit_code == 0
    assert read_forest(read_model(name)).has_same_trees(read_forest(path[point].model))


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_training_writes_the_weights_that_it_counts_with(kind, tmp_path):
    """An array of weights counts in an .npz file without being named; so does y."""
    X, y = train_rows()
    X, file = X[["age", "sex", "cp"]], tmp_path / f"rows.{kind}"
    if kind == "csv":
        X.assign(ill=y, times=TRAIN).to_csv(file, index=False)
        words = ("--target", "ill", "--weight", "times")
    else:
        np.savez(file, X=X, y=y.astype(str), weight=TRAIN, feature_names=["age", "y", "weight"])
        words = ()
    facts = answer("train", file, *words, "--model", "forest", "-o", tmp_path / "out")
    rows = pd.read_parquet(tmp_path / "out/train.parquet")
    names = list(rows.columns)
    assert names[3:] == (["ill", "times"] if kind == "csv" else ["y_", "weight_"])
    model = read_model(tmp_path / "out/model.skops")
    path = tw.prune_path(
        model, rows[names[:3]], rows[names[3]], sample_weight=rows[names[4]].to_numpy()
    )
    assert [point["loss"] for point in facts["points"]] == path.losses.tolist()
    assert set(rows[names[4]]) == set(TRAIN)
    page = (tmp_path / "out/report.html").read_text()
    assert f"--target {names[3]}" in page
    assert f"--weight {names[4]}" in page
