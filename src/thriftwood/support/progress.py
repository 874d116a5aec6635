"""A line on the terminal that says how far long work has come."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WIDTH = 30
PATIENCE = 1.0  # seconds before the line appears
PAUSE = 0.1  # seconds between two looks of the line


@contextmanager
def progress_bar(title: str, shown: bool | None = None) -> Iterator[Callable[[float | str], None]]:
    """Yield a function to call with the share of the work that is done, or with a few words.

    Parameters
    ----------
    title : str
    shown : bool, optional
        None shows the line on a terminal, once the work has taken a second.
    """
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    if shown is False or (shown is None and not on_terminal):
        yield lambda _: None
        return
    begin = time.monotonic()
    next_look = begin if shown else begin + PATIENCE
    length = 0

    def write(done: float | str) -> None:
        nonlocal next_look, length
        now = time.monotonic()
        if now < next_look:
            return
        next_look = now + PAUSE
        words = done if isinstance(done, str) else _bar(done)
        line = f"{title} {words} {now - begin:5.0f} s"
        sys.stderr.write(f"\r{line.ljust(length)}")
        sys.stderr.flush()
        length = max(length, len(line))

    try:
        if shown:
            write("...")
        yield write
    finally:
        if length:
            sys.stderr.write(f"\r{' ' * length}\r")
            sys.stderr.flush()


def _bar(share: float) -> str:
    full = round(WIDTH * share)
    return f"[{'#' * full}{'.' * (WIDTH - full)}] {share:4.0%}"
