"""Scripts of the gallery as notebooks, which the site offers for download."""

import ast
import re
from pathlib import Path
from textwrap import dedent

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(set(EXAMPLES.glob("*.py")) - {EXAMPLES / "picture.py"})  # which all of them use


def write_notebooks(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for script in SCRIPTS:
        nbformat.write(notebook_of(script), folder / f"{script.stem}.ipynb")


def notebook_of(script: Path) -> nbformat.NotebookNode:
    """Return a script as its story, what it defines, what `main` does, and its picture."""
    text = script.read_text()
    title, _, story = ast.get_docstring(ast.parse(text)).partition("\n")
    picture, extras = f"{script.stem}.png", "all,mlflow" if "import mlflow" in text else "all"
    cells = [
        new_markdown_cell(f"# {title}\n{story}"),
        new_markdown_cell(f'`pip install "thriftwood[{extras}]"` brings what it needs.'),
        new_code_cell(definitions(text)),
        new_code_cell(f'picture = "{picture}"\n{body_of_main(text)}'),
        new_code_cell("from IPython.display import Image\n\nImage(picture)"),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"{script.stem}-{number}"  # the same every time
    return new_notebook(cells=cells)


def definitions(text: str) -> str:
    """Return the script without its docstring, its `main`, and what only scripts need."""
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        is_main = isinstance(node, ast.FunctionDef) and node.name == "main"
        if is_main or isinstance(node, ast.If) or node.lineno == 1:
            del lines[node.lineno - 1 : node.end_lineno]
    kept = "\n".join(line for line in lines if line != "from picture import picture_file")
    return re.sub(r"\n{4,}", "\n\n\n", kept).strip()


def body_of_main(text: str) -> str:
    """Return what `main` does, from its second line on; the first asks where pictures go."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            return dedent("\n".join(lines[node.body[0].end_lineno : node.end_lineno])).strip()
    raise ValueError("The script has no main.")
