"""Compiled code that is kept on disk: whatever becomes of it there, kernels do their work."""

import ast
import importlib
import os
import pkgutil
import re
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


NO_VERSION = """
import numba
numba.version_info = numba.version_info._replace(short=(9, 9))
"""
PATH = """
import thriftwood as tw
from sklearn.tree import DecisionTreeClassifier
heart = tw.datasets.load_heart()
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(heart.X, heart.y)
path = tw.prune_path(tree, heart.X, heart.y, costs=heart.prices)
print(path.costs.tolist())
"""


@pytest.mark.slow
def test_a_version_of_numba_that_nobody_tried_compiles_as_it_does_by_itself(tmp_path):
    untried, tried = (
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / name)},
            check=True,
        ).stdout
        for name, code in (("untried", NO_VERSION + PATH), ("tried", PATH))
    )
    assert untried == tried


def test_a_kernel_for_kernels_refuses_to_be_called_by_anybody_else():
    small = compiling.small_kernel(lambda values: values[1] * 2)
    with pytest.raises(TypeError, match="by kernels alone"):
        small(np.arange(3))


def kernels_of_the_package():
    """Return how the files of all kernels begin, but of those that become part of others."""
    found = []
    for about in pkgutil.walk_packages(tw.__path__, "thriftwood."):
        if about.name.endswith("kernels"):
            for name, one in vars(importlib.import_module(about.name)).items():
                is_own = isinstance(one, CPUDispatcher) and one.__module__ == about.name
                if is_own and not isinstance(one, compiling.InnerKernel):
                    found.append(f"{about.name.split('.')[-1]}.{name}-")
    return found


@pytest.mark.slow
def test_warming_up_compiles_every_kernel(capsys):
    folder = tw.warm_up(progress=True)
    assert re.search(r" \d+%", capsys.readouterr().err)
    assert folder.is_relative_to(compiling.cache_folder())  # tests may have kernels of their own
    names = kernels_of_the_package()
    assert len(names) > 50
    assert not [name for name in names if not list(folder.rglob(f"{name}*.nbc"))]


@pytest.mark.slow
def test_the_command_warms_up():
    command = [sys.executable, "-m", "thriftwood", "warm-up"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = done.stdout + done.stderr
    folder = Path(said.rsplit("Compiled code is kept in ", 1)[1].strip().removesuffix("."))
    assert folder.is_relative_to(compiling.cache_folder())  # tests may have kernels of their own
    names = kernels_of_the_package()
    assert not [name for name in names if not list(folder.rglob(f"{name}*.nbc"))]


def copy_of_the_package(folder):
    """Copy the package to a folder, without what is compiled, and return its place there."""
    without = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(Path(tw.__file__).parent, folder / "thriftwood", ignore=without))


CUT = """
import numpy as np
from numba.core import event
from thriftwood.solvers.parametric_cut_kernels import Part, first_part
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
requires, items = np.array([-1, 0], dtype=np.int32), np.arange(2, dtype=np.int32)
gains, costs, parent = np.array([5, 3]), np.array([4, 4]), np.full(4, -1, dtype=np.int32)
part = Part(items, gains, requires, np.arange(3), items, costs, parent, 0)
print(first_part(part, np.ones(4, dtype=bool)).parent.tolist(), len(compiled.buffer) > 0)
"""
NOTHING_CAN_BE_WRITTEN = """
import os
import tempfile
def refuse(dir):
    raise PermissionError(dir)
    return open(os.devnull)
tempfile.TemporaryFile = refuse
"""


def said_by_the_cut(package, before="", **environment):
    """Return what a cut of a copy of the package says, and whether anything was compiled for it."""
    inherited = {name: word for name, word in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    words = [sys.executable, "-c", before + CUT]
    environment = {**inherited, "PYTHONPATH": str(package.parent), **environment}
    return subprocess.check_output(words, env=environment, text=True).rsplit(maxsplit=1)


@pytest.mark.slow
def test_code_is_made_again_only_where_what_it_calls_has_changed(tmp_path):
    package = copy_of_the_package(tmp_path)
    said, is_compiled = said_by_the_cut(package)
    assert is_compiled == "True"
    assert said_by_the_cut(package) == [said, "False"]
    elsewhere = package / "forest" / "kernels.py"
    elsewhere.write_text(elsewhere.read_text().replace("BATCH = 8", "BATCH = 4"))
    assert said_by_the_cut(package) == [said, "False"]
    callee = package / "solvers" / "pseudoflow_kernels.py"
    begin = "def pay_from_below("
    head, tail = callee.read_text().split(begin)
    end = tail.index("    return ")
    callee.write_text(f"{head}{begin}{tail[:end]}    parent[:] = -7\n{tail[end:]}")
    assert said_by_the_cut(package) == ["[-7, -7, -7, -7]", "True"]


@pytest.mark.slow
@pytest.mark.parametrize("is_named", [True, False])
def test_what_somebody_else_compiled_is_read_where_nothing_can_be_written(tmp_path, is_named):
    package = copy_of_the_package(tmp_path)
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "shared")} if is_named else {}
    said, is_compiled = said_by_the_cut(package, **place)
    assert is_compiled == "True"
    assert said_by_the_cut(package, NOTHING_CAN_BE_WRITTEN, **place) == [said, "False"]
    home = {"XDG_CACHE_HOME": str(tmp_path / "own cache")}
    own = NOTHING_CAN_BE_WRITTEN.replace("    raise", "    if 'own cache' not in dir: raise")
    assert said_by_the_cut(package, own, **place, **home) == [said, "False"]


def test_kernels_take_only_numbers_from_modules_that_are_not_watched():
    for about in pkgutil.walk_packages(tw.__path__, "thriftwood."):
        if about.name.endswith("kernels"):
            module = importlib.import_module(about.name)
            for line in ast.walk(ast.parse(Path(module.__file__).read_text())):
                if isinstance(line, ast.ImportFrom) and line.module.startswith("thriftwood."):
                    taken = [vars(module)[one.name] for one in line.names]
                    is_watched = line.module.endswith(("kernels", "compiling"))
                    assert is_watched or all(isinstance(one, int | float) for one in taken)


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A copy of the package that nothing can be written beside, whoever asks."""
    copy = copy_of_the_package(tmp_path_factory.mktemp("installed"))
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
