"""Draws docs/images/report.png: the page that docs/report.md writes, down to the frontier.

Run it with a browser installed: python tests/report_picture.py docs/images/report.png
"""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from browsers import open_browser

ROOT = Path(__file__).parents[1]
WIDTH = 1120
MARGIN = 16  # below the last panel that is shown


def main() -> None:
    picture = Path(sys.argv[1]).resolve()
    document = (ROOT / "docs" / "report.md").read_text()
    code = re.search(r"```python\n(.*?)```", document, re.DOTALL)[1]
    with TemporaryDirectory() as folder, open_browser() as browser:
        os.chdir(folder)
        Path("examples").symlink_to(ROOT / "examples")
        exec(compile(code, "docs/report.md", "exec"), {})
        page = browser.new_page(viewport={"width": WIDTH, "height": 1600}, color_scheme="light")
        page.goto((Path(folder) / "report.html").as_uri())
        panel = page.locator("section.panel").first.bounding_box()  # the frontier
        height = panel["y"] + panel["height"] + MARGIN
        page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
