"""Run the quick tests with other versions of Python and of libraries, each in a new environment.

`python release/versions.py [minimum|pinned|newest] [ARGUMENTS OF PYTEST]`; by default all three.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Each Python once: the oldest with the lowest versions that are declared, the newest with the
# newest there are. Old libraries warn of what is newer than they, so there warnings do not count.
RUNS = {
    "minimum": ("3.11", "constraints-minimum.txt", ["-W", "default"]),
    "pinned": ("3.12", "constraints.txt", []),
    "newest": ("3.13", None, []),
}


def main(names: list[str], options: list[str]) -> None:
    failed = [name for name in names if not passes(name, options)]
    if failed:
        sys.exit(f"Failed with the versions: {', '.join(failed)}.")


def passes(name: str, options: list[str]) -> bool:
    """Run the tests with versions of one kind; they pass where that Python is missing."""
    version, constraints, warnings = RUNS[name]
    python = find_python(version)
    if python is None:
        print(f"Skipped: Python {version} is neither on the path nor in pyenv.", flush=True)
        return True
    folder = ROOT / ".venvs" / name
    run = [folder / "bin" / "python", "-m"]
    if not install(python, folder, constraints):
        return False
    shown = subprocess.run([*run, "pip", "list", "--format=freeze"], capture_output=True, text=True)
    print(f"{name}: Python {version}, {', '.join(shown.stdout.split())}", flush=True)
    # Compiled code of the same file, elsewhere, is of other versions.
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled"), "CI": "true"}
    tests = [*run, "pytest", "-m", "not slow", *warnings, *(options or ["-n", "auto"])]
    return subprocess.run(tests, cwd=ROOT, env=environment).returncode == 0


def find_python(version: str) -> str | None:
    """Return the program of this version of Python, from pyenv or from the path."""
    folders = [*sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin")), os.environ["PATH"]]
    return shutil.which(f"python{version}", path=os.pathsep.join(map(str, folders)))


def install(python: str, folder: Path, constraints: str | None) -> bool:
    """Install the package and what its tests need into an environment, unless it is up to date."""
    declared = [ROOT / "pyproject.toml", *([ROOT / constraints] if constraints else [])]
    done = folder / "installed"
    if done.exists() and all(file.stat().st_mtime < done.stat().st_mtime for file in declared):
        return True
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    limits = ["--constraint", ROOT / constraints] if constraints else []
    result = subprocess.run([*pip, *limits, "--editable", f"{ROOT}[test]"])
    if result.returncode == 0:
        done.touch()
    return result.returncode == 0


if __name__ == "__main__":
    given = sys.argv[1:]
    names = [name for name in given if name in RUNS]
    main(names or list(RUNS), [option for option in given if option not in RUNS])
