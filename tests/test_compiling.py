"""Compiled code that is kept on disk: whatever becomes of it there, kernels do their work."""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from builders import from_python
from numba.core.registry import CPUDispatcher

import thriftwood as tw
from thriftwood.support import compiling

CODE = """
import numpy as np
from thriftwood.support.draws import uniform_per_row
print(uniform_per_row(np.arange(6.0).reshape(2, 3)).tolist())
"""
WHERE = "from thriftwood.support.compiling import cache_folder; print(cache_folder())"
DAMAGE = {
    "cut off": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "something else": lambda _: b"no pickle",
    "an object of a class that is gone": lambda _: b"cthriftwood.gone\nGone\n.",
}


def said_with(cache):
    """Return what a process says that keeps its compiled code in a folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    words = [sys.executable, "-c", CODE]
    return subprocess.check_output(words, env=environment, stderr=subprocess.STDOUT)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder of compiled code, and what its kernel says."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, said_with(folder)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_code_is_compiled_anew(kept, suffix, damage):
    folder, said = kept
    files = list(folder.rglob(f"*{suffix}"))
    for file in files:
        file.write_bytes(DAMAGE[damage](file.read_bytes()))
    wrong = {file: file.read_bytes() for file in files}
    assert files
    assert said_with(folder) == said
    assert any(file.read_bytes() != wrong[file] for file in files)  # and kept again


def test_code_that_cannot_be_written_runs(tmp_path, kept):
    for file in kept[0].rglob("*.nb*"):
        (tmp_path / file.relative_to(kept[0])).mkdir(parents=True)  # in the way
    assert said_with(tmp_path) == kept[1]


@pytest.mark.parametrize("name", ["kernel", "small_kernel"])
def test_kernels_compile_where_there_is_no_place_to_keep_them(monkeypatch, name):
    def without_a_place(_function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(compiling, "KernelCache", without_a_place)
    double = getattr(compiling, name)(lambda values: values[1] * 2)
    assert from_python(double)(np.arange(3)) == 2


def test_a_kernel_for_kernels_refuses_to_be_called_by_anybody_else():
    small = compiling.small_kernel(lambda values: values[1] * 2)
    with pytest.raises(TypeError, match="by kernels alone"):
        small(np.arange(3))


def kernels_of_the_package():
    """Return how the files of all kernels begin, but of those that are compiled into others."""
    found = []
    for about in pkgutil.walk_packages(tw.__path__, "thriftwood."):
        if about.name.endswith("kernels"):
            for name, one in vars(importlib.import_module(about.name)).items():
                is_own = isinstance(one, CPUDispatcher) and one.__module__ == about.name
                if is_own and one.targetoptions.get("inline") != "always":
                    found.append(f"{about.name.split('.')[-1]}.{name}-")
    return found


@pytest.mark.slow
def test_warming_up_compiles_every_kernel(capsys):
    folder = tw.warm_up(progress=True)
    assert " 86%" in capsys.readouterr().err
    assert folder == compiling.cache_folder()
    names = kernels_of_the_package()
    assert len(names) > 50
    assert not [name for name in names if not list(folder.rglob(f"{name}*.nbc"))]


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A copy of the package that nothing can be written beside, whoever asks."""
    source = Path(tw.__file__).parent
    copy = tmp_path_factory.mktemp("installed") / "thriftwood"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(one for one in copy.rglob("*") if one.is_dir())]:
        (folder / "__pycache__").write_text("in the way, also for an administrator")
        folder.chmod(0o555)
    yield copy.parent
    for folder in [copy, *(one for one in copy.rglob("*") if one.is_dir())]:
        folder.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("is_writable", [True, False])
def test_where_the_package_is_read_only_the_users_cache_is_taken(read_only, is_writable, tmp_path):
    home = tmp_path / "cache"
    if not is_writable:
        home.write_text("in the way")
    environment = {**os.environ, "PYTHONPATH": str(read_only), "XDG_CACHE_HOME": str(home)}
    environment.pop("NUMBA_CACHE_DIR", None)
    words = [sys.executable, "-W", "error", "-c", f"{CODE}\n{WHERE}"]
    said = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert said.stderr == ""
    drawn, folder = said.stdout.splitlines()
    assert len(eval(drawn)) == 2
    if not is_writable:
        assert folder == "None"
        return
    assert Path(folder).is_relative_to(home)
    assert list(Path(folder).rglob("*.nbc"))
