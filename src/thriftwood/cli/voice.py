"""What a command says, where: results on stdout, progress on stderr."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer

from thriftwood.cli.words import plain


@dataclass(frozen=True)
class Voice:
    """How a command talks to whoever called it.

    Parameters
    ----------
    as_json : bool
        Whether the answer is one JSON object, in place of text.
    quiet : bool
        Whether to leave out progress.
    """

    as_json: bool = False
    quiet: bool = False

    @property
    def progress(self) -> bool | None:
        """What functions of the package get for `progress`: None shows it on a terminal."""
        return False if self.quiet else None

    def say(self, text: str = "", *, strong: bool = False) -> None:
        """Print a part of the answer, unless that is to be JSON; strong is for eyes only."""
        if not self.as_json:
            is_bold = strong and not os.environ.get("NO_COLOR")
            typer.secho(text, bold=True) if is_bold else typer.echo(text)

    def answer(self, values: Mapping[str, Any]) -> None:
        """Print the whole answer as JSON, where that was asked for."""
        if self.as_json:
            typer.echo(json.dumps(plain(values), indent=2, allow_nan=False))

    def note(self, text: str) -> None:
        """Tell people on stderr what they may not expect; the answer stays as it is."""
        typer.echo(f"Note: {text}", err=True)

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show on a terminal that something is going on that may take a while."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(
            Text(f"{title} ...")
        ):  # no markup: names may have brackets
            yield
