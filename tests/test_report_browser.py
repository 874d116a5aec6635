"""The report page in a real browser: what people see is what the path says."""

import re

import numpy as np
import pytest
from browsers import browser
from playwright.sync_api import expect
from rankings import documents
from report_pages import COSTS, VALIDATION, X, Y, data_in, heart_path, page_of
from report_visits import point_shown, resize, shown, visit, words_in
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.metrics import confusion_matrix
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.report.amounts import amount

__all__ = ["browser", "visit"]  # fixtures


def percent(share):
    return f"{100 * share:.1f} %"


NOTHING = "\N{EN DASH}"  # where a cell has no number


@pytest.fixture(scope="module")
def path():
    return heart_path(15, max_depth=5)


@pytest.fixture(scope="module")
def file(path, tmp_path_factory):
    place = tmp_path_factory.mktemp("report") / "page.html"
    place.write_text(
        page_of(path, validation=VALIDATION, commands=lambda i, at: f"prune {i} --at {at}"), "utf-8"
    )
    return place


def test_the_page_shows_the_suggested_point_first(visit, file, path):
    page = visit(file.as_uri())
    chosen = path.choose(*VALIDATION)
    assert point_shown(page) == chosen.index
    assert page.is_disabled("#suggested")
    errors = path.evaluate(*VALIDATION, points=[chosen.index])
    area, spread, was = errors.score[0], errors.score_error[0], errors.original.score
    before = (path.model.predict(VALIDATION[0]) != VALIDATION[1]).mean()
    share = 1 - chosen.cost / path.original.cost
    saved = f"{100 * share:.{0 if share >= 0.1 else 1}f} % less"
    assert shown(page, "#verdict") == (
        f"Point {chosen.index}: a sample costs {amount(chosen.cost, 'CAD')} on "
        f"average instead of {amount(path.original.cost)} ({saved}); the area under the ROC curve "
        f"is {area:.3f} ± {spread:.3f} instead of {was:.3f}; "
        f"{percent(errors.error[0])} ± {100 * errors.standard_error[0]:.1f} (one standard "
        f"error) of the validation set are wrong instead of {percent(before)}."
    )


def test_moving_the_slider_shows_each_point_as_the_path_has_it(visit, file, path):
    page = visit(file.as_uri())
    page.focus("#slider")
    page.keyboard.press("Home")  # the cheapest, as at the left of the chart
    for index in reversed(range(len(path))):
        assert point_shown(page) == index
        assert amount(path.costs[index], "CAD") in shown(page, "#verdict")
        cards = shown(page, "#cards")
        assert f"{path.n_splits[index]:,}\nwas {path.original.n_splits:,}" in cards
        assert f"{path.n_features[index]}\nwas {path.original.n_features}, of 13" in cards
        spoken = page.get_attribute("#slider", "aria-valuetext").replace("\u00a0", " ")
        assert spoken.endswith(f"{amount(path.costs[index], 'CAD')} a sample")
        total = page.inner_text("#lines tfoot").split("\t")
        assert total[1:3] == [amount(path.original.cost), amount(path.costs[index])]
        assert shown(page, ".tip").startswith(f"Point {index}")
        page.keyboard.press("ArrowRight")
    assert point_shown(page) == 0


def test_buttons_go_to_neighbours_and_back_to_the_suggestion(visit, file, path):
    page = visit(file.as_uri())
    start = point_shown(page)
    other, back = ("#dearer", "#cheaper") if start > 0 else ("#cheaper", "#dearer")
    page.click(other)
    assert abs(point_shown(page) - start) == 1
    page.click(back)
    assert point_shown(page) == start
    page.click(other)
    page.click("#suggested")
    assert point_shown(page) == start
    while page.is_enabled("#cheaper"):
        page.click("#cheaper")
    assert point_shown(page) == len(path) - 1


def test_clicking_the_chart_chooses_the_point_there(visit, file, path):
    page = visit(file.as_uri())
    page.click("#switch button:nth-child(2)")  # errors, on both samples
    page.click("#show-all")
    for index in (0, len(path) - 1):
        page.locator("#frontier").scroll_into_view_if_needed()
        mark = page.locator("#frontier circle.mark.training").nth(index)
        box = mark.bounding_box()
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.move(*middle)
        expect(page.locator(".tip")).to_contain_text(f"Point {index}")
        page.mouse.click(*middle)
        assert point_shown(page) == index


@pytest.mark.parametrize("shows", ["score", "error"])
def test_single_leaves_that_are_far_off_do_not_stretch_the_chart(visit, file, path, shows):
    page = visit(file.as_uri())
    page.click(f"#switch button:nth-child({1 + (shows == 'error')})")

    def n_marks():
        return page.locator("#frontier path.mark.validation").count()

    left_out = len(path) - n_marks()
    assert left_out > 0
    assert f"{left_out} cheaper point" in shown(page, "#outside-words")
    page.click("#show-all")
    assert n_marks() == len(path)
    page.click("#show-all")
    assert n_marks() == len(path) - left_out
    page.focus("#slider")
    page.keyboard.press("Home")  # the single leaves: once chosen they are in the chart
    assert point_shown(page) == len(path) - 1
    assert n_marks() == len(path)


def test_missed_and_false_alarms_are_those_of_the_models(visit, file, path):
    page = visit(file.as_uri())
    rows, y = VALIDATION
    for model, column in [(path.model, 1), (path[point_shown(page)].model, 2)]:
        (right, false_alarm), (missed, found) = confusion_matrix(y, model.predict(rows))
        sick, well = found / (found + missed), right / (right + false_alarm)
        cells = page.locator(f"#errors tbody tr > :nth-child({column + 1})").all_inner_texts()
        assert [cell.replace("\u00a0", " ") for cell in cells] == [
            f"{1000 * missed / len(y):.0f}",
            f"{1000 * false_alarm / len(y):.0f}",
            f"{percent(sick)} ± {100 * np.sqrt(sick * (1 - sick) / y.sum()):.1f}",
            f"{percent(well)} ± {100 * np.sqrt(well * (1 - well) / (1 - y).sum()):.1f}",
        ]
    names = page.locator("#errors tbody th").all_inner_texts()
    assert names[0] == "missed: 1, taken for 0"  # the rarer class is the one to be found


def test_more_classes_have_their_errors_each(visit, tmp_path):
    rows, y = load_wine(return_X_y=True)
    names = np.array(["red", "white", "a name that is longer than anybody would like it"])[y]
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(rows[::2], names[::2])
    path = tw.prune_path(forest, rows[::2], names[::2])
    held_out = (rows[1::2], names[1::2])
    page_text = page_of(path, rows[::2], names[::2], costs=None, validation=held_out)
    (tmp_path / "page.html").write_text(page_text, "utf-8")
    page = visit(f"{(tmp_path / 'page.html').as_uri()}#point={len(path) - 1}")
    lines = page.locator("#errors tbody tr").all()
    cells = [[words_in(cell) for cell in line.locator("th, td").all()] for line in lines]
    before = confusion_matrix(held_out[1], forest.predict(held_out[0]))
    share = 1 - before.diagonal() / before.sum(axis=1)
    said = next(label for label in path[-1].model.predict(held_out[0][:1]))
    for name, was, now, taken_for in cells:
        k = next(k for k, label in enumerate(forest.classes_) if label[:5] == name[:5])
        assert was == f"{1000 * share[k]:.0f}"
        assert (now, taken_for) == (
            ("0", NOTHING) if forest.classes_[k] == said else ("1,000", said)
        )
    resize(page, 320)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_page_speaks_of_patients(visit, path, tmp_path):
    text = page_of(path, validation=VALIDATION, noun="patient", positive=0)
    (tmp_path / "page.html").write_text(text, "utf-8")
    page = visit((tmp_path / "page.html").as_uri())
    words = shown(page, "body")
    assert "a patient costs" in words
    assert "What patients pay" in words
    assert "A dear patient" in words
    assert "missed: 0, taken for 1" in words
    assert not re.search("sample", words)


def test_the_chart_can_show_the_loss(visit, file):
    page = visit(file.as_uri())
    assert "area under the ROC curve" in page.locator("#frontier svg").text_content()
    assert page.locator("#frontier .curve").count() == 1
    page.click("#switch button:nth-child(2)")
    assert "share of samples that are wrong" in page.locator("#frontier svg").text_content()
    assert page.locator("#frontier .curve").count() == 2
    page.click("#switch button:last-child")
    assert page.locator("#frontier .curve").count() == 1
    assert "error per tree" in page.locator("#frontier svg").text_content()
    assert page.get_attribute("#switch button:last-child", "aria-pressed") == "true"


def test_probabilities_are_drawn_where_others_judge_them(visit, file, path):
    page = visit(file.as_uri())
    tenths = path.evaluate(*VALIDATION).calibration[point_shown(page)]
    assert page.locator("#calibration circle.mark").count() == (tenths[:, 0] > 0).sum()


def test_the_chosen_point_is_kept_in_the_address(visit, file, path):
    page = visit(file.as_uri())
    page.focus("#slider")
    page.keyboard.press("Home")
    assert page.evaluate("location.hash") == f"#point={len(path) - 1}"
    page.keyboard.press("End")
    assert page.evaluate("location.hash") == "#point=0"
    page.reload()
    assert point_shown(page) == 0
    assert point_shown(visit(f"{file.as_uri()}#point={len(path) - 1}")) == len(path) - 1
    page.evaluate("location.hash = '#point=2'")
    page.wait_for_selector("#verdict:has-text('Point 2:')")
    assert point_shown(visit(f"{file.as_uri()}#nonsense")) == path.choose(*VALIDATION).index


def test_receipts_come_to_the_bills(visit, file, path):
    page = visit(file.as_uri())
    data = data_in(file.read_text("utf-8"))
    before = tw.feature_bill(path.model, X, COSTS)
    after = tw.feature_bill(path[point_shown(page)].model, X, COSTS)
    for place, row in enumerate(data["typical"]):
        receipt = page.locator(".receipt").nth(place)
        for fold in receipt.locator("summary").all():
            fold.click()
        total = receipt.locator("tfoot").inner_text().split("\t")
        bills = [before.per_sample[row["sample"]], after.per_sample[row["sample"]]]
        assert total[1:] == [amount(bill) for bill in bills]
        expect(receipt.locator("tbody tr")).to_have_count(len(row["lines"]))


def test_features_show_who_buys_them(visit, file, path):
    page = visit(file.as_uri())
    bill = tw.feature_bill(path.model, X, COSTS)
    after = tw.feature_bill(path[point_shown(page)].model, X, COSTS)
    lines = page.locator("#features tbody tr").all()
    rows = [[words_in(cell) for cell in line.locator("th, td").all()] for line in lines]
    spent = dict(zip(bill.feature_names, bill.by_feature, strict=True))
    spent |= {f"fee: {name}": fee for name, fee in bill.fees.items()}
    for row in rows:
        assert float(row[5]) == pytest.approx(spent[row[0]], abs=0.0051)
    assert [spent[row[0]] for row in rows] == sorted((spent[row[0]] for row in rows), reverse=True)
    for column, whole in [(5, bill), (6, after)]:
        assert sum(float(row[column]) for row in rows) == pytest.approx(whole.mean, abs=0.1)
    total = page.locator("#features tfoot td").all_inner_texts()
    assert total[-2:] == [two_decimals(bill.mean), two_decimals(after.mean)]
    for row in rows:
        if row[0].startswith("fee: "):
            continue
        k = bill.feature_names.index(row[0])
        for cell, share in [(row[3], bill.bought[k]), (row[4], after.bought[k])]:
            assert (cell == NOTHING) == (share == 0)
            assert share == 0 or abs(float(cell.removesuffix(" %")) - 100 * share) <= 0.5


def test_features_without_a_group_have_their_own_lines_of_money(visit, file, path):
    page = visit(file.as_uri())
    lines = page.locator("#lines tbody tr").all()
    rows = {words[0]: words[1:] for words in (line.inner_text().split("\t") for line in lines)}
    bill = tw.feature_bill(path.model, X, COSTS)
    grouped = {name for members in COSTS.groups.values() for name in members}
    for name, spent in zip(bill.feature_names, bill.by_feature, strict=True):
        assert (name in rows) == (name not in grouped and spent > 0)
        assert name not in rows or float(rows[name][0]) == pytest.approx(spent, abs=0.0051)
    assert sum(float(row[0]) for row in rows.values()) == pytest.approx(bill.mean, abs=0.1)


def two_decimals(number):
    return f"{number:,.2f}" if number else "0"


def test_the_proof_and_the_command_are_those_of_the_point(visit, file, path):
    page = visit(file.as_uri())
    index = point_shown(page)
    command, python = page.locator("#recipes pre").all_inner_texts()
    assert command.startswith(f"prune {index} --at ")
    assert path.at(tradeoff=float(command.split()[-1])).index == index
    assert python == f"model = path.at(tradeoff={command.split()[-1]}).model"
    problem = tw.pruning_problem(path.model, X, Y, costs=COSTS)
    certificate = path.certify(problem, [index])[0].certificate
    assert shown(page, "#proof").split() == [
        *("checked", "at", "the", "tradeoff", command.split()[-1]),
        *("reached", f"{certificate.profit:,}"),
        *("no", "pruning", "of", "this", "model", "can", "exceed", f"{certificate.bound:,}"),
        *("gap", "0"),
    ]
    assert shown(page, "#claim").startswith("No pruning of this model is better for tradeoffs from")


def test_copying_says_that_it_did(visit, file):
    page = visit(file.as_uri())
    button = page.locator("#recipes button").first
    button.click()
    page.wait_for_function("/Copied|Ctrl/.test(document.querySelector('#recipes').textContent)")


def test_a_telephone_needs_no_sideways_scrolling(visit, file):
    page = visit(file.as_uri(), viewport={"width": 360, "height": 740})
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    expect(page.locator(".receipt tbody:empty")).to_have_count(0)  # filled a moment later
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#frontier svg").bounding_box()["width"] > 280


def test_darkness_changes_colours_and_text_stays_readable(visit, file):
    colours = {}
    for scheme in ("light", "dark"):
        page = visit(file.as_uri(), color_scheme=scheme)
        colours[scheme] = page.evaluate(COLOURS)
        for name, background in CONTRASTS:
            ratio = contrast(colours[scheme][name], colours[scheme][background])
            assert ratio >= 4.5, f"{name} on {background} in {scheme}: {ratio:.1f}"
    assert all(colours["light"][name] != colours["dark"][name] for name in colours["light"])
    assert luminance(colours["dark"]["--paper"]) < 0.1 < luminance(colours["light"]["--paper"])


COLOURS = """Object.fromEntries(['--paper', '--card', '--ink', '--soft', '--good', '--after',
    '--strong-ink', '--after-soft'].map((name) =>
    [name, getComputedStyle(document.documentElement).getPropertyValue(name).trim()]))"""
CONTRASTS = [
    ("--ink", "--paper"),
    ("--ink", "--card"),
    ("--ink", "--after-soft"),
    ("--soft", "--paper"),
    ("--soft", "--card"),
    ("--good", "--card"),
    ("--after", "--card"),
    ("--strong-ink", "--after"),
]


def luminance(colour):
    """Return the relative luminance of a colour such as #0072b2, as WCAG defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_on_paper_there_are_no_controls_but_all_points(visit, file):
    page = visit(file.as_uri(), color_scheme="dark")
    assert page.is_visible("#slider")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for control in ("#slider", "#cheaper", "#suggested", "#switch", "#recipes button"):
        assert not page.locator(control).first.is_visible(), control
    assert page.is_visible("#points tbody")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 10_000


def test_every_control_has_a_name_and_can_be_reached(visit, file):
    page = visit(file.as_uri())
    controls = page.locator("button:visible, input:visible, summary:visible")
    assert controls.count() >= 9
    for control in controls.all():
        name = control.evaluate(
            "one => one.getAttribute('aria-label') || [...(one.labels ?? [])].map(l => "
            "l.textContent).join('') || one.textContent"
        )
        assert name.strip(), control.evaluate("one => one.outerHTML")
    page.keyboard.press("Tab")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate("document.activeElement.tagName") != "BODY"
    assert page.evaluate(outline) == "solid"


def test_without_scripts_there_is_the_table(visit, file, path):
    page = visit(file.as_uri(), java_script_enabled=False)
    assert page.is_visible("#points tbody")
    assert "needs scripts" in page.inner_text("main")
    assert not page.is_visible("#slider")
    assert page.locator("#points tbody tr").count() == len(path) + 1


def test_names_of_users_stay_text(visit, tmp_path):
    names = ["<img src=x onerror=alert(1)>", "</script>", *X.columns[2:]]
    rows = X.set_axis(names, axis="columns")
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(rows, Y)
    path = tw.prune_path(forest, rows, Y)
    (tmp_path / "page.html").write_text(page_of(path, rows, costs=None, title="<b>&amp;"), "utf-8")
    page = visit((tmp_path / "page.html").as_uri())
    assert page.inner_text("h1") == "<b>&amp;"
    assert page.locator("img, h1 b").count() == 0


@pytest.mark.parametrize("costs", [None, np.zeros(13)])
def test_pages_of_one_tree_and_of_one_point(visit, tmp_path, costs):
    rows, y = load_wine(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, y)
    path = tw.prune_path(tree, rows, y, costs=costs)
    (tmp_path / "page.html").write_text(page_of(path, rows, y, costs=costs), "utf-8")
    page = visit((tmp_path / "page.html").as_uri())
    assert page.get_attribute("#slider", "max") == str(len(path) - 1)
    assert f"(of 0 to {len(path) - 1})" in shown(page, "#slider-label")
    assert "1 tree:" in shown(page, "#bars-hint")
    assert not re.search("NaN|undefined|Infinity", page.text_content("main"))
    assert not re.search("NaN|undefined|Infinity", page.inner_html("#frontier"))


@pytest.mark.parametrize("loss", ["squared_error", "quantile"])
def test_pages_of_regressors(visit, tmp_path, loss):
    rows, y = X.fillna(0), X["thalach"].to_numpy()
    model = GradientBoostingRegressor(loss=loss, n_estimators=4, random_state=0).fit(rows, y)
    path = tw.prune_path(model, rows, y)
    (tmp_path / "page.html").write_text(page_of(path, rows, y, costs=None), "utf-8")
    page = visit((tmp_path / "page.html").as_uri())
    assert not page.is_visible("#suggested")
    words = "mean squared error" if loss == "squared_error" else "recorded gain given up"
    assert words in page.locator("#frontier svg").text_content()
    assert words in shown(page, "#verdict")


def test_a_page_of_a_ranker_tells_no_errors(visit, tmp_path):
    lists, others = documents(60), documents(30, seed=1)
    ranker = tw.ThriftyRanker(effort="quick", random_state=0).fit(*lists).cascade_
    samples = others.X, others.y, None, others.qid
    tw.report.write_page(ranker, tmp_path / "page.html", samples, noun="document")
    page = visit((tmp_path / "page.html").as_uri())
    page.click("#dearer")
    measured = ranker.evaluate(others.X, others.y, qid=others.qid)
    assert f"the ndcg@10 is {measured.score[point_shown(page)]:.3f}" in shown(page, "#verdict")
    for place in ("#verdict", "#cards", "#points", "#change", "#small-print"):
        assert "error" not in words_in(page.locator(place)).replace("standard error", "").lower()


def test_a_page_of_a_thrifty_model_shows_what_each_budget_buys(visit, tmp_path):
    model = tw.ThriftyClassifier(costs=COSTS, budget=60, effort="quick", random_state=0).fit(X, Y)
    start = tw.report.write_page(model, tmp_path / "page.html", VALIDATION, noun="patient").point
    page = visit((tmp_path / "page.html").as_uri(), viewport={"width": 360, "height": 740})
    assert point_shown(page) == start
    found = model.evaluate(*VALIDATION)
    for press in ("#cheaper", "#dearer", "#dearer"):
        page.click(press)
        point = point_shown(page)
        assert amount(found.cost[point], "CAD") in shown(page, "#verdict")
        assert percent(found.error[point]) in shown(page, "#verdict")
    assert shown(page, "#bars-title") == "Where patients stop"
    assert "stage" in shown(page, "#bars-hint")
    assert shown(page, "#claim").startswith("Nothing is proven here")
    assert "model.at(budget=" in shown(page, "#recipes")
    assert shown(page, "#switch") == ""
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
