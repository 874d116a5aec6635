"""Ask whether pinned versions have known vulnerabilities: `make audit`.

Only a service on the network knows. Where none is reached, nothing is said of any package, and that
is told; it is no failure. Any other end of pip-audit without a report is one.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).parents[1] / "requirements-hashed.txt"
OPTIONS = ["--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "15"]
# What pip-audit says of the network, or what ends the traceback where it does not expect it.
OFFLINE = re.compile(
    r"^requests\.exceptions\.\w*(Connection|Proxy|Timeout)\w*:|Could not connect|not redirecting",
    re.MULTILINE,
)


def main() -> None:
    command = [sys.executable, "-m", "pip_audit", "--requirement", PINS, *OPTIONS]
    said, is_bad = verdict(subprocess.run(command, capture_output=True, text=True))
    print(said)
    sys.exit(is_bad)


def verdict(audit: subprocess.CompletedProcess[str]) -> tuple[str, bool]:
    """Return what pip-audit found, and whether that stops a release."""
    if not audit.stdout and not OFFLINE.search(audit.stderr):
        return f"pip-audit failed with code {audit.returncode}:\n{audit.stderr.strip()}", True
    packages = json.loads(audit.stdout)["dependencies"] if audit.stdout else []
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
