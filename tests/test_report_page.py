"""The report page holds what the path, bills, evaluations and certificates say."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from rankings import documents
from report_pages import COSTS, VALIDATION, X, Y, data_in, data_of, heart_path, page_of
from sklearn.datasets import load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

import thriftwood as tw
from thriftwood.problem import interval_in_words, tradeoffs_of
from thriftwood.report.page import data as page_module
from thriftwood.report.page import pruned as pruned_page
from thriftwood.report.points import drawn_points, shown_points

SHORT = {"rtol": 1e-6, "atol": 1e-9}  # pages hold seven digits


@pytest.fixture(scope="module")
def path():
    return heart_path()


@pytest.fixture(scope="module")
def page(path):
    return page_of(path, validation=VALIDATION, commands=lambda i, at: f"prune {i} --at {at}")


@pytest.fixture(scope="module")
def data(page):
    return data_in(page)


def test_the_curve_is_the_path_with_the_model_before_it(path, data):
    curve = data["curve"]
    np.testing.assert_allclose(curve["cost"], [path.original.cost, *path.costs], **SHORT)
    np.testing.assert_allclose(curve["loss"], [path.original.loss, *path.losses], **SHORT)
    on_rows, on_others = path.evaluate(X, Y), path.evaluate(*VALIDATION)
    np.testing.assert_allclose(curve["training"]["error"][1:], on_rows.error, **SHORT)
    np.testing.assert_allclose(curve["validation"]["error"][1:], on_others.error, **SHORT)
    np.testing.assert_allclose(curve["validation"]["spread"][1:], on_others.standard_error, **SHORT)
    np.testing.assert_allclose(curve["validation"]["cost"][1:], on_others.cost, **SHORT)
    wrong = np.mean(path.model.predict(VALIDATION[0]) != VALIDATION[1])
    assert curve["validation"]["error"][0] == pytest.approx(wrong, rel=1e-6)
    bill = tw.feature_bill(path.model, VALIDATION[0], COSTS)
    assert curve["validation"]["cost"][0] == pytest.approx(bill.mean, rel=1e-6)
    assert data["n_validation"] == len(VALIDATION[1])


def test_every_point_shows_what_its_model_costs(path, data):
    assert [point["index"] for point in data["points"]] == list(range(len(path)))
    for point in data["points"]:
        pruned, details = path[point["index"]], point["details"]
        bill = tw.feature_bill(pruned.model, X, COSTS)
        assert details["cost"] == pytest.approx(pruned.cost, rel=1e-6)
        assert (details["n_splits"], details["n_features"]) == (pruned.n_splits, pruned.n_features)
        np.testing.assert_allclose(details["bought"][:13], bill.bought, **SHORT)
        paid = [*bill.by_feature, *(bill.fees[name] for name in data["fees"])]
        np.testing.assert_allclose(details["spent"], paid, **SHORT)
        assert sum(details["bills"]) == len(X)
        assert sum(details["by_line"]) == pytest.approx(bill.mean, rel=1e-6, abs=1e-6)
        for name, amount in bill.by_group.items():
            assert details["by_line"][data["lines"].index(name)] == pytest.approx(amount, rel=1e-6)
        assert np.mean(bill.per_sample <= details["quantiles"][1] + 1e-6) >= 0.5
        sizes = [tree.tree_.node_count // 2 for tree in pruned.model.estimators_]
        assert sorted(details["bars"]) == sorted(sizes)


def test_every_point_says_which_errors_it_makes(path, data):
    measured = path.evaluate(*VALIDATION)
    assert data["classes"] == ["0", "1"]
    assert data["class_counts"] == np.bincount(VALIDATION[1]).tolist()
    assert data["positive"] == 1
    for matrix, details in [
        (measured.original.confusion, data["before"]),
        *zip(measured.confusion, (one["details"] for one in data["points"]), strict=True),
    ]:
        wrong = 1 - matrix.diagonal() / matrix.sum(axis=1)
        np.testing.assert_allclose(details["class_error"], wrong, **SHORT)


def test_the_rarer_class_is_to_be_found_unless_another_is_named(path):
    assert data_of(path, positive="0")["positive"] == 0
    assert data_of(path, positive=1)["positive"] == 1
    often = np.where(Y == 1, 9.0, 1.0)
    weighted = heart_path(sample_weight=often)
    assert data_of(weighted, sample_weight=often)["positive"] == 0
    with pytest.raises(tw.errors.InputError, match="name one of the classes 0 and 1"):
        data_of(path, positive="ill")
    with pytest.raises(tw.errors.InputError, match="pass what one sample is"):
        data_of(path, noun=" ")
    numbers = RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, Y)
    with pytest.raises(tw.errors.InputError, match="does not have two"):
        data_of(tw.prune_path(numbers, X, Y, costs=COSTS), positive=1)


@pytest.mark.parametrize(
    ("noun", "nouns"),
    [("patient", "patients"), ("company", "companies"), ("box", "boxes"), ("day", "days")],
)
def test_nouns_have_a_plural(path, noun, nouns):
    data = data_of(path, noun=noun, receipts=False)
    assert (data["noun"], data["nouns"]) == (noun, nouns)


def test_features_without_a_group_are_told_apart(data):
    grouped = {name for members in COSTS.groups.values() for name in members}
    alone = [data["features"][k] for k in data["ungrouped"]]
    assert alone == [name for name in X.columns if name not in grouped]
    for details in (data["before"], data["points"][0]["details"]):
        spent = sum(details["spent"][k] for k in data["ungrouped"])
        assert spent == pytest.approx(details["by_line"][data["rest_line"]], rel=1e-6)


def test_bars_hold_the_rows_that_pay_so_much(path, data):
    bill = tw.feature_bill(path.model, X, COSTS)
    counts, _ = np.histogram(bill.per_sample, data["edges"])
    assert data["before"]["bills"] == counts.tolist()
    assert data["edges"][0] == 0
    assert data["edges"][-1] >= bill.per_sample.max()


def test_receipts_add_up_to_the_bills_of_their_rows(path, data):
    before = tw.feature_bill(path.model, X, COSTS)
    assert [row["label"] for row in data["typical"]] == [
        "A cheap sample",
        "A sample in the middle",
        "A dear sample",
    ]
    totals = [before.per_sample[row["sample"]] for row in data["typical"]]
    assert totals == sorted(totals)
    for point in (data["points"][0], data["points"][len(path) // 2], data["points"][-1]):
        after = tw.feature_bill(path[point["index"]].model, X, COSTS)
        for row, left in zip(data["typical"], point["receipts"], strict=True):
            paid = [line["price"] for line in row["lines"]]
            assert sum(paid) == pytest.approx(before.receipt(row["sample"]).total, rel=1e-6)
            total = sum(paid[place] for place in left["lines"])
            assert total == pytest.approx(after.receipt(row["sample"]).total, rel=1e-6)
            bought = {purchase.name for purchase in after.receipt(row["sample"]).purchases}
            assert bought <= {row["lines"][place]["name"] for place in left["lines"]}
    for line in data["typical"][0]["lines"]:
        if not line["name"].startswith("fee: "):
            value = X.iloc[data["typical"][0]["sample"]][line["name"]]
            assert float(line["value"]) == pytest.approx(value, rel=1e-5)


def test_every_point_is_proven_and_can_be_made_again(path, data):
    for point in data["points"]:
        proof = point["proof"]
        assert proof["gap"] == "0"
        assert proof["reached"] == proof["bound"]
        low, high = tradeoffs_of(path.tradeoffs, point["index"])
        ends = interval_in_words(low, high)
        assert f"Any tradeoff {ends} gives" in point["hint"]
        assert proof["claim"] == f"No pruning of this model is better for tradeoffs {ends}."
        assert low < float(proof["tradeoff"]) < high
        index, tradeoff = re.fullmatch(r"prune (\d+) --at (\S+)", point["command"]).groups()
        assert int(index) == point["index"]
        assert low < float(tradeoff) < high
        made = eval(point["python"].removeprefix("model = "), {"path": path})
        splits = sum(int((tree.tree_.feature >= 0).sum()) for tree in made.estimators_)
        assert splits == path.n_splits[point["index"]]
        assert path.at(tradeoff=float(tradeoff)).index == point["index"]


def test_the_page_begins_where_validation_rows_suggest(path, data):
    assert data["start"]["point"] == path.choose(*VALIDATION).index
    assert data["start"]["is_suggested"]
    without = data_of(path)
    assert without["start"]["point"] == (path.choose(X, Y).index or 0)
    assert not without["start"]["is_suggested"]
    assert without["curve"]["validation"] is None
    assert without["points"][0]["command"] is None


def test_the_score_that_chooses_is_shown_with_its_errors(path):
    X_valid, y_valid = VALIDATION
    problem = tw.pruning_problem(path.model, X, Y, costs=COSTS)
    shown = {}
    for scoring in ("average_precision", "neg_log_loss", "accuracy"):
        measured = path.evaluate(X_valid, y_valid, scoring=scoring)
        with TemporaryDirectory() as folder:
            page = tw.report.write_page(path, Path(folder) / "page.html", problem, measured)
            shown[scoring] = data = data_in(page.file.read_text("utf-8"))
        if scoring != "accuracy":
            sign = -1 if scoring.startswith("neg") else 1
            found = data["curve"]["validation"]["score"]
            scores = sign * np.append(measured.original.score, measured.score)
            np.testing.assert_allclose(found["value"], scores, **SHORT)
            np.testing.assert_allclose(found["spread"][1:], measured.score_error, **SHORT)
    assert shown["average_precision"]["score"] == {"name": "average precision", "rises": True}
    assert shown["neg_log_loss"]["score"] == {"name": "log loss", "rises": False}
    assert shown["accuracy"]["score"] is None  # it is what the share of errors says
    assert data_of(path)["score"] is None  # of the samples that it was pruned on


@pytest.mark.parametrize("positive", [0, 1])
def test_probabilities_are_held_against_what_happens(path, positive):
    X_valid, y_valid = VALIDATION
    data = data_of(path, validation=VALIDATION, positive=positive)
    for details, model in [
        (data["before"], path.model),
        *((one["details"], path[one["index"]].model) for one in data["points"]),
    ]:
        probability = model.predict_proba(X_valid)[:, positive]
        tenth = np.minimum((model.predict_proba(X_valid)[:, 1] * 10).astype(int), 9)
        by_hand = [
            (probability[own].mean(), (y_valid[own] == positive).mean(), own.sum())
            for own in (tenth == one for one in np.unique(tenth))
        ]
        np.testing.assert_allclose(details["calibration"], by_hand, rtol=1e-5, atol=1e-6)
    assert "calibration" not in data_of(path)["before"]


def test_the_same_page_every_time_and_nothing_from_elsewhere(path, page):
    again = page_of(path, validation=VALIDATION, commands=lambda i, at: f"prune {i} --at {at}")
    assert again == page
    assert "default-src 'none'" in page
    addresses = re.findall(r"https?://[^\"'\s]+", page)
    assert addresses == ["http://www.w3.org/2000/svg"]  # the name of a language, never fetched
    assert not re.findall(r"innerHTML|document\.write|\bsrc=|<link|@import|url\(", page)


def test_the_table_without_scripts_shows_the_same(path, page):
    cells = TableCells()
    cells.feed(page)
    assert len(cells.rows) == len(path) + 2  # the head, and the model before pruning
    assert cells.rows[0][:2] == ["Point", "Mean bill (CAD)"]
    assert cells.rows[1][:2] == ["before", f"{path.original.cost:,.2f}"]
    assert cells.rows[2][:2] == ["0", f"{path.costs[0]:,.2f}"]
    assert cells.rows[0][3:6] == [
        "Area under the ROC curve, validation set, ± one standard error",
        "Wrong, validation set, ± one standard error",
        "Wrong, samples pruned on",
    ]
    measured = path.evaluate(*VALIDATION, points=[0])
    assert cells.rows[2][3] == f"{measured.score[0]:.3f} ± {measured.score_error[0]:.3f}"
    error, spread = 100 * measured.error[0], 100 * measured.standard_error[0]
    assert cells.rows[2][4] == f"{error:.1f} % ± {spread:.1f}"
    assert "<noscript>" in page


class TableCells(HTMLParser):
    """Collects the cells of the last table of a page."""

    def __init__(self):
        super().__init__()
        self.rows, self.in_table, self.in_cell = [], False, False

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.in_table = ("id", "points") in attrs
        if self.in_table and tag == "tr":
            self.rows.append([])
        self.in_cell = self.in_table and tag in ("td", "th")

    def handle_data(self, text):
        if self.in_cell and text.strip():
            self.rows[-1].append(text)


def test_names_and_titles_are_only_text():
    evil = ["</script><b>", "<!--", "\"'&`", "{{data}}", "\u2028é"]
    names = evil + [f"f{k}" for k in range(8)]
    rows = X.set_axis(names, axis="columns")
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(rows, Y)
    costs = tw.Costs(
        per_feature=dict.fromkeys(names, 1.0), groups={"</script>": evil}, unit="<i>€</i>"
    )
    path = tw.prune_path(forest, rows, Y, costs=costs)
    page = page_of(path, rows, costs=costs, title="<script>alert(1)</script> {{data}}")
    data = data_in(page)
    assert data["features"] == names
    assert data["lines"][0] == "</script>"
    assert data["unit"] == "<i>€</i>"
    assert page.count("</script>") == 2  # of the data and of the scripts
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{data}}" in page
    assert "<i>" not in page


def test_prices_of_every_kind_add_up():
    everything = tw.Costs(
        per_feature=dict.fromkeys(X.columns, 2.0) | {"ca": 50.0},
        groups={"blood": ["chol", "fbs"], "visit": ["blood", "ca"]},
        group_fee={"blood": 1.5, "visit": 3.0},
        requires={"slope": ["oldpeak"]},
        per_model={"ca": 400},
        per_split=0.01,
        per_node=0.5,
        predictions=1000,
    )
    path = heart_path(costs=everything)
    data = data_of(path, costs=everything)
    assert data["in_several_groups"]
    assert data["lines"][:2] == ["blood", "visit"]
    for point in [data["before"], *(one["details"] for one in data["points"])]:
        assert sum(point["by_line"]) == pytest.approx(point["cost"], rel=1e-6, abs=1e-6)
        assert point["by_line"][-1] <= 0  # what is counted twice is taken off
        others = point["test_cost"] + point["model_cost"]
        assert sum(point["spent"]) + others == pytest.approx(point["cost"], rel=1e-6, abs=1e-6)
    row, point = data["typical"][1], data["points"][0]
    after = tw.feature_bill(path[0].model, X, everything).receipt(row["sample"])
    left = point["receipts"][1]
    total = sum(row["lines"][place]["price"] for place in left["lines"]) + left["tests"]
    assert total == pytest.approx(after.total, rel=1e-6)


def test_prices_that_belong_to_rows():
    known = COSTS.for_samples(known={"chol": X["age"] > 60})
    path = heart_path(costs=known)
    data = data_of(path, costs=known)
    np.testing.assert_allclose(data["curve"]["cost"][1:], path.costs, **SHORT)
    bill = tw.feature_bill(path[0].model, X, known)
    spent = data["points"][0]["details"]["spent"]
    np.testing.assert_allclose(spent[:13], bill.by_feature, **SHORT)
    assert data["points"][0]["proof"]["gap"] == "0"


def test_weighted_rows_count_as_often_in_everything():
    weights = np.arange(len(X)) % 3
    options = {"sample_weight": weights, "class_weight": "balanced", "loss": "brier"}
    options["costs"] = replace(COSTS, weigh_bills=True)
    path = heart_path(**options)
    data = data_of(path, **options)
    repeated = np.repeat(np.arange(len(X)), weights)
    bill = tw.feature_bill(path[1].model, X.iloc[repeated], COSTS)
    details = data["points"][1]["details"]
    assert details["cost"] == pytest.approx(bill.mean, rel=1e-6)
    np.testing.assert_allclose(details["bought"][:13], bill.bought, **SHORT)
    assert sum(details["by_line"]) == pytest.approx(bill.mean, rel=1e-6)
    assert {point["proof"]["gap"] for point in data["points"]} == {"0"}


def test_regressors_and_boosted_models():
    target = X["thalach"].to_numpy(np.float64)
    rows = X.drop(columns="thalach")
    forest = RandomForestRegressor(4, max_depth=3, random_state=0).fit(rows, target)
    path = tw.prune_path(forest, rows, target)
    data = data_of(path, rows, target, costs=None)
    assert data["error"] == "squared"
    assert data["unit"] == ""
    squared = np.mean((forest.predict(rows) - target) ** 2)
    assert data["curve"]["training"]["error"][0] == pytest.approx(squared, rel=1e-6)

    boosted = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6).fit(X, Y)
    data = data_of(tw.prune_path(boosted, X, Y, costs=COSTS))
    assert data["words"]["loss"] == "share of the recorded gain given up"
    assert {point["proof"]["gap"] for point in data["points"]} == {"0"}

    rows = rows.fillna(0)
    quantile = GradientBoostingRegressor(loss="quantile", n_estimators=4).fit(rows, target)
    data = data_of(tw.prune_path(quantile, rows, target), rows, target, costs=None)
    assert data["error"] == "none"
    assert data["curve"]["training"] is None


def test_several_classes_and_paths_of_one_point():
    rows, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(rows, y)
    data = data_of(tw.prune_path(forest, rows, y), rows, y, costs=None)
    assert data["features"][0] == "feature 0"
    free = tw.prune_path(forest, rows, y, costs=np.zeros(13))
    data = data_of(free, rows, y, costs=np.zeros(13))
    assert len(data["points"]) == 1
    assert data["points"][0]["details"]["cost"] == 0
    assert "Any tradeoff from 0 on gives" in data["points"][0]["hint"]


def test_baselines_claim_no_proof():
    problem = tw.pruning_problem(heart_path().model, X, Y, costs=COSTS)
    for path in (tw.each_tree_path(problem), tw.cost_complexity_path(problem)):
        for point in data_of(path)["points"]:
            assert point["proof"]["gap"] is None
            assert "Nothing is proven" in point["proof"]["claim"]


def test_a_sample_is_proven_only_where_it_is():
    sampled = heart_path(subsample=100)
    for point in data_of(sampled)["points"]:
        gap, claim = int(point["proof"]["gap"]), point["proof"]["claim"]
        assert gap >= 0
        assert ("No pruning of this model is better" in claim) == (gap == 0)


def test_a_large_page_stays_small():
    people = tw.datasets.load_nhanes()
    rows, y = np.nan_to_num(people.X[:600]), people.y[:600] > 0
    model = ExtraTreesClassifier(100, max_features=30, max_depth=5, random_state=0).fit(rows, y)
    costs = people.costs * np.random.default_rng(0).uniform(0.5, 2, 123)
    path = tw.prune_path(model, rows, y, costs=costs, loss="brier")
    assert len(path) > 200
    page = page_of(path, rows, y, validation=(rows, y), costs=costs, loss="brier")
    data = data_in(page)
    assert len(data["points"]) == 40
    assert len(data["curve"]["cost"]) == len(path) + 1
    # With more points only the curve is longer: seven numbers of each, ten characters at most.
    assert len(page) + (page_module.MOST_DRAWN - len(path)) * 7 * 11 < 2_000_000


def test_of_very_many_rows_and_trees_only_some_points_are_proven(monkeypatch):
    path = heart_path(20)
    monkeypatch.setattr(pruned_page, "MOST_WORK", 4 * len(X) * 20)
    data = data_of(path, validation=VALIDATION)
    made = [point["index"] for point in data["points"] if point["proof"]["gap"] == "0"]
    assert len(made) == 4 < len(path)
    assert data["start"]["point"] in made
    for point in data["points"]:
        claim = point["proof"]["claim"]
        assert claim.startswith("No pruning of this model is better for tradeoffs ")
        assert ("No certificate was made" in claim) == (point["index"] not in made)


@pytest.mark.slow
def test_a_page_of_thousands_of_features_stays_small():
    random = np.random.default_rng(0)
    rows, y = random.normal(size=(400, 4000)), random.integers(0, 2, 400)
    model = ExtraTreesClassifier(300, max_features=1, random_state=0).fit(rows, y)
    costs = random.uniform(0.5, 2, 4000)
    path = tw.prune_path(model, rows, y, costs=costs)
    page = page_of(path, rows, y, validation=(rows, y), costs=costs)
    assert 3 <= len(data_in(page)["points"]) < 40
    assert len(page) < 2_000_000


def test_a_curve_of_very_many_points_is_drawn_by_some(path, monkeypatch):
    whole = data_of(path)
    monkeypatch.setattr(page_module, "MOST_DRAWN", 2)
    data = data_of(path, max_points=3)
    assert data["n_points"] == len(path)
    assert 4 <= len(data["curve"]["cost"]) < len(path) + 1
    for point in data["points"]:
        for name in ("cost", "loss"):
            drawn = data["curve"][name][point["place"]]
            assert drawn == whole["curve"][name][point["index"] + 1]
        errors = data["curve"]["training"]["error"][point["place"]]
        assert errors == whole["curve"]["training"]["error"][point["index"] + 1]


def test_drawn_points_are_all_or_those_that_can_be_told_apart():
    assert drawn_points(np.array([3.0, 1.0, 0.0]), [1], 3).tolist() == [0, 1, 2]
    costs = np.linspace(100, 0, 10_001)
    drawn = drawn_points(costs, [7, 10_000], 100)
    assert {0, 7, 10_000} <= set(drawn.tolist())
    assert len(drawn) <= 102
    assert max(-np.diff(costs[drawn])) < 1.1 * 100 / 99


def test_trees_are_drawn_together_where_they_are_many():
    path = heart_path(n_trees=250, max_depth=1)
    data = data_of(path, max_points=3)
    assert "each bar is 3 trees" in data["words"]["bars_x"]
    assert len(data["before"]["bars"]) == 84
    assert len(data["points"]) == 3


def test_shown_points_are_spread_over_cost():
    costs = np.array([10.0, 9.9, 9.8, 9.7, 5.0, 1.0, 0.0])
    assert shown_points(costs, [1], 3) == [0, 1, 6]
    assert shown_points(costs, [1], 4) == [0, 1, 4, 6]
    assert shown_points(costs, [], 100) == list(range(7))
    assert shown_points(np.array([0.0]), [0], 5) == [0]
    even = shown_points(np.linspace(100, 0, 1001), [333], 30)
    assert len(even) == 30
    assert max(np.diff(even)) < 70


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"evaluation": X}, "`evaluation` is none"),
        ({"title": ""}, "`title` is ''"),
        ({"commands": "prune"}, "`commands` is 'prune'"),
        ({"commands": lambda _point, _at: None}, "`commands` returned None"),
        ({"max_points": 2}, "`max_points` is 2"),
        ({"receipts": "no"}, "`receipts` is 'no'"),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_written(tmp_path, path, change, words):
    problem = tw.pruning_problem(path.model, X, Y, costs=COSTS)
    with pytest.raises(tw.errors.InputError, match=re.escape(words)):
        tw.report.write_page(path, tmp_path / "page.html", problem, **change)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": X.iloc[:100], "y": Y[:100]}, "pass the problem that the path solves"),
        ({"sample_weight": np.arange(200)}, "pass the problem that the path solves"),
        ({"loss": "brier"}, "loss"),
    ],
)
def test_problems_of_other_paths_are_refused(tmp_path, path, given, words):
    rows = {"X": X, "y": Y, "costs": COSTS} | given
    other = tw.pruning_problem(path.model, rows.pop("X"), rows.pop("y"), **rows)
    with pytest.raises(tw.errors.InputError, match=words):
        tw.report.write_page(path, tmp_path / "page.html", other)
    assert not list(tmp_path.iterdir())


def test_other_paths_and_places_are_refused(tmp_path, path):
    problem = tw.pruning_problem(path.model, X, Y, costs=COSTS)
    sizes = tw.dynamic_programming_path(problem)
    for wrong, words in (
        (sizes, "has no tradeoffs: pass what prune_path returned"),
        (path.model, "is a RandomForestClassifier: pass what prune_path returned"),
        (path.cascade(X, Y, stages=2), "is a CascadeClassifier: pass what prune_path returned"),
        (path.at(index=1), "is a Pruned: pass the path of which it is point 1"),
    ):
        with pytest.raises(tw.errors.InputError, match=words):
            tw.report.write_page(wrong, tmp_path / "page.html", problem)
        with pytest.raises(tw.errors.InputError, match=words):
            tw.report.model_card(wrong, problem)
    for place in (tmp_path, tmp_path / "none" / "page.html"):
        with pytest.raises(tw.errors.InputError, match="folder"):
            tw.report.write_page(path, place, problem)
    with pytest.raises(tw.errors.InputError, match="is for thrifty models"):
        tw.report.write_page(path, tmp_path / "page.html", VALIDATION)
    chunks = tw.pruning_problem(path.model, iter([(X, Y)]), None, costs=COSTS)
    with chunks, pytest.raises(tw.errors.InputError, match="partitions"):
        tw.report.write_page(path, tmp_path / "page.html", chunks)


def test_weighted_validation_rows_choose_as_the_path_does(path):
    weights = np.where(VALIDATION[1] == 1, 9.0, 0.5)
    data = data_of(path, validation=(*VALIDATION, weights))
    measured = path.evaluate(*VALIDATION, sample_weight=weights)
    np.testing.assert_allclose(data["curve"]["validation"]["error"][1:], measured.error, **SHORT)
    assert data["start"]["point"] == path.choose(*VALIDATION, sample_weight=weights).index


def test_typical_rows_are_those_of_repeated_rows():
    weights = np.arange(len(X)) % 4
    options = {"sample_weight": weights, "costs": replace(COSTS, weigh_bills=True)}
    data = data_of(heart_path(**options), **options)
    repeated = X.iloc[np.repeat(np.arange(len(X)), weights)]
    bills = np.sort(tw.feature_bill(heart_path().model, repeated, COSTS).per_sample)
    for row, share in zip(data["typical"], (0.1, 0.5, 0.9), strict=True):
        paid = sum(line["price"] for line in row["lines"])
        place = int(np.ceil(share * len(bills))) - 1
        assert paid == pytest.approx(bills[place], rel=1e-6)


def test_without_receipts_the_page_shows_no_values(path):
    data = data_of(path, receipts=False)
    assert data["typical"] == []
    assert all(point["receipts"] == [] for point in data["points"])


# --- of a thrifty model


@pytest.fixture(scope="module")
def thrifty():
    model = tw.ThriftyClassifier(costs=COSTS, budget=60, effort="quick", random_state=0)
    return model.fit(X, Y)


@pytest.fixture(scope="module")
def thrifty_page(thrifty, tmp_path_factory):
    file = tmp_path_factory.mktemp("thrifty") / "page.html"
    page = tw.report.write_page(thrifty, file, VALIDATION, noun="patient")
    assert thrifty.rules_.costs[-1 - page.point] == thrifty.cost_
    assert "budget of 60" in page.why
    return file.read_text("utf-8")


@pytest.mark.filterwarnings("ignore:.*every sample gets the same answer:UserWarning")
def test_a_thrifty_model_has_the_same_page(thrifty, thrifty_page):
    X_valid, y_valid = VALIDATION
    data, rules = data_in(thrifty_page), thrifty.rules_
    assert data["n_points"] == len(rules)
    full = thrifty.stages_.sets[-1]
    assert data["before"]["n_features"] == len(full)
    for point in (data["points"][0], data["points"][len(data["points"]) // 2], data["points"][-1]):
        model = thrifty.at(budget=rules.costs[-1 - point["index"]])
        bill, details = model.bill(X_valid), point["details"]
        np.testing.assert_allclose(details["cost"], bill.mean, **SHORT)
        bought = [*bill.bought, *bill.fee_payers.values()]
        np.testing.assert_allclose(details["bought"], bought, **SHORT)
        assert sum(details["by_line"]) == pytest.approx(bill.mean)
        wrong = model.predict(X_valid) != y_valid
        assert data["curve"]["training"]["error"][point["place"]] == pytest.approx(wrong.mean())
        shares = [wrong[y_valid == label].mean() for label in (0, 1)]
        np.testing.assert_allclose(details["class_error"], shares, **SHORT)
        stage = model.decision_path(X_valid).stage
        shares = np.bincount(stage, minlength=len(thrifty.stages_)) / len(stage)
        np.testing.assert_allclose(details["bars"], shares, **SHORT)
        for one, still in zip(data["typical"], point["receipts"], strict=True):
            paid = sum(one["lines"][place]["price"] for place in still["lines"])
            assert paid == pytest.approx(bill.per_sample[one["sample"]])
        again = thrifty.at(budget=float(re.findall(r"budget=(.*)\)", point["python"])[0]))
        assert again.cost_ == model.cost_
        assert point["proof"]["reached"] is None


def test_the_table_of_a_thrifty_model_has_standard_errors(thrifty_page):
    head, *rows = re.findall(r"<tr>(.*?)</tr>", thrifty_page)
    assert "Splits" not in head
    assert "Wrong, patients not trained on, ± one standard error" in head
    assert all(" ± " in row for row in rows)


def test_pages_of_thrifty_models_with_costs_of_errors_and_of_numbers(tmp_path):
    X_valid, y_valid = VALIDATION
    careful = tw.ThriftyClassifier(
        costs=COSTS, error_costs={0: 100, 1: 900}, effort="quick", random_state=0
    ).fit(X, Y)
    tw.report.write_page(careful, tmp_path / "one.html", VALIDATION)
    data = data_in((tmp_path / "one.html").read_text("utf-8"))
    found = careful.evaluate(X_valid, y_valid)
    for point in data["points"]:
        details, index = point["details"], point["index"]
        total = details["tests"] + details["errors_cost"]
        assert total == pytest.approx(found.total_cost[index], rel=1e-5)
    age = tw.ThriftyRegressor(effort="quick", random_state=0).fit(X.drop(columns="age"), X["age"])
    samples = X_valid.drop(columns="age"), X_valid["age"], np.ones(len(y_valid))
    tw.report.write_page(age, tmp_path / "two.html", samples)
    data = data_in((tmp_path / "two.html").read_text("utf-8"))
    assert (data["error"], data["classes"]) == ("squared", [])


def test_a_ranker_has_the_same_page(tmp_path):
    """Bills are those of documents, beside the score of their lists; there are no errors."""
    lists, others = documents(60), documents(30, seed=1)
    model = tw.ThriftyRanker(effort="quick", random_state=0).fit(*lists)
    ranker, samples = model.cascade_, (others.X, others.y, None, others.qid)
    found = tw.report.write_page(ranker, tmp_path / "page.html", samples)
    assert len(ranker.rules) - 1 - found.point == ranker.rule
    data = data_in((tmp_path / "page.html").read_text("utf-8"))
    assert (data["error"], data["score"]) == ("none", {"name": "ndcg@10", "rises": True})
    for point in (data["points"][0], data["points"][-1]):
        one = ranker.at(budget=ranker.rules.costs[-1 - point["index"]])
        bill, details = one.bill(others.X, others.qid), point["details"]
        assert details["cost"] == pytest.approx(bill.mean, rel=1e-5)
        score = data["curve"]["training"]["score"]["value"][point["place"]]
        assert score == pytest.approx(one.score(others.X, others.y, others.qid), rel=1e-5)
        stage = one.decision_path(others.X, others.qid).stage
        shares = np.bincount(stage, minlength=len(ranker.stages)) / len(stage)
        np.testing.assert_allclose(details["bars"], shares, **SHORT)
    with pytest.raises(tw.errors.InputError, match="has no queries"):
        tw.report.write_page(ranker, tmp_path / "two.html", samples[:3])


@pytest.mark.parametrize(
    ("samples", "options", "words"),
    [
        (X, {}, "no pair of samples"),
        (VALIDATION, {"commands": print}, "`commands` is for paths"),
        (VALIDATION, {"positive": "ill"}, "name one of the classes"),
    ],
)
def test_what_a_page_of_a_thrifty_model_lacks_is_refused(
    thrifty, tmp_path, samples, options, words
):
    with pytest.raises(tw.errors.InputError, match=words):
        tw.report.write_page(thrifty, tmp_path / "page.html", samples, **options)
    assert not list(tmp_path.iterdir())
