"""The command line: each command a thin layer over one call of the package.

Law of this folder: a command answers, or it says in one sentence what is wrong, leaves no
half-written file, and ends with 2.
"""


def main() -> None:
    """Run the command line."""
    raise SystemExit("The command line comes with thriftwood[cli].")
