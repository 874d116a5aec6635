"""What the site and the harness of the documents promise, short of building it (`make docs`)."""

import ast
import re
import tomllib

import pytest
from documents import DOCUMENTS, ROOT, blocks_of, run_commands

import thriftwood

INDEX = (ROOT / "docs/index.md").read_text()
REFERENCE = (ROOT / "docs/reference.md").read_text()
STUDY = (ROOT / "docs/study.md").read_text()
# Code that is run, what it prints, and files that are shown; all else would be left to rot.
LANGUAGES = {"python", "text", "console", "csv", "toml", "json", "c", "html"}
DIRECTIVES = {"{toctree}", "{include}", "{eval-rst}", "{glossary}", "{math}"}


def test_the_index_lists_every_page_once():
    listed = re.findall(
        r"^(\w+)$", "".join(re.findall(r"```{toctree}\n(.*?)```", INDEX, re.S)), re.M
    )
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert len(listed) == len(set(listed))
    assert set(listed) == pages


def test_the_front_page_has_the_figures_of_the_study():
    best, n_tasks, n_methods = best_of("areas")
    parts = [float(row[-1].split(", ")[-1]) for row in rows_of("peers-accuracy")]
    below, above = sorted(part for part in parts if part < 1), sorted(p for p in parts if p > 1)
    shares = sorted(int(row[-1].split("%")[0]) for row in rows_of("today-rise"))
    for figure in (
        f"{best} of {n_tasks}",
        f"{below[0]} to {below[-1]}",
        f"{shares[0]} to {shares[-1]} %",
    ):
        assert f"\n| {figure} | " in INDEX
    assert f"of {n_methods} methods" in INDEX
    others = " and ".join(map(str, above))
    assert f"on {len(below)} of {len(parts)} tasks ({others} on the others)" in INDEX


def best_of(table: str) -> tuple[int, int, int]:
    """Return how many columns a thrifty model is best in, of how many, and how many rows."""
    rows = rows_of(table)
    columns = list(zip(*[row[1:] for row in rows], strict=True))
    thrifty = [row[0].startswith("ThriftyClassifier") for row in rows]
    best = [
        any(own and "**" in cell for own, cell in zip(thrifty, one, strict=True)) for one in columns
    ]
    return sum(best), len(columns), len(rows)


def rows_of(table: str) -> list[list[str]]:
    """Return the cells of a table of the study, without its head."""
    text = STUDY.split(f"<!-- study: {table} -->")[1].split("<!-- end -->")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("module", ["", ".export", ".report", ".datasets", ".errors"])
def test_the_reference_has_every_public_name_and_no_other(module):
    names = public_names(getattr(thriftwood, module[1:]) if module else thriftwood)
    assert listed_in_reference(f"thriftwood{module}") == names


def listed_in_reference(module: str) -> set[str]:
    tables = re.findall(r"currentmodule:: (\S+)\n(.*?)```", REFERENCE, re.S)
    return {
        name
        for home, table in tables
        if home == module
        for name in re.findall(r"^   (\w+)$", table, re.M)
    }


def public_names(module) -> set[str]:
    """Return the functions and classes of a module that are for users."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if name[0] != "_"]
    return {name for name in names if is_documented_apart(getattr(module, name))}


def is_documented_apart(value) -> bool:
    return callable(value) and getattr(value, "__module__", "").startswith("thriftwood")


def test_the_layers_are_those_that_imports_keep_to():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = settings["tool"]["importlinter"]["contracts"][0]
    table = re.findall(r"^\| (`\w+`.*?) \|", (ROOT / "docs/architecture.md").read_text(), re.M)
    shown = [set(re.findall(r"`(\w+)`", line)) for line in table]
    assert shown == [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]


def test_imports_from_other_folders_go_no_deeper_than_the_document_says():
    text = (ROOT / "docs/architecture.md").read_text()
    for importer, module, names in imports_of_files():
        own, *deeper = module.split(".")
        if own in (importer.parts[0], "support") or importer.stem.endswith("kernels"):
            continue
        if len(deeper) > 0:
            assert f"`{own}.{deeper[0]}`" in text, f"{importer} imports {names} from {module}"


def imports_of_files():
    """Yield each file of the package with the modules of the package that it imports from."""
    root = ROOT / "src/thriftwood"
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thriftwood."):
                module = node.module.removeprefix("thriftwood.")
                yield file.relative_to(root), module, [alias.name for alias in node.names]


def test_blocks_are_of_kinds_that_are_run_or_shown():
    for document in [*DOCUMENTS, "CONTRIBUTING.md", "CHANGELOG.md"]:
        fences = re.findall(r"^```([^`\n]*)$", (ROOT / document).read_text(), re.M)
        opening = [fence.split()[0] if fence else "" for fence in fences[::2]]
        assert set(opening) <= LANGUAGES | DIRECTIVES, document


def test_blocks_are_found_in_their_order():
    text = "```python\nx\n```\n\n```text\n1\n```\n\n```console\n$ y\n```\n\n```python\nz\n```\n"
    assert blocks_of(text) == [
        ("python", "x\n", "1\n"),
        ("console", "$ y\n", ""),
        ("python", "z\n", ""),
    ]


def test_commands_must_print_what_is_shown(tmp_path):
    run_commands("$ echo one > file\n$ cat \\\n  file\none\n$ echo $COLUMNS\n100\n", tmp_path)
    for wrong in ("$ echo one\ntwo\n", "$ echo one\n", "$ false\n", "$ cat nowhere\n"):
        with pytest.raises(AssertionError):
            run_commands(wrong, tmp_path)
