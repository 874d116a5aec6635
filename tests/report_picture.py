"""Draws docs/images/report.png: the upper half of the page that docs/report.md writes.

Run it with a browser installed: python tests/report_picture.py docs/images/report.png
"""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from browsers import open_browser

ROOT = Path(__file__).parents[1]


def main() -> None:
    picture = Path(sys.argv[1]).resolve()
    document = (ROOT / "docs" / "report.md").read_text()
    code = re.search(r"```python\n(.*?)```", document, re.DOTALL)[1]
    with TemporaryDirectory() as folder, open_browser() as browser:
        os.chdir(folder)
        Path("examples").symlink_to(ROOT / "examples")
        exec(compile(code, "docs/report.md", "exec"), {})
        page = browser.new_page(viewport={"width": 1120, "height": 1052}, color_scheme="light")
        page.goto((Path(folder) / "report.html").as_uri())
        page.screenshot(path=picture)
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
