"""Console of a command: results on stdout, progress and failures on stderr, and the exit code."""

import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from typing import Any, TextIO, cast

import typer

from thriftwood.cli.text import plain
from thriftwood.errors import ConstantPredictionWarning, ThriftwoodError, UnusedPriceWarning
from thriftwood.support.progress import quietly
from thriftwood.support.text import shown

NOT_OPTIMAL = 1
WRONG_INPUT = 2
OUR_FAULT = 70  # what the C library calls an internal software error
NOT_PRINTED = 74  # and that an error of input or output
NOBODY_READS = 141  # what a shell makes of a closed pipe
STOPPED = 130  # what a shell makes of Ctrl-C
ERROR = "Error: "

# Arguments of the package whose option has another name; others differ only in their dashes.
OPTIONS = {
    "n_jobs": "--jobs",
    "sample_weight": "--weight",
    "scoring": "--metric",
    "qid": "--query-id",
    "X": "DATA",
    "y": "--target",
}


@dataclass(frozen=True)
class Console:
    """Output of a command, as text or as one JSON object, with or without progress."""

    as_json: bool = False
    quiet: bool = False
    stdout: TextIO = field(default_factory=lambda: sys.stdout)

    @property
    def progress(self) -> bool | None:
        """Argument `progress` of the package: None shows it on a terminal."""
        return False if self.quiet else None

    def say(self, text: str = "", *, strong: bool = False) -> None:
        """Print a part of the answer, unless that is to be JSON; strong is for eyes only."""
        if not self.as_json:
            is_bold = strong and not os.environ.get("NO_COLOR")
            text = _shown(text)
            typer.echo(typer.style(text, bold=True) if is_bold else text, self.stdout)

    def answer(self, values: Mapping[str, Any]) -> None:
        """Print the whole answer as JSON, where that was asked for."""
        if self.as_json:
            text = json.dumps(plain(values), indent=2, allow_nan=False)
            typer.echo(text.replace("\x7f", "\\u007f"), self.stdout)

    def note(self, text: str) -> None:
        """Tell people on stderr what they may not expect; the answer stays as it is."""
        typer.echo(_shown(f"Note: {text}"), err=True)

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show on a terminal that something is going on that may take a while."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console as Terminal
        from rich.text import Text  # names may have brackets

        with quietly(), Terminal(stderr=True).status(Text(f"{shown(title)} ...")):
            yield

    @contextmanager
    def failures_in_words(self, debug: bool) -> Iterator[None]:
        """End with one sentence and an exit code where something fails; `debug` adds a traceback.

        Where the answer was to be JSON, that object holds the sentence, too. Warnings are notes,
        and what libraries print goes to stderr: it is no part of the answer.
        """
        told: set[str] = set()

        def show(message: Warning | str, *_args: Any, **_options: Any) -> None:
            if str(message) not in told:
                told.add(str(message))
                self.note(str(message))

        try:
            with warnings.catch_warnings(), redirect_stdout(sys.stderr):
                for kind in (UnusedPriceWarning, ConstantPredictionWarning):
                    warnings.simplefilter("default", kind)
                warnings.showwarning = show
                yield
        except typer.Exit:  # an end on purpose
            raise
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                typer.echo(_shown(traceback.format_exc()), err=True)
            sentence, code = _failure(error)
            typer.echo(_shown(sentence), err=True)
            self.answer({"error": sentence.removeprefix(ERROR)})
            raise typer.Exit(code) from None


class Stream:
    """Stdout that ends the program where it cannot be written, whoever writes; stderr goes on."""

    def __init__(self, stream: Any, is_answer: bool) -> None:
        self._stream = stream
        self._is_answer = is_answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text, as a file does."""
        return self._tried(self._stream.write, text) or len(text)

    def flush(self) -> None:
        """Have it written now."""
        self._tried(self._stream.flush)

    def _tried(self, do: Callable[..., Any], *args: Any) -> Any:
        try:
            return do(*args)
        except OSError as error:
            _lead_nowhere(self._stream)
            if not self._is_answer:
                return None
            if isinstance(error, BrokenPipeError):  # a reader such as `head` has left
                sys.exit(NOBODY_READS)
            typer.echo(f"{ERROR}The answer cannot be printed: {error.strerror}.", err=True)
            sys.exit(NOT_PRINTED)


def guard_streams() -> None:
    """Let streams that are closed or fail be no fault of a command, nor its answer.

    What they cannot say in their encoding they say with backslashes.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast(TextIO, Stream(sys.stdout or _closed(), True))
    sys.stderr = cast(TextIO, Stream(sys.stderr or _closed(), False))


def _closed() -> TextIO:
    """Return a stream that cannot be written, in place of one that was closed before we began.

    It keeps its number, so that no file that is written later gets what is meant for the stream.
    """
    return os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")


def _lead_nowhere(stream: Any) -> None:
    """Lead what is still to be written nowhere: at the end Python would try once more."""
    with suppress(OSError, ValueError):  # it may be no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _shown(text: str) -> str:
    """Return lines of text without anything that a terminal would obey."""
    return "\n".join(map(shown, text.split("\n")))


def _failure(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code of an error."""
    if isinstance(error, KeyboardInterrupt):
        return "Stopped. No half-written file is left.", STOPPED
    if isinstance(error, ThriftwoodError):
        sentence, argument = str(error), getattr(error, "argument", None)
        if argument is not None:  # it goes by its option here
            option = OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
            sentence = sentence.replace(f"`{argument}`", option)
        return f"{ERROR}{sentence}", WRONG_INPUT
    if isinstance(error, MemoryError):
        return f"{ERROR}This does not fit into memory: {str(error) or 'too much'}.", WRONG_INPUT
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{ERROR}{place}{error.strerror or error}.", WRONG_INPUT
    return (
        f"Something went wrong in Thriftwood itself: {type(error).__name__}: {error}\n"
        "Run the command again with --debug and send us what it prints.",
        OUR_FAULT,
    )
