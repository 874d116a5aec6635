"""Every example runs, draws its picture and shows what its story promises."""

import re
import runpy
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
GALLERY = (ROOT / "docs" / "gallery.md").read_text()
SCRIPTS = sorted(file.stem for file in EXAMPLES.glob("*.py") if file.stem != "picture")
# Some seconds each.
SLOW = {
    *("all_prunings", "baselines", "classes_that_matter", "growing", "heart", "paper"),
    *("thrifty", "ranking"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in SCRIPTS]
)
def test_an_example_draws_its_picture_and_keeps_its_promise(name, tmp_path, monkeypatch, capsys):
    if name == "mlflow_tracking":  # whose own limits are older than what we pin
        pytest.importorskip("mlflow", reason="no MLflow: `make test-versions` tries it")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / f"{name}.py"), "--picture", "drawn.png"])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    plt.close("all")
    assert [file.name for file in tmp_path.iterdir()] == ["drawn.png"]
    assert plt.imread("drawn.png").std() > 0.05  # not an empty sheet
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Drew drawn.png." in printed.out
    PROMISES[name](printed.out)


def test_without_an_option_the_picture_has_the_name_of_the_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / "bills.py")])
    runpy.run_path(str(EXAMPLES / "bills.py"), run_name="__main__")
    plt.close("all")
    assert [file.name for file in tmp_path.iterdir()] == ["bills.png"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_gallery_shows_every_script_with_a_small_picture(name):
    assert f"(../examples/{name}.py)" in GALLERY
    place = "images/heart.png" if name == "heart" else f"images/gallery/{name}.png"
    assert f"({place})" in GALLERY
    picture = ROOT / "docs" / place
    assert 10_000 < picture.stat().st_size < 70_000
    assert plt.imread(picture).std() > 0.05


def test_no_picture_of_the_gallery_is_without_a_script():
    drawn = {file.stem for file in (ROOT / "docs" / "images" / "gallery").iterdir()}
    assert drawn == set(SCRIPTS) - {"heart"}


def test_scripts_tell_a_story_and_use_public_names():
    for name in SCRIPTS:
        text = (EXAMPLES / f"{name}.py").read_text()
        story = text.split('"""')[1]
        assert len(story.split()) > 25, name
        names = re.sub(r'"[^"\n]*"', "", text.split('"""')[2])
        assert not re.search(r"thriftwood[\w.]*\._|\._[a-z]", names), name


# --- what the printed lines must say


def numbers(pattern: str, text: str) -> list[tuple[float, ...]]:
    """Return the numbers that the groups of a pattern match, for each match."""
    return [tuple(map(float, match.groups())) for match in re.finditer(pattern, text, re.MULTILINE)]


def rising(values) -> bool:
    return all(one <= other for one, other in pairwise(values))


def heart(text: str) -> None:
    shares = [share for (share,) in numbers(r"\((\d+)%\)", text)]
    assert shares[0] == 100
    assert rising(reversed(shares))
    assert shares[-1] < 50


def lazy_sqlite(text: str) -> None:
    """The database is asked rarely, and the log of purchases adds up to the bill."""
    asked, decided = (bill for (bill,) in numbers(r"mean bill ([\d.]+) CAD", text))
    ((total, n_patients),) = numbers(r"log: ([\d.]+) paid for (\d+)", text)
    assert decided <= asked
    assert total / n_patients == pytest.approx(decided, rel=1e-4)
    accuracies = numbers(r"accuracy ([\d.]+)", text)
    assert accuracies[0] == accuracies[1]
    assert max(numbers(r"(\d+) queries", text)) < (20,)


def paper(text: str) -> None:
    for words in ("z_3 = 0.5", "IP2: optimum 0.8, integral", "r_5 - r_6", "The splits that stay"):
        assert words in text
    on_path, along_path = text.split("IP3 relaxed against the path")[1].split("LP1 at")
    assert "fractional" not in on_path
    kinds = re.findall("integral|fractional", along_path)
    assert kinds[:3] == ["integral", "fractional", "integral"]


def boosted(text: str) -> None:
    """Bills rise with budgets, and refitting helps where they are smallest."""
    rows = numbers(r"^ +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", text)
    assert len(rows) == 5
    assert rising(bill for _, bill, _, _ in rows)
    assert all(refitted <= pruned for _, _, pruned, refitted in rows[:3])


def shared_fees(text: str) -> None:
    rows = numbers(r"^ +(\d+) +([\d.]+) +([\d.]+)$", text)
    assert len(rows) == 5
    assert all(shared <= alone for _, shared, alone in rows)


def cascade(text: str) -> None:
    """On unseen people, too, budgets are met but for chance."""
    rows = numbers(r"^ +(\d+) +([\d.]+) +([\d.]+) +(\d+)$", text)
    assert len(rows) == 4
    assert all(bill <= 1.1 * budget for budget, bill, _, _ in rows)


def mlflow_tracking(text: str) -> None:
    """What was logged is all there, and the model says what it said."""
    assert "predicts the same: True" in text
    assert "files: bill.json, card.md, report.html" in text
    ((cost,),) = numbers(r"^training_cost +([\d.]+)$", text)
    assert cost <= 250


def bills(text: str) -> None:
    before, after = (mean for (mean,) in numbers(r"mean ([\d.]+) CAD", text))
    assert after <= 280 < before
    assert re.findall(r"(\w+) +[\d.]+ per sample in all", text) == ["blood", "scan", "exercise"] * 2


def one_tree(text: str) -> None:
    ((kept, grown),) = numbers(r"keeps (\d+) of its (\d+) splits", text)
    assert 0 < kept < grown


def choosing(text: str) -> None:
    found = dict(re.findall(r"^(\w+) +(?:\d+|before) +([\d.]+) ", text, re.MULTILINE))
    assert float(found["one_standard_error"]) < float(found["best_score"])
    assert float(found["budget"]) <= 50


def growing(text: str) -> None:
    ((plain,), (priced,)) = numbers(r"bill ([\d.]+), error", text)
    assert priced < plain


def baselines(text: str) -> None:
    """At the points of the frontier no other method loses less."""
    rows = [list(map(float, line.split()[-4:])) for line in text.splitlines()[1:4]]
    assert all(best <= min(others) for best, *others in zip(*rows, strict=True))


def sensors_in_c(text: str) -> None:
    ((after, before),) = numbers(r"cost +([\d.]+) +was ([\d.]+)", text)
    assert after <= 7 < before
    assert re.findall(r"^void monitor_\w+", text, re.MULTILINE)[-1] == "void monitor_predict_lazily"


def thrifty(text: str) -> None:
    parts = re.split(r"^[A-Za-z].*\(mean bill, error\)$", text, flags=re.MULTILINE)
    full, _, paying, _, ours = (numbers(r"^ +([\d.]+) +([\d.]+)$", part) for part in parts[1:])
    assert len(parts) == 6
    assert rising([bill for bill, _ in ours])
    ((all_features, error),) = full
    assert min(wrong for bill, wrong in ours if bill < all_features / 10) < error + 0.006
    least = min((wrong for bill, wrong in paying if bill < 110), default=1.0)
    assert min(wrong for bill, wrong in ours if bill < 20) < least + 0.006


def ranking(text: str) -> None:
    """Queries that pay less have worse lists; with two thirds of the money they lose little."""
    ((paid, full),) = numbers(r"all features: ([\d.]+) ms, ([\d.]+)", text)
    rows = numbers(r"^ +(\d+) +([\d.]+) +([\d.]+)$", text)
    assert len(rows) == 8
    assert all(bill <= budget < paid for budget, bill, _ in rows)
    for own in (rows[:4], rows[4:]):
        assert rising(score for *_, score in own[::-1])
        assert full > own[0][2] > full - 0.06


def classes_that_matter(text: str) -> None:
    """Between the cheapest and the dearest points, weights find people that errors alone drop."""
    found = {weight: [] for weight in ("None", "balanced", "{2: 5}")}
    for weight, share in re.findall(r"class_weight=(.*?) +bill.* (\d+)% of", text):
        found[weight].append(int(share))
    for weight in ("balanced", "{2: 5}"):
        assert found[weight][5] > found["None"][5]
        assert found[weight][6] > found["None"][6]


def all_prunings(text: str) -> None:
    """Trying everything finds what the path has, and nothing below its bound."""
    for tried, known in numbers(r"([\d.]+) by trying, ([\d.]+) by the path$", text):
        assert tried == known
    ((least, chosen, bound),) = numbers(r"([\d.]+) by t.*, ([\d.]+) by.* below ([\d.]+)", text)
    assert bound <= least < chosen


PROMISES = {name: globals()[name] for name in SCRIPTS}
