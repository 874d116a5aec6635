"""Notebooks that the site offers are the scripts of the gallery, and run."""

import re
import sys
import tomllib

import matplotlib.pyplot as plt
import nbformat
import pytest
from documents import ROOT

sys.path.append(str(ROOT / "docs"))

import notebooks

QUICK = ("bills", "one_tree")


@pytest.mark.parametrize("script", notebooks.SCRIPTS, ids=lambda script: script.stem)
def test_every_script_is_a_notebook_without_the_means_of_scripts(script):
    notebook = notebooks.notebook_of(script)
    nbformat.validate(notebook)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        compile(cell, script.name, "exec")
    for word in ("picture_file", "__file__", "__main__", "argparse"):
        assert word not in "\n".join(code)


@pytest.mark.parametrize("script", notebooks.SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_names_extras_that_there_are(script):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    _, how_to_install, *_ = notebooks.notebook_of(script).cells
    extras = re.search(r"thriftwood\[(.+)\]", how_to_install.source)[1].split(",")
    assert set(extras) <= set(settings["project"]["optional-dependencies"])
    assert ("mlflow" in extras) == ("import mlflow" in script.read_text())


@pytest.mark.parametrize("name", QUICK)
def test_a_notebook_draws_the_picture_of_its_script(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    notebook = notebooks.notebook_of(notebooks.EXAMPLES / f"{name}.py")
    names = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, name, "exec"), names)
    plt.close("all")
    assert plt.imread(f"{name}.png").std() > 0.05
    assert f"Drew {name}.png." in capsys.readouterr().out
