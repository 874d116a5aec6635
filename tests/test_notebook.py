"""The notebook of the gallery, executed by Jupyter's own kernel, and looked at in a browser."""

from pathlib import Path

import nbformat
import pytest
from browsers import browser  # noqa: F401
from nbclient import NotebookClient
from test_summary import words_of

NOTEBOOK = Path(__file__).parents[1] / "examples" / "heart.ipynb"
THEMES = {"light": ("#ffffff", "#212121"), "dark": ("#111111", "#ffffff")}
WORKING = """
from thriftwood.support.progress import progress_bar
with progress_bar("Working", True) as bar:
    bar(1.0)
"""
COMPILING = """
import numpy as np
from thriftwood.support.draws import uniform_per_row
uniform_per_row(np.arange(6.0).reshape(2, 3)).tolist()
"""


class Client(NotebookClient):
    """Executes a notebook, and remembers what is shown meanwhile."""

    def process_message(self, message, cell, number):
        content = message["content"]
        if "data" in content:
            self.seen = [*getattr(self, "seen", []), content["data"].get("text/plain")]
        return super().process_message(message, cell, number)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Return the outputs of the cells of the notebook, by their names."""
    notebook = nbformat.read(NOTEBOOK, 4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # none are committed
    folder = tmp_path_factory.mktemp("notebook")
    client = Client(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def html_of(outputs):
    (shown,) = [one.data for one in outputs if one.output_type == "execute_result"]
    return shown["text/html"], shown["text/plain"]


def test_the_gallery_leads_to_it():
    gallery = NOTEBOOK.parents[1] / "docs" / "gallery.md"
    assert "(../examples/heart.ipynb)" in gallery.read_text()


def test_every_cell_shows_html_with_the_words_of_its_text(executed):
    for name, outputs in executed.items():
        assert {one.output_type for one in outputs} <= {"execute_result", "display_data"}, name
        markup, text = html_of(outputs)
        if name != "page":
            assert set(text.split()) <= words_of(markup), name


@pytest.mark.parametrize("theme", THEMES)
def test_it_is_readable_in_light_and_dark(executed, browser, theme):  # noqa: F811
    paper, ink = THEMES[theme]
    page = browser.new_page(color_scheme=theme)
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    body = "".join(html_of(outputs)[0] for outputs in executed.values())
    page.set_content(f'<body style="background:{paper};color:{ink}">{body}</body>')
    frame = page.frame_locator("iframe")
    frame.locator("#verdict strong").first.wait_for()
    frame.locator("#cheaper").click()  # its scripts run inside a cell, too
    charts = page.locator("body > div > svg")
    assert charts.count() == 3  # of the path, the evaluation and the cascade
    for number in range(3):
        box = charts.nth(number).bounding_box()
        assert box["width"] > 300
        for words in charts.nth(number).locator("text").all():
            inside = words.bounding_box()
            assert box["x"] <= inside["x"]
            assert inside["x"] + inside["width"] <= box["x"] + box["width"]
    inks = page.evaluate(
        "() => [...document.querySelectorAll('body td, body text')].map(one => "
        "getComputedStyle(one)[one.tagName == 'TD' ? 'color' : 'fill'])"
    )
    expected = tuple(int(ink[place : place + 2], 16) for place in (1, 3, 5))
    assert set(inks) == {f"rgb{expected}"}  # whatever the notebook's colour is
    assert not faults
    page.close()


def shown_by(code, monkeypatch, cache):
    """Return the texts that a cell shows one after the other, and what it leaves behind."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    cell = nbformat.v4.new_code_cell(code)
    client = Client(nbformat.v4.new_notebook(cells=[cell]), timeout=300)
    client.execute()
    left = [one.data["text/plain"] for one in cell.outputs if one.output_type == "display_data"]
    assert not any(one.output_type == "stream" for one in cell.outputs)
    return client.seen, left


def test_progress_is_shown_in_a_cell_and_goes_away(monkeypatch, tmp_path):
    seen, left = shown_by(WORKING, monkeypatch, tmp_path)
    assert seen[0].startswith("Working ...")
    assert left == [""]


def test_a_cell_says_once_what_is_compiled(monkeypatch, tmp_path):
    seen, left = shown_by(COMPILING, monkeypatch, tmp_path)
    assert seen[:2] == ["Compiling draw, once on this machine ...", ""]
    assert left == [""]
    seen, left = shown_by(COMPILING, monkeypatch, tmp_path)
    assert len(seen) == 1  # the result
    assert not left
