"""A real browser for tests that look at pages."""

import os
import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser():
    """Return where a browser is, or None."""
    named = os.environ.get("THRIFTWOOD_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def open_browser():
    """Yield a browser that Playwright drives; skip the test where there is none."""
    place = find_browser()
    if place is None:
        pytest.skip(
            "no browser: install chromium, or name one by the environment variable "
            "THRIFTWOOD_BROWSER"
        )
    from playwright.sync_api import sync_playwright

    is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # root cannot have the sandbox
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=place, args=["--no-sandbox"] if is_root else []
        )
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture(scope="module")
def browser():
    with open_browser() as found:
        yield found
