"""Compiled code that is kept on disk: whatever becomes of it there, kernels do their work."""

import os
import subprocess
import sys

import numpy as np
import pytest

from thriftwood.support import compiling

CODE = """
import numpy as np
from thriftwood.support.draws import uniform_per_row
print(uniform_per_row(np.arange(6.0).reshape(2, 3)).tolist())
"""
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
    double = getattr(compiling, name)(lambda values: values * 2)
    np.testing.assert_array_equal(double(np.arange(3)), [0, 2, 4])
