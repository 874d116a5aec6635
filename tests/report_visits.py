"""Report pages in a browser, and what they show."""

import re

import pytest

# Pages hear of another size before they draw the next frame.
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture
def visit(browser):
    """Open a page; at the end nothing may have gone wrong, nor been fetched."""
    problems, requests, pages = [], [], []

    def open_page(address, **options):
        page = browser.new_page(**options)
        pages.append(page)
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert problems == []
    assert all(url.startswith("file://") for url in requests)
    assert len({url.split("#")[0] for url in requests}) <= 1


def resize(page, width, height=800):
    """Give a page another size, and wait until its charts could follow."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function(
        "([w, h]) => state.width === w && innerHeight === h", arg=[width, height]
    )
    page.evaluate(TWO_FRAMES)


def words_in(element):
    """Return the text of an element, with plain blanks."""
    return element.text_content().replace("\u00a0", " ")


def shown(page, place):
    """Return the text that an element shows, with plain blanks."""
    return page.inner_text(place).replace("\u00a0", " ")


def point_shown(page):
    """Return the number of the point that is shown, from 0."""
    return int(re.match(r"Point ([\d,]+):", shown(page, "#verdict"))[1].replace(",", ""))
