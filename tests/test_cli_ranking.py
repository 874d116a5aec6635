"""The command line on documents of queries, by `--query-id`."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_files import run
from rankings import documents, ranker

import thriftwood as tw
from thriftwood.cascade import CascadeRanker

PRICES = tw.Costs(
    per_feature={f"f{k}": 1.0 + k for k in range(6)}, per_query={"f0": 5.0}, unit="ms"
)
DATA = {"train": documents(), "valid": documents(60, seed=1)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("documents")
    for name, (X, y, qid) in DATA.items():
        frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
        frame.assign(grade=y, query=qid).to_csv(place / f"{name}.csv", index=False)
    PRICES.to_file(place / "prices.csv")
    ranker().booster_.save_model(place / "ranker.txt")
    return place


def asked(folder, *more, data="train"):
    files = folder / "ranker.txt", folder / f"{data}.csv"
    own = "--target", "grade", "--query-id", "query", "--costs", folder / "prices.csv"
    return (*files, *own, *more)


def answer(command, *words):
    result = run(command, *words, "--json", "--quiet")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def frame_of(name):
    X, y, qid = DATA[name]
    return pd.DataFrame(X, columns=[f"f{k}" for k in range(6)]), y, qid


def test_bills_are_those_of_queries_too(folder):
    found = answer("bill", *asked(folder, data="valid"))
    X, _, qid = frame_of("valid")
    bill = tw.feature_bill(ranker().booster_, X, PRICES, qid=qid)
    assert found["mean"] == pytest.approx(bill.mean)
    assert found["mean_of_queries"] == pytest.approx(bill.per_query.mean())
    assert found["n_queries"] == 60
    words = run("bill", *asked(folder, data="valid")).output
    assert f"A query pays {bill.per_query.mean():.6g} ms" in words
    assert "of queries" in words


def test_a_point_is_chosen_by_a_score_of_rankings(folder):
    output = folder / "pruned.txt"
    words = ("--validation", folder / "valid.csv", "--metric", "ndcg@5", "-o", output)
    found = answer("prune", *asked(folder, *words))
    X, y, qid = frame_of("train")
    path = tw.prune_path(ranker().booster_, X, y, costs=PRICES, qid=qid)
    valid, grades, queries = frame_of("valid")
    chosen = path.choose(valid, grades, qid=queries, scoring="ndcg@5")
    assert found["point"] == chosen.index
    assert found["validation"]["score"] == pytest.approx(chosen.choice.score)
    assert found["validation"]["original"]["score"] == pytest.approx(chosen.choice.score_before)
    assert found["validation"]["scoring"] == "ndcg@5"
    assert output.exists()


def test_cascades_of_rankers_are_written_and_billed(folder):
    output = folder / "cascade.tw"
    words = ("--validation", folder / "valid.csv", "--cascade", "--budget", "40", "-o", output)
    found = answer("prune", *asked(folder, *words))
    assert found["type"] == "CascadeRanker"
    made = CascadeRanker.load(output)
    valid, grades, queries = frame_of("valid")
    bill = made.bill(valid, queries)
    assert bill.per_query.mean() <= 40.0
    assert found["validation"]["cost_per_query"] == pytest.approx(bill.per_query.mean())
    assert found["validation"]["score"] == pytest.approx(made.score(valid, grades, queries))
    words = ("--target", "grade", "--query-id", "query")
    billed = answer("bill", output, folder / "valid.csv", *words)
    assert billed["mean_of_queries"] == pytest.approx(bill.per_query.mean())


def test_the_frontier_shows_rankings(folder):
    output = folder / "frontier"
    words = ("--validation", folder / "valid.csv", "-o", output)
    result = run("frontier", *asked(folder, *words), "--quiet")
    assert result.exit_code == 0, result.output
    assert "ndcg@10" in result.output
    assert "error" not in result.output
    frame = pd.read_csv(output / "path.csv")
    assert frame["validation_query_cost_q0.5"].notna().all()
    assert (output / "report.html").exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"--query-id": None}, "--query-id"),
        ({"--query-id": "quary"}, "Did you mean 'query'"),
        ({"--query-id": "grade"}, "cannot be the queries"),
        ({"--drop": "query"}, "name the same column"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_the_command_line(folder, changed, words):
    options = {"--target": "grade", "--query-id": "query", "--costs": folder / "prices.csv"}
    given = {name: value for name, value in (options | changed).items() if value is not None}
    if "--query-id" not in given:
        given["--drop"] = "query"
    flat = [word for pair in given.items() for word in pair]
    result = run("bill", folder / "ranker.txt", folder / "valid.csv", *flat)
    assert result.exit_code == 2
    assert words in result.output


@pytest.fixture(scope="module")
def trained(folder):
    """A folder with a ranker in stages, trained without a model."""
    output = folder / "trained"
    words = "--target", "grade", "--query-id", "query", "--costs", folder / "prices.csv"
    more = "--budget", "40", "--effort", "quick", "-o", output
    return output, answer("train", folder / "train.csv", *words, *more)


def test_a_ranker_is_trained_from_a_table(trained):
    output, found = trained
    names = "report.html", "frontier.csv", "frontier.png", "model.tw"
    parts = [pd.read_parquet(output / f"{name}.parquet") for name in ("train", "validation")]
    assert {one.name for one in output.iterdir()} == {*names, "train.parquet", "validation.parquet"}
    some, others = (set(part["query"]) for part in parts)
    assert not some & others
    assert len(others) == 10
    ranker = CascadeRanker.load(output / "model.tw")
    fitted = tw.ThriftyRanker(costs=PRICES, budget=40, effort="quick", random_state=0)
    X = parts[0][[f"f{k}" for k in range(6)]]
    fitted.fit(X, parts[0]["grade"], qid=parts[0]["query"])
    np.testing.assert_array_equal(ranker.rules.costs, fitted.rules_.costs)
    held_out = parts[1][X.columns], parts[1]["grade"], parts[1]["query"]
    measured = ranker.evaluate(held_out[0], held_out[1], qid=held_out[2])
    frame = pd.read_csv(output / "frontier.csv")
    np.testing.assert_allclose(frame["score"], measured.score)
    np.testing.assert_allclose(frame["cost_per_query"], measured.cost_per_query)
    assert "error" not in frame
    assert found["suggested"]["budget"] == ranker.rules.costs[ranker.rule] <= 40
    assert found["scoring"] == "ndcg@10"


def test_a_trained_ranker_is_billed_set_to_another_budget_and_shown_again(folder, trained):
    model, cheaper, again = trained[0] / "model.tw", folder / "cheaper.tw", folder / "again"
    asked_about = model, folder / "valid.csv", "--target", "grade", "--query-id", "query"
    found = answer("prune", *asked_about, "--budget", "20", "-o", cheaper)
    valid, grades, queries = frame_of("valid")
    ranker = CascadeRanker.load(cheaper)
    assert ranker.rules.costs[ranker.rule] <= 20
    bill = ranker.bill(valid, queries)
    assert found["validation"]["cost_per_query"] == pytest.approx(bill.per_query.mean())
    assert found["validation"]["score"] == pytest.approx(ranker.score(valid, grades, queries))
    billed = answer("bill", cheaper, *asked_about[1:])
    assert billed["mean_of_queries"] == pytest.approx(bill.per_query.mean())
    told = answer("info", cheaper)
    assert (told["task"], told["cost_per_query"]) == ("ranking", ranker.rules.costs[ranker.rule])
    for more in ((), ("--force",)):  # the command knows its own folder
        found = answer("frontier", *asked_about, "-o", again, *more)
    measured = CascadeRanker.load(model).evaluate(valid, grades, qid=queries)
    assert [one["score"] for one in found["points"]] == pytest.approx(measured.score.tolist())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"--model": "forest"}, "leave out --model for a ranker in stages"),
        ({"--task": "regression"}, "--task is for classes or numbers"),
        ({"--error-costs": "3"}, "--error-costs is for classes or numbers"),
        ({"--metric": "accuracy"}, "tuned by a score of rankings"),
        ({"--target": "f1"}, "grades of relevance"),
    ],
)
def test_what_a_ranker_is_not_trained_with_is_refused(folder, changed, words):
    options = {"--target": "grade", "--query-id": "query", "-o": folder / "refused"} | changed
    flat = [word for pair in options.items() for word in pair]
    result = run("train", folder / "train.csv", *flat)
    assert result.exit_code == 2
    assert words in result.output
    assert not (folder / "refused").exists()


def test_arrays_with_queries_make_a_ranker_and_one_that_is_of_no_use_is_told(folder):
    X, y, qid = DATA["train"]
    np.savez(folder / "train.npz", X=X, y=y, qid=qid.astype(str))
    words = "--max-cost", "0.5", "--effort", "quick", "-o", folder / "free"
    result = run("train", folder / "train.npz", *words)
    assert result.exit_code == 0, result.output
    assert "Trained a ThriftyRanker" in result.output
    assert "no better than any order of the documents" in result.output


def test_a_query_that_is_missing_is_told(folder):
    frame = pd.read_csv(folder / "valid.csv").astype({"query": object})
    frame.loc[2, "query"] = np.nan
    frame.to_csv(folder / "gap.csv", index=False)
    result = run("bill", *asked(folder, data="gap"))
    assert result.exit_code == 2
    assert "every document has a query" in result.output
