"""Write the sha256 of every pinned file into `requirements-hashed.txt`: `make hashes`.

They are those of the wheels for this machine, of each Python that there is; pip tells them without
installing anything. Two packages are left out, whose files xgboost-cpu has as well.
"""

import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from versions import ROOT, RUNS, find_python

PINS = ROOT / "constraints.txt"
FILE = ROOT / "requirements-hashed.txt"
LEFT_OUT = ("nvidia-nccl-cu12", "xgboost==")
HEAD = """\
# The pinned versions by their hashes, for Linux on x86-64; `make hashes` writes it.
# pip install --require-hashes --no-deps -r requirements-hashed.txt
"""


def main() -> None:
    pins = [line for line in PINS.read_text().splitlines()[1:] if not line.startswith(LEFT_OUT)]
    found = defaultdict(set)
    for python in filter(
        None, map(find_python, sorted({version for version, *_ in RUNS.values()}))
    ):
        for pin, sha256 in hashes(python, pins):
            found[pin].add(sha256)
    lines = [
        " \\\n".join([pin, *(f"    --hash=sha256:{one}" for one in sorted(found[pin.lower()]))])
        for pin in pins
    ]
    FILE.write_text(HEAD + "\n".join(lines) + "\n")


def hashes(python: str, pins: list[str]):
    """Yield each pin and the hash of the file that this Python would install."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, report = Path(folder) / "pins.txt", Path(folder) / "report.json"
        wanted.write_text("\n".join(pins))
        options = ["--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
        command = [python, "-m", "pip", "install", *options, "-r", wanted, "--report", report]
        subprocess.run(command, check=True)
        installed = json.loads(report.read_text())["install"]
    by_name = {plain(pin): pin.lower() for pin in pins}
    for one in installed:
        about = one["metadata"]
        pin = by_name[plain(f"{about['name']}=={about['version']}")]
        yield pin, one["download_info"]["archive_info"]["hashes"]["sha256"]


def plain(name: str) -> str:
    """Return a name as an index compares names."""
    return name.lower().replace("_", "-").replace(".", "-")


if __name__ == "__main__":
    main()
