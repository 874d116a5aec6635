"""A progress bar on the terminal, for work that takes a while."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WIDTH = 30
PATIENCE = 1.0  # seconds before the bar appears
PAUSE = 0.1  # seconds between two looks of the bar


@contextmanager
def progress_bar(title: str, shown: bool | None = None) -> Iterator[Callable[[float], None]]:
    """Yield a function to call with the share of the work that is done, from 0 to 1.

    Parameters
    ----------
    title : str
    shown : bool, optional
        None shows the bar on a terminal, once the work has taken a second.
    """
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    if shown is False or (shown is None and not on_terminal):
        yield lambda _: None
        return
    begin = time.monotonic()
    next_look = begin if shown else begin + PATIENCE
    drawn = False

    def draw(share: float) -> None:
        nonlocal next_look, drawn
        now = time.monotonic()
        if now < next_look:
            return
        next_look = now + PAUSE
        full = round(WIDTH * share)
        bar = "#" * full + "." * (WIDTH - full)
        sys.stderr.write(f"\r{title} [{bar}] {share:4.0%} {now - begin:5.0f} s")
        sys.stderr.flush()
        drawn = True

    try:
        yield draw
    finally:
        if drawn:
            sys.stderr.write("\r" + " " * (len(title) + WIDTH + 20) + "\r")
            sys.stderr.flush()
