"""Run the quick tests with other versions of Python and of libraries, each in a new environment.

`python release/versions.py [minimum] [pinned] [newest] [mlflow] [ARGUMENTS OF PYTEST]`; by default
all four.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Run(NamedTuple):
    python: str
    constraints: str | None
    extras: str
    options: list[str]


QUICK = ["-m", "not slow", "-n", "auto"]
WARNINGS_PASS = ["-W", "default"]
# Each Python once: the oldest with the lowest versions that are declared, the newest with the
# newest there are. Old libraries warn of what is newer than they, and those of MLflow of each
# other, so there warnings do not count.
RUNS = {
    "minimum": Run("3.11", "constraints-minimum.txt", "test", [*QUICK, *WARNINGS_PASS]),
    "pinned": Run("3.12", "constraints.txt", "test", QUICK),
    "newest": Run("3.13", None, "test", QUICK),
    "mlflow": Run(
        "3.12", None, "test,mlflow", ["tests/test_examples.py", "-k", "mlflow", *WARNINGS_PASS]
    ),
}


def main(names: list[str], options: list[str]) -> None:
    failed = [name for name in names if not passes(name, options)]
    if failed:
        sys.exit(f"Failed with the versions: {', '.join(failed)}.")


def passes(name: str, options: list[str]) -> bool:
    """Run the tests with versions of one kind; they pass where that Python is missing."""
    run = RUNS[name]
    python = find_python(run.python)
    if python is None:
        print(f"Skipped: Python {run.python} is neither on the path nor in pyenv.", flush=True)
        return True
    folder = ROOT / ".venvs" / name
    module = [folder / "bin" / "python", "-m"]
    if not install(python, folder, run):
        return False
    shown = subprocess.run([*module, "pip", "freeze"], stdout=subprocess.PIPE, text=True)
    print(f"{name}: Python {run.python}, {', '.join(shown.stdout.split())}", flush=True)
    # Compiled code of the same file, elsewhere, is of other versions.
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled"), "CI": "true"}
    tests = [*module, "pytest", *run.options, *options]
    return subprocess.run(tests, cwd=ROOT, env=environment).returncode == 0


def find_python(version: str) -> str | None:
    """Return the program of this version of Python, from pyenv or from the path."""
    folders = [*sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin")), os.environ["PATH"]]
    return shutil.which(f"python{version}", path=os.pathsep.join(map(str, folders)))


def install(python: str, folder: Path, run: Run) -> bool:
    """Install the package and what its tests need into an environment, unless it is up to date."""
    declared = [ROOT / name for name in ("pyproject.toml", run.constraints) if name]
    done = folder / "installed"
    if done.exists() and all(file.stat().st_mtime < done.stat().st_mtime for file in declared):
        return True
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    limits = ["--constraint", ROOT / run.constraints] if run.constraints else []
    result = subprocess.run([*pip, *limits, "--editable", f"{ROOT}[{run.extras}]"])
    if result.returncode == 0:
        done.touch()
    return result.returncode == 0


if __name__ == "__main__":
    given = sys.argv[1:]
    names = [name for name in given if name in RUNS]
    main(names or list(RUNS), [option for option in given if option not in RUNS])
