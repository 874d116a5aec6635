"""The report page where it is hard to draw: small screens, paper, large numbers, forced colours."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from browsers import browser
from playwright.sync_api import expect
from report_pages import COSTS, VALIDATION, X, Y, data_in, heart_path, page_of
from report_visits import point_shown, resize, shown, visit
from sklearn.ensemble import ExtraTreesClassifier

import thriftwood as tw
from thriftwood.report.amounts import amount

__all__ = ["browser", "visit"]  # fixtures

WIDTHS = (320, 375, 414, 768)
FOLDED = "[...document.querySelectorAll('details')].map((one) => one.open)"
# Texts of cells that are wider than the cells themselves, in all tables that are seen.
CUT_OFF = """[...document.querySelectorAll('main td, main th')]
    .filter((cell) => cell.offsetWidth > 0 && cell.scrollWidth > cell.clientWidth + 1)
    .map((cell) => cell.textContent)"""

# Tables of which a part is hidden behind scrolling; the one of all points may.
HIDDEN = """[...document.querySelectorAll('.wide > table:not(#points)')]
    .filter((table) => table.offsetWidth > table.parentElement.clientWidth)
    .map((table) => table.id)"""


@pytest.fixture(scope="module")
def path():
    return heart_path(20)


@pytest.fixture(scope="module")
def page_text(path):
    return page_of(path, validation=VALIDATION)


@pytest.fixture(scope="module")
def file(page_text, tmp_path_factory):
    place = tmp_path_factory.mktemp("report") / "page.html"
    place.write_text(page_text, "utf-8")
    return place


@pytest.fixture(scope="module")
def dear(tmp_path_factory):
    """A page with every kind of price, all of them large, in a long unit."""
    rows = X.fillna(0)
    prices = {name: 1.3e9 * (k + 1) for k, name in enumerate(X.columns)} | {"ca": 123.456}
    costs = tw.Costs(
        per_feature=prices,
        groups={"blood": ["chol", "fbs"]},
        group_fee={"blood": 5e8},
        per_model={"ca": 4e11},
        per_split=3.25e5,
        predictions=1000,
        unit="thousand Canadian dollars of the year 1999",
    )
    model = ExtraTreesClassifier(6, max_depth=4, random_state=0).fit(rows, Y)
    weights = 1.0 + np.arange(len(rows)) % 3
    path = tw.prune_path(model, rows, Y, costs=costs, sample_weight=weights)
    place = tmp_path_factory.mktemp("dear") / "page.html"
    place.write_text(page_of(path, rows, costs=costs, sample_weight=weights), "utf-8")
    return place


@pytest.mark.parametrize("which", ["file", "dear"])
def test_nothing_is_cut_off_on_small_screens(visit, request, which):
    page = visit(request.getfixturevalue(which).as_uri())
    for width in WIDTHS:
        resize(page, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT_OFF) == [], width
        assert page.evaluate(HIDDEN) == [], width


def test_amounts_are_written_alike_by_scripts_and_python(visit, file):
    page = visit(file.as_uri())
    numbers = [0, 0.304, 0.9, 1, -2.5, 1234.5, 999_000.25, 1.5e6, 2.25e9, -7.5e9, 3e14]
    written = page.evaluate(f"{json.dumps(numbers)}.map(amount)")
    assert [words.replace("\u00a0", " ") for words in written] == [amount(one) for one in numbers]
    assert amount(2.25e9, "CAD") == "2.25 bn CAD"
    assert amount(-2.5) == "\N{MINUS SIGN}2.50"


def test_all_and_nothing_are_said_only_of_all_and_nothing(visit, file):
    page = visit(file.as_uri())

    def said(call):
        return page.evaluate(call).replace("\u00a0", " ")

    assert said("less(314.97, 1)") == "99.7 % less"
    assert said("less(314.97, 0)") == "100 % less"
    assert said("less(3, 3.01)") == "0.3 % more"
    shares = {0: "0 %", 1: "100 %", 0.997: "99.7 %", 0.00001: "< 0.1 %", 0.99999: "> 99.9 %"}
    for share, words in (shares | {0.5: "50 %", 0.004: "0.4 %"}).items():
        assert said(f"sharePercent({share})") == words


def test_a_column_has_as_many_decimals_everywhere(visit, file):
    page = visit(file.as_uri())
    written = page.evaluate("[0, 0.304, 109.52].map(columnAmount([109.52]))")
    assert written == ["0", "0.30", "109.52"]
    assert page.evaluate("[0.304, 0.5].map(columnAmount([0.5]))") == ["0.304", "0.5"]
    names = ["ExtraTreesClassifier", "RandomForestClassifier", "XGBClassifier", "LGBMRegressor"]
    articles = page.evaluate(f"{json.dumps(names)}.map((name) => withArticle(name).split(' ')[0])")
    assert articles == ["An", "A", "An", "An"]


def test_what_is_dearer_than_before_is_no_saving(visit, file):
    page = visit(file.as_uri())
    row = "spendingRow('blood', 1, 3.5, amount).lastChild"
    assert page.evaluate(f"{row}.textContent") == "\N{MINUS SIGN}2.50"
    assert page.evaluate(f"{row}.className") == ""


def test_the_change_is_said_in_plain_words(visit, file, path, page_text):
    page = visit(
        f"{file.as_uri()}#point=4"
    )  # which does better on one class, and worse on the other
    data, point = data_in(page_text), point_shown(page)
    counts = np.array(data["class_counts"])
    now, was = (
        np.floor(1000 * counts / counts.sum() * np.array(one["class_error"]) + 0.5)
        for one in (data["points"][point]["details"], data["before"])
    )
    false_alarms, missed = (now - was).astype(int)
    saved = round(1000 * (data["before"]["cost"] - data["points"][point]["details"]["cost"]))
    assert missed < 0 < false_alarms
    assert shown(page, "#change") == (
        f"Of 1,000 samples about {-missed} fewer are missed, {false_alarms} more get a false "
        f"alarm, and {saved:,} CAD less is paid."
    )
    before = tw.feature_bill(path.model, X, COSTS)
    after = tw.feature_bill(path[point].model, X, COSTS)
    gone = (before.bought > 0) & (after.bought == 0)
    words = shown(page, "#gone").removeprefix("No longer asked of anybody: ").removesuffix(".")
    assert sorted(words.split(", ")) == sorted(np.array(before.feature_names)[gone])
    page.focus("#slider")
    page.keyboard.press("Home")
    assert shown(page, "#gone").endswith(f" and {sum(before.bought > 0) - 8} more.")
    page.keyboard.press("End")
    assert "not of the change" in shown(page, "#small-print")
    assert "no models between" in shown(page, "#why")


def test_what_the_model_costs_and_weights_are_mentioned(visit, dear):
    page = visit(dear.as_uri())
    for hint in ("#bills-hint", "#receipts-hint"):
        assert shown(page, hint).startswith("Without what is paid once for the model: 400.00 M")
    lines = page.locator("#features tbody th").all_inner_texts()
    assert lines[-2:] == ["splits that a sample passes", "once for the model"]
    assert shown(page, "#about").startswith("An ExtraTreesClassifier")
    assert "count by their weights" in shown(page, "#about")


def test_open_receipts_stay_open(visit, file):
    page = visit(file.as_uri())
    fold = page.locator("#receipts details").last
    fold.locator("summary").click()
    page.click("#cheaper")
    assert fold.evaluate("one => one.open")
    resize(page, 900, 700)
    assert page.locator("#frontier svg").bounding_box()["width"] < 900
    assert fold.evaluate("one => one.open")
    page.evaluate("window.drawn = document.querySelector('#frontier svg')")
    resize(page, 900, 500)
    assert page.evaluate("drawn === document.querySelector('#frontier svg')")


@pytest.mark.parametrize("which", ["file", "dear"])
def test_paper_shows_what_is_folded_and_folds_it_again(visit, request, which):
    address = request.getfixturevalue(which).as_uri()
    page = visit(address, viewport={"width": 718, "height": 1000})
    before = page.evaluate(FOLDED)
    assert not all(before)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(page.evaluate(FOLDED))
    assert page.locator("#features .price").first.is_visible()
    assert page.locator("#features .spent").first.is_visible()
    assert page.evaluate(CUT_OFF) == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(FOLDED) == before


def test_forced_colours_leave_bars_and_the_pressed_switch(visit, file):
    page = visit(file.as_uri(), forced_colors="active")

    def background(place):
        return page.locator(place).first.evaluate("one => getComputedStyle(one).backgroundColor")

    paper = background("body")
    assert background(".twobars .is:not([data-none])") != paper
    assert background("[aria-pressed=true]") != background("[aria-pressed=false]")


def test_the_keyboard_keeps_its_place(visit, file):
    page = visit(file.as_uri())
    for button in ("#cheaper", "#dearer"):
        page.focus(button)
        while page.get_attribute(button, "aria-disabled") == "false":
            page.keyboard.press("Enter")
        at_the_end = point_shown(page)
        page.keyboard.press("Enter")
        assert point_shown(page) == at_the_end
        assert page.evaluate("document.activeElement.id") == button.removeprefix("#")


def test_copying_is_said_aloud(visit, file):
    page = visit(file.as_uri())
    assert page.get_attribute("#said", "aria-live") == "polite"
    page.locator("#recipes button").first.click()
    page.wait_for_function("/Copied|Ctrl/.test(document.querySelector('#said').textContent)")


def test_receipts_can_be_left_out(visit, path, tmp_path):
    (tmp_path / "page.html").write_text(page_of(path, receipts=False), "utf-8")
    page = visit((tmp_path / "page.html").as_uri())
    assert not page.is_visible("#receipts-panel")
    assert page.is_visible("#bars svg")


def written(folder, text):
    place = folder / "page.html"
    place.write_text(text, "utf-8")
    return place.as_uri()


def test_a_browser_that_keeps_no_address_still_shows_the_point(visit, file, path):
    page = visit("about:blank")
    page.add_init_script("history.replaceState = () => { throw new Error('too often'); }")
    page.goto(file.as_uri())
    page.focus("#slider")
    page.keyboard.press("Home")
    assert point_shown(page) == len(path) - 1
    page.click("#dearer")
    assert point_shown(page) == len(path) - 2


def test_the_page_works_inside_another(browser, page_text):
    outer = browser.new_page()
    outer.set_content("<iframe id='inner' style='width: 1000px; height: 800px'></iframe>")
    outer.evaluate("text => { document.getElementById('inner').srcdoc = text; }", page_text)
    inner = outer.frame_locator("#inner")
    verdict = inner.locator("#verdict")
    expect(verdict).to_have_text(re.compile(r"^Point \d+:"))
    before = verdict.inner_text()
    inner.locator("#cheaper").click()
    expect(verdict).not_to_have_text(before)
    outer.close()


def test_charts_have_the_width_of_their_panels_where_there_are_no_groups(visit, tmp_path):
    prices = dict.fromkeys(X.columns, 1.0)
    page = visit(written(tmp_path, page_of(heart_path(costs=prices), costs=prices)))
    assert not page.is_visible("#lines-panel")
    for chart in ("#frontier", "#bills", "#bars"):
        drawn = page.locator(f"{chart} svg").get_attribute("viewBox").split()[2]
        assert float(drawn) == page.locator(chart).evaluate("one => one.clientWidth"), chart


@pytest.mark.parametrize("share", [0.013, 0.105, 0.4])
def test_ticks_of_shares_are_where_they_say(visit, file, share):
    page = visit(file.as_uri())
    words, ticks = page.evaluate(
        "high => { const found = ticks(0, high, 5); return [found.map(percentTick), found]; }",
        share,
    )
    read = [float(one.removesuffix("\u00a0%")) / 100 for one in words]
    assert read == pytest.approx(ticks)


def test_a_loss_below_nothing_is_drawn(visit, tmp_path):
    gains = heart_path(costs=COSTS, loss=lambda values: -values)
    page = visit(written(tmp_path, page_of(gains, loss=lambda values: -values)))
    page.click("#switch button:last-child")
    tops = page.locator("#frontier circle.mark.training").evaluate_all(
        "marks => marks.map((one) => Number(one.getAttribute('cy')))"
    )
    height = page.locator("#frontier svg").evaluate("one => one.viewBox.baseVal.height")
    assert all(0 < top < height for top in tops)
    assert sorted(tops, reverse=True) == tops  # losses rise along the path


def test_what_is_very_long_stays_folded_on_paper(visit, tmp_path):
    names = [f"f{k}" for k in range(90)]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 90)), columns=names)
    y = (rows.sum(axis=1) > 0).to_numpy()
    model = ExtraTreesClassifier(40, max_features=1, random_state=0).fit(rows, y)
    path = tw.prune_path(model, rows, y)
    page = visit(written(tmp_path, page_of(path, rows, y, costs=None)))
    more = page.locator("#more-features")
    assert more.locator("tbody tr").count() == 0  # drawn when somebody looks
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not more.evaluate("one => one.open")
    assert more.locator("summary").is_visible()
    assert page.locator("#all-points").evaluate("one => one.open")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    more.locator("summary").click()
    expect(more.locator("tbody tr")).to_have_count(90 - 15)
