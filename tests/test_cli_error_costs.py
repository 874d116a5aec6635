"""`--error-costs`: tests and errors cost least in sum, and both are told."""

import numpy as np
import pytest
from cli_files import (
    PRICES,
    answer,
    asked_about,
    heart_folder,
    heart_forest,
    refused,
    run,
    train_rows,
    valid_rows,
)
from report_pages import data_in

import thriftwood as tw

COSTS = {"no": 9000, "yes": 30_000}
MATRIX = np.array([[0, 9000], [30_000, 0]])
GIVEN = ("--error-costs", "no=9000", "--error-costs", "yes=30000")


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = heart_folder(tmp_path_factory.mktemp("errors"))
    return (*asked_about(folder), "--validation", folder / "valid.csv")


@pytest.fixture(scope="module")
def chosen():
    path = tw.prune_path(heart_forest(), *train_rows(), costs=PRICES, error_costs=COSTS)
    return path.choose(*valid_rows(), error_costs=COSTS)


def sums(model):
    """Return the mean bill on the validation set, and what answers of least cost lose."""
    X, y = valid_rows()
    answers = (model.predict_proba(X) @ MATRIX).argmin(axis=1)
    lost = MATRIX[np.searchsorted(model.classes_, y), answers]
    return tw.feature_bill(model, X, PRICES).mean, lost.mean()


def test_a_frontier_suggests_the_least_sum_and_shows_both(asked, chosen, tmp_path):
    said = answer("frontier", *asked, *GIVEN, "-o", tmp_path / "out")
    assert said["suggested"]["point"] == chosen.index
    assert "tests and errors cost least together" in said["reason"]
    assert said["original"]["validation_total_cost"] == pytest.approx(sum(sums(heart_forest())))
    page = data_in((tmp_path / "out/report.html").read_text())
    for details, model in [
        (page["before"], heart_forest()),
        (next(p for p in page["points"] if p["index"] == chosen.index)["details"], chosen.model),
    ]:
        found = details["tests"], details["errors_cost"]
        assert found == pytest.approx(sums(model))
    commands = [point["command"] for point in page["points"]]
    assert all("--error-costs yes=30000" in one for one in commands)
    assert "tests + errors" in run("frontier", *asked, *GIVEN, "-o", tmp_path / "again").stdout


def test_prune_takes_the_least_sum_where_nothing_else_is_said(asked, chosen, tmp_path):
    said = answer("prune", *asked, *GIVEN, "-o", tmp_path / "p.skops")
    assert said["point"] == chosen.index
    now = said["validation"]
    assert (now["cost"], now["errors_cost"]) == pytest.approx(sums(chosen.model))
    words = run("prune", *asked, *GIVEN, "-o", tmp_path / "again.skops").stdout
    assert "for errors =" in words
    assert "says yes from a probability of 0.231 on" in " ".join(words.split())


def test_a_cascade_is_tuned_by_them(asked, tmp_path):
    answer("prune", *asked, *GIVEN, "--cascade", "-o", tmp_path / "c.tw")
    cascade = tw.CascadeClassifier.load(tmp_path / "c.tw")
    np.testing.assert_array_equal(cascade.error_costs, MATRIX)


def test_one_number_is_for_all_errors(asked, tmp_path):
    said = answer("frontier", *asked, "--error-costs", "5000", "-o", tmp_path / "out")
    path = tw.prune_path(heart_forest(), *train_rows(), costs=PRICES, error_costs=5000)
    assert said["suggested"]["point"] == path.choose(*valid_rows(), error_costs=5000).index


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--error-costs", "yes=3000"), "--error-costs do not say what a wrong answer costs"),
        (("--error-costs", "ill=5"), "name one of the classes no, yes"),
        (("--error-costs", "yes=-1"), "LABEL=NUMBER with a number of at least 0"),
        (("--error-costs", "yes=1", "--error-costs", "yes=2"), "names the class yes twice"),
        ((*GIVEN, "--metric", "roc_auc"), "either --metric or --error-costs"),
    ],
)
def test_costs_that_make_no_sense_are_refused(asked, given, words, tmp_path):
    assert words in refused("frontier", *asked, *given, "-o", tmp_path / "out")
