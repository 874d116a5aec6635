"""Console of a command: results on stdout, progress and failures on stderr, and the exit code."""

import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import typer

from thriftwood.cli.text import plain
from thriftwood.errors import ThriftwoodError, UnusedPriceWarning

NOT_OPTIMAL = 1
WRONG_INPUT = 2
OUR_FAULT = 70  # what the C library calls an internal software error
NOBODY_READS = 141  # what a shell makes of a closed pipe
STOPPED = 130  # what a shell makes of Ctrl-C
ERROR = "Error: "

# Arguments of the package whose option has another name; others differ only in their dashes.
OPTIONS = {"n_jobs": "--jobs", "sample_weight": "--weight", "X": "DATA", "y": "--target"}


@dataclass(frozen=True)
class Console:
    """Output of a command, as text or as one JSON object, with or without progress."""

    as_json: bool = False
    quiet: bool = False

    @property
    def progress(self) -> bool | None:
        """Argument `progress` of the package: None shows it on a terminal."""
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

    def _note_once(self) -> Callable[..., None]:
        """Return what shows warnings as notes, each once."""
        told: set[str] = set()

        def show(message: Warning | str, *_args: Any, **_options: Any) -> None:
            if str(message) not in told:
                told.add(str(message))
                self.note(str(message))

        return show

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show on a terminal that something is going on that may take a while."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console as Terminal
        from rich.text import Text

        with Terminal(stderr=True).status(Text(f"{title} ...")):  # names may have brackets
            yield

    @contextmanager
    def failures_in_words(self, debug: bool) -> Iterator[None]:
        """End with one sentence and an exit code where something fails; `debug` adds a traceback.

        Where the answer was to be JSON, that object holds the sentence, too. Warnings are notes.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default", UnusedPriceWarning)
                warnings.showwarning = self._note_once()
                yield
        except typer.Exit:  # an end on purpose
            raise
        except BrokenPipeError:  # a reader such as `head` has left
            _close_stdout()
            raise typer.Exit(NOBODY_READS) from None
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                traceback.print_exc()
            sentence, code = _failure(error)
            typer.echo(sentence, err=True)
            self.answer({"error": sentence.removeprefix(ERROR)})
            raise typer.Exit(code) from None


def _close_stdout() -> None:
    """Lead what is still to be printed nowhere: at the end Python would try once more."""
    with suppress(OSError, ValueError):  # stdout may be no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _failure(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code of an error."""
    if isinstance(error, KeyboardInterrupt):
        return "Stopped. No half-written file is left.", STOPPED
    if isinstance(error, ThriftwoodError):
        return f"{ERROR}{_with_option(error)}", WRONG_INPUT
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{ERROR}{place}{error.strerror or error}.", WRONG_INPUT
    return (
        f"Something went wrong in Thriftwood itself: {type(error).__name__}: {error}\n"
        "Run the command again with --debug and send us what it prints.",
        OUR_FAULT,
    )


def _with_option(error: ThriftwoodError) -> str:
    """Return the sentence of an error, with the option in place of the argument it is about."""
    argument = getattr(error, "argument", None)
    if argument is None:
        return str(error)
    option = OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
    return str(error).replace(f"`{argument}`", option)
