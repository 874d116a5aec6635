"""The command line: each command a thin layer over one call of the package.

Law of this folder: a command answers, or it says in one sentence what is wrong, leaves no
half-written file, and ends with 2.
"""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from thriftwood.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(_without_typer(error.name))
    app(prog_name="thriftwood")


def _without_typer(missing: str) -> int:
    sys.stderr.write(f"Error: The command line needs {missing}: pip install 'thriftwood[cli]'\n")
    return 2
