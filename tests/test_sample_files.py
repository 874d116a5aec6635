"""Files of our own formats: those of older releases are read, and the same model writes the same.

The law of versions: a release reads what it writes, and what the release before it wrote.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from packaging.version import Version
from sample_files import FILES, KINDS, THIS_RELEASE

import thriftwood as tw
from thriftwood.errors import InputError
from thriftwood.forest import files

RELEASES = sorted((folder.name for folder in FILES.iterdir()), key=Version)
SAID = {one: json.loads((FILES / one / "said.json").read_text()) for one in RELEASES}


@pytest.mark.parametrize(
    ("release", "name"), [(release, name) for release in RELEASES for name in SAID[release]]
)
def test_files_of_every_release_say_what_they_said(release, name):
    kind, said = KINDS[name], SAID[release][name]
    found = kind.says(kind.read(FILES / release / name))
    assert set(found) == set(said)
    for what, numbers in said.items():
        np.testing.assert_allclose(found[what], numbers, rtol=1e-12, err_msg=what)


def test_a_release_has_files_of_every_kind():
    """Between releases, where the version ends in `.dev0`, there are those of the last one."""
    if not Version(tw.__version__).is_devrelease:
        assert THIS_RELEASE in RELEASES
        assert set(SAID[THIS_RELEASE]) == set(KINDS)
    assert Version(RELEASES[-1]) <= Version(THIS_RELEASE)


def test_a_file_of_an_older_version_is_made_one_of_this(tmp_path, monkeypatch):
    """Version 1 of this story called the link otherwise, version 0 had none."""
    forest = tw.ForestModel.load(FILES / RELEASES[-1] / "forest.tw").forest
    about, arrays = files.forest_parts(forest)
    link = about.pop("link")
    old = {"format": files.FORMAT, "version": files.VERSION - 2, "forest": about}
    files.save_arrays(tmp_path / "old.tw", old, arrays)
    with pytest.raises(InputError, match=f"reads {files.VERSION}"):
        tw.ForestModel.load(tmp_path / "old.tw")

    def add_shape(header, _arrays):
        header["forest"]["shape"] = link

    def rename_shape(header, _arrays):
        header["forest"]["link"] = header["forest"].pop("shape")

    monkeypatch.setitem(files.UPDATES, (files.FORMAT, files.VERSION - 2), add_shape)
    monkeypatch.setitem(files.UPDATES, (files.FORMAT, files.VERSION - 1), rename_shape)
    assert tw.ForestModel.load(tmp_path / "old.tw").forest.has_same_trees(forest)


WRITE = """
import sys
from pathlib import Path
from sample_files import HEART, KINDS, path
import thriftwood as tw

folder = Path(sys.argv[1])
for name, kind in KINDS.items():
    kind.write(folder / name)
whole = path()
pruned = whole.at(budget=250)
tw.export.to_skops(pruned.model, folder / "model.skops")
tw.export.to_onnx(pruned.model, folder / "model.onnx")
tw.export.to_c(pruned.model, folder / "model.c")
problem = tw.pruning_problem(whole.model, HEART.X, HEART.y, costs=HEART.prices)
tw.report.write_page(whole, folder / "page.html", problem)
"""


@pytest.mark.slow
def test_the_same_prune_writes_the_same_bytes(tmp_path):
    """In another process, with other addresses in memory and another order of sets."""
    found = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", WRITE, str(folder)]
        subprocess.run(command, env=environment, cwd=FILES.parent, check=True)
        found.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert len(found[0]) == len(KINDS) + 4
    for name, content in found[0].items():
        assert content == found[1][name], name
