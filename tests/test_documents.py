"""What the documents show works as shown."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import DOCUMENTS, ROOT, blocks_of, run_commands

import thriftwood

BLOCKS = {document: blocks_of((ROOT / document).read_text()) for document in DOCUMENTS}


def test_the_readme_shows_code():
    assert any(block.shown for block in BLOCKS["README.md"])


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if BLOCKS[document]])
def test_code_blocks_run_in_turn_and_print_what_is_shown(document, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that some of them write
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # and for those that some read
    names = {"__name__": "__main__"}
    for language, code, shown in BLOCKS[document]:
        if language == "console":
            run_commands(code, tmp_path)
            continue
        exec(compile(code, document, "exec"), names)
        printed = capsys.readouterr()
        assert printed.err == ""
        assert printed.out.startswith(shown)


def test_no_document_is_unfinished():
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        assert "```text\n```" not in text  # an output that is still to come
        lines = text.splitlines()
        assert not [line for line in lines if re.fullmatch(r"[A-Z]{3,}", line.strip())]


OTHERS = ["CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "GOVERNANCE.md", "SECURITY.md"]
# Examples: of a release to come, and of any name.
NO_FILES = ("tests/files/2.1.0", "examples/NAME.py")
NAMED = r"`(?:python )?((?:benchmarks|docs|examples|src|tests)/[\w./-]+)[ `]"


@pytest.mark.parametrize("document", sorted({*DOCUMENTS, *OTHERS}))
def test_files_that_are_named_are_there(document):
    text = (ROOT / document).read_text()
    for name in re.findall(NAMED, text):
        assert name in NO_FILES or (ROOT / name).exists(), f"{document} names {name}"


def test_links_to_files_lead_somewhere():
    for document in [*DOCUMENTS, *OTHERS]:
        folder = (ROOT / document).parent
        for target, place in links(document):
            file = folder / target if target else ROOT / document
            assert file.exists(), f"{document} links to {target}"
            assert not place or place in headings(file), f"{document} links to {target}#{place}"


def links(document: str) -> list[tuple[str, str]]:
    """Return the files that a document links to, each with the heading there, if one is named."""
    text = (ROOT / document).read_text()
    return re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", text)


def headings(file: Path) -> set[str]:
    """Return the headings of a file as links name them."""
    titles = re.findall(r"^#+ (.+)$", file.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


MODULES = [
    module.name
    for module in pkgutil.walk_packages(thriftwood.__path__, "thriftwood.")
    if not module.name.endswith("kernels")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_public_names_are_there_and_documented():
    for name in thriftwood.__all__:
        assert getattr(thriftwood, name).__doc__, name
    assert set(dir(thriftwood)) == set(thriftwood.__all__) - {"__version__"}
    with pytest.raises(AttributeError, match="attribute pruen"):
        thriftwood.pruen


def test_importing_the_package_loads_no_kernels():
    code = "import sys, thriftwood; print('numba' in sys.modules or 'sklearn' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "False", result.stderr
