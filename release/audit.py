"""Ask whether pinned versions have known vulnerabilities: `make audit`.

Only a service on the network knows. Where none is reached, nothing is said of any package, and that
is told; it is no failure.
"""

import json
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).parents[1] / "requirements-hashed.txt"
OPTIONS = ["--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "15"]


def main() -> None:
    command = [sys.executable, "-m", "pip_audit", "--requirement", PINS, *OPTIONS]
    report = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    said, is_bad = verdict(report.stdout)
    print(said)
    sys.exit(is_bad)


def verdict(report: str) -> tuple[str, bool]:
    """Return what a report of pip-audit says, and whether a package has to be replaced."""
    packages = json.loads(report)["dependencies"] if report else []
    known = [one for one in packages if "vulns" in one]
    if not known:
        return "Skipped: no service was reached that knows vulnerabilities.", False
    found = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in "
        f"{' or '.join(flaw['fix_versions']) or 'no version'}"
        for one in known
        for flaw in one["vulns"]
    ]
    unknown = [one["name"] for one in packages if "vulns" not in one]
    lines = [f"{len(known)} packages audited, {len(found)} vulnerabilities known.", *found]
    if unknown:
        lines.append(f"Not known there: {', '.join(unknown)}.")
    return "\n".join(lines), bool(found)


if __name__ == "__main__":
    main()
