"""What goes wrong ends as one sentence and an exit code, not as a traceback."""

import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from thriftwood.cli.voice import Voice
from thriftwood.errors import ThriftwoodError

NOT_OPTIMAL = 1
WRONG_INPUT = 2
OUR_FAULT = 70  # what the C library calls an internal software error
NOBODY_READS = 141  # what a shell makes of a closed pipe
STOPPED = 130  # what a shell makes of Ctrl-C
ERROR = "Error: "

# Arguments of the package that are options here, with what they are called.
OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in ("budget", "class_weight", "costs", "loss", "refit", "tradeoff", "validation")
} | {"n_jobs": "--jobs", "sample_weight": "--weight"}
# What is said in Python there, and in a command here.
PHRASES = {
    "prune(..., tradeoff=...)": "`thriftwood prune --tradeoff`",
    ", or a `strength`": "",
    "trained on as X": "trained on as DATA",
    "pass trust_pickle=True (--trust-pickle on the command line)": "pass --trust-pickle",
    ", or pass a function": "",
}


@contextmanager
def ends_in_words(debug: bool, voice: Voice) -> Iterator[None]:
    """Say in a sentence what goes wrong in here, and end with the code for it.

    Parameters
    ----------
    debug : bool
        Whether the traceback comes before the sentence.
    voice : Voice
        Who says it; where the answer was to be JSON, that object holds the sentence, too.
    """
    try:
        yield
    except typer.Exit:  # an end on purpose
        raise
    except BrokenPipeError:  # a reader such as `head` has left
        _close_stdout()
        raise typer.Exit(NOBODY_READS) from None
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        sentence, code = _judged(error)
        typer.echo(sentence, err=True)
        voice.answer({"error": sentence.removeprefix(ERROR)})
        raise typer.Exit(code) from None


def _close_stdout() -> None:
    """Lead what is still to be printed nowhere: at the end Python would try once more."""
    with suppress(OSError, ValueError):  # stdout may be no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _judged(error: BaseException) -> tuple[str, int]:
    """Return what to say about an error, and what to end with."""
    if isinstance(error, KeyboardInterrupt):
        return "Stopped. No half-written file is left.", STOPPED
    if isinstance(error, ThriftwoodError):
        return f"{ERROR}{in_options(str(error))}", WRONG_INPUT
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{ERROR}{place}{error.strerror or error}.", WRONG_INPUT
    return (
        f"Something went wrong in Thriftwood itself: {type(error).__name__}: {error}\n"
        "Run the command again with --debug and send us what it prints.",
        OUR_FAULT,
    )


def in_options(sentence: str) -> str:
    """Return a sentence of the package with options in place of the names of arguments."""
    for python, command in PHRASES.items():
        sentence = sentence.replace(python, command)
    return re.sub(r"`(\w+)(=[^`]*)?`", lambda found: OPTIONS.get(found[1], found[0]), sentence)
