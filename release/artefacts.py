"""Build the last commit as wheel and sdist, check them, and try them where nothing is installed.

They are in dist/ then, with the recipe for conda-forge. Nothing is uploaded.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SMOKE = ROOT / "release" / "smoke.py"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOR_DEVELOPERS = {"bench", "dev", "docs", "mlflow", "release", "test"}
EXTRAS = [
    extra for extra in SETTINGS["project"]["optional-dependencies"] if extra not in FOR_DEVELOPERS
]


def main(only: list[str]) -> None:
    if git("status", "--porcelain"):
        sys.exit("There are changes that are not committed: commit them first, or put them aside.")
    wheel, sdist = build(DIST)
    with tempfile.TemporaryDirectory() as folder:
        again = build(Path(folder) / "dist")
        assert [digest(file) for file in again] == [digest(wheel), digest(sdist)]
    say("Built twice, the same bytes.")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    run(Path(sys.executable).with_name("check-wheel-contents"), wheel)
    write_recipe(sdist)
    for extra in only or ["none", *EXTRAS, "clone"]:
        if extra == "clone":
            try_clone(sdist)
        else:
            try_wheel(wheel, [extra] if extra != "none" else [])
    say(f"Ready: {', '.join(file.name for file in sorted(DIST.iterdir()))}. Nothing is uploaded.")


def build(folder: Path) -> tuple[Path, Path]:
    """Return the wheel and the sdist of the last commit."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as sources:
        git("archive", f"--output={sources}/commit.tar", "HEAD")
        unpack(Path(sources) / "commit.tar")
        # The time of the commit, so that whoever builds it gets the same bytes.
        environment = os.environ | {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct")}
        command = (sys.executable, "-m", "build", "--outdir", folder, sources)
        run(*command, env=environment, quiet=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_recipe(sdist: Path) -> None:
    """Write the recipe for conda-forge, with the version and the checksum of the sdist."""
    from rattler_build import Stage0Recipe

    version = sdist.name.removeprefix("thriftwood-").removesuffix(".tar.gz")
    text = (ROOT / "release" / "recipe.yaml").read_text()
    recipe = DIST / "recipe.yaml"
    recipe.write_text(text.replace("VERSION", version).replace("SHA256", digest(sdist)))
    (rendered,) = Stage0Recipe.from_file(recipe).render()
    assert f"version='{version}'" in repr(rendered)


def try_wheel(wheel: Path, extras: list[str]) -> None:
    """Install the wheel with some extras, or none, and see that it works."""
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder))
        install(python, f"{wheel}[{','.join(extras)}]" if extras else wheel)
        said = smoke(python, extras)
        if not extras:
            install_as_told(python, said)


def try_clone(sdist: Path) -> None:
    """Install from a folder of sources, as from a clone; extras come by the same words there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(sdist, folder))
        unpack(copy)
        python = environment(Path(folder) / "environment")
        install(python, "--editable", str(copy).removesuffix(".tar.gz"))
        install_as_told(python, smoke(python, []))


def install_as_told(python: Path, said: str) -> None:
    """Install the extra that a message names, by the command that it names."""
    command = re.search(r'pip install "(thriftwood\[skops\])"', said)
    assert command, said
    install(python, command[1])
    smoke(python, ["skops"])


def unpack(archive: Path) -> None:
    """Unpack an archive beside itself."""
    with tarfile.open(archive) as content:
        content.extractall(archive.parent, filter="data")
    archive.unlink()


def environment(folder: Path) -> Path:
    """Return the Python of a new environment."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def install(python: Path, *what: object) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


def smoke(python: Path, extras: list[str]) -> str:
    """Run the smoke test in an empty folder, and return what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(SMOKE, folder)  # whose folder is all that Python sees of the clone
        said = run(python, copy, *extras, cwd=folder, quiet=True)
    say(said)
    return said


def git(*command: str) -> str:
    return subprocess.check_output(["git", *command], cwd=ROOT, text=True).strip()


def run(*command: object, quiet: bool = False, **options: object) -> str:
    """Run a command, which must succeed; show what it prints, or with `quiet` return it."""
    result = subprocess.run(
        [str(part) for part in command],
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        **options,
    )
    if result.returncode:
        sys.exit(f"{result.stdout or ''}\nFailed: {' '.join(map(str, command))}")
    return result.stdout or ""


def say(text: str) -> None:
    print(text.strip(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
