"""The study: one meter, work that goes on where it stopped, a page that its results give."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.study import choosing, data, meter, published, single_trees, summary
from benchmarks.study.dual_ascent import dual_ascent
from benchmarks.study.results import Results, read_rows, write_rows
from builders import closures
from hypothesis import given, settings
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.solvers import brute_force
from thriftwood.thrifty import PricedUnits

ROOT = Path(__file__).parents[1]


# --- the meter


@pytest.fixture(scope="module")
def heart():
    return data.make_task("heart", quick=True)


def test_bills_of_trees_are_those_of_the_package(heart):
    split = heart.split(0)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(*split.train)
    scores = meter.measure(meter.of_trees(model), split.test, heart.price_list)
    assert scores.bill == pytest.approx(tw.feature_bill(model, split.test.X, heart.prices).mean)
    assert scores.accuracy == pytest.approx(model.score(*split.test))


def test_a_fixed_set_costs_everybody_its_price_with_fees_paid_once(heart):
    split, columns = heart.split(0), [4, 5, 8]  # chol and fbs share the fee for taking blood
    model = RandomForestClassifier(5, random_state=0)
    model.fit(split.train.X[:, columns], split.train.y)
    scores = meter.measure(meter.of_fixed_set([model], columns), split.test, heart.price_list)
    assert scores.bill == pytest.approx(PricedUnits(heart.price_list).price(columns))
    assert scores.bill < heart.alone[columns].sum()


def test_the_best_within_a_budget_is_chosen_on_samples_that_it_was_not_trained_on(heart):
    split = heart.split(0)

    def family(rows):
        models = [RandomForestClassifier(3, max_depth=d, random_state=0) for d in (1, 2, 3)]
        return [lambda model=model: meter.of_trees(model.fit(*rows)) for model in models]

    known = choosing.known_scores(family, heart, split)
    for budget in sorted(one.bill for one in known):
        chosen = known[choosing.best_within(known, budget, choosing.accuracy)]
        assert chosen.bill <= budget
        assert all(one.accuracy <= chosen.accuracy for one in known if one.bill <= budget)
    choose = choosing.best_candidate(family, heart, split)
    _, used = choose(0, choosing.accuracy)(split.test.X)
    assert not used.any()  # one that buys nothing is always there


@pytest.mark.parametrize("name", ["heart", "nhanes"])
def test_nobody_is_trained_on_the_samples_that_compare_it(name):
    task = data.make_task(name)
    for train, held_out in choosing.folds_of(task.split(0)):
        rows = {row.tobytes() for row in train.X}
        assert not rows & {row.tobytes() for row in held_out.X}


def test_optimal_trees_are_walked_as_their_package_walks_them(heart):
    pytest.importorskip("pystreed", reason="STreeD is a peer of the study alone")
    train = heart.split(0).train
    tree = single_trees.OptimalTree(heart, train, 300.0)
    rows = single_trees.binary(train.X, tree._cuts)
    probability, used = tree.predict(train.X)
    assert np.mean(probability.argmax(axis=1) == tree._model.predict(rows)) > 0.99
    assert used.sum(axis=1).max() <= 3


# --- dual ascent, beside which the exact path is shown


@settings(max_examples=100)
@given(closures())
def test_the_best_profit_lies_between_what_dual_ascent_reaches_and_its_bound(problem):
    best = problem.profit(brute_force(problem).kept)
    ascent = dual_ascent(problem, 1.0)
    assert ascent.profit <= best + 1e-6
    assert best <= ascent.bound + 1e-6
    kept = ascent.kept
    assert (kept[problem.requires[problem.requires >= 0]] >= kept[problem.requires >= 0]).all()


# --- files


def test_work_goes_on_where_it_stopped(tmp_path):
    file, units = tmp_path / "part.csv", [("a", 1), ("a", 2), ("b", 10)]
    stopped = Results(file, ("task", "repeat"))
    with pytest.raises(ZeroDivisionError):
        stopped.run(units, lambda task, repeat: [row(task, repeat, 1 // (repeat - 10))], n_jobs=1)
    assert [one["repeat"] for one in read_rows(file)] == ["1", "2"]
    again = Results(file, ("task", "repeat"))
    assert again.pending(units) == [("b", 10)]
    assert again.run(units, lambda task, repeat: [row(task, repeat, 7)], n_jobs=1)
    assert [one["value"] for one in read_rows(file)] == ["-1", "-1", "7"]


def test_nothing_begins_after_the_deadline(tmp_path):
    results = Results(tmp_path / "part.csv", ("task", "repeat"))
    assert not results.run([("a", 1)], lambda *_: [row("a", 1, 1)], deadline=0.0, n_jobs=1)
    assert results.rows == []


def test_only_what_is_named_is_done_again(tmp_path):
    file = tmp_path / "part.csv"
    write_rows(file, [row("a", 1, 5), row("b", 1, 6)])
    results = Results(file, ("task", "repeat"))
    assert results.run([("a", 1)], lambda *_: [row("a", 1, 9)], n_jobs=1, again=True)
    assert {one["task"]: one["value"] for one in read_rows(file)} == {"a": "9", "b": "6"}


def row(task, repeat, value):
    return {"task": task, "repeat": repeat, "value": value}


# --- from results to figures


def test_deviations_of_blocks_pool_to_that_of_all_parts():
    values = np.random.default_rng(0).normal(3, 2, size=(4, 25))
    sizes = np.full((4, 1), 25.0)
    means, spreads = values.mean(axis=1)[:, None], values.std(axis=1)[:, None]
    mean, deviation = summary.mean_and_deviation(sizes, means, spreads)
    assert mean == pytest.approx(values.mean())
    assert deviation == pytest.approx(values.std())


def test_costs_at_an_error_lie_between_two_dials():
    curve = summary.CurveOfLine(
        cost=np.array([10.0, 6.0, 2.0]),
        cost_sd=np.zeros(3),
        error=np.array([0.10, 0.14, 0.30]),
        error_sd=np.zeros(3),
        n_parts=1,
    )
    assert curve.at_error(0.12).cost == pytest.approx(8)
    assert curve.at_error(0.12).error == pytest.approx(0.12)
    assert curve.at_error(0.5).cost == 2
    assert curve.at_error(0.05) is None


def frontier_rows(scores):
    return [
        {"task": "t", "repeat": repeat, "method": method, "budget": budget, "bill": budget}
        | {"accuracy": score, "auc_bill": budget, "auc": score}
        for method, by_repeat in scores.items()
        for repeat, own in enumerate(by_repeat)
        for budget, score in zip((1, 10, 100), own, strict=True)
    ]


def test_a_frontier_compares_paired_repeats():
    rows = frontier_rows(
        {"ours": [[0.5, 0.8, 0.9], [0.5, 0.7, 0.8]], "peer": [[0.5, 0.7, 0.8], [0.5, 0.6, 0.7]]}
    )
    frontier = summary.Frontier(rows, "t")
    assert frontier.best_peer(["ours"]) == "peer"
    assert frontier.compared("ours", "peer", 10).mean == pytest.approx(0.1)
    assert frontier.compared("ours", "peer", 10).verdict == 1
    assert frontier.compared("ours", "peer", 1).verdict == 0
    assert frontier.bill_needed("ours", 0.8) == pytest.approx(55)
    assert frontier.bill_needed("peer", 0.8) == np.inf
    assert frontier.area["ours"] > frontier.area["peer"]


def test_the_published_table_is_copied_rightly():
    """The shares that the paper prints are those of the costs that it prints."""
    printed = {
        "miniboone": (68.24, 43.17, 95.02, 55.19),
        "forest": (88.10, 65.16, 93.24, 78.82),
        "cifar": (92.40, 75.39, 93.02, 77.89),
        "sonar": (45.20, 16.48, 74.31, 28.11),
        "heart": (73.26, 47.75, 96.20, 75.86),
    }
    for name, shares in printed.items():
        line = published.LINES[name]
        figures = [
            own[level] for own in (line.ensemble, line.each_tree) for level in ("low", "high")
        ]
        for figure, share in zip(figures, shares, strict=True):
            assert 100 * figure.cost / line.whole.cost == pytest.approx(share, abs=0.02)


# --- the tiny study

STUDY = [sys.executable, "-m", "benchmarks.study"]


def run_study(*words):
    result = subprocess.run(
        [*STUDY, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.parametrize("part", ["table1", "readings", "frontiers", "money", "ablation", "speed"])
def test_the_tiny_study_runs(part, tmp_path):
    some = ["--methods", "one_cut", "solvers", "cascades"] if part == "speed" else []
    words = part, "--quick", "--tasks", "heart", *some, "--results", tmp_path, "--jobs", 1
    assert f"{part}: all done" in run_study(*words)
    assert read_rows(tmp_path / f"{part}.csv")
    assert read_rows(tmp_path / "runs.csv")[0]["numpy"] == np.__version__


@pytest.mark.slow
@pytest.mark.benchmark
def test_a_study_that_was_interrupted_goes_on_and_gives_the_same_figures(tmp_path):
    methods = "one_tree", "cegb", "thrifty"
    words = "money", "--quick", "--tasks", "heart", "--results", tmp_path, "--methods", *methods
    run_study(*words)
    file = tmp_path / "money.csv"
    whole = read_rows(file)
    write_rows(file, whole[1:-1])
    assert "not all done" in run_study(*words, "--minutes", "0")
    printed = run_study(*words)
    assert printed.count("money: ") == 3  # two units and the last line
    assert [timeless(one) for one in read_rows(file)] == [timeless(one) for one in whole]


def timeless(row):
    return {name: value for name, value in row.items() if name not in ("cpu_seconds", "run")}
