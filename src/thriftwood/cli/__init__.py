"""The command line: each command a thin layer over one call of the package.

Law of this folder: a command answers, or it says in one sentence what is wrong, leaves no
half-written file, and ends with 2.
"""

import atexit
import gc
import signal
import sys

from thriftwood.support.libraries import alone


def main() -> None:
    """Run the command line."""
    alone.set()
    # Libraries leave hundreds of thousands of objects that live to the end: looking for garbage
    # among them, then and while they are imported, takes a quarter of a short command's time.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    # So that what is unfinished is cleared away, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        from thriftwood.cli.app import app
        from thriftwood.cli.console import guard_streams
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        sys.stderr.write('Error: The command line needs typer: pip install "thriftwood[cli]"\n')
        sys.exit(2)
    except KeyboardInterrupt:  # from here on commands see to that themselves
        sys.exit(130)
    guard_streams()
    app(prog_name="thriftwood")
