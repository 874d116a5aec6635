"""A line on the terminal, or in a notebook, that says how far long work has come."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from html import escape
from typing import Any

WIDTH = 30
PATIENCE = 1.0  # seconds before the line appears
PAUSE = 0.1  # seconds between two looks of the line
# Shows a line in place of the one before; "" takes it away.
Line = Callable[[str], None]

_is_quiet = False


@contextmanager
def progress_bar(title: str, shown: bool | None = None) -> Iterator[Callable[[float | str], None]]:
    """Yield a function to call with the share of the work that is done, or with a few words.

    None shows the line on a terminal and in a notebook, once the work has taken a second.
    """
    show = None if shown is False else new_line(bool(shown))
    if show is None:
        yield lambda _: None
        return
    begin = time.monotonic()
    next_look = begin if shown else begin + PATIENCE

    def write(done: float | str) -> None:
        nonlocal next_look
        now = time.monotonic()
        if now < next_look:
            return
        next_look = now + PAUSE
        words = done if isinstance(done, str) else _bar(done)
        show(f"{title} {words} {now - begin:5.0f} s")

    try:
        if shown:
            write("...")
        yield write
    finally:
        show("")


@contextmanager
def quietly(is_quiet: bool = True) -> Iterator[None]:
    """Show no line that was not asked for, whatever thread would."""
    global _is_quiet
    before, _is_quiet = _is_quiet, is_quiet or _is_quiet
    try:
        yield
    finally:
        _is_quiet = before


def new_line(is_asked_for: bool = False) -> Line | None:
    """Return a progress line where somebody looks, or None where nobody does."""
    if _is_quiet and not is_asked_for:
        return None
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        return _line_of_cell(shell.display_pub, shell.execution_count)
    if sys.stderr is not None and (is_asked_for or sys.stderr.isatty()):
        return _line_of_terminal()
    return None


def _line_of_terminal() -> Line:
    """Return a progress line that is written over itself."""
    length = 0

    def show(line: str) -> None:
        nonlocal length
        if line or length:
            sys.stderr.write(f"\r{line.ljust(length)}" + ("" if line else "\r"))
            sys.stderr.flush()
        length = max(length, len(line)) if line else 0

    return show


@lru_cache(maxsize=1)
def _line_of_cell(publisher: Any, _execution_count: int) -> Line:
    """Return the progress line of a notebook's cell: one output whose text is exchanged."""
    name, is_there = {"display_id": f"thriftwood-{time.time_ns()}"}, False

    def show(line: str) -> None:
        nonlocal is_there
        if line or is_there:
            html = f"<pre>{escape(line)}</pre>" if line else ""
            content = {"text/plain": line, "text/html": html}
            publisher.publish(content, transient=name, update=is_there)
            is_there = True

    return show


def _bar(share: float) -> str:
    full = round(WIDTH * share)
    return f"[{'#' * full}{'.' * (WIDTH - full)}] {share:4.0%}"
