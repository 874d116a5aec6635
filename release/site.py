"""Put the built pages into a folder of their version in `site/`, and list all versions there.

The folder holds what is published, and keeps the versions of earlier releases.
"""

import json
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "docs" / "_build" / "html"


def main(site: Path = ROOT / "site", built: Path = BUILT) -> None:
    release: dict[str, str] = {}
    exec((ROOT / "src" / "thriftwood" / "_version.py").read_text(), release)
    version = ".".join(release["__version__"].split(".")[:2])
    shutil.copytree(built, site / version, dirs_exist_ok=True)
    versions = sorted(
        (one.name for one in site.iterdir() if re.fullmatch(r"\d+\.\d+", one.name)),
        key=lambda name: [int(part) for part in name.split(".")],
        reverse=True,
    )
    (site / "versions.js").write_text(f"window.VERSIONS = {json.dumps(versions)};\n")
    newest = f'<meta http-equiv="refresh" content="0; url={versions[0]}/index.html">\n'
    (site / "index.html").write_text(f"<!doctype html>\n<title>Thriftwood</title>\n{newest}")
    (site / ".nojekyll").touch()  # or GitHub leaves out folders such as _static
    print(f"The site has the versions {', '.join(versions)}: {site}")


if __name__ == "__main__":
    main()
