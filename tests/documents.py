"""What documents show: blocks of code, what they print, and how to run them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
# Code or commands, and the output that the document shows right below code, if it does.
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.DOTALL | re.M)
PROMPT = "$ "


class Block(NamedTuple):
    language: str
    code: str
    shown: str


class Command(NamedTuple):
    line: str
    shown: list[str]


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a document that are run, in their order."""
    return [Block(*found) for found in BLOCK.findall(text)]


def commands_of(code: str) -> list[Command]:
    """Return the commands of a console block; a backslash carries one on to the next line."""
    commands: list[Command] = []
    for line in code.splitlines():
        if line.startswith(PROMPT):
            commands.append(Command(line.removeprefix(PROMPT), []))
        elif commands[-1].line.endswith("\\"):
            commands[-1] = Command(f"{commands[-1].line}\n{line}", [])
        else:
            commands[-1].shown.append(line)
    return commands


def run_commands(code: str, folder: Path) -> None:
    """Run the commands of a console block, which must print what the block shows."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain = {"PATH": path, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
    for command in commands_of(code):
        result = subprocess.run(
            ["bash", "-e", "-c", command.line],
            cwd=folder,
            env={**os.environ, **plain},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        printed = [line.rstrip() for line in result.stdout.splitlines()]
        assert printed == command.shown, command.line
        assert result.returncode == 0 or printed, f"{command.line} failed without a word"
